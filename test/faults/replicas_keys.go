package replicas

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"fairlead/internal/mockprovider"
	"fairlead/test/harness"
)

// untilRedis waits until a replica says that Redis is in use, and returns how long after a moment that was.
func (w *world) untilRedis(t *testing.T, i int, since time.Time) time.Duration {
	t.Helper()
	harness.Eventually(t, "Redis is in use again", func() bool {
		body := string(w.gateways[i].Call(t, harness.Request{Method: http.MethodGet, Path: "/readyz"}).Body)
		return strings.Contains(body, `"redis"`) && !strings.Contains(body, "shares")
	})
	return time.Since(since)
}

// Revocation is F33 over replicas: a key that is revoked at one is refused at all within a second, and its running streams
// end; the same for a key that is rotated without grace. Replicas hear of it through PostgreSQL, or Redis where that is all they can
// reach.
func Revocation(t *testing.T, full bool) string {
	var figures []string
	for _, c := range []struct {
		name          string
		redis, noBase bool
		end           func(*world, *testing.T, key)
	}{
		{"revoked, without Redis", false, false, revokeByCommand},
		{"revoked, with Redis", true, false, revokeByCommand},
		{"revoked, two replicas without the database", true, true, revokeByAPI},
		{"rotated, two replicas without the database", true, true, rotateByAPI},
	} {
		w := start(t, c.redis)
		refused, ended := w.endEverywhere(t, pick(full, 2, 20), c.noBase, c.end)
		if refused > time.Second || ended > time.Second {
			t.Errorf("%s: refused after %s, streams ended after %s", c.name, refused, ended)
		}
		figures = append(figures, fmt.Sprintf("%s: refused after %s, streams ended after %s", c.name, refused.Round(time.Millisecond), ended.Round(time.Millisecond)))
		for i := range w.gateways {
			w.database[i].Down()
		}
		if !full && c.noBase {
			break
		}
	}
	return strings.Join(figures, "; ")
}

// endEverywhere opens streams at all replicas, ends the key at the first, and measures until the last has heard.
func (w *world) endEverywhere(t *testing.T, streams int, noBase bool, end func(*world, *testing.T, key)) (refused, ended time.Duration) {
	t.Helper()
	w.mock.Always(mockprovider.Behaviour{Text: []string{"one", " two", " three"}, SilentAfter: 3})
	k := w.newKey(t)
	var reading sync.WaitGroup
	for i := range w.gateways {
		for range streams {
			resp := w.gateways[i].Open(t, harness.Request{Key: k.Text, Body: chat("m", `"stream":true`)})
			if resp.StatusCode != http.StatusOK {
				t.Fatalf("replica %d: %d", i, resp.StatusCode)
			}
			reading.Go(func() {
				defer resp.Body.Close()
				text, _ := io.ReadAll(resp.Body) // it is cut off
				if strings.Contains(string(text), "[DONE]") || !strings.Contains(string(text), "REVOKED_API_KEY") {
					t.Errorf("a stream of the ended key ended with %q", text)
				}
			})
		}
	}
	if noBase {
		for _, way := range w.database[1:] {
			way.Down()
		}
	}
	end(w, t, k)
	began := time.Now()
	var all sync.WaitGroup
	took := make([]time.Duration, replicas)
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
	return max(took[0], took[1], took[2]), time.Since(began)
}

func revokeByCommand(w *world, t *testing.T, k key) {
	t.Helper()
	if _, stderr, code := w.gateways[0].CLI(t, "keys", "revoke", k.ID, "--yes"); code != 0 {
		t.Fatalf("revoke: %d\n%s", code, stderr)
	}
}

func revokeByAPI(w *world, t *testing.T, k key) {
	t.Helper()
	w.manage(t, http.MethodDelete, "/api/v1/keys/"+k.ID, "")
}

func rotateByAPI(w *world, t *testing.T, k key) {
	t.Helper()
	w.manage(t, http.MethodPost, "/api/v1/keys/"+k.ID+"/rotate", `{}`)
}

// manage makes a change by the admin API of the first replica.
func (w *world) manage(t *testing.T, method, path, body string) {
	t.Helper()
	manager := w.gateways[0].Key(t, "--scopes", "manage,inference")
	if a := w.gateways[0].Call(t, harness.Request{Method: method, Path: path, Key: manager, Body: body}); a.Status >= 300 {
		t.Fatalf("%s: %d %s", path, a.Status, a.Body)
	}
}
