// Package bill computes the maximum cost of a request, its usage, and its cost.
package bill

import (
	"cmp"
	"time"

	"fairlead.dev/internal/catalog"
	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/money"
	"fairlead.dev/internal/provider"
	"fairlead.dev/internal/token"
)

const (
	// DefaultOutput is the output limit of a request with a budget when neither the caller nor the catalog sets one.
	DefaultOutput = 16_384
	// MinOutput is the smallest output limit for which a request is still useful.
	MinOutput = 256
	// maxOutput is more than any model generates in one response. It is used when nothing limits the output.
	maxOutput = 1_000_000
	// defaultSearches is the number of web searches that is reserved when the caller sets no limit.
	defaultSearches = 10
	// maxSearches is more than any response needs. A report above it is implausible.
	maxSearches = 10_000
	// defaultContext is used for models with an unknown context window.
	defaultContext = 200_000
)

// Terms holds a request and the limits that determine its cost.
type Terms struct {
	Request   *llm.Request
	At        time.Time     // arrival time of the request, which determines the prices
	MaxOutput int64         // output limit of a policy when the caller sets none; 0 for none
	Budgeted  bool          // whether a budget can reject the request
	Cap       *money.Amount // maximum cost when the caller sets no output limit, lowered to fit the budget; nil for none
	Held      *money.Amount // maximum charge of one attempt; nil before the hold
}

// Generates reports whether op produces text, which is charged as output.
func Generates(op llm.Op) bool { return op == llm.Chat || op == llm.Complete }

func model(m *catalog.Model) token.Model { return token.Model{Vendor: m.Vendor, Name: m.Name} }

// OutputLimit returns the output limit to send to a target when the caller sets none; 0 for none. The limit comes from
// a policy or a budget. A request with a budget always has a limit, because the output must not cost more than the
// hold. Providers reject a limit above the model's maximum, and some providers reject a limit that does not fit the
// context window after the prompt.
func (t Terms) OutputLimit(target *provider.Target) int64 {
	limit := t.uncapped(target)
	if t.Cap == nil || limit == 0 || t.Request.MaxOutput > 0 || target.Price == nil {
		return limit
	}
	return max(1, min(limit, t.Affordable(target, *t.Cap)))
}

// uncapped returns the output limit without the cap of a budget.
func (t Terms) uncapped(target *provider.Target) int64 {
	m := target.Model
	if t.MaxOutput > 0 {
		return min(t.MaxOutput, cmp.Or(m.MaxOutput, t.MaxOutput))
	}
	if !t.Budgeted || t.Request.MaxOutput > 0 || !Generates(t.Request.Op) || target.Price == nil || target.Price.At(t.At).Output == 0 {
		return 0
	}
	limit := cmp.Or(m.MaxOutput, DefaultOutput)
	if m.Context > 0 {
		prompt := model(m).Prompt(token.PromptOf(t.Request))
		limit = min(limit, max(MinOutput, m.Context-prompt*3/2))
	}
	return limit
}

// MaxCost returns the maximum that any of the targets can charge for the request.
func (t Terms) MaxCost(targets []*provider.Target) (highest money.Amount) {
	for _, target := range targets {
		if target.Price != nil {
			highest = max(highest, t.maxCost(target, t.MaxUsage(target)))
		}
	}
	return highest
}

// Fits reports whether the amount pays for the request at a target, with an output limit that leaves room for a useful response if the
// caller sets no limit.
func (t Terms) Fits(target *provider.Target, amount money.Amount) bool {
	t.Cap = nil
	if target.Price == nil || t.maxCost(target, t.MaxUsage(target)) <= amount {
		return true
	}
	return Generates(t.Request.Op) && t.Request.MaxOutput == 0 && t.Affordable(target, amount) >= MinOutput
}

// Affordable returns the number of output tokens that the amount pays for at a target with a price.
func (t Terms) Affordable(target *provider.Target, amount money.Amount) int64 {
	prompt, perThousand := t.outputCost(target)
	rest := amount.Sub(prompt)
	switch {
	case rest <= 0:
		return 0
	case perThousand <= 0:
		return maxOutput
	}
	tokens := int64(rest.Dollars()/perThousand.Dollars()*1000) - 1 // one token fewer, because prices are rounded up
	return max(0, tokens/int64(max(t.Request.Choices, 1)))
}

// OutputCost returns the maximum cost of the request at a target with a price if each response has at most the given number of tokens.
func (t Terms) OutputCost(target *provider.Target, tokens int64) money.Amount {
	t.Cap = nil
	tokens = tokens*int64(max(t.Request.Choices, 1)) + int64(t.Request.Predicted)
	return t.maxCost(target, t.withOutput(t.MaxUsage(target), tokens))
}

// outputCost returns the maximum cost of the prompt, including predicted output, and of each thousand output tokens.
func (t Terms) outputCost(target *provider.Target) (prompt, perThousand money.Amount) {
	t.Cap = nil // the cap depends on this cost
	u := t.withOutput(t.MaxUsage(target), int64(t.Request.Predicted))
	prompt = t.maxCost(target, u)
	return prompt, t.maxCost(target, t.withOutput(u, u.Output+1000)) - prompt
}

// maxCost returns the cost of the usage at its own or at the requested service tier, whichever is higher: a provider may use another tier
// than requested.
func (t Terms) maxCost(target *provider.Target, u llm.Usage) money.Amount {
	card := target.Price.At(t.At)
	cost := card.Cost(u)
	if t.Request.ServiceTier == u.ServiceTier {
		return cost
	}
	u.ServiceTier = t.Request.ServiceTier
	return max(cost, card.Cost(u))
}

// MaxUsage returns the maximum usage of the request at a target with a price. The prompt counts as the most expensive
// input class, because cache writes and audio may cost more than uncached text.
func (t Terms) MaxUsage(target *provider.Target) llm.Usage {
	req := t.Request
	prompt := maxPrompt(req, target.Model)
	rates := target.Price.At(t.At).Rates(prompt, "") // the service tier is omitted, because it multiplies all rates equally
	u, highest := llm.Usage{Input: prompt}, rates.Input
	if rates.CacheWrite > highest {
		u, highest = llm.Usage{CacheWrite: prompt}, rates.CacheWrite
	}
	if rates.CacheWriteLong > highest {
		u, highest = llm.Usage{CacheWrite: prompt, CacheWriteLong: prompt}, rates.CacheWriteLong
	}
	if rates.AudioInput > highest && (req.Needs.Has(llm.AudioIn) || req.Unsized > 0) {
		u = llm.Usage{Input: prompt, AudioInput: prompt}
	}
	if req.Op == llm.Realtime { // one response, as text or audio, whichever is more expensive
		u.Output = cmp.Or(target.Model.MaxOutput, DefaultOutput)
		if rates.AudioOutput > rates.Output {
			u.AudioOutput = u.Output
		}
		return u
	}
	if req.Op.Media() && rates.Output > 0 { // audio and images charged as output tokens
		return t.withOutput(u, maxOutputOf(req, 0, target.Model))
	}
	if !Generates(req.Op) {
		return u
	}
	switch {
	case req.Needs.Has(llm.WebSearch):
		u.Searches = min(cmp.Or(req.MaxSearches, defaultSearches), maxSearches)
	case rates.Search != nil && rates.Search.Always:
		u.Searches = 1
	}
	return t.withOutput(u, maxOutputOf(req, t.OutputLimit(target), target.Model))
}

// maxPrompt returns the maximum number of prompt tokens for a model. If the provider runs tools, or if only the provider can count the
// media, it returns the context window, or defaultContext for an unknown window. Otherwise it returns an upper bound of the token count,
// but at most one context window per input if the window is known.
func maxPrompt(req *llm.Request, m *catalog.Model) int64 {
	if req.Hosted || req.Unsized > 0 {
		return cmp.Or(m.Context, defaultContext)
	}
	tokens := model(m).Bound(token.PromptOf(req))
	if m.Context > 0 {
		tokens = min(tokens, m.Context*int64(max(req.Inputs, 1)))
	}
	return tokens
}

// maxOutputOf returns the maximum number of output tokens of a request: for each choice the caller's limit, the limit that the gateway
// sends instead, or the model's maximum, and in addition the predicted output, because rejected predictions are charged as output.
func maxOutputOf(req *llm.Request, sent int64, m *catalog.Model) int64 {
	return cmp.Or(req.MaxOutput, sent, m.MaxOutput, maxOutput)*int64(max(req.Choices, 1)) + int64(req.Predicted)
}

// withOutput returns the usage with the given number of output tokens. They count as audio if the caller requests audio.
func (t Terms) withOutput(u llm.Usage, tokens int64) llm.Usage {
	u.Output = tokens
	if t.Request.Needs.Has(llm.AudioOut) {
		u.AudioOutput = tokens
	}
	return u
}

// OutputTokens estimates the number of output tokens from the number of text bytes.
func (t Terms) OutputTokens(target *provider.Target, ascii, nonASCII int64) int64 {
	return model(target.Model).Output(ascii, nonASCII, t.Request.Text)
}

// Estimate estimates the usage for a provider that does not report it. For moderation, audio, image and reranking requests without a price for input tokens, Estimate returns an empty
// usage.
func (t Terms) Estimate(target *provider.Target, output int64) llm.Usage {
	if (t.Request.Op == llm.Moderate || t.Request.Op.Media()) && (target.Price == nil || target.Price.At(t.At).Input == 0) {
		return llm.Usage{}
	}
	return llm.Usage{Input: model(target.Model).Prompt(token.PromptOf(t.Request)), Output: output, Estimated: true}
}

// Cost returns the cost of the usage at the target, or nil when the target has no price.
func (t Terms) Cost(target *provider.Target, u llm.Usage) *money.Amount {
	if target.Price == nil {
		return nil
	}
	return new(target.Price.At(t.At).Cost(u))
}
