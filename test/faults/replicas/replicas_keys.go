package replicas

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"fairlead.dev/internal/simulator"
	"fairlead.dev/test/faults/scenario"
	"fairlead.dev/test/harness"
)

// revocationEverywhere is fault case F33 with replicas: a key revoked at one replica is rejected by all within a second, and its
// running streams end within ten seconds. The same applies to a key that is rotated without a grace period. Replicas
// are notified through PostgreSQL, or through Redis if PostgreSQL is unreachable.
func revocationEverywhere(t *testing.T, size scenario.Size) string {
	var figures []string
	with, without := startReplicas(t, setting{}), startReplicas(t, setting{noRedis: true})
	for _, c := range []struct {
		name       string
		deployment *deployment
		noBase     bool
		end        func(*deployment, *testing.T, harness.Key)
	}{
		{"PostgreSQL alone", without, false, revokeByCommand},
		{"both", with, false, revokeByCommand},
		{"Redis alone", with, true, revokeByAPI},
		{"Redis alone, rotated", with, true, rotateByAPI},
	} {
		refused, ended := c.deployment.endEverywhere(t, size.Of(2, 20), c.noBase, c.end)
		if refused > size.Limit(time.Second) || ended > size.Limit(10*time.Second) {
			t.Errorf("%s: the key was rejected after %s and its streams ended after %s, want at most %s and %s",
				c.name, refused, ended, size.Limit(time.Second), size.Limit(10*time.Second))
		}
		figures = append(figures, fmt.Sprintf("%s: %s, streams %s", c.name, refused.Round(time.Millisecond), ended.Round(time.Millisecond)))
	}
	return strings.Join(figures, "; ")
}

// endEverywhere opens streams at all replicas, ends the key at the first, and measures the time until the last replica rejects it.
func (w *deployment) endEverywhere(t *testing.T, streams int, noBase bool, end func(*deployment, *testing.T, harness.Key)) (refused, ended time.Duration) {
	t.Helper()
	w.mock.Always(simulator.Behaviour{Text: []string{"one", " two", " three"}, SilentAfter: 3})
	k, other := w.newKey(t), w.newKey(t)
	var reading sync.WaitGroup
	for i := range w.gateways {
		for range streams {
			resp := w.gateways[i].Open(t, harness.Request{Key: k.Text, Body: short("m", scenario.Streaming)})
			if resp.StatusCode != http.StatusOK {
				t.Fatalf("open a stream at replica %d: status %d, want 200", i, resp.StatusCode)
			}
			reading.Go(func() {
				defer resp.Body.Close()
				if e := scenario.ReadEvents(resp.Body); e.Done() || e.Failed() != "REVOKED_API_KEY" {
					t.Errorf("a stream of the revoked key ended with %v, want REVOKED_API_KEY", e.Data)
				}
			})
		}
	}
	if noBase {
		for _, way := range w.database[1:] {
			way.Stop()
			defer way.Up(t)
		}
	}
	end(w, t, k)
	began := time.Now()
	took := make([]time.Duration, replicas)
	var all sync.WaitGroup
	for i := range w.gateways {
		all.Go(func() {
			for w.accepts(t, i, k) && time.Since(began) < 20*time.Second {
				time.Sleep(2 * time.Millisecond) // another process cannot be watched with a fake clock
			}
			took[i] = time.Since(began)
		})
	}
	all.Wait()
	reading.Wait()
	ended = time.Since(began)
	for i := range w.gateways {
		if !w.accepts(t, i, other) {
			t.Errorf("replica %d rejected a key that was not revoked", i)
		}
	}
	return max(took[0], took[1], took[2]), ended
}

func revokeByCommand(w *deployment, t *testing.T, k harness.Key) {
	t.Helper()
	if _, stderr, code := w.gateways[0].CLI(t, "keys", "revoke", k.ID, "--yes"); code != 0 {
		t.Fatalf("keys revoke: exit code %d\n%s", code, stderr)
	}
}

func revokeByAPI(w *deployment, t *testing.T, k harness.Key) {
	t.Helper()
	w.manage(t, http.MethodDelete, "/api/v1/keys/"+k.ID, "")
}

func rotateByAPI(w *deployment, t *testing.T, k harness.Key) {
	t.Helper()
	w.manage(t, http.MethodPost, "/api/v1/keys/"+k.ID+"/rotate", `{}`)
}

// manage makes a change with the admin API of the first replica.
func (w *deployment) manage(t *testing.T, method, path, body string) {
	t.Helper()
	manager := w.gateways[0].Key(t, "--scopes", "manage,inference")
	if a := w.gateways[0].Call(t, harness.Request{Method: method, Path: path, Key: manager, Body: body}); a.Status >= 300 {
		t.Fatalf("%s %s: status %d: %s", method, path, a.Status, a.Body)
	}
}
