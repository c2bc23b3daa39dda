package vertex

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/provider"
)

// identitySettings returns the settings of a provider with the given credential from the configuration file.
func identitySettings(secret string, options map[string]string) provider.Settings {
	transport := &http.Transport{DisableKeepAlives: true}
	return provider.Settings{
		Credentials: []provider.Credential{{Secret: secret, Source: "file"}}, Options: options,
		Fetch: &http.Client{Transport: transport}, Metadata: func(...string) http.RoundTripper { return transport },
	}
}

func TestMetadataServerSuppliesTokens(t *testing.T) {
	t.Parallel()
	var requests atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		requests.Add(1)
		if r.Header.Get("Metadata-Flavor") != "Google" || r.URL.Path != "/computeMetadata/v1/instance/service-accounts/default/token" || r.URL.Query().Get("scopes") != scope {
			http.Error(w, "bad request", http.StatusBadRequest)
			return
		}
		fmt.Fprint(w, `{"access_token":"ya29.m","expires_in":3599,"token_type":"Bearer"}`)
	}))
	defer server.Close()
	p := New(identitySettings(provider.Identity, map[string]string{MetadataHost: strings.TrimPrefix(server.URL, "http://")}))
	var all sync.WaitGroup
	for range 10 {
		all.Go(func() {
			if got, err := p.Login(t.Context(), provider.Identity); got != "ya29.m" || err != nil {
				t.Errorf("Login = %q, %v; want ya29.m", got, err)
			}
		})
	}
	all.Wait()
	if requests.Load() != 1 {
		t.Errorf("%d requests, want 1", requests.Load())
	}
}

func TestMetadataServerFailuresAreClassified(t *testing.T) {
	t.Parallel()
	for status, kind := range map[int]llm.Kind{404: llm.UpstreamAuth, 403: llm.UpstreamAuth, 302: llm.UpstreamAuth, 429: llm.UpstreamRateLimited, 503: llm.UpstreamOverloaded} {
		var requests atomic.Int64
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			requests.Add(1)
			w.Header().Set("Location", "/elsewhere")
			w.WriteHeader(status)
		}))
		p := New(identitySettings(provider.Identity, map[string]string{MetadataHost: strings.TrimPrefix(server.URL, "http://")}))
		_, err := p.Login(t.Context(), provider.Identity)
		if e := llm.AsError(err); err == nil || e.Kind != kind || !strings.Contains(e.Message, "metadata server") || requests.Load() != 1 {
			t.Errorf("status %d: %v after %d requests, want %s after 1", status, err, requests.Load(), kind)
		}
		server.Close()
	}
}

func TestSlowMetadataServerTimesOut(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		service := &tokens{after: time.Hour}
		s := identitySettings(provider.Identity, nil)
		s.Metadata = func(...string) http.RoundTripper { return bodiless{service} }
		began := time.Now()
		_, err := New(s).Login(t.Context(), provider.Identity)
		if llm.AsError(err).Kind != llm.UpstreamTimeout || time.Since(began) != 15*time.Second {
			t.Errorf("Login: %v after %s, want UpstreamTimeout after 15s", err, time.Since(began))
		}
	})
}

// bodiless sets an empty body on every request.
type bodiless struct{ http.RoundTripper }

func (b bodiless) RoundTrip(r *http.Request) (*http.Response, error) {
	r.Body = http.NoBody
	return b.RoundTripper.RoundTrip(r)
}

func TestDashboardCredentialsCannotUseTheMachine(t *testing.T) {
	t.Parallel()
	for _, secret := range []string{provider.Identity, `{"type":"external_account","credential_source":{"file":"/etc/passwd"}}`} {
		s := identitySettings(secret, nil)
		s.Credentials[0].Source = provider.Dashboard
		s.Metadata = func(...string) http.RoundTripper { t.Error("the metadata server was called"); return nil }
		if _, err := New(s).Login(t.Context(), secret); llm.AsError(err).Kind != llm.UpstreamAuth {
			t.Errorf("%s: %v, want UpstreamAuth", secret, err)
		}
	}
}

// federation is a mock token service that exchanges subject tokens and serves one subject token at /subject.
func federation(t *testing.T, status int) (*httptest.Server, *atomic.Value) {
	t.Helper()
	var seen atomic.Value
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.URL.Path == "/subject" && r.Header.Get("X-Ask") == "yes":
			fmt.Fprint(w, `{"jwt":"subject-from-url"}`)
		case r.URL.Path == "/sts" && status != http.StatusOK:
			w.WriteHeader(status)
			fmt.Fprintf(w, `{"error":"invalid_grant","error_description":"bad token %s"}`, r.PostFormValue("subject_token"))
		case r.URL.Path == "/sts":
			seen.Store(r.PostFormValue("subject_token"))
			fmt.Fprint(w, `{"access_token":"federated","expires_in":3600,"issued_token_type":"urn:ietf:params:oauth:token-type:access_token","token_type":"Bearer"}`)
		default:
			w.WriteHeader(http.StatusTeapot)
		}
	}))
	t.Cleanup(server.Close)
	return server, &seen
}

const federatedFile = `{"type":"external_account","audience":"//iam.googleapis.com/projects/1/locations/global/workloadIdentityPools/p/providers/q","subject_token_type":"urn:ietf:params:oauth:token-type:jwt","token_url":"https://sts.googleapis.com/v1/token","credential_source":%s}`

func TestFederatedIdentityIsExchanged(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(file, []byte("subject-from-file"), 0o600); err != nil {
		t.Fatal(err)
	}
	server, seen := federation(t, http.StatusOK)
	for want, source := range map[string]string{
		"subject-from-file": fmt.Sprintf(`{"file":%q}`, file),
		"subject-from-url":  fmt.Sprintf(`{"url":%q,"headers":{"X-Ask":"yes"},"format":{"type":"json","subject_token_field_name":"jwt"}}`, server.URL+"/subject"),
	} {
		secret := fmt.Sprintf(federatedFile, source)
		got, err := New(identitySettings(secret, map[string]string{TokenURL: server.URL + "/sts"})).Login(t.Context(), secret)
		if got != "federated" || err != nil || seen.Load() != want {
			t.Errorf("%s: Login = %q, %v, sent %v; want federated", want, got, err, seen.Load())
		}
	}
}

func TestFederationErrorsDoNotRepeatTheSubjectToken(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(file, []byte("subject-from-file"), 0o600); err != nil {
		t.Fatal(err)
	}
	for status, kind := range map[int]llm.Kind{400: llm.UpstreamAuth, 302: llm.UpstreamAuth, 429: llm.UpstreamRateLimited, 500: llm.UpstreamServer} {
		server, _ := federation(t, status)
		secret := fmt.Sprintf(federatedFile, fmt.Sprintf(`{"file":%q}`, file))
		_, err := New(identitySettings(secret, map[string]string{TokenURL: server.URL + "/sts"})).Login(t.Context(), secret)
		e := llm.AsError(err)
		if err == nil || e.Kind != kind || !strings.Contains(e.Message, "invalid_grant") || strings.Contains(fmt.Sprintf("%v %v", e, e.Err), "subject-from-file") {
			t.Errorf("status %d: %v, want %s with invalid_grant and without the subject token", status, err, kind)
		}
	}
}

func TestFederationRunsNoPrograms(t *testing.T) {
	t.Parallel()
	secret := fmt.Sprintf(federatedFile, `{"executable":{"command":"/bin/true"}}`)
	if _, err := New(identitySettings(secret, nil)).Login(t.Context(), secret); llm.AsError(err).Kind != llm.UpstreamAuth {
		t.Errorf("Login: %v, want UpstreamAuth", err)
	}
}

func TestFederationCallsGoogleOnly(t *testing.T) {
	t.Parallel()
	for _, field := range []string{"token_url", "service_account_impersonation_url"} {
		secret := strings.Replace(fmt.Sprintf(federatedFile, `{"file":"/nowhere"}`), `"token_url":"https://sts.googleapis.com/v1/token"`, `"`+field+`":"https://tokens.test/t"`, 1)
		if _, err := New(identitySettings(secret, nil)).Login(t.Context(), secret); llm.AsError(err).Kind != llm.UpstreamAuth || !strings.Contains(err.Error(), "not an address of Google") {
			t.Errorf("%s: %v, want UpstreamAuth for the address", field, err)
		}
	}
}
