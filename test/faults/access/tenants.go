package access

import (
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"fairlead.dev/internal/simulator"
	"fairlead.dev/test/faults/scenario"
	"fairlead.dev/test/harness"
)

// Tenants checks promise P13: activity in one workspace is not visible in another.
func Tenants(t *testing.T, size scenario.Size) string {
	g, mock := scenario.Single(t, "breaker: {failures: 3}", "retries: {attempts: 1}")
	ann := scenario.Register(t, g, "ann@example.com") // ann's workspace runs the gateway
	bob := scenario.Register(t, g, "bob@example.com")
	eve := scenario.Register(t, g, "eve-canary@example.com")
	change(t, eve, http.MethodPatch, "/workspace", `{"name":"canary workspace"}`)
	change(t, eve, http.MethodPatch, "/account", `{"name":"canary person"}`)
	bobs := bob.Key(t, `"scopes":["inference","read"]`)
	before := views(t, bob, bobs)

	k := eve.Key(t, `"tags":{"canary":"canary"}`)
	n := size.Of(40, 400)
	scenario.Together(8, n, func(i int) {
		body := strings.Replace(scenario.Chat("m", `"user":"canary-user"`, `"session_id":"canary-session"`, `"metadata":{"canary":"canary"}`), "Hello", "canary prompt", 1)
		if i%10 == 0 {
			body = scenario.Chat("canary-model")
		}
		g.Call(t, harness.Request{Key: k.Text, Body: body, Header: http.Header{"User-Agent": {"canary-agent"}}})
	})
	mock.Then(simulator.Fail(400), simulator.Fail(500))
	for range 2 {
		g.Call(t, harness.Request{Key: k.Text, Body: scenario.Chat("m")})
	}
	change(t, eve, http.MethodPut, "/policies", `{"source":"policies: []","based_on":0}`)
	change(t, eve, http.MethodPost, "/backtests", `{}`)
	scenario.Settled(t, g, g.Key(t, "--scopes", "read"))

	after := views(t, bob, bobs)
	for path, want := range before {
		if got := after[path]; got != want {
			t.Errorf("activity in another workspace changed %s:\nbefore %s\nafter  %s",
				path, scenario.Clip([]byte(want)), scenario.Clip([]byte(got)))
		}
		if strings.Contains(after[path], "canary") {
			t.Errorf("%s contains data of another workspace: %s", path, after[path])
		}
	}
	for _, path := range []string{"/requests?q=canary", "/requests?text=canary"} {
		if own := eve.Call(t, http.MethodGet, path, ""); !strings.Contains(string(own.Body), "canary") {
			t.Errorf("GET %s in the own workspace: status %d without the text of its requests: %s", path, own.Status, scenario.Clip(own.Body))
		}
		a := ann.Call(t, http.MethodGet, path, "")
		if a.Status != http.StatusOK {
			t.Errorf("GET %s: status %d, want 200: %s", path, a.Status, scenario.Clip(a.Body))
		}
		if strings.Contains(string(a.Body), "canary") {
			t.Errorf("the operator can read bodies of another workspace: %s", scenario.Clip(a.Body))
		}
	}
	return fmt.Sprintf("%d views of one workspace the same before and after %d requests of another", len(before), n+2)
}

// change sends a request that must succeed.
func change(t *testing.T, p scenario.Person, method, path, body string) {
	t.Helper()
	if a := p.Call(t, method, path, body); a.Status/100 != 2 {
		t.Errorf("%s %s: status %d, want success: %s", method, path, a.Status, scenario.Clip(a.Body))
	}
}

// changing matches values that change by themselves: times, call IDs, and the speed of a target, which is public.
var changing = regexp.MustCompile(`"(time|at|from|to|start|last_used_at|seen_at|expires_at|ttft_ms|tokens_per_second|uptime_s|generated_at|created_at|now)":("[^"]*"|[0-9.]+|null)|(adm|req)_[0-9A-Z]{26}|[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:.]+Z`)

// views reads everything that a user and their key can read.
func views(t *testing.T, p scenario.Person, k harness.Key) map[string]string {
	t.Helper()
	all := map[string]string{}
	for _, op := range operations(t, p.Gateway) {
		if op.method != http.MethodGet || strings.Contains(op.path, "{") || strings.HasSuffix(op.path, "/tail") {
			continue
		}
		switch op.path {
		case "/requests/export":
			op.path += "?format=jsonl"
		case "/policies/diff":
			continue // the route needs two policy versions
		case "/sso/sign-in", "/sso/callback":
			continue // the routes redirect to dashboard pages, and every response has a new nonce
		case "/settings":
			continue // the response contains the size of the store, which grows with the requests of all workspaces
		case "/statement":
			op.path += "?format=csv&month=" + time.Now().UTC().Format("2006-01")
		}
		answer := p.Call(t, http.MethodGet, op.path, "")
		if answer.Status != http.StatusOK {
			t.Errorf("GET %s: status %d, want 200: %s", op.path, answer.Status, scenario.Clip(answer.Body))
		}
		text := string(answer.Body)
		all[op.path] = changing.ReplaceAllString(text, "-")
	}
	a := p.Gateway.Call(t, harness.Request{Method: http.MethodGet, Path: "/proxy/v1/models", Key: k.Text})
	if a.Status != http.StatusOK {
		t.Errorf("GET /proxy/v1/models: status %d, want 200: %s", a.Status, scenario.Clip(a.Body))
	}
	all["/proxy/v1/models"] = changing.ReplaceAllString(string(a.Body), "-")
	return all
}
