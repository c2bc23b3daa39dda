package replay

import (
	"cmp"
	"context"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"

	"fairlead.dev/internal/policy"
	"fairlead.dev/internal/requestlog"
	"fairlead.dev/internal/route"
)

// Source reads stored traffic.
type Source interface {
	// Traced returns a page of matching entries, newest first. If before is not empty, the page contains only entries with smaller IDs.
	// next is the value of before for the following page, or empty after the last page. A page that is not the last one may have fewer
	// than limit rows, or none.
	Traced(ctx context.Context, f requestlog.Filter, before string, limit int) (rows []Row, next string, err error)
}

// Rules holds the data on which routing decisions depend.
type Rules struct {
	Snapshot    *route.Snapshot
	Policies    *policy.Set
	Corrections route.Corrections
	Feedback    string           // version of Corrections
	Objective   *route.Objective // objective for all requests for the model auto; nil keeps the objective of each request
}

// Options selects the requests of a backtest and the rules to apply.
type Options struct {
	Filter    requestlog.Filter
	Limit     int64  // maximum number of requests, newest first; 0 for all
	Live      Rules  // active rules of the workspace
	Draft     *Rules // rules under test; nil applies the active rules to past requests
	Predictor string // current predictor version; requests with features of another version are skipped
	All       bool   // whether to include requests for an explicit model, embeddings and moderations
	Largest   int    // number of largest changes to list; 20 if 0
	Total     int64  // number of requests, for progress reports; 0 if unknown
	Workers   int    // number of concurrent decisions; the number of cores if 0
}

// pageSize is the maximum number of rows in a page.
const pageSize = 512

// Run recomputes the decisions of stored traffic and reports the changes. Each decision uses the conditions that were recorded with the
// request. Run calls progress after each page. If it fails or ctx is cancelled, it returns the report for the requests processed so far and
// the error.
func Run(ctx context.Context, source Source, o Options, progress func(Progress)) (*Report, error) {
	o.Largest = cmp.Or(o.Largest, 20)
	o.Workers = cmp.Or(o.Workers, runtime.GOMAXPROCS(0))
	b := &backtest{options: o, sum: newTally(&o)}
	for range o.Workers {
		b.workers = append(b.workers, &worker{options: &b.options})
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	pages := make(chan []Row, 1)
	var failed error
	go func() {
		defer close(pages)
		failed = b.readPages(ctx, source, pages)
	}()
	for p := range pages {
		b.decidePage(p)
		if progress != nil {
			progress(Progress{Done: b.sum.considered, Total: o.Total})
		}
	}
	return b.sum.report(&b.options), failed
}

// backtest is the state of one run.
type backtest struct {
	options Options
	workers []*worker
	sum     *tally
}

// readPages sends pages to out. It reads the next page while the previous one is processed.
func (b *backtest) readPages(ctx context.Context, source Source, out chan<- []Row) error {
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

// decidePage recomputes the decisions of the rows on all cores. It adds the results in row order, so that sums are
// reproducible.
func (b *backtest) decidePage(rows []Row) {
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
