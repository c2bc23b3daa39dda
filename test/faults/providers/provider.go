// Package providers holds the fault cases about failing providers, their cost, and load.
package providers

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"fairlead.dev/internal/simulator"
	"fairlead.dev/test/faults/scenario"
	"fairlead.dev/test/harness"
)

// backoffs returns the end of each credential's backoff by credential ID.
func backoffs(t testing.TB, g *harness.Gateway, manager string) map[string]time.Time {
	t.Helper()
	a := g.Call(t, harness.Request{Method: http.MethodGet, Path: "/api/v1/providers", Key: manager})
	var list struct {
		Providers []struct {
			Credentials []struct {
				ID    string
				Until *time.Time `json:"backing_off_until"`
			}
		}
	}
	harness.Decode(t, a.Body, &list)
	until := map[string]time.Time{}
	for _, p := range list.Providers {
		for _, c := range p.Credentials {
			if c.Until != nil {
				until[c.ID] = *c.Until
			}
		}
	}
	return until
}

// RetryAfterForms is fault case F29: a credential backs off for the time that the provider requests, in every format of Retry-After.
func RetryAfterForms(t *testing.T, _ scenario.Size) string {
	in := time.Now().Add(90 * time.Second).UTC().Format(http.TimeFormat)
	forms := []struct {
		name        string
		behaviour   simulator.Behaviour
		least, most time.Duration
	}{
		{"seconds", simulator.Fail(429, "Retry-After", "20"), 18 * time.Second, 21 * time.Second},
		{"milliseconds", simulator.Fail(429, "Retry-After-Ms", "15500"), 14 * time.Second, 16 * time.Second},
		{"date", simulator.Fail(429, "Retry-After", in), 80 * time.Second, 91 * time.Second},
		{"long", simulator.Fail(429, "Retry-After", "36000"), 290 * time.Second, 300 * time.Second},
		{"absurd", simulator.Fail(429, "Retry-After", "999999999999"), 0, 300 * time.Second},
		{"negative", simulator.Fail(429, "Retry-After", "-5"), 0, 300 * time.Second},
		{"resets", simulator.Fail(429, "X-Ratelimit-Reset-Requests", "2m10s", "X-Ratelimit-Remaining-Requests", "0", "X-Ratelimit-Reset-Tokens", "6ms"), 120 * time.Second, 131 * time.Second},
		{"body", simulator.Behaviour{Status: 429, Body: []byte(`{"error":{"message":"Rate limit reached. Please try again in 25s.","type":"tokens"}}`)}, 23 * time.Second, 26 * time.Second},
	}
	var providers []harness.Provider
	mocks := map[string]*simulator.Mock{}
	for _, f := range forms {
		mock, url := harness.Upstream(t)
		mock.Always(f.behaviour)
		mocks[f.name] = mock
		providers = append(providers, harness.Provider{
			Name: f.name, BaseURL: url, APIKeys: []string{"sk-" + f.name + "-0123456789"}, Models: []harness.Model{harness.Chat("m-"+f.name, 0.4, 1.6, 0.5)},
		})
	}
	_, url := harness.Upstream(t)
	backup := harness.Provider{Name: "backup", BaseURL: url, Models: []harness.Model{harness.Chat("fine", 1, 1, 0.5)}}
	for _, f := range forms {
		backup.Models = append(backup.Models, harness.Chat("m-"+f.name, 4, 16, 0.5))
	}
	anthropic, reset := "m-anthropic", time.Now().Add(45*time.Second).UTC().Format(time.RFC3339)
	messages, messagesURL := harness.Upstream(t)
	messages.Always(simulator.Fail(429, "Anthropic-Ratelimit-Requests-Remaining", "0", "Anthropic-Ratelimit-Requests-Reset", reset))
	providers = append(providers, harness.Provider{
		Name: "anthropic", Format: "messages", BaseURL: messagesURL, APIKeys: []string{"sk-ant-0123456789"}, Models: []harness.Model{harness.Chat(anthropic, 0.4, 1.6, 0.5)},
	})
	backup.Models = append(backup.Models, harness.Chat(anthropic, 4, 16, 0.5))
	g := harness.Start(t, harness.Options{Config: harness.Config(t, append(providers, backup))})
	k, manager := g.Key(t), g.Key(t, "--scopes", "manage")
	scenario.Warm(t, g, k, "fine", 100)
	for _, f := range forms {
		for range 3 {
			if a := g.Call(t, harness.Request{Key: k, Body: scenario.Chat("m-" + f.name)}); a.Status != http.StatusOK || a.Header.Get("X-Fairlead-Provider") != "backup" {
				t.Errorf("%s: status %d, want 200 from the backup: %s", f.name, a.Status, scenario.Clip(a.Body))
			}
		}
		left := time.Until(backoffs(t, g, manager)[f.name+"#1"])
		if left < f.least || left > f.most {
			t.Errorf("%s: the credential backs off for %s, want %s to %s", f.name, left, f.least, f.most)
		}
		if n := len(mocks[f.name].Calls()); n != 1 && f.least > 0 {
			t.Errorf("%s: the credential was used %d times, want 1", f.name, n)
		}
	}
	if a := g.Call(t, harness.Request{Key: k, Body: scenario.Chat(anthropic)}); a.Header.Get("X-Fairlead-Provider") != "backup" {
		t.Errorf("anthropic: status %d, want 200 from the backup: %s", a.Status, scenario.Clip(a.Body))
	}
	if left := time.Until(backoffs(t, g, manager)["anthropic#1"]); left < 30*time.Second || left > 46*time.Second {
		t.Errorf("anthropic: the credential backs off for %s, want 30 s to 46 s", left)
	}
	extended := secondRateLimit(t)
	return fmt.Sprintf("%d forms honoured, none beyond 5 min; a second one extends to %s", len(forms)+1, extended.Round(time.Second))
}

// QuotaUsedUp is fault case F29r: a provider whose headers report that its rate limit is used up is not called until the limit has grown.
// Clients see no 429, and the decision names the reason.
func QuotaUsedUp(t *testing.T, _ scenario.Size) string {
	mock, url := harness.Upstream(t)
	_, backupURL := harness.Upstream(t)
	g := harness.Start(t, harness.Options{Config: harness.Config(t, []harness.Provider{
		{Name: "alpha", BaseURL: url, APIKeys: []string{"sk-alpha-0123456789"}, Models: []harness.Model{harness.Chat("m", 0.4, 1.6, 0.5)}},
		{Name: "backup", BaseURL: backupURL, Models: []harness.Model{harness.Chat("m", 4, 16, 0.5)}},
	})})
	k := g.Key(t)
	mock.Then(simulator.Behaviour{Header: map[string]string{
		"X-Ratelimit-Limit-Requests": "60", "X-Ratelimit-Remaining-Requests": "0", "X-Ratelimit-Reset-Requests": "1m0s",
	}})
	mock.Always(simulator.Fail(429, "Retry-After", "60"))
	var served []string
	for range 3 {
		a := g.Call(t, harness.Request{Key: k, Body: scenario.Chat("m")})
		if a.Status != http.StatusOK {
			t.Fatalf("status %d, want 200: %s", a.Status, scenario.Clip(a.Body))
		}
		served = append(served, a.Header.Get("X-Fairlead-Provider"))
	}
	if n := len(mock.Calls()); n != 1 || !slices.Equal(served, []string{"alpha", "backup", "backup"}) {
		t.Errorf("served by %v with %d calls of alpha, want alpha once and then the backup", served, n)
	}
	return fmt.Sprintf("served by %s; alpha called %d time", strings.Join(served, ", "), len(mock.Calls()))
}

// secondRateLimit sends two concurrent calls that are both rate limited. The later response extends the backoff.
func secondRateLimit(t *testing.T) time.Duration {
	t.Helper()
	mock, url := harness.Upstream(t)
	both := make(chan struct{})
	late := simulator.Fail(429, "Retry-After", "60")
	late.Before = func(*simulator.Call) { <-both }
	mock.For("m", late, simulator.Fail(429, "Retry-After", "10"))
	g := harness.Start(t, harness.Options{Config: harness.Config(t, []harness.Provider{{
		Name: "alpha", BaseURL: url, APIKeys: []string{"sk-alpha-0123456789"}, Models: []harness.Model{harness.Chat("m", 0.4, 1.6, 0.5)},
	}})})
	k, manager := g.Key(t), g.Key(t, "--scopes", "manage")
	done := make(chan struct{})
	go func() {
		defer close(done)
		g.Call(t, harness.Request{Key: k, Body: scenario.Chat("m")})
	}()
	if _, err := mock.Await(t.Context(), 1); err != nil {
		t.Fatal(err)
	}
	g.Call(t, harness.Request{Key: k, Body: scenario.Chat("m")})
	first := time.Until(backoffs(t, g, manager)["alpha#1"])
	close(both)
	<-done
	second := time.Until(backoffs(t, g, manager)["alpha#1"])
	if first > 11*time.Second || second < 55*time.Second {
		t.Errorf("the credential backs off for %s and then for %s, want at most 11 s and at least 55 s", first, second)
	}
	return second
}

// RefusedCredential is fault case F31: a credential that the provider rejects is not used again, and the other credentials serve the
// requests.
func RefusedCredential(t *testing.T, size scenario.Size) string {
	const good, bad = "sk-good-0123456789", "sk-bad-9876543210"
	var refusals atomic.Int64
	mock, url := harness.Upstream(t)
	mock.Always(simulator.Behaviour{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.Contains(r.Header.Get("Authorization"), bad) {
			refusals.Add(1)
			http.Error(w, `{"error":{"message":"Incorrect API key provided: `+bad+`","type":"invalid_request_error"}}`, http.StatusUnauthorized)
			return
		}
		scenario.Paced(1).ServeHTTP(w, r)
	})})
	g := harness.Start(t, harness.Options{Config: harness.Config(t, []harness.Provider{{
		Name: "alpha", BaseURL: url, APIKeys: []string{bad, good}, Models: []harness.Model{harness.Chat("m", 0.4, 1.6, 0.5)},
	}})})
	k, manager := g.Key(t), g.Key(t, "--scopes", "manage")

	n := size.Of(40, 400)
	failed := 0
	for range n {
		a := g.Call(t, harness.Request{Key: k, Body: scenario.Chat("m")})
		if a.Status != http.StatusOK {
			failed++
			t.Errorf("got status %d, want 200: %s", a.Status, scenario.Clip(a.Body))
		}
		if strings.Contains(string(a.Body), bad) {
			t.Error("the response contains the credential")
		}
	}
	if refusals.Load() != 1 {
		t.Errorf("the rejected credential was used %d times, want 1", refusals.Load())
	}
	if until := backoffs(t, g, manager)["alpha#1"]; until.IsZero() {
		t.Error("the rejected credential is not listed as backing off")
	}
	overview := g.Call(t, harness.Request{Method: http.MethodGet, Path: "/api/v1/overview", Key: manager})
	if !strings.Contains(string(overview.Body), `"credential_backing_off"`) {
		t.Error("the overview does not contain credential_backing_off")
	}
	if strings.Contains(g.Log(), bad) || strings.Contains(string(overview.Body), bad) {
		t.Error("the log or the overview contains the credential")
	}
	return fmt.Sprintf("used %d time, %d of %d requests failed", refusals.Load(), failed, n)
}
