// Package soak keeps the gateway under constant load for a long time and checks values that must not grow: memory,
// goroutines and open files. The load is 500 requests per second to a provider that responds in 50 ms, and 200 open
// streams with 20 events per second.
package soak

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"fairlead.dev/test/faults/scenario"
	"fairlead.dev/test/harness"
)

// Plan describes one soak.
type Plan struct {
	For     time.Duration
	Rate    int    // non-streamed requests per second
	Streams int    // streams open at any time
	Binary  string // gateway binary; the default one when empty
	Setting string // additional line of the configuration
}

// Usual returns the plan with the load for which the targets are defined.
func Usual(d time.Duration) Plan { return Plan{For: d, Rate: 500, Streams: 200} }

// settling returns the time before the measurement begins: five minutes, or a third of a shorter soak.
func (p Plan) settling() time.Duration { return min(5*time.Minute, p.For/3) }

// Report is the result of a soak.
type Report struct {
	Plan       Plan
	Requests   int64 // completed, not streamed
	Streamed   int64 // completed streams
	Failed     int64
	First      string // the first failure
	Memory     Course // resident, in bytes
	Goroutines Course
	Files      Course
	Log        string // complete log of the gateway
}

// String returns the report in one line.
func (r Report) String() string {
	return fmt.Sprintf("%s at %.0f requests/s and %d streams: memory %.1f → %.1f MiB, at most %.1f; goroutines %.0f → %.0f, files %.0f → %.0f; %d requests and %d streams, %d failed",
		r.Plan.For, float64(r.Requests)/r.Plan.For.Seconds(), r.Plan.Streams, r.Memory.Early/mib, r.Memory.Late/mib, r.Memory.Most/mib,
		r.Goroutines.Early, r.Goroutines.Late, r.Files.Early, r.Files.Late, r.Requests, r.Streamed, r.Failed)
}

// Run runs a soak with a new gateway. It does not check the results.
func Run(t testing.TB, p Plan) Report {
	t.Helper()
	upstream := harness.Serve(t, scenario.Paced(words))
	// Log lines for every request would fill the memory of the harness. At log level warn, the gateway does not log that it is ready, so
	// Early is set.
	g := harness.Start(t, harness.Options{Binary: p.Binary, Early: true, Config: harness.Config(t, []harness.Provider{{
		Name: "alpha", BaseURL: upstream + "/v1", Models: []harness.Model{harness.Chat("plain", 0.4, 1.6, 0.5)},
	}}, "log: {level: warn}", p.Setting)})
	harness.Eventually(t, "the gateway is ready", func() bool {
		return g.Call(t, harness.Request{Method: http.MethodGet, Path: "/readyz"}).Status == http.StatusOK
	})
	l := newLoad(g, g.Key(t))
	w := newWatch(t, g, p.settling())

	ctx, stop := context.WithTimeout(t.Context(), p.For)
	defer stop()
	l.start(ctx, p.Rate, p.Streams)
	w.until(ctx)
	l.end()
	g.Stop(t)
	return Report{
		Plan: p, Requests: l.requests, Streamed: l.streamed, Failed: l.failed, First: l.first,
		Memory: course(w.memory), Goroutines: course(w.goroutines), Files: course(w.files), Log: g.Log(),
	}
}

// Memory limits: growth per minute and maximum. The database caches fill in the first minutes. A short soak cannot
// distinguish this growth from a leak, so only the maximum is checked there.
const (
	mib       = 1 << 20
	growth    = 1 * mib
	ceiling   = 512 * mib
	longSoak  = 15 * time.Minute
	slackRate = 1.05
	slack     = 10
)

// Judge fails the test if a value grew, a request failed, or the race detector found a race.
func (r Report) Judge(t testing.TB) {
	t.Helper()
	minutes := (r.Plan.For - r.Plan.settling()).Minutes() * 3 / 4 // between the middles of the first and the last quarter
	if grown := r.Memory.Late - r.Memory.Early; r.Plan.For >= longSoak && grown >= growth*minutes {
		t.Errorf("memory grew by %.1f MiB in %.0f minutes, want less than %.1f", grown/mib, minutes, growth*minutes/mib)
	}
	if r.Memory.Most > ceiling {
		t.Errorf("memory reached %.1f MiB, want at most %.1f", r.Memory.Most/mib, float64(ceiling)/mib)
	}
	for name, c := range map[string]Course{"goroutines": r.Goroutines, "open files": r.Files} {
		if c.Late > c.Early*slackRate+slack {
			t.Errorf("%s grew from %.0f to %.0f, want at most %.0f", name, c.Early, c.Late, c.Early*slackRate+slack)
		}
	}
	if r.Failed > 0 || r.Requests == 0 {
		t.Errorf("%d of %d requests failed, want 0 of at least 1; the first: %s", r.Failed, r.Requests, r.First)
	}
	if at := strings.Index(r.Log, "DATA RACE"); at >= 0 {
		t.Errorf("the race detector found a data race:\n%s", r.Log[at:min(len(r.Log), at+4000)])
	}
}
