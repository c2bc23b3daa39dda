package samples

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"fairlead.dev/internal/id"
	"fairlead.dev/internal/requestlog"
	"fairlead.dev/internal/route"
)

const (
	historyDays   = 14
	requestsADay  = 100
	historyBatch  = 200 // entries per write
	incidentAgo   = 4   // days from the incident to the end; one more or less for a weekend, because weekends have little traffic
	incidentFrom  = 13  // first hour of the incident (UTC)
	incidentTo    = 17
	incidentShare = 0.6 // share of failing requests during the incident
	failureShare  = 0.3 // factor by which the templates' share of failing requests is multiplied outside the incident
)

// history creates log entries for up to two weeks by repeating the entries of sample requests. Traffic is higher during the day and on
// working days. On one afternoon, there is an incident with many provider failures.
type history struct {
	rnd  *rand.Rand
	end  time.Time
	days int
	rows int // approximate number of requests
}

// newHistory returns a history that ends at the given time. It covers at most the retention period; 0 means no limit.
func newHistory(end time.Time, retention time.Duration) *history {
	days := historyDays
	if retention > 0 {
		days = min(days, int(retention/(24*time.Hour)))
	}
	return &history{rnd: rand.New(rand.NewPCG(7, 11)), end: end.UTC(), days: days, rows: days * requestsADay}
}

// write repeats random templates at the times of the history. After each batch, it reports the number of entries written so far.
func (h *history) write(ctx context.Context, templates []requestlog.Entry, to requestlog.Writer, progress func(written int)) error {
	var steady, failing []requestlog.Entry
	for i := range templates {
		if isFailing(&templates[i]) {
			failing = append(failing, templates[i])
		} else {
			steady = append(steady, templates[i])
		}
	}
	if len(steady) == 0 {
		steady = failing
	}
	written := 0
	for batch := range slices.Chunk(h.times(), historyBatch) {
		if err := ctx.Err(); err != nil {
			return err
		}
		entries := make([]requestlog.Entry, len(batch))
		for i, at := range batch {
			share := failureShare * float64(len(failing)) / float64(len(steady)+len(failing))
			if h.inIncident(at) {
				share = incidentShare
			}
			from := steady
			if len(failing) > 0 && h.rnd.Float64() < share {
				from = failing
			}
			entries[i] = h.repeat(&from[h.rnd.IntN(len(from))], at)
		}
		if err := to.WriteEntries(ctx, entries); err != nil {
			return err
		}
		written += len(batch)
		progress(min(written, h.rows))
	}
	progress(h.rows)
	return nil
}

// isFailing reports whether a provider failed during the request.
func isFailing(e *requestlog.Entry) bool {
	return e.DecisionKind == route.Fallback || e.Outcome.IsError()
}

// times returns the times of the requests, oldest first.
func (h *history) times() []time.Time {
	begin := h.end.Add(-time.Duration(h.days) * 24 * time.Hour)
	hours := h.days * 24
	var total float64
	for hour := range hours {
		total += weight(begin.Add(time.Duration(hour) * time.Hour))
	}
	var all []time.Time
	for hour := range hours {
		start := begin.Add(time.Duration(hour) * time.Hour)
		share := weight(start) / total * (0.85 + 0.3*h.rnd.Float64())
		for range int(math.Round(share * float64(h.rows))) {
			all = append(all, start.Add(time.Duration(h.rnd.Int64N(int64(time.Hour)))).Truncate(time.Millisecond))
		}
	}
	slices.SortFunc(all, time.Time.Compare)
	return all
}

// weight returns the relative traffic of the hour that begins at the given time.
func weight(at time.Time) float64 {
	clock := float64(at.Hour()) + 0.5
	bell := func(peak float64) float64 { return math.Exp(-(clock - peak) * (clock - peak) / 9) }
	w := 0.12 + bell(10.5) + 0.9*bell(15.5)
	if day := at.Weekday(); day == time.Saturday || day == time.Sunday {
		w *= 0.35
	}
	return w
}

// inIncident reports whether the given time is within the incident.
func (h *history) inIncident(at time.Time) bool {
	day := h.end.AddDate(0, 0, -incidentAgo).Truncate(24 * time.Hour)
	switch day.Weekday() {
	case time.Saturday:
		day = day.AddDate(0, 0, -1)
	case time.Sunday:
		day = day.AddDate(0, 0, 1)
	default:
	}
	return !at.Before(day.Add(incidentFrom*time.Hour)) && at.Before(day.Add(incidentTo*time.Hour))
}

// repeat returns a copy of the template as a request made at the given time. Bodies, tokens and cost stay the same; the latency varies.
func (h *history) repeat(template *requestlog.Entry, at time.Time) requestlog.Entry {
	e := *template
	e.ID, e.Time, e.TraceID = id.New("req", at), at, ""
	if e.Session != "" {
		e.Session += at.Format("-0102150405.000") // each repeated request is in a separate session
	}
	factor := math.Exp(0.35 * h.rnd.NormFloat64())
	stretch := func(d time.Duration) time.Duration { return time.Duration(float64(d) * factor) }
	if e.Latency > e.Overhead {
		e.Latency = e.Overhead + stretch(e.Latency-e.Overhead)
	}
	e.TTFT, e.Wait = stretch(e.TTFT), stretch(e.Wait)
	e.Attempts = slices.Clone(e.Attempts)
	for i := range e.Attempts {
		a := &e.Attempts[i]
		a.Start, a.Connect, a.Headers = stretch(a.Start), stretch(a.Connect), stretch(a.Headers)
		a.FirstToken, a.Duration = stretch(a.FirstToken), stretch(a.Duration)
	}
	return e
}
