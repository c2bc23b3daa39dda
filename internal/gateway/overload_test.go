package gateway_test

import (
	"net/http"
	"runtime"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"fairlead.dev/internal/limit"
)

// With every slot taken and the queue full, a request is rejected immediately, no provider is called, and its entry has the
// reason. After the slots are released, requests are served again.
func TestRequestIsRejectedAndRecordedUnderOverload(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		k := newKit(t, func(k *kit) { k.inside, k.admission = true, &limit.AdmissionQueue{} })
		k.admission.Configure(time.Millisecond)
		processors := runtime.GOMAXPROCS(0)
		for range 2 * processors {
			_ = k.admission.Acquire(t.Context(), "key_flood")
		}
		var waiting sync.WaitGroup
		for range 64 * processors {
			waiting.Go(func() { _ = k.admission.Acquire(t.Context(), "key_flood") })
		}
		for range 64 * processors { // the request's own key has used its share of the queue too
			waiting.Go(func() { _ = k.admission.Acquire(t.Context(), "key_1") })
		}
		time.Sleep(300 * time.Millisecond)

		got := k.post("/chat/completions", `{"model":"large","messages":[{"role":"user","content":"Hello"}]}`)

		if got.status != http.StatusServiceUnavailable || got.header.Get("X-Fairlead-Error-Code") != "OVERLOADED" || got.header.Get("Retry-After") == "" {
			t.Errorf("status %d, headers %v: %s", got.status, got.header, got.body)
		}
		e := k.entry()
		if e.Error == nil || e.Error.Code != "OVERLOADED" || len(e.Attempts) > 0 || !k.admission.Overloaded() {
			t.Errorf("entry %+v", e)
		}
		for range (2 + 64 + 64) * processors {
			k.admission.Release()
		}
		waiting.Wait()
		if got := k.post("/chat/completions", `{"model":"large","messages":[{"role":"user","content":"Hello"}]}`); got.status != http.StatusOK {
			t.Errorf("after the slots are released: status %d, want 200: %s", got.status, got.body)
		}
	})
}
