package load

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
)

// serve starts a server and returns its address.
func serve(t *testing.T, answer http.HandlerFunc) Target {
	t.Helper()
	server := httptest.NewServer(answer)
	t.Cleanup(func() {
		server.Close()
		goleak.VerifyNone(t)
	})
	return Target{Address: server.Listener.Addr().String(), Path: "/chat", Model: "m", Key: "k", PID: os.Getpid()}
}

// measured returns a run after its warm-up, in which responses are counted.
func measured(t Target, s Spec) *run {
	r := &run{Target: t, Spec: s}
	r.measuring.Store(true)
	return r
}

func TestNoRequestIsSentTwice(t *testing.T) {
	seen := map[string]bool{}
	r := measured(serve(t, func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil || !json.Valid(body) || r.URL.Path != "/chat" || r.Header.Get("Authorization") != "Bearer k" {
			t.Errorf("got the request %s %s with Authorization %q (%v), want JSON to /chat with the key k",
				r.URL, body, r.Header.Get("Authorization"), err)
		}
		seen[string(body)] = true
		fmt.Fprint(w, `{"usage":{}}`)
	}), Spec{Prompt: 1000})
	callers := []*caller{newCaller(r), newCaller(r)}

	for range 3 {
		for _, c := range callers {
			if err := c.call(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
	}

	var got Result
	for _, c := range callers {
		c.drop()
	}
	got.sum(callers)
	if len(seen) != 6 || got.Requests != 6 || got.Answers != 6 || len(got.Failures) > 0 || got.P50 <= 0 || got.P99 < got.P50 {
		t.Errorf("got %d different requests and the result %+v, want 6 requests, 6 responses and no failures", len(seen), got)
	}
}

func TestFailuresAreNotCounted(t *testing.T) {
	for name, answer := range map[string]http.HandlerFunc{
		"status 503":          func(w http.ResponseWriter, _ *http.Request) { http.Error(w, `"usage":`, http.StatusServiceUnavailable) },
		"incomplete response": func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, `{"usage":{}}`) }, // a stream would end with [DONE]
		"unexpected EOF": func(w http.ResponseWriter, _ *http.Request) {
			fmt.Fprint(w, "data: one\n\n")
			_ = http.NewResponseController(w).Flush()
			panic(http.ErrAbortHandler)
		},
	} {
		t.Run(name, func(t *testing.T) {
			c := newCaller(measured(serve(t, answer), Spec{Prompt: 100, Stream: true}))
			if err := c.call(t.Context()); err != nil {
				c.fail(cause(err))
			}
			c.drop()
			if diff := cmp.Diff(map[string]int{name: 1}, c.failures); diff != "" {
				t.Errorf("failures (-want +got):\n%s", diff)
			}
			if len(c.took) > 0 {
				t.Errorf("durations are %v, want none", c.took)
			}
		})
	}
}

// The figures of a server that sends errors are meaningless, so the run returns an error even if most responses are complete.
func TestRunFailsOnErrorResponse(t *testing.T) {
	for name, spec := range map[string]Spec{
		"measurement": {Callers: 2, Prompt: 100, Duration: 300 * time.Millisecond},
		"warm-up":     {Callers: 2, Prompt: 100, Warmup: 300 * time.Millisecond, Duration: 200 * time.Millisecond},
		"held":        {Callers: 2, Prompt: 100, Warmup: 300 * time.Millisecond, Duration: time.Millisecond, Stream: true, Hold: true},
	} {
		t.Run(name, func(t *testing.T) {
			var served atomic.Int64
			target := serve(t, func(w http.ResponseWriter, r *http.Request) {
				_, _ = io.Copy(io.Discard, r.Body)
				if served.Add(1) == 2 {
					w.WriteHeader(http.StatusUnauthorized)
				}
				fmt.Fprint(w, `{"usage":{}}`)
				_ = http.NewResponseController(w).Flush()
				if spec.Hold && served.Load() != 2 {
					<-r.Context().Done()
				}
			})
			if _, err := Run(t.Context(), target, spec); err == nil || !strings.Contains(err.Error(), "status 401") {
				t.Errorf("Run returned the error %v, want one with status 401", err)
			}
		})
	}
}

func TestHeldStreamsAreOpenUntilTheEnd(t *testing.T) {
	target := serve(t, func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprint(w, "data: one\n\n")
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
	})
	got, err := Run(t.Context(), target, Spec{Callers: 8, Prompt: 100, Stream: true, Hold: true, Spread: 100 * time.Millisecond, Warmup: time.Second, Duration: time.Millisecond})
	if err != nil || got.Open != 8 || len(got.Failures) > 0 || got.Before <= 0 || got.After <= 0 || got.CPU <= 0 || got.Own <= 0 {
		t.Errorf("Run() = %+v, %v, want 8 open streams, no failures, and the CPU time and memory", got, err)
	}
}

func TestPromptsHaveTheRequestedSize(t *testing.T) {
	t.Parallel()
	for _, size := range []int{1 << 10, 10 << 10, 100 << 10} {
		b := body("m", Spec{Prompt: size, Stream: true, Preface: "first of all, "})
		if !json.Valid([]byte(b)) || len(b) < size || len(b) > size+size/5+300 {
			t.Errorf("a prompt of %d bytes has a body of %d bytes, want JSON of at most 20 %% + 300 bytes more", size, len(b))
		}
		if strings.Count(b, serial) != 1 || !strings.Contains(b, `"content":"first of all, `) {
			t.Errorf("a prompt of %d bytes must have one serial number and begin with the preface: %.200s", size, b)
		}
	}
}

func TestQuantile(t *testing.T) {
	t.Parallel()
	var list []time.Duration
	if got := quantile(list, 50); got != 0 {
		t.Errorf("quantile of an empty list = %d, want 0", got)
	}
	for i := range 200 {
		list = append(list, time.Duration(i+1))
	}
	for percent, want := range map[int]time.Duration{1: 2, 50: 100, 99: 198, 100: 200} {
		if got := quantile(list, percent); got != want {
			t.Errorf("quantile(%d) = %d, want %d", percent, got, want)
		}
	}
	if got := quantile(list[:1], 50); got != 1 {
		t.Errorf("quantile of one value = %d, want 1", got)
	}
}
