package gateway

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"time"

	"fairlead/internal/ledger"
	"fairlead/internal/llm"
	"fairlead/internal/money"
	"fairlead/internal/provider"
)

// errOutrun ends the call that was slower than the one asked besides it.
var errOutrun = errors.New("another target answered first")

// leastHedge is the shortest silence after which a second target is asked by what is usual: faster ones are not worth it.
const leastHedge = 50 * time.Millisecond

// race asks target i of the plan, and where that is wanted, and it keeps silent for too long, another one besides. Whoever
// has content first answers the request. at is the index of the last target that was asked.
func (g *Gateway) race(ctx context.Context, x *exchange, i int, last bool) (ans *answer, at int, err error) {
	plan := x.decision.Plan
	after := g.hedgeAfter(x, i)
	if after == 0 {
		ans, err = g.try(ctx, x, plan[i], last, nil)
		return ans, i, err
	}
	first, err := g.prepare(ctx, x, plan[i], last, nil)
	if err != nil {
		return nil, i, err
	}
	ends := make(chan opened, 2) // room for both: neither call ever waits to be heard
	go first.openBeside(ends)    //nolint:contextcheck // an answer has the context of its own call
	timer := time.NewTimer(after)
	defer timer.Stop()
	select {
	case end := <-ends:
		ans, err = end.result()
		return ans, i, err
	case <-timer.C:
	}
	second, at, hold := g.second(ctx, x, i)
	if second == nil {
		ans, err = (<-ends).result()
		return ans, i, err
	}
	defer hold.Release()       // the client pays for one answer
	go second.openBeside(ends) //nolint:contextcheck // as above
	ans, err = decide(first, second, ends)
	return ans, at, err
}

// hedgeAfter is how long target i may be silent before another one is asked besides; 0 for never.
func (g *Gateway) hedgeAfter(x *exchange, i int) time.Duration {
	s := x.settings
	if !s.Hedge || !writes(x.op) || i+1 >= len(x.decision.Plan) || len(x.entry.Attempts)+2 > s.Attempts {
		return 0
	}
	if s.HedgeAfter > 0 || !x.req.Stream {
		return s.HedgeAfter
	}
	usual := g.Health.FirstToken(x.decision.Plan[i].ID())
	if usual == 0 {
		return 0
	}
	return max(usual, leastHedge)
}

// second prepares a call to the next target that may be called, where budgets leave room for it; nil where not. Hedges beside a
// target are bounded as repeats at it are.
func (g *Gateway) second(ctx context.Context, x *exchange, i int) (a *answer, at int, hold *ledger.Hold) {
	plan := x.decision.Plan
	hold, err := g.Ledger.TryHold(ctx, Budgets(x.grant), x.dearestOf(plan[i+1:]))
	if err != nil {
		return nil, i, nil
	}
	if !g.Health.AllowRepeat(plan[i].ID()) {
		hold.Release()
		return nil, i, nil
	}
	for at = i + 1; at < len(plan); at++ {
		last := at+1 == len(plan) || len(x.entry.Attempts)+1 == x.settings.Attempts
		if a, err = g.prepare(ctx, x, plan[at], last, nil); err == nil {
			a.note.Hedge = true
			return a, at, hold
		}
	}
	hold.Release()
	return nil, i, nil
}

// opened is a call that has content, or has failed.
type opened struct {
	answer *answer
	err    error
}

// result is the answer, or its failure, which is noted.
func (o opened) result() (*answer, error) {
	if o.err != nil {
		return nil, o.answer.fail(o.err)
	}
	return o.answer, nil
}

// openBeside makes a call in a goroutine of its own. Nothing of the exchange is changed there.
func (a *answer) openBeside(ends chan<- opened) {
	var err error
	defer func() {
		if p := recover(); p != nil { // it is not the request's goroutine that would catch it
			err = fmt.Errorf("panic: %v\n%s", p, debug.Stack())
		}
		ends <- opened{a, err}
	}()
	err = a.open()
}

// decide waits for the first of two calls that has content, and ends the other. It returns when both have ended or answered.
func decide(first, second *answer, ends <-chan opened) (*answer, error) {
	end := <-ends
	other := first
	if end.answer == first {
		other = second
	}
	ans, err := end.result()
	if err == nil {
		other.cancel(errOutrun)
		<-ends
		other.outrun()
		return ans, nil
	}
	ans, late := (<-ends).result()
	if late != nil && !llm.AsError(err).Kind.NextMayHelp() {
		return nil, err // the request was at fault, whatever became of the other call
	}
	return ans, late
}

// outrun ends a call that another was faster than, and notes what it has cost.
func (a *answer) outrun() {
	a.note.Duration = time.Since(a.began)
	e := &llm.Error{Kind: llm.HedgeLost, Message: errOutrun.Error()}
	a.blame(e)
	a.price()
	a.priceSent()
	a.exchange.waited()
	a.report(e, 0)
	a.save()
	a.close()
}

// heardTokens is how much of the answer had come.
func (a *answer) heardTokens() int64 {
	var t tally
	for i := range a.pending {
		t.add(&a.pending[i])
	}
	return tokens(a.target.Model).Output(t.ascii, t.nonASCII, a.exchange.req.Text)
}

// dearestOf is the most that one of the targets can charge for the request.
func (x *exchange) dearestOf(targets []*provider.Target) (most money.Amount) {
	for _, t := range targets {
		if t.Price != nil {
			most = max(most, x.mostCost(t, x.mostUsage(t)))
		}
	}
	return most
}
