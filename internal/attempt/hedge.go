package attempt

import (
	"context"
	"fmt"
	"runtime/debug"
	"time"

	"fairlead.dev/internal/bill"
	"fairlead.dev/internal/ledger"
	"fairlead.dev/internal/llm"
)

// minHedge is the minimum hedge delay when the delay is derived from the target's typical time to the first token.
const minHedge = 50 * time.Millisecond

// hedge calls target i of the plan. If hedging is enabled and the target sends no content in time, hedge also calls a
// second target. The target that sends content first serves the request. at is the index of the last target that was
// called.
func (s *Series) hedge(ctx context.Context, i int, last bool) (a *Attempt, at int, err error) {
	after := s.hedgeAfter(i)
	if after == 0 {
		a, err = s.Try(ctx, s.Plan[i], last, nil)
		return a, i, err
	}
	first, err := s.prepare(ctx, s.Plan[i], last, nil)
	if err != nil {
		return nil, i, err
	}
	results := make(chan result, 2) // buffered, so neither goroutine blocks when it sends its result
	go first.openAsync(results)     //nolint:contextcheck // an attempt has its own context
	timer := time.NewTimer(after)
	defer timer.Stop()
	select {
	case r := <-results:
		a, err = r.attempt()
		return a, i, err
	case <-timer.C:
	}
	second, at, hold := s.prepareHedge(ctx, i)
	if second == nil {
		a, err = (<-results).attempt()
		return a, i, err
	}
	defer hold.Release()         // only one of the two responses is charged to the budget
	go second.openAsync(results) //nolint:contextcheck // an attempt has its own context
	r := <-results
	other := first
	if r.of == first {
		other = second
	}
	if a, err = r.attempt(); err == nil {
		other.cancel(errHedgeLost)
		<-results
		other.abandon(&llm.Error{Kind: llm.HedgeLost, Message: errHedgeLost.Error()}, true)
		return a, at, nil
	}
	a, late := (<-results).attempt()
	if late != nil && !llm.AsError(err).Kind.NextMayHelp() {
		return nil, at, err // an invalid request fails at every target
	}
	return a, at, late
}

// hedgeAfter returns the time after which a second target is called if target i has sent no content; 0 disables the
// hedge.
func (s *Series) hedgeAfter(i int) time.Duration {
	req := s.Terms.Request
	if !s.Settings.Hedge || !bill.Generates(req.Op) || req.Background || // a cancelled call would continue in the background
		i+1 >= len(s.Plan) || s.Left() < 2 {
		return 0
	}
	if s.Settings.HedgeAfter > 0 || !req.Stream {
		return s.Settings.HedgeAfter
	}
	usual := s.Dispatcher.Health.FirstToken(s.Plan[i].ID())
	if usual == 0 {
		return 0
	}
	return max(usual, minHedge)
}

// prepareHedge prepares a call to the next target that admits a call. It returns nil when no target admits a call, when
// the budgets have too little left, or when retries are limited. A hedge counts as a retry.
func (s *Series) prepareHedge(ctx context.Context, i int) (a *Attempt, at int, hold *ledger.Hold) {
	hold, err := s.TryHold(ctx, s.Terms.MaxCost(s.Plan[i+1:]))
	if err != nil {
		return nil, i, nil
	}
	if !s.Dispatcher.Admission.AllowRepeat(s.Plan[i].ID()) {
		hold.Release()
		return nil, i, nil
	}
	for at = i + 1; at < len(s.Plan); at++ {
		last := at+1 == len(s.Plan) || s.Left() == 1
		if a, err = s.prepare(ctx, s.Plan[at], last, nil); err == nil {
			a.note.Hedge = true
			return a, at, hold
		}
	}
	hold.Release()
	return nil, i, nil
}

// result is an attempt that has content or has failed.
type result struct {
	of  *Attempt
	err error
}

// attempt returns the attempt, or records and returns its failure.
func (r result) attempt() (*Attempt, error) {
	if r.err != nil {
		return nil, r.of.fail(r.err)
	}
	return r.of, nil
}

// openAsync makes the call in a separate goroutine. It does not change the series.
func (a *Attempt) openAsync(results chan<- result) {
	var err error
	defer func() {
		if p := recover(); p != nil { // the request handler cannot recover a panic of this goroutine
			err = fmt.Errorf("panic: %v\n%s", p, debug.Stack())
		}
		results <- result{a, err}
	}()
	err = a.open()
}
