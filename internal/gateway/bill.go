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
	return x.ownCount(target, tokens(target.Model).Output(t.ascii, t.nonASCII, x.req.Text))
}

// ownCount is what we make of a request whose provider tells no usage. Moderations are mostly free and not metered: where no
// price hangs on their tokens none are counted, rather than figures of ours that mean nothing.
func (x *exchange) ownCount(t *provider.Target, output int64) llm.Usage {
	if x.op == llm.Moderate && (t.Price == nil || t.Price.At(x.start).Input == 0) {
		return llm.Usage{}
	}
	return llm.Usage{Input: x.promptTokens(t), Output: output, Estimated: true}
}

// plausible refuses figures that cannot be: negative ones, an unread prompt, more tokens than the prompt has bytes
// (with room for what providers add), more output than the model can write.
func plausible(u llm.Usage, req *llm.Request, t *provider.Target) bool {
	if min(u.Input, u.CacheRead, u.CacheWrite, u.Output, u.Reasoning, u.CacheWriteLong, u.AudioInput, u.AudioOutput) < 0 {
		return false
	}
	if u.Prompt() == 0 && len(req.Body) > 0 {
		return false
	}
	const added = 20_000 // system prompts, tool framing and image tokens that our count does not see
	most := int64(len(req.Body)) + int64(req.Images)*10_000 + added
	if req.Needs.Has(llm.Files) || req.ImageURLs > 0 { // what the provider fetched itself has no bytes here
		most = max(most, t.Model.Context)
	}
	if u.Prompt() > most {
		return false
	}
	const anyModel = 1_000_000
	return u.Output <= cmp.Or(t.Model.MaxOutput, anyModel)*int64(max(req.Choices, 1))+1
}

// bill prices the usage at the target and at the baseline. What has no price stays unknown.
func (x *exchange) bill(t *provider.Target, u llm.Usage) {
	e := x.entry
	e.Usage = u
	u.ServiceTier = cmp.Or(u.ServiceTier, x.req.ServiceTier) // what was served; else what was asked for
	if t.Price != nil {
		bill := t.Price.At(x.start).Bill(u)
		e.Bill, e.Cost = &bill, &bill.Total
	}
	if e.BaselineModel == "" {
		return
	}
	if price := x.snap.Price(e.BaselineModel); price != nil {
		bill := price.At(x.start).Bill(x.baselineUsage(u))
		e.BaselineBill, e.BaselineCost = &bill, &bill.Total
	}
}
