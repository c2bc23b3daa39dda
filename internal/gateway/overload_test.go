package gateway_test

import (
	"net/http"
	"runtime"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"fairlead/internal/limit"
)

// TestUnderOverloadARequestIsRefusedAndRecorded: with every turn taken for long and more waiting than may, the next request hears
// so at once, no provider hears of it, and its entry says why. When the turns are given back, requests are served again.
func TestUnderOverloadARequestIsRefusedAndRecorded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		k := newKit(t, func(k *kit) { k.inside, k.turns = true, &limit.Turns{} })
		k.turns.Configure(time.Millisecond)
		processors := runtime.GOMAXPROCS(0)
		for range 2 * processors {
			k.turns.Take("key_flood", 1000)
		}
		var waiting sync.WaitGroup
		for range 64 * processors {
			waiting.Go(func() { k.turns.Take("key_flood", 1000) })
		}
		for range 64 * processors { // the request's own key has its share of the line as well
			waiting.Go(func() { k.turns.Take("key_1", 1000) })
		}
		time.Sleep(300 * time.Millisecond)

		got := k.post("/chat/completions", `{"model":"large","messages":[{"role":"user","content":"Hello"}]}`)

		if got.status != http.StatusServiceUnavailable || got.header.Get("X-Fairlead-Error-Code") != "OVERLOADED" || got.header.Get("Retry-After") == "" {
			t.Errorf("status %d, headers %v: %s", got.status, got.header, got.body)
		}
		e := k.entry()
		if e.Error == nil || e.Error.Code != "OVERLOADED" || len(e.Attempts) > 0 || !k.turns.Pressed() {
			t.Errorf("entry %+v", e)
		}
		for range (2 + 64 + 64) * processors {
			k.turns.Give()
		}
		waiting.Wait()
		if got := k.post("/chat/completions", `{"model":"large","messages":[{"role":"user","content":"Hello"}]}`); got.status != http.StatusOK {
			t.Errorf("afterwards: %d %s", got.status, got.body)
		}
	})
}
