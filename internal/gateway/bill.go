package gateway

import (
	"cmp"
	"context"
	"math"
	"slices"

	"fairlead/internal/catalog"
	"fairlead/internal/llm"
	"fairlead/internal/money"
	"fairlead/internal/provider"
	"fairlead/internal/requestlog"
	"fairlead/internal/token"
)

// longestToken is how many bytes a token has at most, in any vocabulary.
const longestToken = 128

// usage returns what the provider reported, or our own count of what was sent and delivered where the report is missing or
// cannot be true. A rejected report is kept on the attempt.
func (t *tally) usage(ans *answer) llm.Usage {
	if t.reported == nil {
		return ans.Count(t.ascii, t.nonASCII)
	}
	if plausible(*t.reported, ans.call) && t.accountedFor(t.reported.Output) {
		return *t.reported
	}
	ans.note.Reported = t.reported
	ans.exchange.entry.UsageFlag = requestlog.UsageRejected
	return ans.Count(t.ascii, t.nonASCII)
}

// Count is our own count of an answer with so much text.
func (a *answer) Count(ascii, nonASCII int64) llm.Usage {
	return a.exchange.ownCount(a.target, tokens(a.target.Model).Output(ascii, nonASCII, a.exchange.req.Text)+a.unseen())
}

// accountedFor reports whether so many tokens can be the text that came: those of no vocabulary are longer.
func (t *tally) accountedFor(output int64) bool {
	return output*longestToken >= t.ascii+t.nonASCII
}

// ownCount is what we make of a request whose provider tells no usage. Moderations are mostly free and not metered: where no
// price hangs on their tokens none are counted, rather than figures of ours that mean nothing.
func (x *exchange) ownCount(t *provider.Target, output int64) llm.Usage {
	if x.op == llm.Moderate && (t.Price == nil || t.Price.At(x.start).Input == 0) {
		return llm.Usage{}
	}
	return llm.Usage{Input: x.promptTokens(t) + x.given, Output: output, Estimated: true}
}

// addedTokens is how much a provider may add to a prompt: system prompts, tool framing.
const addedTokens = 20_000

// plausible rejects figures that cannot be true: negative ones, a prompt that was not read, a longer prompt than was sent
// and a longer answer than was asked for.
func plausible(u llm.Usage, c *provider.Call) bool {
	req, m := c.Request, c.Target.Model
	if min(u.Input, u.CacheRead, u.CacheWrite, u.Output, u.Reasoning, u.CacheWriteLong, u.AudioInput, u.AudioOutput) < 0 {
		return false
	}
	if u.Prompt() == 0 && len(req.Body) > 0 || u.Prompt() < leastPrompt(req, m) {
		return false
	}
	most := tokens(m).Bound(token.PromptOf(req)) + addedTokens
	if req.Unsized > 0 {
		most = max(most, promptBound(req, m))
	}
	if req.Hosted { // the prompt is read again after each tool call, with its results
		const rounds = 10
		most = max(most, promptBound(req, m)*rounds)
	}
	// One token more per answer: some providers count the one that ends it.
	return u.Prompt() <= most && u.Output <= outputBound(req, c.MaxOutput, m)+int64(max(req.Choices, 1))
}

// leastPrompt is how many tokens the text of a prompt is at least. What is beyond a model's window may be cut off, and a window
// that we do not know may be small. Where the provider may leave out what it was sent, such as results of tools and tools to be
// searched for, there is no telling.
func leastPrompt(req *llm.Request, m *catalog.Model) int64 {
	edited := func(f llm.Field) bool { return f.Name == "context_management" }
	if req.Hosted || slices.ContainsFunc(req.Fields, edited) {
		return 0
	}
	const smallWindow = 512
	return min(int64(req.ASCIIBytes+req.NonASCIIBytes-req.ExtraBytes)/longestToken, cmp.Or(m.Context, smallWindow), cmp.Or(m.MaxInput, math.MaxInt64))
}

// bill prices the usage at the target and at the baseline, and returns what the attempt alone has cost. What has no price
// stays unknown.
func (x *exchange) bill(t *provider.Target, u llm.Usage) *money.Amount {
	e := x.entry
	e.Usage = u
	u.ServiceTier = cmp.Or(u.ServiceTier, x.req.ServiceTier) // what was served; else what was asked for
	var own *money.Amount
	if t.Price != nil {
		bill := t.Price.At(x.start).Bill(u)
		x.capCharge(&bill)
		own = new(bill.Total)
		x.spent.onto(&bill)
		e.Bill, e.Cost = &bill, &bill.Total
	}
	if e.BaselineModel == "" {
		return own
	}
	if price := x.baselinePrice(); price != nil {
		bill := price.At(x.start).Bill(x.baselineUsage(x.undivided(u)))
		e.BaselineBill, e.BaselineCost = &bill, &bill.Total
	}
	return own
}

// capCharge lowers a bill to what was held for the request. The row shows the operator what the usage would have cost.
func (x *exchange) capCharge(bill *catalog.Bill) {
	if x.held == nil || bill.Total <= *x.held {
		return
	}
	bill.Rows = append(bill.Rows, catalog.Row{Class: "above_hold", Amount: x.held.Sub(bill.Total)})
	bill.Total = *x.held
	x.entry.UsageFlag = requestlog.UsageAboveHold
}

// logUsage reports a provider whose usage was not charged as reported.
func (g *Gateway) logUsage(ctx context.Context, e *requestlog.Entry) {
	attrs := []any{
		"request_id", e.ID, "provider", e.Provider, "model", e.Model, "flag", string(e.UsageFlag),
		"charged_input", e.Usage.Prompt(), "charged_output", e.Usage.Output,
	}
	for _, a := range e.Attempts {
		if a.Reported != nil {
			attrs = append(attrs, "reported_input", a.Reported.Prompt(), "reported_output", a.Reported.Output)
			break
		}
	}
	g.Logger.WarnContext(ctx, "provider usage was not charged as reported", attrs...)
}

// priced is what the usage costs at the target; nil when that is not known.
func (x *exchange) priced(t *provider.Target, u llm.Usage) *money.Amount {
	if t.Price == nil {
		return nil
	}
	cost := t.Price.At(x.start).Cost(u)
	return &cost
}

// onto adds a row for the attempts that broke to the bill of the one that went on.
func (s spending) onto(bill *catalog.Bill) {
	if s.cost == 0 && s.tokens == 0 {
		return
	}
	bill.Rows = append(bill.Rows, catalog.Row{Class: "broken_attempts", Tokens: s.tokens, Amount: s.cost})
	bill.Total = bill.Total.Add(s.cost)
}

// undivided is the usage of the same answer in one piece: what the target was given of it as input is output.
func (x *exchange) undivided(u llm.Usage) llm.Usage {
	n := min(x.given, u.Input)
	u.Input -= n
	u.Output += n
	return u
}
