package main

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"fairlead.dev/bench/load"
)

func TestReportShowsWhetherLimitsAreMet(t *testing.T) {
	t.Parallel()
	of := func(cpu time.Duration, requests int) []load.Result {
		slice := load.Result{Took: time.Second, Requests: requests, Answers: float64(requests), CPU: cpu * time.Duration(requests)}
		return []load.Result{slice, slice}
	}
	got := results{"chat-1k": {nginx: of(20*time.Microsecond, 9000), fairlead: of(60*time.Microsecond, 6000)}}
	var out bytes.Buffer

	b := &bench{out: &out}
	b.report(got, figures(got, map[string]memory{fairlead: {idle: 50 << 20}}))

	for _, want := range []string{
		"CPU per request, 1 KB, of nginx's 3.00 × ≤ 4 met ≤ 2.5 missed",
		"throughput, 64 callers, of nginx's 0.67 × ≥ 0.45 met ≥ 0.65 met",
		"memory at rest 50.00 MiB ≤ 40 missed ≤ 25 missed",
	} {
		if text := strings.Join(strings.Fields(out.String()), " "); !strings.Contains(text, want) {
			t.Errorf("the report lacks %q:\n%s", want, &out)
		}
	}
}

func TestMedian(t *testing.T) {
	t.Parallel()
	requests := func(r load.Result) float64 { return float64(r.Requests) }
	for want, list := range map[float64][]load.Result{
		0: {}, 3: {{Requests: 3}}, 5: {{Requests: 9}, {Requests: 1}}, 2: {{Requests: 2}, {Requests: 7}, {Requests: 1}},
	} {
		if got := median(list, requests); got != want {
			t.Errorf("median(%+v) = %v, want %v", list, got, want)
		}
	}
}
