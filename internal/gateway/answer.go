package gateway

import (
	"cmp"
	"context"
	"errors"
	"io"
	"net/http"
	"time"

	"fairlead/internal/egress"
	"fairlead/internal/limit"
	"fairlead/internal/llm"
	"fairlead/internal/money"
	"fairlead/internal/provider"
	"fairlead/internal/requestlog"
)

// answer is a target's answer from the moment of the call. Until its first content nothing of it has reached the client.
type answer struct {
	gateway  *Gateway
	exchange *exchange
	target   *provider.Target
	provider *provider.Provider
	call     *provider.Call
	ctx      context.Context //nolint:containedctx // the call's own, cancelled when the answer is given up
	cancel   context.CancelCauseFunc
	timer    *time.Timer          // gives the call up: first for the first token, then for silence
	places   *limit.FairSemaphore // one of which it has; nil where the provider has no cap
	timing   *egress.Timing       // of the call; nil before it is made
	body     received
	stream   llm.Stream
	pending  []llm.Event // up to and with the first content
	usage    llm.Event   // comes last, and is nobody's business where the answer broke
	seam     *seam       // to what another answer has said; nil for an answer of its own
	began    time.Time
	note     requestlog.Attempt // what is known of the attempt
	index    int                // of it in the entry
	probe    bool
	speaking bool // something came that is content
	whole    bool // read to its proper end
	done     bool
}

// attempt is what is known of the call. While it runs that is its own: two may run side by side.
func (a *answer) attempt() *requestlog.Attempt { return &a.note }

// save puts what is known of the call on the entry, once it has ended.
func (a *answer) save() {
	a.note.Bytes = a.body.bytes
	a.exchange.entry.Attempts[a.index] = a.note
}

// continues makes the call one that goes on with another answer.
func (a *answer) continues(c *continuation) {
	a.seam = c.client.seam
	a.seam.alive = a.heard
	a.call.Request, a.call.Client, a.call.MaxOutput = c.request, c.client, c.maxOutput
	a.call.Joins, a.call.Prefilled = true, a.seam.prefilled
}

// read collects events until one carries content: the point of no return.
func (a *answer) read(e provider.Exchange, resp *http.Response) error {
	a.stream = conceal(e.Events(a.call, resp), a.call)
	for {
		ev, ok, err := a.stream.Next()
		if err != nil {
			return err
		}
		if !ok {
			break // an answer without content, but with its finish: an empty one is still an answer
		}
		if ev.Content {
			a.pending = append(a.pending, ev) // as it is: it is passed on before the next one is asked for
			break
		}
		a.pending = append(a.pending, keep(ev))
	}
	a.heard()
	return nil
}

// heard notes a sign of life. From the first on it is silence that ends the call.
func (a *answer) heard() {
	if a.speaking {
		a.timer.Reset(a.idle())
		return
	}
	a.speaking = true
	a.attempt().FirstToken = time.Since(a.began)
	a.watchSilence()
}

// keep copies an event where that is needed for it to outlive the next one.
func keep(ev llm.Event) llm.Event {
	if !ev.Own {
		ev.Data, ev.Own = append([]byte(nil), ev.Data...), true
	}
	return ev
}

// watchSilence gives the call up when nothing comes for too long.
func (a *answer) watchSilence() {
	if a.timer != nil && !a.timer.Stop() {
		return // the first-token limit fired at this very moment: the next read will say so
	}
	a.timer = time.AfterFunc(a.idle(), func() { a.cancel(errIdle) })
}

// idle is the longest silence within the answer.
func (a *answer) idle() time.Duration { return cmp.Or(a.target.Waits.Idle, a.exchange.settings.Idle) }

// wait returns when the answer may go on, or has ended. Silence is watched from here on.
func (a *answer) wait() {
	a.timer.Reset(a.idle())
	if stream, ok := a.stream.(llm.Waiter); ok {
		stream.Wait()
	}
}

// fail ends a call that has not begun to answer, and notes why.
func (a *answer) fail(err error) error {
	err = a.translate(err)
	e := llm.AsError(err)
	attempt := a.attempt()
	attempt.Duration = time.Since(a.began)
	attempt.RetryAfter = e.RetryAfter
	a.blame(e)
	a.price()
	if e.Kind == llm.ClientCancelled {
		a.priceSent()
	}
	a.exchange.waited()
	a.report(e, 0)
	a.save()
	a.close()
	return err
}

// price notes what a call has cost that the client has nothing of: somebody pays for it all the same.
func (a *answer) price() {
	if a.seam != nil && a.speaking {
		a.cost(a.exchange.ownCount(a.target, a.unseen()))
		return
	}
	for _, ev := range a.pending {
		if ev.Usage != nil && plausible(*ev.Usage, a.call) {
			a.cost(*ev.Usage)
		}
	}
}

// priceSent notes what a call has cost that was well until it was given up: once it was sent, the provider has read it.
func (a *answer) priceSent() {
	if a.note.Usage == nil && a.timing != nil && !a.timing.Connected().IsZero() {
		a.cost(a.exchange.ownCount(a.target, a.heardTokens()))
	}
}

func (a *answer) cost(u llm.Usage) {
	a.note.Usage, a.note.Cost = &u, a.exchange.priced(a.target, u)
}

// blame notes why the call failed.
func (a *answer) blame(e *llm.Error) {
	attempt := a.attempt()
	attempt.Class, attempt.Message = e.Kind, e.Message
	if !a.exchange.storesText() {
		attempt.Message = "" // a provider may quote the prompt
	}
}

// unseen is how many tokens the target has said before the seam.
func (a *answer) unseen() int64 {
	if a.seam == nil {
		return 0
	}
	return tokens(a.target.Model).Output(a.seam.unseen.ascii, a.seam.unseen.other, a.exchange.req.Text)
}

// finish notes a call that answered, wholly or in part, and what it cost.
func (a *answer) finish(e *llm.Error, u llm.Usage, cost *money.Amount) {
	attempt := a.attempt()
	attempt.Duration = time.Since(a.began)
	attempt.Usage = &u
	attempt.Cost = cost
	a.whole = e == nil
	if e != nil {
		a.blame(e)
	}
	a.exchange.waited()
	a.report(e, u.Output)
	a.save()
}

// translate says what an error of the call means: ours to give it up, the client's to leave, or the provider's failure.
func (a *answer) translate(err error) error {
	switch cause := context.Cause(a.ctx); {
	case cause == nil:
	case errors.Is(cause, errConnect):
		return &llm.Error{Kind: llm.UpstreamConnect, Message: cause.Error(), Err: err}
	case errors.Is(cause, errOutrun):
		return &llm.Error{Kind: llm.HedgeLost, Message: cause.Error(), Err: err}
	case errors.Is(cause, errFirstToken), errors.Is(cause, errIdle), errors.Is(cause, errHeaders):
		return &llm.Error{Kind: llm.UpstreamTimeout, Message: cause.Error(), Err: err}
	default:
		return a.exchange.ended(a.ctx)
	}
	if _, ok := errors.AsType[*llm.Error](err); ok {
		return concealError(err, maskerOf(a.call))
	}
	return &llm.Error{Kind: llm.UpstreamConnect, Message: "the connection failed", Err: err}
}

// close lets go of everything the call holds.
func (a *answer) close() {
	if a.done {
		return
	}
	a.done = true
	if a.timer != nil {
		a.timer.Stop()
	}
	if a.stream != nil {
		a.stream.Close()
	}
	if a.whole && a.body.from != nil {
		a.drain()
	}
	a.cancel(nil)
	if a.body.from != nil {
		_ = a.body.Close() // the answer is done with: nothing is left to go wrong
	}
	a.places.Release(a.exchange.grant.Key.ID)
}

// drain reads what follows the end of an answer, so that its connection can be used again. The client has everything by
// now; a provider that does not end its answer costs the connection and nothing else.
func (a *answer) drain() {
	a.timer.Reset(drainTime)
	defer a.timer.Stop()
	_, _ = io.CopyN(io.Discard, &a.body, drainBytes)
}

const (
	drainTime  = 100 * time.Millisecond
	drainBytes = 1 << 10
)

// total is the deadline over all attempts: the first choice's own, or the gateway's.
func (x *exchange) total() time.Duration {
	return cmp.Or(x.decision.Plan[0].Waits.Total, x.settings.Total)
}

// ended says why the request's own context is over: its deadline, the client's leaving, or a reason we gave.
func (x *exchange) ended(ctx context.Context) *llm.Error {
	cause := context.Cause(ctx)
	if e, ok := errors.AsType[*llm.Error](cause); ok {
		return e
	}
	if errors.Is(cause, errDeadline) {
		return llm.Errorf(llm.UpstreamTimeout, "The request's deadline of %s passed before a provider had answered. Repeat it, or raise timeouts.total.", x.total()).
			With("attempts", attempts(x))
	}
	return &llm.Error{Kind: llm.ClientCancelled, Message: "The client closed the connection before the answer was complete.", Err: cause}
}
