package gateway

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"fairlead/internal/ledger"
	"fairlead/internal/llm"
	"fairlead/internal/money"
	"fairlead/internal/provider"
	"fairlead/internal/requestlog"
	"fairlead/internal/wire"
)

// rescueBytes bounds what is kept of a stream to go on with it, where its text is not kept for the log.
const rescueBytes = 1 << 20

// way is one way to go on with an answer that broke: a target is given what the client has as the beginning of its answer,
// or answers anew, unseen until it has repeated that.
type way struct {
	target  *provider.Target
	prefill bool
	again   bool // the target has just failed: a pause comes first
}

// rescuable reports whether the stream could go on after a break, as far as the request decides that.
func (x *exchange) rescuable() bool {
	return x.settings.Rescue && x.op == llm.Chat && x.req.Stream && x.req.Choices <= 1 && !x.forgotten
}

// worthRescue reports whether the failure was the target's own. A refusal for what the answer says is not routed around.
func worthRescue(e *llm.Error) bool { return e.Kind.NextMayHelp() && e.Kind != llm.UpstreamContext }

// rescue finds a target that goes on with the very text that a broken answer began. Where none does, the error is what the
// client is told.
func (g *Gateway) rescue(ctx context.Context, x *exchange, broken *answer, e *llm.Error) (*answer, error) {
	if ctx.Err() != nil || !x.rescuable() || !worthRescue(e) {
		return nil, e
	}
	rest, ok := x.resume()
	if !ok {
		return nil, e
	}
	paid, err := g.reserve(ctx, x, broken)
	if err != nil {
		return nil, e // the budget bears no second answer
	}
	defer paid.Release() // does nothing once settled
	next := g.walk(ctx, x, x.ways(ctx, rest.Text, broken, e), e)
	switch {
	case next != nil:
		x.goOn(broken, next)
		paid.Settle(broken.paid())
		return next, nil
	case ctx.Err() != nil:
		return nil, x.ended(ctx)
	}
	return nil, e
}

// walk tries the ways in order until a target has something new to say; nil when none does. A text that deviates ends it:
// another one would too.
func (g *Gateway) walk(ctx context.Context, x *exchange, ways []way, e *llm.Error) *answer {
	for len(ways) > 0 && len(x.entry.Attempts) < x.settings.Attempts {
		w, before := ways[0], len(x.entry.Attempts)
		ways = ways[1:]
		if w.again && !g.repeat(ctx, x, w.target, e) {
			return nil
		}
		ans, err := g.continued(ctx, x, w, len(ways) == 0 || before+1 == x.settings.Attempts)
		switch {
		case err == nil:
			return ans
		case ctx.Err() != nil:
			return nil
		case w.prefill && refusesPrefill(err):
			x.hideRefusal(before)
			if g.Health.AllowRepeat(w.target.ID()) {
				ways = append([]way{{target: w.target}}, ways...)
			}
		case !llm.AsError(err).Kind.NextMayHelp():
			return nil
		}
	}
	return nil
}

// resume is the caller's format ready to go on with what has gone out.
func (x *exchange) resume() (wire.Continuation, bool) {
	format, ok := x.format.(wire.Resumer)
	if !ok {
		return wire.Continuation{}, false
	}
	sent := requestlog.Body{Response: x.kept.text(nil), Folded: true}
	sent.Unfold()
	return format.Resume(x.req, sent.Response)
}

// reserve sets aside what the broken attempt cost: what the request holds is for the one that goes on.
func (g *Gateway) reserve(ctx context.Context, x *exchange, broken *answer) (*ledger.Hold, error) {
	return g.Ledger.Hold(ctx, Budgets(x.grant), broken.paid())
}

// ways lists what may be tried: first the targets that can go on with a text, then those that would answer anew. When nobody
// else is left it is the same target once more, unless it was silent.
func (x *exchange) ways(ctx context.Context, said string, broken *answer, e *llm.Error) []way {
	fresh := slices.DeleteFunc(slices.Clone(x.decision.Plan), x.tried)
	same := len(fresh) == 0 && again(e)
	if same {
		fresh = append(fresh, broken.target)
	}
	var first, then []way
	takes := x.takesPrefill(ctx)
	for _, t := range fresh {
		if takes && t.Model.Abilities.Has(llm.Prefill) && x.outputLeft(t, said) >= 0 && strings.TrimSpace(said) != "" {
			first = append(first, way{target: t, prefill: true, again: same})
		} else {
			then = append(then, way{target: t, again: same})
		}
	}
	return append(first, then...)
}

// tried reports whether the target has had its attempt.
func (x *exchange) tried(t *provider.Target) bool {
	for _, a := range x.entry.Attempts {
		if a.Provider == t.Provider && a.Model == t.Model.Name && a.Class != llm.HedgeLost {
			return true
		}
	}
	return false
}

// takesPrefill reports whether the conversation may end in the beginning of an answer: not one whose shape is prescribed,
// that is thought about first, or that has such a beginning already.
func (x *exchange) takesPrefill(ctx context.Context) bool {
	if x.req.Needs&(llm.JSONMode|llm.JSONSchema|llm.Reasoning) != 0 {
		return false
	}
	conv, err := x.format.Conversation(ctx, x.req)
	if err != nil {
		return false
	}
	n := len(conv.Messages)
	return n > 0 && conv.Messages[n-1].Role != llm.Assistant && conv.ToolChoice.Mode != llm.ChoiceMust
}

// outputLeft is how many tokens may follow what was said; 0 for no bound, and negative for none.
func (x *exchange) outputLeft(t *provider.Target, said string) int64 {
	most := max(x.req.MaxOutput, x.mostAt(t))
	if most == 0 {
		return 0
	}
	if left := most - textTokens(x, t, said); left > 0 {
		return left
	}
	return -1
}

// textTokens is our own count of an answer's text at a target.
func textTokens(x *exchange, t *provider.Target, text string) int64 {
	var n textBytes
	n.add(text, 1)
	return tokens(t.Model).Output(n.ascii, n.other, x.req.Text)
}

// continuation is how an attempt goes on with another one.
type continuation struct {
	request   *llm.Request
	maxOutput int64 // as Call has it
	client    joiner
}

// continued makes one attempt to go on.
func (g *Gateway) continued(ctx context.Context, x *exchange, w way, last bool) (*answer, error) {
	rest, _ := x.resume() // it was possible before, and is good for one answer only
	c := &continuation{request: x.req, maxOutput: x.mostAt(w.target), client: joiner{x.format, rest, &seam{said: rest.Text, prefilled: w.prefill}}}
	if w.prefill {
		if err := x.prefill(ctx, c, w.target); err != nil {
			return nil, err
		}
	}
	return g.try(ctx, x, w.target, last, c)
}

// prefill gives the target what was said, without white space at its end, and as much room as the caller has left.
func (x *exchange) prefill(ctx context.Context, c *continuation, t *provider.Target) error {
	s := c.client.seam
	text := strings.TrimRight(s.said, " \t\r\n")
	s.untold = s.said[len(text):]
	left := x.outputLeft(t, s.said)
	req, err := x.format.(wire.Resumer).Prefill(ctx, x.req, text, left)
	if err != nil {
		return &llm.Error{Kind: llm.Untranslatable, Message: "the request has no place for the beginning of an answer", Err: err}
	}
	req.Measure()
	req.Controls.SessionID, req.Beta = x.req.Controls.SessionID, x.req.Beta
	c.request = req
	if c.maxOutput > 0 {
		c.maxOutput = left
	}
	return nil
}

// refusesPrefill reports whether it may have been the beginning of the answer that the target did not take, or not as one.
func refusesPrefill(err error) bool {
	switch llm.AsError(err).Kind {
	case llm.UpstreamRejected, llm.UpstreamUnsupported, llm.Untranslatable, llm.ContinuationMismatch:
		return true
	default:
		return false
	}
}

// hideRefusal replaces what a target says about a message that the caller never sent.
func (x *exchange) hideRefusal(from int) {
	for i := range x.entry.Attempts[from:] {
		x.entry.Attempts[from+i].Message = "did not go on with the text that had begun"
	}
}

// goOn notes that the answer goes on at another target, and what it has cost so far.
func (x *exchange) goOn(broken, ans *answer) {
	said := ans.seam.said
	x.spent.add(broken)
	x.given = 0
	how := ", which gave the same answer"
	if ans.seam.prefilled {
		x.given = textTokens(x, ans.target, said)
		how = ""
	}
	x.warned = append(slices.Clone(x.entry.Warnings), fmt.Sprintf("continued by %s after %d tokens%s", ans.target.ID(), textTokens(x, broken.target, said), how))
	served(x, ans.target)
}

// spending is what attempts have used and cost that delivered a part of the answer and then broke.
type spending struct {
	tokens int64
	cost   money.Amount
}

func (s *spending) add(broken *answer) {
	s.tokens += broken.attempt().Usage.Total()
	s.cost = s.cost.Add(broken.paid())
}

// paid is what the attempt has cost; nothing where that is not known.
func (a *answer) paid() money.Amount {
	if cost := a.attempt().Cost; cost != nil {
		return *cost
	}
	return 0
}
