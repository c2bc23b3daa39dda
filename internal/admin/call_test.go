package admin

import (
	"crypto/tls"
	"net/http"
	"slices"
	"strings"
	"testing"
)

func TestChangesMustComeFromTheSameOrigin(t *testing.T) {
	t.Parallel()
	cases := []struct {
		name  string
		with  []with
		allow bool
	}{
		{"same origin by fetch metadata", []with{as("acc_owner"), header("Sec-Fetch-Site", "same-origin")}, true},
		{"another site", []with{as("acc_owner"), header("Sec-Fetch-Site", "cross-site")}, false},
		{"another host of the same site", []with{as("acc_owner"), header("Sec-Fetch-Site", "same-site")}, false},
		{"origin is the host", []with{as("acc_owner"), header("Origin", "http://example.com")}, true},
		{"origin has another port", []with{as("acc_owner"), header("Origin", "http://example.com:81")}, false},
		{"origin is another host", []with{as("acc_owner"), header("Origin", "http://evil.example")}, false},
		{"origin is null", []with{as("acc_owner"), header("Origin", "null")}, false},
		{"origin is the public address", []with{as("acc_owner"), header("Origin", "https://dash.example.org")}, true},
		{"no browser", []with{as("acc_owner")}, true},
		{"key from another origin", []with{key("fl_manage"), header("Origin", "http://evil.example")}, true},
		{"key and cookie from another site", []with{key("fl_manage"), as("acc_owner"), header("Sec-Fetch-Site", "cross-site")}, true},
		{"a scheme other than bearer is ignored", []with{header("Authorization", "Basic eDp5"), as("acc_owner"), header("Origin", "http://evil.example")}, false},
	}
	for _, tc := range cases {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			s := newSite(t, func(p *Parts) { p.Server.PublicURL = "https://dash.example.org/base" })
			got := s.call("POST", "/keys", `{"name":"x"}`, tc.with...)
			if tc.allow {
				got.want(http.StatusCreated)
				return
			}
			got.rejected(http.StatusForbidden, "CROSS_ORIGIN")
			if s.fake.made != 0 {
				t.Error("a rejected request created a key")
			}
		})
	}
}

func TestSigningInMustComeFromTheSameOrigin(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	body := `{"email":"owner@example.com","password":"correct horse"}`
	s.call("POST", "/session", body, header("Sec-Fetch-Site", "cross-site")).rejected(http.StatusForbidden, "CROSS_ORIGIN")
	s.call("POST", "/session", body, header("Sec-Fetch-Site", "same-origin")).want(http.StatusCreated)
}

func TestReadsNeedNoOriginAndGetNoCORS(t *testing.T) {
	t.Parallel()
	newSite(t).call("GET", "/keys", "", as("acc_owner"), header("Origin", "http://evil.example")).want(200)
}

func TestCookieFlags(t *testing.T) {
	t.Parallel()
	overTLS := func(r *http.Request) { r.TLS = &tls.ConnectionState{} }
	cases := []struct {
		name   string
		trust  bool
		with   []with
		secure bool
	}{
		{"plain", false, nil, false},
		{"TLS", false, []with{overTLS}, true},
		{"trusted proxy", true, []with{header("X-Forwarded-Proto", "https")}, true},
		{"forwarded header without a trusted proxy", false, []with{header("X-Forwarded-Proto", "https")}, false},
	}
	for _, tc := range cases {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			s := newSite(t, func(p *Parts) { p.Server.TrustProxy = tc.trust })
			got := s.call("POST", "/session", `{"email":"owner@example.com","password":"correct horse"}`, tc.with...).want(http.StatusCreated)
			cookies := got.Result().Cookies()
			if len(cookies) != 2 || cookies[0].Name != "fairlead_session" || cookies[1].Name != "fairlead_device" {
				t.Fatalf("cookies: %v", cookies)
			}
			for i, value := range []string{tokenOf("acc_owner"), "device-of-acc_owner"} {
				c := cookies[i]
				if c.Value != value || !c.HttpOnly || c.SameSite != http.SameSiteLaxMode || c.Path != "/" || c.Secure != tc.secure || c.Domain != "" {
					t.Errorf("%+v", c)
				}
			}
			c := cookies[0]
			if strings.Contains(got.Body.String(), c.Value) {
				t.Error("the token is in the body, where scripts can read it")
			}
			s.call("GET", "/account", "", header("Cookie", c.Name+"="+c.Value)).want(200)
		})
	}
}

func TestKeyUsesItsOwnWorkspace(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.call("GET", "/workspace", "", key("fl_read")).want(200)
	s.call("GET", "/workspace?workspace="+home, "", key("fl_read")).want(200)
	s.call("GET", "/workspace?workspace="+abroad, "", key("fl_read")).rejected(http.StatusNotFound, "NOT_FOUND")
	if !slices.Contains(s.fake.touched, "key_read") {
		t.Error("the use of the key was not recorded")
	}
}

func TestSessionWithoutWorkspaceIsRejected(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	delete(s.fake.members, abroad)
	got := s.call("GET", "/keys", "", as(stranger)).rejected(http.StatusNotFound, "NOT_FOUND")
	if !strings.Contains(got.Error, "not a member of any workspace") {
		t.Error(got.Error)
	}
}

func TestDeniedNamesMissingPermission(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	for caller, code := range map[string]string{"session": "PERMISSION_DENIED", "key": "SCOPE_DENIED"} {
		who := as("acc_viewer")
		if caller == "key" {
			who = key("fl_read")
		}
		got := s.call("PATCH", "/workspace", `{}`, who)
		got.rejected(http.StatusForbidden, code)
		if !strings.Contains(got.Body.String(), `"permission":"manage_workspace"`) {
			t.Errorf("%s", got.Body)
		}
	}
}

func TestPermissionIsCheckedBeforeBody(t *testing.T) {
	t.Parallel()
	newSite(t).call("POST", "/keys", `{nonsense`, as("acc_viewer")).rejected(http.StatusForbidden, "PERMISSION_DENIED")
}
