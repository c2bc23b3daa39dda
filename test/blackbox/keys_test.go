package blackbox

import (
	"bytes"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"fairlead.dev/internal/simulator"
	"fairlead.dev/test/harness"
)

// second is the time limit for a key change to take effect, including the command that makes the change.
const second = time.Second

func TestKeyCreatedBeforeStartWorks(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	stdout, stderr, code := harness.CLI(t, harness.Options{DataDir: dir}, "keys", "create", "--name", "ci", "--json")
	if code != 0 {
		t.Fatalf("keys create: exit code %d\n%s", code, stderr)
	}
	var made key
	harness.Decode(t, []byte(stdout), &made)

	g := harness.Start(t, harness.Options{DataDir: dir})

	wantOK(t, g.Call(t, harness.Request{Method: "GET", Path: "/proxy/v1/models", Key: made.Text}))
}

func TestRevokedKeyIsRefusedWithinASecond(t *testing.T) {
	t.Parallel()
	g, mock := serve(t)
	k, other := newKey(t, g), newKey(t, g)
	wantOK(t, g.Call(t, harness.Request{Key: k.Text, Body: chat(small)}))

	if _, stderr, code := g.CLI(t, "keys", "revoke", k.Name, "--yes"); code != 0 {
		t.Fatalf("keys revoke: exit code %d\n%s", code, stderr)
	}
	revoked := time.Now()
	var answer harness.Answer
	harness.Eventually(t, "the key is rejected", func() bool {
		answer = g.Call(t, harness.Request{Key: k.Text, Body: chat(small)})
		return answer.Status != http.StatusOK
	})

	wantError(t, answer, http.StatusUnauthorized, "REVOKED_API_KEY")
	if took := time.Since(revoked); took > second {
		t.Errorf("the key was rejected %s after the revocation, want at most %s", took, second)
	}
	// The first rejected request may have been running when the key was revoked, so its call may still reach the provider. The request
	// below is sent later and must not reach the provider.
	const later = "Sent after the revocation"
	wantError(t, g.Call(t, harness.Request{Key: k.Text, Body: strings.Replace(chat(small), "Hello", later, 1)}), http.StatusUnauthorized, "REVOKED_API_KEY")
	wantOK(t, g.Call(t, harness.Request{Key: other.Text, Body: chat(small)}))
	if slices.ContainsFunc(mock.Calls(), func(c *simulator.Call) bool { return bytes.Contains(c.Body, []byte(later)) }) {
		t.Error("a request with a revoked key reached the provider")
	}
	g.Restart(t)
	wantError(t, g.Call(t, harness.Request{Key: k.Text, Body: chat(small)}), http.StatusUnauthorized, "REVOKED_API_KEY")
}

func TestConcurrentRequestsOfAKeyAreBounded(t *testing.T) {
	t.Parallel()
	g, mock := serve(t)
	behaviour, release := pause(t, 2, "one", " two")
	mock.For(large, behaviour)
	k := newKey(t, g, "--concurrent", "1")
	running := open(t, g, harness.Request{Key: k.Text, Body: chat(large, streaming)})
	running.next()

	wantError(t, g.Call(t, harness.Request{Key: k.Text, Body: chat(small)}), http.StatusTooManyRequests, "RATE_LIMITED")
	release()
	if events := running.rest(); !slices.Contains(events, "[DONE]") {
		t.Errorf("the running stream ended with %v, want [DONE]", events)
	}

	harness.Eventually(t, "another request is served", func() bool {
		return g.Call(t, harness.Request{Key: k.Text, Body: chat(small)}).Status == http.StatusOK
	})
}
