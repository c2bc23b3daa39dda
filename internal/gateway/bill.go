package gateway

import (
	"cmp"

	"fairlead/internal/llm"
	"fairlead/internal/provider"
)

// usage is what the provider reported, where that can be true; else our own count of what was sent and delivered.
func (t *tally) usage(x *exchange, target *provider.Target) llm.Usage {
	if t.reported != nil && plausible(*t.reported, x.req, target) {
		return *t.reported
	}
	return llm.Usage{Input: x.req.InputTokens(), Output: llm.OutputTokens(t.ascii, t.nonASCII), Estimated: true}
}

// plausible refuses figures that cannot be: negative ones, an unread prompt, more tokens than the prompt has bytes
// (with room for what providers add), more output than the model can write.
func plausible(u llm.Usage, req *llm.Request, t *provider.Target) bool {
	if u.Input < 0 || u.CacheRead < 0 || u.CacheWrite < 0 || u.Output < 0 || u.Reasoning < 0 {
		return false
	}
	if u.Prompt() == 0 && len(req.Body) > 0 {
		return false
	}
	const added = 20_000 // system prompts, tool framing and image tokens that our count does not see
	if u.Prompt() > int64(len(req.Body))+int64(req.Images)*10_000+added {
		return false
	}
	const anyModel = 1_000_000
	return u.Output <= cmp.Or(t.Model.MaxOutput, anyModel)*int64(max(req.Choices, 1))+1
}

// bill prices the usage at the target and at the baseline. What has no price stays unknown.
func (x *exchange) bill(t *provider.Target, u llm.Usage) {
	e := x.entry
	e.Usage = u
	if t.Price != nil {
		bill := t.Price.Bill(u)
		e.Bill, e.Cost = &bill, &bill.Total
	}
	if e.BaselineModel == "" {
		return
	}
	if price := x.snap.Price(e.BaselineModel); price != nil {
		bill := price.Bill(u)
		e.BaselineBill, e.BaselineCost = &bill, &bill.Total
	}
}
