package azure

import (
	"errors"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"

	"fairlead.dev/internal/catalog"
	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/provider"
	"fairlead.dev/internal/provider/providertest"
	"fairlead.dev/internal/wire/openai"
)

// service is a mock token service with scripted responses.
type service struct {
	mu    sync.Mutex
	asked []*http.Request
	forms []url.Values
	say   func(n int) (status int, body string, err error)
}

func (s *service) RoundTrip(r *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	form, err := url.ParseQuery(string(body))
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	s.asked, s.forms = append(s.asked, r), append(s.forms, form)
	n := len(s.asked)
	s.mu.Unlock()
	status, text, err := s.say(n)
	if err != nil {
		return nil, err
	}
	return &http.Response{StatusCode: status, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(text)), Request: r}, nil
}

func responding(status int, body string) *service {
	return &service{say: func(int) (int, string, error) { return status, body, nil }}
}

const secret = "entra:tenant-1:client-1:se:cret~1"

func TestApplicationsSignIn(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		secret  string
		options map[string]string
	}{
		"packed":  {secret, nil},
		"options": {"se:cret~1", map[string]string{OptionTenant: "tenant-1", OptionClient: "client-1"}},
	} {
		entra := responding(200, `{"access_token":"eyJ.a.b","expires_in":3599,"token_type":"Bearer"}`)
		p := New(provider.Settings{BaseURL: "https://res.test", Options: tc.options, Fetch: &http.Client{Transport: entra}, Now: noon})
		for range 3 {
			token, err := p.Login(t.Context(), tc.secret)
			if err != nil || token != "eyJ.a.b" {
				t.Fatalf("%s: token %q, %v", name, token, err)
			}
		}
		if len(entra.asked) != 1 || entra.asked[0].URL.String() != "https://login.microsoftonline.com/tenant-1/oauth2/v2.0/token" {
			t.Errorf("%s: %d requests, want one to the tenant", name, len(entra.asked))
		}
		form := entra.forms[0]
		if form.Get("client_id") != "client-1" || form.Get("client_secret") != "se:cret~1" || form.Get("scope") != usualScope || form.Get("grant_type") != "client_credentials" {
			t.Errorf("%s: sent %v", name, form)
		}
	}
}

func TestKeysAndTokensAreReturnedUnchanged(t *testing.T) {
	t.Parallel()
	p := New(provider.Settings{BaseURL: "https://res.test", Options: map[string]string{OptionTenant: "t", OptionClient: "c"}})
	for _, token := range []string{"eyJ.a.b", "Bearer opaque"} {
		if got, err := p.Login(t.Context(), token); err != nil || got != token {
			t.Errorf("Login(%q) = %q, %v; want it unchanged", token, got, err)
		}
	}
	plain := New(provider.Settings{BaseURL: "https://res.test"})
	if got, err := plain.Login(t.Context(), "0123abc"); err != nil || got != "0123abc" {
		t.Errorf("Login with a key = %q, %v; want it unchanged", got, err)
	}
}

func TestSignInFails(t *testing.T) {
	t.Parallel()
	rejection := `{"error":"invalid_client","error_description":"AADSTS7000215: Invalid client secret provided: se:cret~1."}`
	for name, tc := range map[string]struct {
		secret string
		entra  *service
		kind   llm.Kind
	}{
		"refused":      {secret, responding(401, rejection), llm.UpstreamAuth},
		"bad request":  {secret, responding(400, rejection), llm.UpstreamAuth},
		"unavailable":  {secret, responding(503, ""), llm.UpstreamOverloaded},
		"limited":      {secret, responding(429, `{"error":"temporarily_unavailable"}`), llm.UpstreamRateLimited},
		"no token":     {secret, responding(200, `{}`), llm.UpstreamAuth},
		"HTML":         {secret, responding(200, `<html>`), llm.UpstreamAuth},
		"unreachable":  {secret, &service{say: func(int) (int, string, error) { return 0, "", errors.New("refused") }}, llm.UpstreamConnect},
		"incomplete":   {"entra:tenant", responding(200, ``), llm.UpstreamAuth},
		"llm.Error":    {secret, &service{say: func(int) (int, string, error) { return 0, "", llm.Errorf(llm.UpstreamTimeout, "x") }}, llm.UpstreamTimeout},
		"without name": {"entra:::x", responding(200, ``), llm.UpstreamAuth},
	} {
		l := newLogin(provider.Settings{Fetch: &http.Client{Transport: tc.entra}, Now: noon})
		_, err := l.token(t.Context(), tc.secret)
		e, ok := errors.AsType[*llm.Error](err)
		if !ok || e.Kind != tc.kind || strings.Contains(e.Message, "se:cret~1") {
			t.Errorf("%s: %v, want kind %s without the secret", name, err, tc.kind)
		}
	}
	if _, err := newLogin(provider.Settings{Now: noon}).token(t.Context(), secret); err == nil {
		t.Error("token without a client: got no error")
	}
}

func TestSecretsAreSentInTheirHeaders(t *testing.T) {
	t.Parallel()
	req, err := openai.Format{}.DecodeRequest(t.Context(), llm.Chat, []byte(`{"model":"m","messages":[{"role":"user","content":"hi"}]}`))
	if err != nil {
		t.Fatal(err)
	}
	for name, tc := range map[string]struct {
		secret, key, auth string
		headers           map[string]string
	}{
		"a key":               {"0123abc", "0123abc", "", nil},
		"a signed token":      {"eyJ.a.b", "", "Bearer eyJ.a.b", nil},
		"an opaque token":     {"Bearer opaque", "", "Bearer opaque", nil},
		"nothing":             {"", "", "", nil},
		"configured token":    {"eyJ.a.b", "", "Own", map[string]string{"Authorization": "Own"}},
		"configured key":      {"0123abc", "own", "", map[string]string{"Api-Key": "own"}},
		"a key that is a JWT": {"eyJhbc", "eyJhbc", "", nil},
	} {
		p := New(provider.Settings{BaseURL: "https://res.test", Headers: tc.headers})
		target := &provider.Target{Model: &catalog.Model{Op: llm.Chat}, Upstream: "m"}
		r, _ := providertest.Sent(t, p.Chat, &provider.Call{Target: target, Access: provider.Access{Secret: tc.secret}, Request: req, Client: openai.Format{}})
		if r.Header.Get("Api-Key") != tc.key || r.Header.Get("Authorization") != tc.auth {
			t.Errorf("%s: headers %v, want key %q and authorization %q", name, r.Header, tc.key, tc.auth)
		}
	}
}

func TestApplicationOfTheEnvironment(t *testing.T) {
	t.Parallel()
	env := map[string]string{"AZURE_TENANT_ID": "t", "AZURE_CLIENT_ID": "c"}
	lookup := func(name string) string { return env[name] }
	if secret, _ := Vendor.Key(lookup); secret != "" {
		t.Errorf("Key of an incomplete application = %q, want none", secret)
	}
	env["AZURE_CLIENT_SECRET"] = "s:1"
	secret, source := Vendor.Key(lookup)
	app, ok := unpack(secret, nil)
	if source != "AZURE_CLIENT_SECRET" || !ok || app != (application{"t", "c", "s:1"}) {
		t.Errorf("Key = %q from %q, application %+v", secret, source, app)
	}
	env["AZURE_OPENAI_API_KEY"] = "k"
	if secret, source := Vendor.Key(lookup); secret != "k" || source != "AZURE_OPENAI_API_KEY" {
		t.Errorf("Key = %q from %q, want k from AZURE_OPENAI_API_KEY", secret, source)
	}
}
