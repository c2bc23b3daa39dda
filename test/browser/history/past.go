package main

import (
	"iter"
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"fairlead/internal/id"
	"fairlead/internal/requestlog"
	"fairlead/internal/route"
)

// past makes up when requests came: more by day than by night and on working days, a little more each week, and an
// afternoon on which a provider was in trouble.
type past struct {
	rnd       *rand.Rand
	templates []requestlog.Entry
	troubled  []int // templates that fell back
	end       time.Time
	hours     int
	rows      int
}

// A few hours of trouble, so many days before the end.
const (
	troubleDay   = 4
	troubleFrom  = 13
	troubleTo    = 17
	troubleShare = 0.35
)

func newPast(templates []requestlog.Entry, end time.Time, days, rows int) *past {
	p := &past{rnd: rand.New(rand.NewPCG(7, 11)), templates: templates, end: end, hours: days * 24, rows: rows}
	for i, t := range templates {
		if t.DecisionKind == route.Fallback {
			p.troubled = append(p.troubled, i)
		}
	}
	return p
}

// entries yields the history, oldest first.
func (p *past) entries() iter.Seq[requestlog.Entry] {
	begin := p.end.Add(-time.Duration(p.hours) * time.Hour)
	var total float64
	for hour := range p.hours {
		total += p.weight(begin.Add(time.Duration(hour)*time.Hour), hour)
	}
	return func(yield func(requestlog.Entry) bool) {
		for hour := range p.hours {
			start := begin.Add(time.Duration(hour) * time.Hour)
			share := p.weight(start, hour) / total * (0.85 + 0.3*p.rnd.Float64())
			for _, at := range p.moments(start, int(math.Round(share*float64(p.rows)))) {
				if !yield(p.entry(at)) {
					return
				}
			}
		}
	}
}

// weight says how busy an hour is beside others.
func (p *past) weight(at time.Time, hour int) float64 {
	clock := float64(at.Hour()) + 0.5
	bell := func(peak float64) float64 { return math.Exp(-(clock - peak) * (clock - peak) / 9) }
	day := 0.12 + bell(10.5) + 0.9*bell(15.5)
	if weekday := at.Weekday(); weekday == time.Saturday || weekday == time.Sunday {
		day *= 0.35
	}
	return day * (1 + 0.6*float64(hour)/float64(p.hours))
}

func (p *past) moments(start time.Time, n int) []time.Time {
	all := make([]time.Time, n)
	for i := range all {
		all[i] = start.Add(time.Duration(p.rnd.Int64N(int64(time.Hour)))).Truncate(time.Millisecond)
	}
	slices.SortFunc(all, time.Time.Compare)
	return all
}

// entry repeats a request at another time. Its text, tokens and bill stay as they were; how long it took differs.
func (p *past) entry(at time.Time) requestlog.Entry {
	e := p.templates[p.pick(at)]
	e.ID, e.Time = id.New("req", at), at
	factor := 3.2 * math.Exp(0.35*p.rnd.NormFloat64())
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

// pick chooses the request to repeat.
func (p *past) pick(at time.Time) int {
	ago := int(p.end.Sub(at).Hours() / 24)
	trouble := ago == troubleDay && at.Hour() >= troubleFrom && at.Hour() < troubleTo
	if trouble && len(p.troubled) > 0 && p.rnd.Float64() < troubleShare {
		return p.troubled[p.rnd.IntN(len(p.troubled))]
	}
	return p.rnd.IntN(len(p.templates))
}
