package route

import (
	"fairlead/internal/conversation"
	"fairlead/internal/llm"
	"fairlead/internal/money"
	"fairlead/internal/predict"
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

const (
	shortPrompt = 12 // tokens of a first message, with those of its frame, that usually gets a short response
	easyPrompt  = 2  // ease from which a short prompt is a greeting or thanks
	mostEasy    = 60 // tokens of such a prompt
)

// expectedOutput returns the typical output for a request. A first message of a few words gets 130 visible tokens in the median of
// AlpacaEval's 122 models, and longer ones 210 regardless of their length. A greeting gets a sentence.
func expectedOutput(in *Input) outputPrior {
	a := outputPriors[in.Features.Task]
	switch {
	case in.Features.Ease >= easyPrompt && in.InputTokens <= mostEasy:
		return outputPrior{25, 50}
	case in.InputTokens > 0 && in.InputTokens <= shortPrompt && in.Turns == 0:
		return outputPrior{a.visible * 2 / 5, a.reasoning * 2 / 5}
	}
	return a
}

// horizon limits the expected number of further turns, which is otherwise the number of turns so far.
const horizon = 8

// expect estimates the cost of the request at a target: cached tokens at the cached price, plus re-reading the conversation
// in later turns.
func (r *ranking) expect(cand *candidate) {
	u := llm.Usage{Input: cand.prompt, Output: r.outputPrior.output(r.in, cand, r.maxOutput)}
	cand.Output = u.Output
	if cand.price.price == nil {
		return
	}
	rates := cand.price.ratesFor(cand.prompt)
	uncachedCost := rates.Cost(&u)
	cand.cost = uncachedCost
	if cand.Cache.Read != 0 || cand.Cache.Write != 0 {
		cand.Cache.apply(&u)
		cand.cost = rates.Cost(&u)
	}
	cand.total, cand.totalUncached = cand.cost, uncachedCost
	turns := min(r.in.Turns, horizon)
	if turns == 0 {
		return
	}
	again := llm.Usage{Input: cand.prompt}
	uncachedAhead := times(rates.Cost(&again), turns)
	if cand.Ahead = uncachedAhead; cand.Cache.Caches {
		again = llm.Usage{CacheRead: cand.prompt}
		cand.Ahead = times(rates.Cost(&again), turns)
	}
	cand.total, cand.totalUncached = cand.cost.Add(cand.Ahead), uncachedCost.Add(uncachedAhead)
}

// discarded returns the cost of the reasoning that is lost when another target continues a tool loop: reasoning is signed or encrypted
// for the target that made it. It is the same amount for all other targets, so their order does not change. A stuck loop escalates
// without this cost.
func (r *ranking) discarded() money.Amount {
	in := r.in
	if !in.Conversation.Loop || in.Last == "" || !IsAuto(in.Model) || in.Effort == "none" || in.Conversation.Trouble.Level >= conversation.Troubled {
		return 0
	}
	for i := range r.candidates {
		cand := &r.candidates[i]
		if cand.Target != in.Last {
			continue
		}
		if !cand.target.Model.Abilities.Has(llm.Reasoning) || cand.price.price == nil {
			return 0
		}
		lost := llm.Usage{Output: r.outputPrior.reasoning}
		return times(cand.price.ratesFor(r.promptFor(cand)).Cost(&lost), min(max(in.Turns, 1), horizon))
	}
	return 0
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
func (a outputPrior) output(in *Input, cand *candidate, limit int64) int64 {
	if in.Op == llm.Embed || in.Op == llm.Moderate {
		return 0
	}
	n := a.visible
	if in.Features.Task == predict.Translation {
		n = cand.prompt + cand.prompt/10
	}
	n += cand.reasoning(a.reasoning)
	if limit > 0 {
		n = min(n, limit)
	}
	return n * int64(max(in.Choices, 1))
}

// promptFor returns the prompt tokens for the candidate's model.
func (r *ranking) promptFor(cand *candidate) int64 {
	n := &r.prompt[cand.model]
	if *n == 0 {
		*n = r.tokens(&cand.entry.vocabulary)
	}
	return *n
}

// tokens estimates the prompt tokens for a vocabulary. An input stored without text statistics has only the model-independent
// estimate.
func (r *ranking) tokens(v *token.Vocabulary) int64 {
	if r.measured {
		return r.tokenMeter.Prompt(v)
	}
	if r.in.Text.Empty() && len(r.in.ImageSizes) == 0 {
		return r.in.InputTokens
	}
	r.tokenMeter, r.measured = token.NewMeter(r.in.prompt()), true
	return r.tokenMeter.Prompt(v)
}

func (in *Input) prompt() token.Prompt {
	return token.Prompt{Text: in.Text, Messages: in.Messages, Tools: in.Needs.Has(llm.Tools), Images: in.Images, Sizes: in.ImageSizes, Attached: in.AttachedBytes, Unsized: in.Unsized}
}
