package admin

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"testing"

	"fairlead.dev/internal/account"
	"fairlead.dev/internal/account/factor"
	"fairlead.dev/internal/account/passkey"
	"fairlead.dev/internal/admin/accounts"
	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/sso"
)

// signOn is an identity provider for tests. It also stores the second factors and passkeys.
type signOn struct {
	callback, returnTo string
	got                sso.Callback
	refusal            error
	enabled            bool
	gateway            string
	passkeys           []passkey.Passkey
	answer             passkey.Answer
}

func (s *signOn) Begin(_ context.Context, callback, returnTo string, _ account.Visitor) (sso.Redirect, error) {
	s.callback, s.returnTo = callback, returnTo
	return sso.Redirect{URL: "https://login.example.com/auth?state=s", Cookie: "sealed"}, s.refusal
}

func (s *signOn) Finish(_ context.Context, cb sso.Callback, _ account.Visitor) (sso.Done, error) {
	s.got = cb
	return sso.Done{Account: account.Account{ID: "acc_owner"}, Token: tokenOf("acc_owner"), Return: "/requests"}, s.refusal
}

// secondFactors adapts signOn to accounts.Factors, whose Begin method has a different signature.
type secondFactors struct{ *signOn }

func (s secondFactors) State(context.Context, string) (factor.State, error) {
	return factor.State{App: s.enabled, Passkeys: len(s.passkeys), Recovery: 10}, nil
}

func (s secondFactors) Begin(_ context.Context, _ account.Account, gateway string) (factor.Setup, error) {
	s.gateway = gateway
	return factor.Setup{Secret: "ABC", URI: "otpauth://totp/x", QR: "<svg/>"}, nil
}

func (s secondFactors) Confirm(_ context.Context, _, code string) ([]string, error) {
	if code != "123456" {
		return nil, llm.Errorf(llm.InvalidRequest, "The code is incorrect.")
	}
	s.enabled = true
	return []string{"AAAA-BBBB"}, nil
}

func (s secondFactors) RenewRecoveryCodes(context.Context, string) ([]string, error) {
	return []string{"CCCC-DDDD"}, nil
}

func (s secondFactors) Disable(context.Context, string) error {
	s.enabled = false
	return nil
}

// fakePasskeys adapts signOn to the interfaces of passkeys.
type fakePasskeys struct{ *signOn }

func (fakePasskeys) Site(requestURL string) passkey.Site {
	return passkey.New(passkey.Parts{PublicURL: "https://models.example.com"}).Site(requestURL)
}

func (fakePasskeys) BeginSignIn(string) (passkey.Prompt, error) {
	return passkey.Prompt{Options: []byte(`{"challenge":"c"}`), Cookie: "sealed"}, nil
}

func (fakePasskeys) BeginAdd(context.Context, passkey.Owner, string) (passkey.Prompt, error) {
	return passkey.Prompt{Options: []byte(`{"challenge":"c"}`), Cookie: "sealed"}, nil
}

func (s fakePasskeys) FinishAdd(_ context.Context, o passkey.Owner, a passkey.Answer) (passkey.Added, error) {
	s.answer = a
	made := passkey.Passkey{ID: "pk_1", AccountID: o.Account.ID, Name: a.Name, SiteID: "models.example.com"}
	s.passkeys = append(s.passkeys, made)
	return passkey.Added{Passkey: made, Codes: []string{"AAAA-BBBB"}}, nil
}

func (s fakePasskeys) Passkeys(context.Context, string) ([]passkey.Passkey, error) {
	return s.passkeys, nil
}

func (s fakePasskeys) Rename(_ context.Context, accountID, passkeyID, name string) error {
	for n, p := range s.passkeys {
		if p.ID == passkeyID && p.AccountID == accountID {
			s.passkeys[n].Name = name
			return nil
		}
	}
	return llm.Errorf(llm.NotFound, "Passkey not found.")
}

func (s fakePasskeys) Remove(_ context.Context, accountID, passkeyID string) error {
	for n, p := range s.passkeys {
		if p.ID == passkeyID && p.AccountID == accountID {
			s.passkeys = slices.Delete(s.passkeys, n, n+1)
			return nil
		}
	}
	return llm.Errorf(llm.NotFound, "Passkey not found.")
}

func TestSingleSignOnRedirects(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	start := s.call("GET", "/sso/sign-in?return=/requests", "").want(http.StatusSeeOther)
	flow := start.Header().Get("Set-Cookie")
	if start.Header().Get("Location") != "https://login.example.com/auth?state=s" || s.signOn.returnTo != "/requests" ||
		!strings.HasSuffix(s.signOn.callback, "/api/v1/sso/callback") {
		t.Errorf("start: %v, %+v", start.Header(), s.signOn)
	}
	for _, want := range []string{"fairlead_sso=sealed", "Path=/api/v1/sso", "HttpOnly", "SameSite=Lax", "Max-Age=600"} {
		if !strings.Contains(flow, want) {
			t.Errorf("cookie %q lacks %s", flow, want)
		}
	}
	done := s.call("GET", "/sso/callback?code=c&state=s&iss=https://login.example.com&session_state=unknown", "", header("Cookie", "fairlead_sso=sealed")).want(http.StatusSeeOther)
	cookies := strings.Join(done.Header().Values("Set-Cookie"), "\n")
	if done.Header().Get("Location") != "/requests" || !strings.Contains(cookies, "fairlead_session="+tokenOf("acc_owner")) || !strings.Contains(cookies, "fairlead_sso=;") {
		t.Errorf("callback: %v", done.Header())
	}
	if want := (sso.Callback{Code: "c", State: "s", Issuer: "https://login.example.com", Cookie: "sealed"}); s.signOn.got != want {
		t.Errorf("callback %+v, want %+v", s.signOn.got, want)
	}
	s.signOn.refusal = &sso.RefusalError{Reason: sso.StateMismatch}
	refused := s.call("GET", "/sso/callback?code=c&state=other", "").want(http.StatusSeeOther)
	if refused.Header().Get("Location") != "/sign-in?sso=state_mismatch" || strings.Contains(strings.Join(refused.Header().Values("Set-Cookie"), ""), "session") {
		t.Errorf("rejected callback: %v", refused.Header())
	}
}

func TestSecondFactorRequiresThePassword(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.call("POST", "/account/second-factor", `{"password":"wrong"}`, as("acc_viewer")).rejected(http.StatusUnauthorized, "WRONG_CREDENTIALS")
	var setup accounts.SecondFactorSetup
	s.call("POST", "/account/second-factor", `{"password":"correct horse"}`, as("acc_viewer")).want(http.StatusCreated).into(&setup)
	if setup.Secret != "ABC" || setup.QR != "<svg/>" {
		t.Errorf("setup: %+v", setup)
	}
	s.call("POST", "/account/second-factor/confirm", `{"code":"000000"}`, as("acc_viewer")).rejected(http.StatusBadRequest, "INVALID_REQUEST")
	var codes accounts.RecoveryCodes
	s.call("POST", "/account/second-factor/confirm", `{"code":"123456"}`, as("acc_viewer")).want(http.StatusOK).into(&codes)
	var state accounts.SecondFactorView
	s.call("GET", "/account/second-factor", "", as("acc_viewer")).want(http.StatusOK).into(&state)
	if len(codes.Codes) != 1 || !state.Enabled {
		t.Errorf("codes %v, state %+v", codes, state)
	}
	s.call("POST", "/account/second-factor/disable", `{"password":"wrong"}`, as("acc_viewer")).rejected(http.StatusUnauthorized, "WRONG_CREDENTIALS")
	s.call("POST", "/account/second-factor/disable", `{"password":"correct horse"}`, as("acc_viewer")).want(http.StatusNoContent)
	if s.signOn.enabled {
		t.Error("the second factor is still enabled")
	}
}

func TestPasskeysRequireThePassword(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.call("POST", "/account/passkeys", `{"password":"wrong"}`, as("acc_viewer")).rejected(http.StatusUnauthorized, "WRONG_CREDENTIALS")
	start := s.call("POST", "/account/passkeys", `{"password":"correct horse"}`, as("acc_viewer")).want(http.StatusOK)
	for _, want := range []string{"fairlead_passkey=sealed", "Path=/api/v1", "HttpOnly", "SameSite=Strict", "Max-Age=300"} {
		if cookie := start.Header().Get("Set-Cookie"); !strings.Contains(cookie, want) {
			t.Errorf("cookie %q lacks %s", cookie, want)
		}
	}
	var made accounts.NewPasskey
	s.call("POST", "/account/passkeys/finish", `{"name":"Laptop","response":{"id":"x"}}`, as("acc_viewer"), func(r *http.Request) {
		r.AddCookie(&http.Cookie{Name: "fairlead_passkey", Value: "sealed"})
	}).want(http.StatusCreated).into(&made)
	if got := s.signOn.answer; made.Passkey.Name != "Laptop" || !made.Passkey.Usable || len(made.Codes) != 1 || got.Cookie != "sealed" || string(got.Response) != `{"id":"x"}` {
		t.Errorf("added %+v with response %+v", made, got)
	}
	s.call("PATCH", "/account/passkeys/pk_1", `{"name":"Phone"}`, as("acc_viewer")).want(http.StatusNoContent)
	s.call("PATCH", "/account/passkeys/pk_1", `{"name":"Mine"}`, as("acc_owner")).rejected(http.StatusNotFound, "NOT_FOUND")
	var list accounts.PasskeyList
	s.call("GET", "/account/passkeys", "", as("acc_viewer")).want(http.StatusOK).into(&list)
	if len(list.Passkeys) != 1 || list.Passkeys[0].Name != "Phone" || list.Passkeys[0].LastUsedAt != nil {
		t.Errorf("list %+v", list)
	}
	s.call("POST", "/account/second-factor/recovery-codes", `{"password":"wrong"}`, as("acc_viewer")).rejected(http.StatusUnauthorized, "WRONG_CREDENTIALS")
	s.call("POST", "/account/second-factor/recovery-codes", `{"password":"correct horse"}`, as("acc_viewer")).want(http.StatusOK)
	s.call("POST", "/account/passkeys/pk_1/remove", `{"password":"wrong"}`, as("acc_viewer")).rejected(http.StatusUnauthorized, "WRONG_CREDENTIALS")
	s.call("POST", "/account/passkeys/pk_1/remove", `{"password":"correct horse"}`, as("acc_viewer")).want(http.StatusNoContent)
	if len(s.signOn.passkeys) != 0 {
		t.Error("the passkey was not removed")
	}
}

func TestPasskeySignInSetsTheSession(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	start := s.call("POST", "/session/passkey", "").want(http.StatusOK)
	if !strings.Contains(start.Header().Get("Set-Cookie"), "fairlead_passkey=sealed") {
		t.Errorf("start: %v", start.Header())
	}
	sealed := header("Cookie", "fairlead_passkey=sealed")
	s.call("POST", "/session/passkey/verify", `{"response":{"id":"wrong"}}`, sealed).rejected(http.StatusUnauthorized, "WRONG_CREDENTIALS")
	done := s.call("POST", "/session/passkey/verify", `{"response":{"id":"right"}}`, sealed).want(http.StatusCreated)
	cookies := strings.Join(done.Header().Values("Set-Cookie"), "\n")
	if !strings.Contains(cookies, "fairlead_session="+tokenOf("acc_owner")) || !strings.Contains(cookies, "fairlead_passkey=;") {
		t.Errorf("cookies %s", cookies)
	}
}
