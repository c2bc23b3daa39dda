package blackbox

import (
	"net/http"
	"slices"
	"testing"

	"fairlead.dev/test/faults/scenario"
	"fairlead.dev/test/harness"
)

func TestKeyCreatedBeforeStartWorks(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	stdout, stderr, code := harness.CLI(t, harness.Options{DataDir: dir}, "keys", "create", "--name", "ci", "--json")
	if code != 0 {
		t.Fatalf("keys create: exit code %d\n%s", code, stderr)
	}
	var made harness.Key
	harness.Decode(t, []byte(stdout), &made)

	g := harness.Start(t, harness.Options{DataDir: dir})

	wantOK(t, g.Call(t, harness.Request{Method: "GET", Path: "/proxy/v1/models", Key: made.Text}))
}

func TestConcurrentRequestsOfAKeyAreBounded(t *testing.T) {
	t.Parallel()
	g, mock := serve(t)
	behaviour, release := pause(t, 2, "one", " two")
	mock.For(large, behaviour)
	k := g.NewKey(t, "--concurrent", "1")
	running := open(t, g, harness.Request{Key: k.Text, Body: scenario.Chat(large, scenario.Streaming)})
	running.next()

	wantError(t, g.Call(t, harness.Request{Key: k.Text, Body: scenario.Chat(small)}), http.StatusTooManyRequests, "RATE_LIMITED")
	release()
	if events := running.rest(); !slices.Contains(events, "[DONE]") {
		t.Errorf("the running stream ended with %v, want [DONE]", events)
	}

	harness.Eventually(t, "another request is served", func() bool {
		return g.Call(t, harness.Request{Key: k.Text, Body: scenario.Chat(small)}).Status == http.StatusOK
	})
}
