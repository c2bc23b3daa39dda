package replay

import (
	"cmp"
	"context"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"

	"fairlead/internal/policy"
	"fairlead/internal/requestlog"
	"fairlead/internal/route"
)

// Source reads stored traffic.
type Source interface {
	// Traced returns a page of matching entries that are older than the id before, newest first; an empty before begins
	// with the newest. next is where the following page begins, and empty at the end. A page may be short, or empty, and
	// have a next all the same.
	Traced(ctx context.Context, f requestlog.Filter, before string, limit int) (rows []Row, next string, err error)
}

// Rules are what requests are decided by.
type Rules struct {
	Snapshot    *route.Snapshot
	Policies    *policy.Set
	Corrections route.Corrections
	Feedback    string           // version of the corrections
	Objective   *route.Objective // in place of what requests for auto ask for; nil leaves it to them
}

// Options say what is decided anew, and by what.
type Options struct {
	Filter    requestlog.Filter
	Limit     int64  // most requests to look at, the newest ones; 0 for all
	Live      Rules  // in force
	Draft     *Rules // to be tried; nil tries what is in force on the requests of the past
	Predictor string // version that sees prompts now: what another one saw cannot be judged
	All       bool   // also requests that named their model, embeddings and moderations
	Ready     bool   // takes every circuit as closed and every credential as rested, whatever was recorded
	Largest   int    // how many of the largest changes are listed; 20 when 0
	Total     int64  // how many requests there are, for the progress; 0 when not known
	Workers   int    // decisions made at a time; as many as there are cores when 0
}

// pageSize is how many rows are read and decided at a time: what is in memory does not depend on how many there are.
const pageSize = 512

// Run decides stored traffic anew and reports what changes. Requests see the circumstances that were recorded with them.
// It tells how far it is after each page. Broken off, it returns the report of what it has done beside the error.
func Run(ctx context.Context, source Source, o Options, progress func(Progress)) (*Report, error) {
	b := newBacktest(o)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	pages := make(chan []Row, 1)
	var failed error
	go func() {
		defer close(pages)
		failed = b.pages(ctx, source, pages)
	}()
	for rows := range pages {
		b.page(rows)
		if progress != nil {
			progress(Progress{Done: b.sum.considered, Total: o.Total})
		}
	}
	return b.sum.report(&b.options), failed
}

// backtest is one run.
type backtest struct {
	options Options
	workers []*worker
	sum     *tally
}

func newBacktest(o Options) *backtest {
	o.Largest = cmp.Or(o.Largest, 20)
	o.Workers = cmp.Or(o.Workers, runtime.GOMAXPROCS(0))
	b := &backtest{options: o, sum: newTally(&o)}
	for range o.Workers {
		b.workers = append(b.workers, newWorker(&b.options))
	}
	return b
}

// pages reads page after page, each while the one before is decided.
func (b *backtest) pages(ctx context.Context, source Source, out chan<- []Row) error {
	left := b.options.Limit
	for before := ""; ; {
		size := pageSize
		if b.options.Limit > 0 {
			size = int(min(left, pageSize))
		}
		rows, next, err := source.Traced(ctx, b.options.Filter, before, size)
		if err != nil {
			return fmt.Errorf("read requests: %w", err)
		}
		select {
		case out <- rows:
		case <-ctx.Done():
			return ctx.Err()
		}
		left -= int64(len(rows))
		if next == "" {
			return nil
		}
		if b.options.Limit > 0 && left <= 0 {
			b.sum.limited = true
			return nil
		}
		before = next
	}
}

// page decides the rows on all cores, and adds the results up in their order, so that sums come out the same each time.
func (b *backtest) page(rows []Row) {
	results := make([]result, len(rows))
	var next atomic.Int64
	var all sync.WaitGroup
	for _, w := range b.workers {
		all.Go(func() {
			for i := next.Add(1) - 1; i < int64(len(rows)); i = next.Add(1) - 1 {
				results[i] = w.decide(&rows[i])
			}
		})
	}
	all.Wait()
	for i := range results {
		b.sum.add(&results[i])
	}
}
