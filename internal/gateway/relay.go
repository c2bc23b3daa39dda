package gateway

import (
	"context"
	"slices"
	"time"

	"fairlead/internal/llm"
	"fairlead/internal/requestlog"
)

// relay hands the answer's events to the client. Charging and recording come before the last byte.
func (g *Gateway) relay(ctx context.Context, x *exchange, ans *answer, settle func()) error {
	defer ans.close()
	ans.warn()
	var t tally
	if err := x.pass(ans, &t); err != nil {
		return g.broke(ctx, x, ans, &t, llm.AsError(err), settle)
	}
	return g.complete(ctx, x, ans, &t, settle)
}

// complete ends an answer that has come to its end.
func (g *Gateway) complete(ctx context.Context, x *exchange, ans *answer, t *tally, settle func()) error {
	ans.warn()
	x.entry.Finish, x.entry.ServedAs = shorten(t.finish), shortenName(t.model)
	cost := x.bill(ans.target, t.usage(ans))
	x.entry.Signals = x.signals(t.finish)
	g.remember(x, ans.target, x.entry.Usage)
	ans.finish(nil, x.entry.Usage, cost)
	settle()
	x.entry.Outcome, x.entry.Status = requestlog.OK, 200
	if err := g.record(x); err != nil {
		return err
	}
	if err := x.w.end(x); err != nil {
		// The entry is on disk and stays as it is. Whether the last bytes were read is not for us to know.
		g.Logger.DebugContext(ctx, "the client left with the last bytes on the way", "request_id", x.entry.ID, "error", err.Error())
	}
	return nil
}

// pass hands an answer on, from its beginning. Nearly all the time that a stream is open is spent waiting here.
func (x *exchange) pass(ans *answer, t *tally) error {
	ans.timer.Stop() // a client that reads slowly is not the provider's silence
	for i := range ans.pending {
		if err := x.take(ans, t, &ans.pending[i]); err != nil {
			return err
		}
	}
	ans.pending = nil // the client has it, and what follows may take long
	for {
		ans.wait()
		if more, err := x.passOne(ans, t); !more || err != nil {
			return err
		}
	}
}

// passOne hands on one event, and after the last one the usage.
func (x *exchange) passOne(ans *answer, t *tally) (more bool, err error) {
	ev, ok, err := ans.stream.Next()
	switch {
	case err != nil:
		return false, ans.translate(err)
	case !ok:
		return false, x.deliver(&ans.usage)
	}
	ans.timer.Stop()
	return true, x.take(ans, t, &ev)
}

// take counts an event, and delivers it unless it is the usage.
func (x *exchange) take(ans *answer, t *tally, ev *llm.Event) error {
	t.add(ev)
	if ev.Bare {
		ans.usage = keep(*ev)
		return nil
	}
	return x.deliver(ev)
}

// broke ends an answer that is not complete, or has another target go on with it.
func (g *Gateway) broke(ctx context.Context, x *exchange, ans *answer, t *tally, e *llm.Error, settle func()) error {
	ans.warn()
	cost := x.bill(ans.target, t.usage(ans))
	ans.finish(e, x.entry.Usage, cost)
	ans.close()
	if t.finish != "" {
		settle()
		return e
	}
	next, err := g.rescue(ctx, x, ans, e)
	if err != nil {
		settle()
		return err
	}
	return g.relay(ctx, x, next, settle)
}

// warn notes on the entry what had to change so that the target took the request, and what was left out of its answer.
func (a *answer) warn() {
	if len(a.call.Warnings) > 0 { // they may quote the response
		masker := maskerOf(a.call)
		for i, w := range a.call.Warnings {
			a.call.Warnings[i] = masker.Text(w)
		}
	}
	a.exchange.entry.Warnings = slices.Concat(a.exchange.warned, a.call.Warnings)
}

// deliver passes one event on and keeps a copy for the log. Of a whole answer there is one copy, for the client and the log.
func (x *exchange) deliver(ev *llm.Event) error {
	if ev.Data == nil || ev.Bare && !x.req.IncludeUsage {
		return nil
	}
	if x.entry.TTFT == 0 && ev.Content {
		x.entry.TTFT = time.Since(x.start)
	}
	if !x.w.stream && !ev.Own {
		own := keep(*ev)
		ev = &own
	}
	x.keepAnswer(ev)
	if err := x.w.event(x, ev); err != nil {
		return &llm.Error{Kind: llm.ClientCancelled, Message: "The client stopped reading the answer.", Err: err}
	}
	return nil
}

// tally counts what an answer brings.
type tally struct {
	reported        *llm.Usage
	finish          string
	model           string
	ascii, nonASCII int64
}

func (t *tally) add(ev *llm.Event) {
	t.ascii += int64(ev.ASCIIBytes)
	t.nonASCII += int64(ev.NonASCIIBytes)
	if ev.Usage != nil {
		t.reported = ev.Usage
	}
	if ev.Finish != "" {
		t.finish = ev.Finish
	}
	if ev.Model != "" {
		t.model = ev.Model
	}
}
