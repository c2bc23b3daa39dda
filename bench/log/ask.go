//go:build unix

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"fairlead.dev/internal/requestlog"
	"fairlead.dev/internal/store"
)

// patience is the maximum time for which one query is repeated. A slow query is therefore repeated less often.
const patience = 15 * time.Second

// ask measures every question and prints one line for each. It returns the number of questions that exceeded their
// limit.
func (o options) ask(ctx context.Context, db *store.DB, asked []question, out io.Writer) (over int, err error) {
	fmt.Fprintf(out, "%-52s %8s %9s %9s %9s %9s\n", "question", "rows", "p50 ms", "p95 ms", "CPU ms", "limit ms")
	for _, q := range asked {
		if !strings.Contains(q.name, o.only) {
			continue
		}
		m, err := o.time(ctx, db, q)
		if err != nil {
			return over, fmt.Errorf("%s: %w", q.name, err)
		}
		verdict := "ok"
		switch {
		case m.slow:
			verdict = "over the limit, cancelled"
		case m.p95 > q.bound:
			verdict = "over the limit"
		}
		if verdict != "ok" {
			over++
		}
		if m.partial {
			verdict += ", partial"
		}
		fmt.Fprintf(out, "%-52s %8d %9.1f %9.1f %9.1f %9d %s\n", q.name, m.rows, millis(m.p50), millis(m.p95), millis(m.cpu), q.bound.Milliseconds(), verdict)
	}
	return over, nil
}

// measurement is the result of one question.
type measurement struct {
	rows     int
	p50, p95 time.Duration
	cpu      time.Duration // average CPU time of this process
	slow     bool          // whether the store cancelled the query
	partial  bool          // whether the time limit was reached, so that the results are incomplete
}

// time runs a query once to warm up, and then as often as requested.
func (o options) time(ctx context.Context, db *store.DB, q question) (measurement, error) {
	var m measurement
	var took []time.Duration
	begun, cpu := time.Now(), time.Duration(0)
	for i := range o.runs + 1 {
		if i > 3 && time.Since(begun) > patience {
			break
		}
		start, busy := time.Now(), cpuTime()
		rows, err := q.ask(ctx, db)
		elapsed := time.Since(start)
		_, partial := errors.AsType[*requestlog.UnfinishedError](err)
		m.partial = m.partial || partial
		switch {
		case partial || err == nil:
		case errors.Is(err, requestlog.ErrTooSlow):
			return measurement{p50: elapsed, p95: elapsed, cpu: cpuTime() - busy, slow: true}, nil
		default:
			return m, err
		}
		if i > 0 {
			took, cpu = append(took, elapsed), cpu+cpuTime()-busy
		}
		m.rows = rows
	}
	slices.Sort(took)
	m.p50, m.p95, m.cpu = took[len(took)/2], took[(len(took)*95+99)/100-1], cpu/time.Duration(len(took))
	return m, nil
}

func millis(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
