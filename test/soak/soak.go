// Package soak keeps the usual load on the built gateway for a long time and watches what must not grow: its memory,
// its goroutines and its open files. The load is 500 requests a second to a provider that answers in 50 ms, beside 200
// open streams of 20 events a second.
package soak

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"fairlead/test/harness"
)

// Plan is one soak.
type Plan struct {
	For     time.Duration
	Rate    int    // plain requests a second
	Streams int    // streams open at any time
	Binary  string // the gateway; the usual one when empty
	Setting string // one more line of its configuration
}

// Usual is the load at which promises are measured, for this long.
func Usual(d time.Duration) Plan { return Plan{For: d, Rate: 500, Streams: 200} }

// settling is how long the gateway has until it is measured: five minutes, or a third of a shorter soak.
func (p Plan) settling() time.Duration { return min(5*time.Minute, p.For/3) }

// Report is what a soak has shown.
type Report struct {
	Plan Plan
	Traffic
	Memory     Course // resident, in bytes
	Goroutines Course
	Files      Course
	Log        string // all that the gateway wrote
}

// String is the report in one line.
func (r Report) String() string {
	return fmt.Sprintf("%s at %.0f requests/s and %d streams: memory %.1f MiB, at most %.1f, %+.2f MiB/min after %s (± %.2f); goroutines %.0f → %.0f, files %.0f → %.0f; %s",
		r.Plan.For, r.Rate(), r.Plan.Streams, r.Memory.Late/mib, r.Memory.Most/mib, r.Memory.Slope/mib, r.Plan.settling(), r.Memory.Doubt/mib,
		r.Goroutines.Early, r.Goroutines.Late, r.Files.Early, r.Files.Late, r.Traffic)
}

// Run soaks a gateway of its own. It judges nothing.
func Run(t testing.TB, p Plan) Report {
	t.Helper()
	upstream := harness.Serve(t, provider{})
	// A line per request would fill the harness's memory; without log lines there is no ready message.
	g := harness.Start(t, harness.Options{Binary: p.Binary, Early: true, Config: harness.Config(t, []harness.Provider{{
		Name: "alpha", BaseURL: upstream + "/v1", Models: []harness.Model{harness.Chat("steady", 0.4, 1.6, 0.5)},
	}}, "log: {level: warn}", p.Setting)})
	harness.Eventually(t, "the gateway is ready", func() bool {
		return g.Call(t, harness.Request{Method: http.MethodGet, Path: "/readyz"}).Status == http.StatusOK
	})
	l := newLoad(g, g.Key(t))
	w := newWatch(t, g, p.settling())

	ctx, stop := context.WithTimeout(t.Context(), p.For)
	defer stop()
	began := time.Now()
	l.start(ctx, p.Rate, p.Streams)
	w.until(ctx)
	took := time.Since(began)
	l.end()
	g.Stop(t)
	return Report{
		Plan: p, Traffic: l.traffic(took), Memory: w.memory.course(), Goroutines: w.goroutines.course(), Files: w.files.course(), Log: g.Log(),
	}
}

// Memory limits: growth per minute and maximum. The database caches fill in the first minutes, which a short soak cannot
// distinguish from a leak, so only its peak is checked.
const (
	mib       = 1 << 20
	growth    = 1 * mib
	ceiling   = 512 * mib
	longSoak  = 15 * time.Minute
	slackRate = 1.05
	slack     = 10
)

// Judge fails the test where something grew, where a request failed, or where the race detector found one.
func (r Report) Judge(t testing.TB) {
	t.Helper()
	if r.Plan.For >= longSoak && r.Memory.Slope >= growth {
		t.Errorf("memory grows by %.2f MiB a minute (± %.2f)", r.Memory.Slope/mib, r.Memory.Doubt/mib)
	}
	if r.Memory.Most > ceiling {
		t.Errorf("memory reached %.1f MiB", r.Memory.Most/mib)
	}
	for name, c := range map[string]Course{"goroutines": r.Goroutines, "open files": r.Files} {
		if c.Late > c.Early*slackRate+slack {
			t.Errorf("%s grew from %.0f to %.0f", name, c.Early, c.Late)
		}
	}
	if r.Failed > 0 || r.Requests == 0 {
		t.Errorf("%d of %d requests failed; the first: %s", r.Failed, r.Requests, r.First)
	}
	if at := strings.Index(r.Log, "DATA RACE"); at >= 0 {
		t.Errorf("a data race:\n%s", r.Log[at:min(len(r.Log), at+4000)])
	}
}
