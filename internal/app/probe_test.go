package app

import (
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"fairlead.dev/internal/catalog"
	"fairlead.dev/internal/health"
	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/provider"
	"fairlead.dev/internal/provider/compatible"
)

type answer struct{ status, calls int }

func (a *answer) RoundTrip(*http.Request) (*http.Response, error) {
	a.calls++
	return &http.Response{StatusCode: a.status, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(`{"data":[]}`))}, nil
}

func TestIdleTargetIsTestedUntilItsCircuitCloses(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		server := &answer{status: 500}
		p := compatible.Plain("house", "House").New(provider.Settings{
			BaseURL: "http://house.example/v1", Targets: []*provider.Target{{Provider: "house", Model: &catalog.Model{Name: "one"}}},
		})
		p.Transport = server
		tracker := health.New(health.Options{})
		for range 5 {
			tracker.Admit("house/one", nil, false)
			tracker.Report(health.Report{Target: "house/one", Err: llm.Errorf(llm.UpstreamServer, "down")})
		}
		probes := idleProbes{tracker, nil, map[string]idlePause{}}
		run := func(times int) {
			for range times {
				time.Sleep(idleAfter)
				probes.run(t.Context(), []*provider.Provider{p})
			}
		}
		run(1)
		if server.calls != 0 {
			t.Errorf("%d calls while a request may still probe the target, want 0", server.calls)
		}
		run(60)
		if server.calls < 3 || server.calls > 10 || tracker.Snapshot()[0].Circuit != "open" {
			t.Errorf("%d calls in half an hour, circuit %s; want a few and an open circuit", server.calls, tracker.Snapshot()[0].Circuit)
		}
		server.status = 403
		run(60)
		if got := tracker.Snapshot()[0]; got.Circuit != "open" || len(tracker.Backoffs()) != 0 {
			t.Errorf("circuit %s and backoffs %v after a refused list, want open and none", got.Circuit, tracker.Backoffs())
		}
		server.status = 200
		run(60)
		if got := tracker.Snapshot()[0].Circuit; got != "closed" {
			t.Errorf("circuit %s after the provider recovered, want closed", got)
		}
		calls := server.calls
		if run(60); server.calls != calls {
			t.Errorf("%d calls to a healthy provider", server.calls-calls)
		}
	})
}
