package main

import (
	"iter"
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"fairlead.dev/internal/id"
	"fairlead.dev/internal/judge"
	"fairlead.dev/internal/proof"
	"fairlead.dev/internal/requestlog"
	"fairlead.dev/internal/route"
)

// generator generates a history of requests. There are more requests by day than by night, more on working days than on
// weekends, and slightly more each week. On one afternoon, many requests fall back to another target.
type generator struct {
	rnd       *rand.Rand
	templates []requestlog.Entry
	fallbacks []int // indexes of the templates that fell back
	end       time.Time
	hours     int
	rows      int
}

// The incident: the number of days before the end of the history, the hours of the day, and the share of requests that fall back.
const (
	incidentDay   = 4
	incidentFrom  = 13
	incidentTo    = 17
	incidentShare = 0.35
)

func newGenerator(templates []requestlog.Entry, end time.Time, days, rows int) *generator {
	g := &generator{rnd: rand.New(rand.NewPCG(7, 11)), templates: templates, end: end, hours: days * 24, rows: rows}
	for i, t := range templates {
		if t.DecisionKind == route.Fallback {
			g.fallbacks = append(g.fallbacks, i)
		}
	}
	return g
}

// entries yields the history, oldest first.
func (g *generator) entries() iter.Seq[requestlog.Entry] {
	begin := g.end.Add(-time.Duration(g.hours) * time.Hour)
	var total float64
	for hour := range g.hours {
		total += g.weight(begin.Add(time.Duration(hour)*time.Hour), hour)
	}
	return func(yield func(requestlog.Entry) bool) {
		for hour := range g.hours {
			start := begin.Add(time.Duration(hour) * time.Hour)
			share := g.weight(start, hour) / total * (0.85 + 0.3*g.rnd.Float64())
			for _, at := range g.moments(start, int(math.Round(share*float64(g.rows)))) {
				if !yield(g.entry(at)) {
					return
				}
			}
		}
	}
}

// weight returns the relative traffic of an hour.
func (g *generator) weight(at time.Time, hour int) float64 {
	clock := float64(at.Hour()) + 0.5
	bell := func(peak float64) float64 { return math.Exp(-(clock - peak) * (clock - peak) / 9) }
	day := 0.12 + bell(10.5) + 0.9*bell(15.5)
	if weekday := at.Weekday(); weekday == time.Saturday || weekday == time.Sunday {
		day *= 0.35
	}
	return day * (1 + 0.6*float64(hour)/float64(g.hours))
}

func (g *generator) moments(start time.Time, n int) []time.Time {
	all := make([]time.Time, n)
	for i := range all {
		all[i] = start.Add(time.Duration(g.rnd.Int64N(int64(time.Hour)))).Truncate(time.Millisecond)
	}
	slices.SortFunc(all, time.Time.Compare)
	return all
}

// entry repeats a request at another time. Bodies, tokens and bill stay the same; the latency varies.
func (g *generator) entry(at time.Time) requestlog.Entry {
	e := g.templates[g.pick(at)]
	e.ID, e.Time = id.New("req", at), at
	factor := 3.2 * math.Exp(0.35*g.rnd.NormFloat64())
	stretch := func(d time.Duration) time.Duration { return time.Duration(float64(d) * factor) }
	if e.Latency > e.Overhead {
		e.Latency = e.Overhead + stretch(e.Latency-e.Overhead)
	}
	e.TTFT = stretch(e.TTFT)
	e.Attempts = slices.Clone(e.Attempts)
	for i := range e.Attempts {
		a := &e.Attempts[i]
		a.Start, a.Connect, a.Headers = stretch(a.Start), stretch(a.Connect), stretch(a.Headers)
		a.FirstToken, a.Duration = stretch(a.FirstToken), stretch(a.Duration)
	}
	return e
}

// pick returns the index of the request to repeat.
func (g *generator) pick(at time.Time) int {
	ago := int(g.end.Sub(at).Hours() / 24)
	incident := ago == incidentDay && at.Hour() >= incidentFrom && at.Hour() < incidentTo
	if incident && len(g.fallbacks) > 0 && g.rnd.Float64() < incidentShare {
		return g.fallbacks[g.rnd.IntN(len(g.fallbacks))]
	}
	return g.rnd.IntN(len(g.templates))
}

// Share of the requests that are compared, and shares of the comparisons that the routed response wins and loses. The rest are ties.
const (
	comparedShare = 0.1
	winShare      = 0.025
	lossShare     = 0.03
)

// comparison returns a generated quality comparison with a baseline model. It returns false for requests that are not compared. Most
// comparisons are ties.
func (g *generator) comparison(e *requestlog.Entry, baseline string) (proof.Record, bool) {
	if baseline == "" || e.Model == "" || e.Model == baseline || e.Decision == nil || e.BaselineCost == nil || g.rnd.Float64() >= comparedShare {
		return proof.Record{}, false
	}
	r := proof.Record{
		Sample: proof.Sample{
			Request: e.ID, At: e.Time, Key: e.KeyID, Task: string(e.Decision.Input.Features.Task), Model: e.Model, Baseline: baseline, Propensity: comparedShare,
			Method: "judge", Reason: "Both responses answer the question.",
		},
		Workspace: e.WorkspaceID, State: proof.Compared, Cost: *e.BaselineCost, Versions: judge.PromptVersion,
	}
	switch u := g.rnd.Float64(); {
	case u < winShare:
		r.Difference, r.Reason = 1, "The routed response names the delivery date; the other one does not."
	case u < winShare+lossShare:
		r.Difference, r.Reason = -1, "The routed response leaves the second question open."
	}
	return r, true
}
