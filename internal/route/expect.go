package route

import (
	"fairlead/internal/llm"
	"fairlead/internal/money"
	"fairlead/internal/predict"
	"fairlead/internal/provider"
	"fairlead/internal/token"
)

// outputPrior is the typical number of output tokens of a task, and of reasoning tokens for reasoning models. The estimates
// are used to compare prices; the bill uses the real counts.
type outputPrior struct{ visible, reasoning int64 }

var outputPriors = map[predict.Task]outputPrior{
	predict.Chat:        {350, 500},
	predict.Code:        {700, 2000},
	predict.Maths:       {450, 2500},
	predict.Reasoning:   {450, 2500},
	predict.Knowledge:   {150, 700},
	predict.Translation: {0, 300}, // the output is about as long as the prompt
	predict.Extraction:  {200, 400},
	predict.ToolUse:     {120, 400},
	predict.Vision:      {250, 600},
	predict.LongContext: {500, 1000},
	"":                  {400, 1100},
}

// horizon limits the expected number of further turns, which is otherwise the number of turns so far.
const horizon = 8

// expect estimates the cost of the request at a target: cached tokens at the cached price, plus re-reading the conversation
// in later turns.
func (r *ranking) expect(one *candidate) {
	u := llm.Usage{Input: one.prompt, Output: r.outputPrior.output(r.in, one.target, one.prompt, r.maxOutput)}
	one.Output = u.Output
	if one.price.price == nil {
		return
	}
	rates := one.price.ratesFor(one.prompt)
	uncachedCost := rates.Cost(&u)
	one.cost = uncachedCost
	if one.Cache.Read != 0 || one.Cache.Write != 0 {
		one.Cache.apply(&u)
		one.cost = rates.Cost(&u)
	}
	one.total, one.totalUncached = one.cost, uncachedCost
	turns := min(r.in.Turns, horizon)
	if turns == 0 {
		return
	}
	again := llm.Usage{Input: one.prompt}
	uncachedAhead := times(rates.Cost(&again), turns)
	if one.Ahead = uncachedAhead; one.Cache.Caches {
		again = llm.Usage{CacheRead: one.prompt}
		one.Ahead = times(rates.Cost(&again), turns)
	}
	one.total, one.totalUncached = one.cost.Add(one.Ahead), uncachedCost.Add(uncachedAhead)
}

// apply moves tokens from fresh input to cache reads and writes.
func (w *CacheHit) apply(u *llm.Usage) {
	u.CacheRead = min(w.Read, u.Input)
	u.CacheWrite = min(w.Write, u.Input-u.CacheRead)
	if w.Long {
		u.CacheWriteLong = u.CacheWrite
	}
	u.Input -= u.CacheRead + u.CacheWrite
}

func times(a money.Amount, n int) (sum money.Amount) {
	for range n {
		sum = sum.Add(a)
	}
	return sum
}

// output estimates the output tokens for a prompt. A limit of 0 means none.
func (a outputPrior) output(in *Input, t *provider.Target, prompt, limit int64) int64 {
	if in.Op == llm.Embed || in.Op == llm.Moderate {
		return 0
	}
	n := a.visible
	if in.Features.Task == predict.Translation {
		n = prompt + prompt/10
	}
	if t.Model.Abilities.Has(llm.Reasoning) {
		n += a.reasoning
	}
	if limit > 0 {
		n = min(n, limit)
	}
	return n * int64(max(in.Choices, 1))
}

// promptFor returns the prompt tokens for the candidate's model.
func (r *ranking) promptFor(one *candidate) int64 {
	n := &r.prompt[one.model]
	if *n == 0 {
		*n = r.tokens(&one.entry.vocabulary)
	}
	return *n
}

// tokens estimates the prompt tokens for a vocabulary. An input stored without its text keeps its model-independent estimate.
func (r *ranking) tokens(v *token.Vocabulary) int64 {
	if r.measured {
		return r.tokenMeter.Prompt(v)
	}
	if !r.in.measurable() {
		return r.in.InputTokens
	}
	r.tokenMeter, r.measured = token.NewMeter(r.in.prompt()), true
	return r.tokenMeter.Prompt(v)
}

// measurable reports whether the input has text statistics to estimate from.
func (in *Input) measurable() bool { return !in.Text.Empty() || len(in.ImageSizes) > 0 }

func (in *Input) prompt() token.Prompt {
	return token.Prompt{Text: in.Text, Messages: in.Messages, Tools: in.Needs.Has(llm.Tools), Images: in.Images, Sizes: in.ImageSizes, Attached: in.AttachedBytes, Unsized: in.Unsized}
}
