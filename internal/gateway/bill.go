package gateway

import (
	"cmp"
	"math"
	"slices"

	"fairlead/internal/catalog"
	"fairlead/internal/llm"
	"fairlead/internal/money"
	"fairlead/internal/provider"
)

// longestToken is how many bytes a token has at most, in any vocabulary.
const longestToken = 128

// usage is what the provider reported, where that can be true; else our own count of what was sent and delivered.
func (t *tally) usage(ans *answer) llm.Usage {
	if t.reported != nil && plausible(*t.reported, ans.call.Request, ans.target) && t.accountedFor(t.reported.Output) {
		return *t.reported
	}
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

// plausible refuses figures that cannot be: negative ones, a prompt that was not read, more tokens than the prompt has bytes
// (with room for what providers add), more output than the model can write.
func plausible(u llm.Usage, req *llm.Request, t *provider.Target) bool {
	if min(u.Input, u.CacheRead, u.CacheWrite, u.Output, u.Reasoning, u.CacheWriteLong, u.AudioInput, u.AudioOutput) < 0 {
		return false
	}
	if u.Prompt() == 0 && len(req.Body) > 0 || u.Prompt() < leastPrompt(req, t.Model) {
		return false
	}
	const added = 20_000 // system prompts, tool framing and image tokens that our count does not see
	most := int64(len(req.Body)) + int64(req.Images)*10_000 + added
	if req.Needs.Has(llm.Files) || req.ImageURLs > 0 { // what the provider fetched itself has no bytes here
		most = max(most, t.Model.Context)
	}
	if req.Hosted { // the prompt is read again after each tool, with what it has found
		const rounds = 10
		most = max(most, t.Model.Context*rounds)
	}
	if u.Prompt() > most {
		return false
	}
	const anyModel = 1_000_000
	return u.Output <= cmp.Or(t.Model.MaxOutput, anyModel)*int64(max(req.Choices, 1))+1
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
	return min(int64(req.ASCIIBytes+req.NonASCIIBytes)/longestToken, cmp.Or(m.Context, smallWindow), cmp.Or(m.MaxInput, math.MaxInt64))
}

// bill prices the usage at the target and at the baseline, and returns what the attempt alone has cost. What has no price
// stays unknown.
func (x *exchange) bill(t *provider.Target, u llm.Usage) *money.Amount {
	e := x.entry
	e.Usage = u
	u.ServiceTier = cmp.Or(u.ServiceTier, x.req.ServiceTier) // what was served; else what was asked for
	own := x.priced(t, u)
	if t.Price != nil {
		bill := t.Price.At(x.start).Bill(u)
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
