package access

import (
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"fairlead.dev/internal/mockprovider"
	"fairlead.dev/test/faults/scenario"
	"fairlead.dev/test/harness"
)

// Tenants is P13: activity in one workspace is not visible in another.
func Tenants(t *testing.T, size scenario.Size) string {
	g, mock := scenario.Single(t, "breaker: {failures: 3}", "retries: {attempts: 1}")
	ann := scenario.Register(t, g, "ann@example.com") // ann's workspace runs the gateway
	bob := scenario.Register(t, g, "bob@example.com")
	eve := scenario.Register(t, g, "eve-canary@example.com")
	eve.Call(t, http.MethodPatch, "/workspace", `{"name":"canary workspace"}`)
	eve.Call(t, http.MethodPatch, "/account", `{"name":"canary person"}`)
	his := bob.Key(t, `"scopes":["inference","read"]`)
	before := views(t, bob, his)

	k := eve.Key(t, `"tags":{"canary":"canary"}`)
	n := size.Of(40, 400)
	scenario.Together(8, n, func(i int) {
		body := strings.Replace(scenario.Chat("m", `"user":"canary-user"`, `"session_id":"canary-session"`, `"metadata":{"canary":"canary"}`), "Hello", "canary prompt", 1)
		if i%10 == 0 {
			body = scenario.Chat("canary-model")
		}
		g.Call(t, harness.Request{Key: k.Text, Body: body, Header: http.Header{"User-Agent": {"canary-agent"}}})
	})
	mock.Then(mockprovider.Fail(400), mockprovider.Fail(500))
	for range 2 {
		g.Call(t, harness.Request{Key: k.Text, Body: scenario.Chat("m")})
	}
	eve.Call(t, http.MethodPut, "/policies", `{"source":"policies: []","based_on":0}`)
	eve.Call(t, http.MethodPost, "/backtests", `{}`)
	eve.Call(t, http.MethodPost, "/views", `{"name":"canary view"}`)
	scenario.Settled(t, g, g.Key(t, "--scopes", "read"))

	after := views(t, bob, his)
	for path, was := range before {
		if is := after[path]; is != was {
			t.Errorf("activity in another workspace changed %s:\nwas %s\nis  %s", path, scenario.Clip([]byte(was)), scenario.Clip([]byte(is)))
		}
		if strings.Contains(after[path], "canary") {
			t.Errorf("%s contains data of another workspace: %s", path, after[path])
		}
	}
	for _, path := range []string{"/requests?q=canary", "/requests?text=canary", "/requests/search?text=canary"} {
		if a := ann.Call(t, http.MethodGet, path, ""); strings.Contains(string(a.Body), "canary") {
			t.Errorf("the operator can read bodies of another workspace: %s", scenario.Clip(a.Body))
		}
	}
	return fmt.Sprintf("%d views of one workspace the same before and after %d requests of another", len(before), n+2)
}

// passing matches values that change by themselves: times, call IDs, and the speed of a target, which is public.
var passing = regexp.MustCompile(`"(time|at|from|to|start|last_used_at|seen_at|expires_at|ttft_ms|tokens_per_second|uptime_s|generated_at|created_at|now)":("[^"]*"|[0-9.]+|null)|(adm|req)_[0-9A-Z]{26}|[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:.]+Z`)

// views reads everything that a user and their key can read.
func views(t *testing.T, p scenario.Person, k scenario.Key) map[string]string {
	t.Helper()
	all := map[string]string{}
	for _, op := range operations(t, p.Gateway) {
		if op.method != http.MethodGet || strings.Contains(op.path, "{") || strings.HasSuffix(op.path, "/tail") {
			continue
		}
		switch op.path {
		case "/requests/export":
			op.path += "?format=jsonl"
		case "/requests/search":
			op.path += "?text=prompt"
		case "/policies/diff":
			continue // the route needs two policy versions
		case "/sso/sign-in", "/sso/callback":
			continue // the routes redirect to dashboard pages, and every response has a new nonce
		case "/settings":
			continue // the response contains the size of the store, which grows with the requests of all workspaces
		case "/statement":
			op.path += "?format=json&month=" + time.Now().UTC().Format("2006-01")
		}
		text := string(p.Call(t, http.MethodGet, op.path, "").Body)
		if strings.HasPrefix(op.path, "/statement") {
			end := strings.LastIndex(text, `"checksum"`) // the checksum includes the time of the statement
			if end < 0 {
				t.Fatalf("%s returned %s", op.path, scenario.Clip([]byte(text)))
			}
			text = text[:end]
		}
		all[op.path] = passing.ReplaceAllString(text, "-")
	}
	a := p.Gateway.Call(t, harness.Request{Method: http.MethodGet, Path: "/proxy/v1/models", Key: k.Text})
	all["/proxy/v1/models"] = passing.ReplaceAllString(string(a.Body), "-")
	return all
}
