package gateway

import (
	"time"

	"fairlead/internal/llm"
	"fairlead/internal/requestlog"
)

// relay hands the answer's events to the client. Charging and recording come before the last byte.
func (g *Gateway) relay(x *exchange, ans *answer, settle func()) error {
	x.entry.Warnings = ans.call.Warnings
	var t tally
	for ev, err := range ans.events() {
		if err == nil {
			t.add(ev)
			err = x.deliver(ev)
		}
		if err != nil {
			e := llm.AsError(err)
			x.bill(ans.target, t.usage(x, ans.target))
			ans.finish(e, x.entry.Usage)
			settle()
			return e
		}
	}
	x.entry.Finish, x.entry.ServedAs = t.finish, t.model
	x.bill(ans.target, t.usage(x, ans.target))
	x.entry.Signals = x.signals(t.finish)
	g.remember(x, ans.target, x.entry.Usage)
	ans.finish(nil, x.entry.Usage)
	settle()
	x.entry.Outcome, x.entry.Status = requestlog.OK, 200
	if err := g.record(x); err != nil {
		return err
	}
	return x.w.end(x)
}

// deliver passes one event on and keeps a copy for the log.
func (x *exchange) deliver(ev llm.Event) error {
	if ev.Bare && !x.req.IncludeUsage {
		return nil
	}
	if x.entry.TTFT == 0 && ev.Content {
		x.entry.TTFT = time.Since(x.start)
	}
	x.keepAnswer(ev.Data)
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

func (t *tally) add(ev llm.Event) {
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
