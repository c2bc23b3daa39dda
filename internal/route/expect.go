package route

import (
	"fairlead/internal/llm"
	"fairlead/internal/money"
	"fairlead/internal/predict"
	"fairlead/internal/provider"
	"fairlead/internal/token"
)

// answer is how many tokens an ordinary answer to a task has, and how many of thought precede it where a model thinks.
// The figures are round ones from everyday traffic: they matter for comparing prices, and the bill counts the real ones.
type answer struct{ visible, thought int64 }

var answers = map[predict.Task]answer{
	predict.Chat:        {350, 500},
	predict.Code:        {700, 2000},
	predict.Maths:       {450, 2500},
	predict.Reasoning:   {450, 2500},
	predict.Knowledge:   {150, 700},
	predict.Translation: {0, 300}, // the answer is about as long as the prompt
	predict.Extraction:  {200, 400},
	predict.ToolUse:     {120, 400},
	predict.Vision:      {250, 600},
	predict.LongContext: {500, 1000},
	"":                  {400, 1100},
}

// horizon is the most turns that a conversation is expected to go on: as many as it has had, up to this.
const horizon = 8

// expect prices the request at a target: what is warm at the cached price, and a conversation with what reading it again
// will cost in the turns to come.
func (r *race) expect(one *runner) {
	u := llm.Usage{Input: one.prompt, Output: r.usual.output(r.in, one.target, one.prompt, r.most)}
	one.Output = u.Output
	if one.card.price == nil {
		return
	}
	rates := one.card.ratesFor(one.prompt)
	coldCost := rates.Cost(&u)
	one.cost = coldCost
	if one.Cache.Read != 0 || one.Cache.Write != 0 {
		one.Cache.enter(&u)
		one.cost = rates.Cost(&u)
	}
	one.total, one.totalIf = one.cost, coldCost
	turns := min(r.in.Turns, horizon)
	if turns == 0 {
		return
	}
	again := llm.Usage{Input: one.prompt}
	coldAhead := times(rates.Cost(&again), turns)
	if one.Ahead = coldAhead; one.Cache.Caches {
		again = llm.Usage{CacheRead: one.prompt}
		one.Ahead = times(rates.Cost(&again), turns)
	}
	one.total, one.totalIf = one.cost.Add(one.Ahead), coldCost.Add(coldAhead)
}

// enter counts of fresh input what a cache does.
func (w *CacheHit) enter(u *llm.Usage) {
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

// output is how much is written in answer to a prompt of so many tokens, if all is as usual; at most is the bound, where it is not 0.
func (a answer) output(in *Input, t *provider.Target, prompt, most int64) int64 {
	if in.Op == llm.Embed || in.Op == llm.Moderate {
		return 0
	}
	n := a.visible
	if in.Features.Task == predict.Translation {
		n = prompt + prompt/10
	}
	if t.Model.Abilities.Has(llm.Reasoning) {
		n += a.thought
	}
	if most > 0 {
		n = min(n, most)
	}
	return n * int64(max(in.Choices, 1))
}

// promptFor is how many tokens the prompt has for a runner's model.
func (r *race) promptFor(one *runner) int64 {
	n := &r.prompt[one.model]
	if *n == 0 {
		*n = r.tokens(&one.seat.vocabulary)
	}
	return *n
}

// tokens estimates the prompt for models of this vocabulary, which decides how many tokens a text is. An input without its text has
// the figure that it was given.
func (r *race) tokens(v *token.Vocabulary) int64 {
	if r.measured {
		return r.meter.Prompt(v)
	}
	if !r.in.measurable() {
		return r.in.InputTokens
	}
	r.meter, r.measured = token.NewMeter(r.in.prompt()), true
	return r.meter.Prompt(v)
}

// measurable reports whether the input has what a prompt's length can be estimated from.
func (in *Input) measurable() bool { return !in.Text.Empty() || len(in.ImageSizes) > 0 }

func (in *Input) prompt() token.Prompt {
	return token.Prompt{Text: in.Text, Messages: in.Messages, Tools: in.Needs.Has(llm.Tools), Images: in.Images, Sizes: in.ImageSizes, Attached: in.AttachedBytes, Unsized: in.Unsized}
}
