package providers

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"fairlead.dev/internal/simulator"
	"fairlead.dev/test/faults/scenario"
	"fairlead.dev/test/harness"
)

// Revocation is fault case F33: a revoked key is rejected within a second, and its running streams end within ten seconds.
func Revocation(t *testing.T, size scenario.Size) string {
	g, mock := scenario.Single(t, "timeouts: {idle: 60s}")
	mock.Always(simulator.Behaviour{Text: []string{"one", " two", " three"}, SilentAfter: 3})
	k, other := g.NewKey(t), g.NewKey(t)
	n := size.Of(5, 50)
	var reading sync.WaitGroup
	ended := make(chan scenario.Events, n)
	for range n {
		resp := g.Open(t, harness.Request{Key: k.Text, Body: scenario.Chat("m", scenario.Streaming)})
		reading.Go(func() {
			defer resp.Body.Close()
			ended <- scenario.ReadEvents(resp.Body)
		})
	}

	if _, stderr, code := g.CLI(t, "keys", "revoke", k.ID, "--yes"); code != 0 {
		t.Fatalf("keys revoke: exit code %d\n%s", code, stderr)
	}
	revoked := time.Now()
	harness.Eventually(t, "the key is rejected", func() bool {
		return g.Call(t, harness.Request{Method: http.MethodGet, Path: "/proxy/v1/models", Key: k.Text}).Status == http.StatusUnauthorized
	})
	refused := time.Since(revoked)
	reading.Wait()
	streams := time.Since(revoked)
	close(ended)
	for e := range ended {
		if e.Failed() != "REVOKED_API_KEY" || e.Done() {
			t.Errorf("a stream of the revoked key ended with %v, want REVOKED_API_KEY", e.Data)
		}
	}
	if refused > size.Limit(time.Second) || streams > size.Limit(10*time.Second) {
		t.Errorf("the key was rejected after %s and its streams ended after %s, want at most %s and %s",
			refused, streams, size.Limit(time.Second), size.Limit(10*time.Second))
	}
	calls := len(mock.Calls())
	scenario.WantError(t, "a request of the revoked key", g.Call(t, harness.Request{Key: k.Text, Body: scenario.Chat("m")}), http.StatusUnauthorized, "REVOKED_API_KEY")
	if len(mock.Calls()) != calls {
		t.Error("a request of the revoked key reached the provider")
	}
	if a := g.Call(t, harness.Request{Method: http.MethodGet, Path: "/proxy/v1/models", Key: other.Text}); a.Status != http.StatusOK {
		t.Errorf("request with another key: status %d, want 200", a.Status)
	}
	g.Restart(t)
	scenario.WantError(t, "a request of the revoked key after a restart", g.Call(t, harness.Request{Key: k.Text, Body: scenario.Chat("m")}), http.StatusUnauthorized, "REVOKED_API_KEY")
	return fmt.Sprintf("rejected after %s, %d streams ended after %s", refused.Round(time.Millisecond), n, streams.Round(time.Millisecond))
}

// JunkKeys is fault case F38: invalid keys are cheap to reject and do not slow down other requests.
func JunkKeys(t *testing.T, size scenario.Size) string {
	g, _ := scenario.Single(t)
	k := g.Key(t)
	measure := func(n int) []time.Duration {
		var took []time.Duration
		for range n {
			began := time.Now()
			if a := g.Call(t, harness.Request{Key: k, Body: scenario.Chat("m")}); a.Status != http.StatusOK {
				t.Errorf("request with a valid key: status %d, want 200: %s", a.Status, scenario.Clip(a.Body))
			}
			took = append(took, time.Since(began))
		}
		return took
	}
	measure(20) // warms up the connections
	quiet := scenario.Quantile(measure(size.Of(50, 300)), 0.99)
	before := scenario.Resident(t, g)
	draw := rand.New(rand.NewPCG(1, 2))
	junk := make([]string, 1000)
	for i := range junk {
		junk[i] = junkKey(draw, k, i)
	}
	d := time.Duration(size.Of(2, 10)) * time.Second
	var busy []time.Duration
	var measuring sync.WaitGroup
	measuring.Go(func() { busy = measure(size.Of(20, 300)) })
	var sent atomic.Int64
	c, began := scenario.Client(t), time.Now()
	scenario.Together(16, 16, func(int) {
		for time.Since(began) < d {
			var s scenario.Shot
			time.Sleep(4 * time.Millisecond) // the clients share the machine with the gateway
			if s.Send(t.Context(), c, g, junk[sent.Add(1)%1000], scenario.Chat("m")); s.Status != http.StatusUnauthorized {
				t.Errorf("request with an invalid key: got %d %s, want 401", s.Status, s.Code)
			}
		}
	})
	rate := float64(sent.Load()) / d.Seconds()
	if rate < 100 {
		t.Errorf("%.0f requests per second were sent, want at least 100", rate)
	}
	measuring.Wait()
	grown := scenario.Resident(t, g) - before
	if grown > 32<<20 {
		t.Errorf("memory grew by %s, want at most 32 MiB", scenario.Mib(grown))
	}
	if p99 := scenario.Quantile(busy, 0.99); size == scenario.Full && p99 > 2*quiet+10*time.Millisecond {
		t.Errorf("p99 of a valid key is %s with invalid keys and %s without", p99, quiet)
	}
	if a := g.Call(t, harness.Request{Key: k, Body: scenario.Chat("m")}); a.Status != http.StatusOK {
		t.Errorf("request with a valid key after the load: status %d, want 200", a.Status)
	}
	return fmt.Sprintf("%.0f/s rejected, memory %+d MiB, valid p99 %s (unloaded %s)", rate, grown>>20, scenario.Quantile(busy, 0.99).Round(time.Millisecond), quiet.Round(time.Millisecond))
}

// junkKey returns an invalid key: random text, a text similar to a valid key, or SQL.
func junkKey(draw *rand.Rand, real string, i int) string {
	const alphabet = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
	switch i % 5 {
	case 0:
		return "fl_' or 1=1; drop table keys; --" + fmt.Sprint(i)
	case 1:
		return real[:len(real)-1-i%20]
	case 2:
		at := 3 + i%(len(real)-3)
		changed := []byte(real)
		changed[at] = alphabet[(int(changed[at])+1+i)%len(alphabet)]
		if string(changed) == real {
			return "fl_" + real
		}
		return string(changed)
	}
	text := []byte("fl_")
	for range 35 {
		text = append(text, alphabet[draw.IntN(len(alphabet))])
	}
	return string(text)
}
