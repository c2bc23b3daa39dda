package access

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"fairlead.dev/test/faults/scenario"
	"fairlead.dev/test/harness"
)

// ExtraFields is fault case F50: unknown fields of a write have no effect, and no key gets more permissions than its creator.
func ExtraFields(t *testing.T, _ scenario.Size) string {
	g, _ := scenario.Single(t)
	s := newSite(t, g)
	writes := 0
	for _, w := range Bodies(t, g) {
		if w.Path == "/playground/chat/completions" || w.Path == "/routing/explain" {
			continue // the model API forwards unknown fields
		}
		for _, name := range []string{"role", "account_id", "workspace_id", "operator", "spent_usd", "held_usd", "budget", "id", "created_by", "is_admin", "Role", "__proto__"} {
			if slices.Contains(w.Fields, name) {
				continue
			}
			writes++
			path := "/api/v1" + pathParam.ReplaceAllString(w.Path, "1")
			a := g.Call(t, harness.Request{Method: w.Method, Path: path, Body: `{` + scenario.Quote(name) + `:"owner"}`, Header: s.owner.Cookie()})
			if a.Status != http.StatusBadRequest || !strings.Contains(string(a.Body), name) {
				t.Errorf("%s %s with the unknown field %s: status %d, want 400 with the field: %s",
					w.Method, w.Path, name, a.Status, scenario.Clip(a.Body))
			}
		}
	}
	return fmt.Sprintf("%d extra fields rejected; %d ways for a key to exceed its creator rejected", writes, s.greedyKeys(t))
}

// Write is an operation of the admin API with a request body.
type Write struct {
	Method, Path string
	Fields       []string
}

// Bodies lists the operations with a request body and the fields of the body.
func Bodies(t testing.TB, g *harness.Gateway) []Write {
	t.Helper()
	type schema struct {
		Ref        string         `json:"$ref"`
		Properties map[string]any `json:"properties"`
	}
	var document struct {
		Paths map[string]map[string]struct {
			RequestBody struct {
				Content map[string]struct{ Schema schema }
			} `json:"requestBody"`
		}
		Components struct{ Schemas map[string]schema }
	}
	harness.Decode(t, g.Call(t, harness.Request{Method: http.MethodGet, Path: "/api/openapi.json"}).Body, &document)
	var list []Write
	for path, methods := range document.Paths {
		for method, op := range methods {
			for _, content := range op.RequestBody.Content {
				w := Write{Method: strings.ToUpper(method), Path: path}
				of := content.Schema
				if of.Ref != "" {
					of = document.Components.Schemas[filepath.Base(of.Ref)]
				}
				for name := range of.Properties {
					w.Fields = append(w.Fields, name)
				}
				list = append(list, w)
			}
		}
	}
	if len(list) < 15 {
		t.Fatalf("%d operations have a request body, want at least 15", len(list))
	}
	return list
}

// greedyKeys tries to create keys with more permissions than their creator has.
func (s *site) greedyKeys(t *testing.T) int {
	t.Helper()
	bound := s.owner.Key(t, `"scopes":["inference","manage"]`, `"allowed_models":["m"]`, `"limits":{"requests_per_minute":10}`, `"expires_at":"2999-01-01T00:00:00Z"`)
	poor := s.owner.Key(t, `"scopes":["inference","manage"]`, `"budget":{"amount_usd":"1","period":"total"}`)
	own := `"allowed_models":["m"],"limits":{"requests_per_minute":5},"expires_at":"2998-01-01T00:00:00Z"`
	tries := []struct{ name, key, body string }{
		{"other models", bound.Text, strings.Replace(own, `["m"]`, `["m","x"]`, 1)},
		{"all models", bound.Text, strings.Replace(own, `["m"]`, `[]`, 1)},
		{"a wider pattern", bound.Text, strings.Replace(own, `["m"]`, `["m*"]`, 1)},
		{"more requests", bound.Text, strings.Replace(own, `:5}`, `:11}`, 1)},
		{"no limit", bound.Text, strings.Replace(own, `:5}`, `:0}`, 1)},
		{"a later expiry", bound.Text, strings.Replace(own, "2998", "3000", 1)},
		{"models without a price", bound.Text, own + `,"allow_unpriced":true`},
		{"a separate budget", poor.Text, `"budget":{"amount_usd":"100","period":"total"}`},
		{"no budget", poor.Text, `"name":"x"`},
	}
	for _, try := range tries {
		body := `{"name":"greedy","scopes":["inference"],` + strings.Replace(try.body, `"name":"x"`, `"tags":{}`, 1) + `}`
		a := s.gateway.Call(t, harness.Request{Path: "/api/v1/keys", Key: try.key, Body: body})
		scenario.WantError(t, "a key with "+try.name, a, http.StatusForbidden, "PERMISSION_DENIED")
	}
	if a := s.gateway.Call(t, harness.Request{Path: "/api/v1/keys", Key: bound.Text, Body: `{"name":"modest","scopes":["inference"],` + own + `}`}); a.Status != http.StatusCreated {
		t.Errorf("create a key with the permissions of its creator: status %d, want 201: %s", a.Status, scenario.Clip(a.Body))
	}
	roles := 0
	for _, try := range []struct {
		by           scenario.Person
		path, method string
		body         string
	}{
		{s.developer, "/keys", http.MethodPost, `{"name":"x","scopes":["manage"]}`},
		{s.developer, "/keys/" + s.read.ID, http.MethodPatch, `{"scopes":["manage"]}`},
		{s.admin, "/workspace/invitations", http.MethodPost, `{"role":"owner"}`},
		{s.admin, "/workspace/members/" + s.admin.ID, http.MethodPatch, `{"role":"owner"}`},
		{s.admin, "/workspace/members/" + s.owner.ID, http.MethodPatch, `{"role":"viewer"}`},
		{s.developer, "/workspace/members/" + s.developer.ID, http.MethodPatch, `{"role":"admin"}`},
		{s.view, "/keys", http.MethodPost, `{"name":"x"}`},
	} {
		roles++
		scenario.WantError(t, try.path+" "+try.body, try.by.Call(t, try.method, try.path, try.body), http.StatusForbidden, "PERMISSION_DENIED")
	}
	return len(tries) + roles
}

// SafeDefaults is fault case F51: no secret has a default value, and only public pages are served without authentication.
func SafeDefaults(t *testing.T, size scenario.Size) string {
	g := harness.Start(t, harness.Options{Listen: "0.0.0.0:0"})
	tried := 0
	for _, email := range []string{"admin@example.com", "admin@localhost", "admin@fairlead", "root@localhost", "dev@localhost"} {
		for _, secret := range []string{"admin", "password", "fairlead", "changeme", "", "admin123456"} {
			if tried++; tried > size.Of(8, 30) {
				break
			}
			a := scenario.SignIn(t, g, email, secret)
			if a.Status != http.StatusUnauthorized {
				t.Errorf("sign in %s with %q: status %d, want 401", email, secret, a.Status)
			}
		}
	}
	away := http.Header{"X-Forwarded-For": {"203.0.113.7"}}
	first := func(code string) harness.Answer {
		return g.Call(t, harness.Request{Path: "/api/v1/registration", Header: away, Body: `{"email":"ann@example.com","password":` + scenario.Quote(scenario.Password) + `,"setup_code":` + scenario.Quote(code) + `}`})
	}
	code := g.SetupCode(t)
	scenario.WantError(t, "register without a setup code", first(""), http.StatusUnauthorized, "WRONG_CREDENTIALS")
	scenario.WantError(t, "register with a wrong setup code", first("AAAA-AAAA"), http.StatusUnauthorized, "WRONG_CREDENTIALS")
	if a := first(code); a.Status != http.StatusCreated {
		t.Errorf("register with the setup code: status %d, want 201: %s", a.Status, a.Body)
	}
	if a := first(code); a.Status < 400 {
		t.Errorf("register with the same setup code again: status %d, want an error", a.Status)
	}
	closed := 0
	for _, path := range []string{
		"/debug/pprof/", "/debug/pprof/heap", "/debug/vars", "/debug", "/pprof", "/metrics", "/admin", "/.env", "/.git/config", "/api/v1/settings", "/api/v1/keys",
		"/api/v1/providers", "/api/v1/requests", "/api/v1/audit", "/swagger", "/actuator/env", "/server-status", "/proxy/v1/models",
	} {
		closed++
		if a := g.Call(t, harness.Request{Method: http.MethodGet, Path: path}); a.Status != http.StatusUnauthorized && a.Status != http.StatusNotFound {
			t.Errorf("%s without a key: status %d, want 401 or 404: %s", path, a.Status, scenario.Clip(a.Body))
		}
	}
	return fmt.Sprintf("%d default passwords rejected; the first account needs the code, once; %d secrets rejected at the start; %d paths closed", min(tried, size.Of(8, 30)), weakSecrets(t), closed)
}

// weakSecrets checks that the gateway does not start with a weak or missing secret.
func weakSecrets(t *testing.T) int {
	t.Helper()
	n := 0
	for name, o := range map[string]harness.Options{
		"short master key":             {Config: "master_key: short\n"},
		"31 characters":                {Config: "master_key: " + strings.Repeat("a", 31) + "\n"},
		"short in the environment":     {Env: []string{"FAIRLEAD_MASTER_KEY=short"}},
		"an unset variable":            {Config: "master_key: ${NOT_SET_ANYWHERE}\n"},
		"an empty credential":          {Config: "providers:\n  - {name: openai, api_keys: [\"\"]}\n"},
		"an unset credential variable": {Config: "providers:\n  - {name: openai, api_keys: [\"${NOT_SET_ANYWHERE}\"]}\n"},
		"a credential without a file":  {Config: "providers:\n  - {name: openai, api_keys: [\"file:/does/not/exist\"]}\n"},
		"a short file":                 {DataDir: masterKeyFile(t, strings.Repeat("a", 31), 0o600)},
		"an empty file":                {DataDir: masterKeyFile(t, "", 0o600)},
		"a file readable by others":    {DataDir: masterKeyFile(t, strings.Repeat("a", 64), 0o644)},
	} {
		n++
		stdout, stderr, code := harness.CLI(t, o, "keys", "create", "--name", "x")
		if code == 0 || strings.Contains(stdout, "fl_") {
			t.Errorf("%s: keys create: exit code %d, want an error and no key: %s %s", name, code, stdout, stderr)
		}
	}
	return n
}

func masterKeyFile(t *testing.T, text string, mode os.FileMode) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "master.key"), []byte(text), mode); err != nil {
		t.Fatal(err)
	}
	return dir
}

// PasswordGuessing is fault case F52: after ten failed sign-ins, every password is rejected, and responses do not reveal whether an
// account exists.
func PasswordGuessing(t *testing.T, size scenario.Size) string {
	g := harness.Start(t, harness.Options{})
	ann := scenario.Register(t, g, "ann@example.com")
	var checked, refused atomic.Int64
	n := size.Of(60, 1000)
	for _, email := range []string{ann.Email, "unknown@example.com"} {
		checked.Store(0)
		scenario.Together(4, n, func(i int) {
			secret := fmt.Sprintf("wrong-password-%d", i)
			if i > n/2 {
				secret = scenario.Password // at this point, the correct password is also rejected
			}
			forged := fmt.Sprintf("203.0.113.%d", i%250)
			a := g.Call(t, harness.Request{Path: "/api/v1/session", Body: `{"email":` + scenario.Quote(strings.ToUpper(email[:1])+email[1:]+strings.Repeat(" ", i%3)) + `,"password":` + scenario.Quote(secret) + `}`, Header: http.Header{
				"X-Forwarded-For": {forged}, "X-Real-Ip": {forged}, "Forwarded": {"for=" + forged}, "True-Client-Ip": {forged}, "Cf-Connecting-Ip": {forged},
				"X-Client-Ip": {forged}, "User-Agent": {fmt.Sprintf("agent/%d", i)},
			}})
			switch a.Status {
			case http.StatusUnauthorized:
				checked.Add(1)
			case http.StatusTooManyRequests, http.StatusServiceUnavailable:
				refused.Add(1)
			default:
				t.Errorf("guess %d of %s: status %d, want 401, 429 or 503: %s", i, email, a.Status, scenario.Clip(a.Body))
			}
		})
		if got := checked.Load(); got < 1 || got > 10 {
			t.Errorf("%d guesses of %s were checked, want 1 to 10", got, email)
		}
	}
	// The fast form runs concurrently with other tests, so it compares the fastest sign-ins instead of the medians, and its limit is higher.
	quantile := 0.0
	if size == scenario.Full {
		quantile = 0.5
	}
	known, unknown := signInTimes(t, g, size.Of(2, 10), quantile)
	apart := (known - unknown).Abs()
	if most := time.Duration(size.Of(30, 5)) * time.Millisecond; apart > most {
		t.Errorf("sign-ins take %s for a known account and %s for an unknown one, want a difference of at most %s", known, unknown, most)
	}
	return fmt.Sprintf("of 2 × %d guesses %d were rejected unchecked; sign-ins take %s for known accounts, %s for unknown ones", n, refused.Load(), known.Round(100*time.Microsecond), unknown.Round(100*time.Microsecond))
}

// signInTimes returns the given quantile of the time to reject a wrong password, for existing and unknown accounts. It alternates between
// them.
func signInTimes(t *testing.T, g *harness.Gateway, accounts int, quantile float64) (known, unknown time.Duration) {
	t.Helper()
	var here, nowhere []time.Duration
	for i := range accounts {
		known, unknown := fmt.Sprintf("known-%d@example.com", i), fmt.Sprintf("unknown-%d@example.com", i)
		scenario.Register(t, g, known)
		var answers [2]string
		for range 9 {
			for j, email := range []string{known, unknown} {
				began := time.Now()
				a := scenario.SignIn(t, g, email, "wrong-password-here")
				took := time.Since(began)
				if j == 0 {
					here = append(here, took)
				} else {
					nowhere = append(nowhere, took)
				}
				answers[j] = fmt.Sprint(a.Status) + adminID.ReplaceAllString(string(a.Body), "-")
			}
			if answers[0] != answers[1] {
				t.Errorf("the response for a known account is %s and for an unknown one %s, want the same", answers[0], answers[1])
			}
		}
	}
	return scenario.Quantile(here, quantile), scenario.Quantile(nowhere, quantile)
}
