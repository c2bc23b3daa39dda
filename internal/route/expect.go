package route

import (
	"math"

	"fairlead.dev/internal/conversation"
	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/money"
	"fairlead.dev/internal/predict"
	"fairlead.dev/internal/token"
)

// outputPrior holds the expected numbers of visible tokens, and of reasoning tokens for reasoning models. The estimates are used to compare
// prices; the bill uses the actual counts.
type outputPrior struct{ visible, reasoning int64 }

// outputPriors holds the typical numbers for each task. They are used if the features contain no length.
var outputPriors = map[predict.Task]outputPrior{
	predict.Chat:        {350, 500},
	predict.Code:        {700, 2000},
	predict.Maths:       {450, 2500},
	predict.Reasoning:   {450, 2500},
	predict.Knowledge:   {150, 700},
	predict.Translation: {0, 300}, // 0 visible tokens, because the output is about as long as the prompt
	predict.Extraction:  {200, 400},
	predict.ToolUse:     {120, 240},
	predict.Vision:      {250, 600},
	predict.LongContext: {500, 1000},
	"":                  {400, 1100},
}

const reasoningGrowth = 0.4 // relative growth of the reasoning tokens per logit of difficulty, which is -Features.Ease

// expectedOutput returns the expected output for a request, corrected with the lengths observed in the workspace.
func expectedOutput(in *Input) outputPrior {
	a := predictedOutput(&in.Features)
	return outputPrior{scaled(a.visible, in.Lengths.Visible), scaled(a.reasoning, in.Lengths.Reasoning)}
}

// predictedOutput returns the output that the features predict. The number of reasoning tokens is proportional to the visible length, and
// higher for a difficult prompt.
func predictedOutput(f *predict.Features) outputPrior {
	a := outputPriors[f.Task]
	if f.Output <= 0 || a.visible == 0 {
		return a
	}
	ratio := float64(a.reasoning) / float64(a.visible) * (1 + reasoningGrowth*max(0, -f.Ease))
	return outputPrior{f.Output, int64(ratio * float64(f.Output))}
}

// scaled returns n times a factor, where 0 means no factor.
func scaled(n int64, factor float64) int64 {
	if factor == 0 {
		return n
	}
	return int64(math.Round(float64(n) * factor))
}

// Length holds a number of visible tokens and a number of reasoning tokens.
type Length struct{ Visible, Reasoning float64 }

// ExpectedLength returns the length of a target's response that is predicted from the features, without corrections. Lengths that the
// decision does not contain are 0.
func (d *Decision) ExpectedLength(target string) Length {
	raw := predictedOutput(&d.Input.Features)
	expected := Length{Visible: float64(raw.visible)}
	for i := range d.Candidates {
		cand := &d.Candidates[i]
		if cand.Target != target || raw.visible == 0 {
			continue
		}
		corrected := scaled(expectedOutput(&d.Input).visible, cand.Seen.Length)
		expected.Reasoning = float64(max(0, cand.Output-corrected))
		if f := d.Input.Lengths.Reasoning; f > 0 {
			expected.Reasoning /= f
		}
	}
	return expected
}

const (
	horizon = 8 // a conversation is expected to have as many further turns as it has had so far, but at most this number

	// Agents with longer instructions and more tools take more turns: about 4 for MINT (900 tokens), 11 for tau-bench (2,400 tokens).
	agentTurns   = 3.5
	agentPrompt  = 900
	agentPower   = 1.1
	mostTurns    = 30
	growthTokens = 150  // number of tokens that a turn adds to the prompt in addition to its output
	growthShare  = 0.08 // additional growth per turn as a share of the first prompt, because agents with large prompts read files
)

// Session describes the expected remainder of a conversation after the current request.
type Session struct {
	Turns  float64 // number of further requests
	Growth float64 // number of tokens that each further request adds to the prompt
	Output float64 // number of output tokens of each further request
}

// expectedSession returns the expected remainder of the conversation. An agent that has taken n turns is expected to take t²/(t+n) more
// turns, but at least min(n, horizon)/2. t is the typical number of turns for the length of its first prompt. Further turns of an agent
// need little reasoning.
func expectedSession(in *Input, output outputPrior) Session {
	turns := float64(min(in.Turns, horizon))
	if in.Op != llm.Chat || !in.Needs.Has(llm.Tools) || in.Conversation.Purpose != "" {
		return Session{Turns: turns}
	}
	n, prompt := float64(in.Turns), float64(in.InputTokens)
	first := max(prompt-n*growthTokens, prompt/4)
	typical := min(agentTurns*math.Pow(max(first/agentPrompt, 1), agentPower), mostTurns)
	return Session{Turns: max(typical*typical/(typical+n), turns/2), Growth: growthTokens + growthShare*first, Output: float64(output.visible)}
}

// usage returns the token usage of the further requests. prompt is the current length of the prompt. If caches is true, repeated tokens
// are cached.
func (s Session) usage(prompt int64, caches bool) llm.Usage {
	fresh := s.Turns * s.Growth
	again := s.Turns*float64(prompt) + fresh*max(0, s.Turns-1)/2
	u := llm.Usage{Input: int64(fresh + again), Output: int64(s.Turns * s.Output)}
	if caches {
		u.Input, u.CacheRead = int64(fresh), int64(again)
	}
	return u
}

// expect estimates the cost of the request at a target, with cached tokens at the cached price, and the cost of the remainder of the
// conversation.
func (r *ranking) expect(cand *candidate) {
	u := llm.Usage{Input: cand.prompt, Output: r.outputPrior.output(r.in, cand, r.maxOutput)}
	cand.Output = u.Output
	if cand.price.price == nil {
		return
	}
	rates := cand.price.ratesFor(cand.prompt)
	uncachedCost := rates.Cost(&u)
	cand.cost = uncachedCost
	if cached := &cand.Cache; cached.Read != 0 || cached.Write != 0 {
		u.CacheRead = min(cached.Read, u.Input)
		u.CacheWrite = min(cached.Write, u.Input-u.CacheRead)
		if cached.Long {
			u.CacheWriteLong = u.CacheWrite
		}
		u.Input -= u.CacheRead + u.CacheWrite
		cand.cost = rates.Cost(&u)
	}
	cand.total, cand.totalUncached = cand.cost, uncachedCost
	if r.session.Turns > 0 {
		ahead := r.session.usage(cand.prompt, cand.Cache.Caches)
		cand.Ahead = rates.Cost(&ahead)
	}
	// The comparison of targets includes only the cost of reading the prompt again in later turns. If it included the whole session, the
	// cost of a switch would be a small share of the total, and agents would often change models.
	again := Session{Turns: float64(min(r.in.Turns, horizon))}
	if again.Turns == 0 {
		return
	}
	uncached, cached := again.usage(cand.prompt, false), again.usage(cand.prompt, cand.Cache.Caches)
	cand.total, cand.totalUncached = cand.cost.Add(rates.Cost(&cached)), uncachedCost.Add(rates.Cost(&uncached))
}

// discardedReasoningCost returns the cost of the reasoning that is lost if another target continues a tool loop. Reasoning is signed or
// encrypted for the target that generated it. The cost is the same for all other targets, so it does not change their order. The cost is 0
// for a stuck loop, so that the request can escalate to another model.
func (r *ranking) discardedReasoningCost() money.Amount {
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
		lost := llm.Usage{Output: r.outputPrior.reasoning * int64(min(max(in.Turns, 1), horizon))}
		return cand.price.ratesFor(r.promptFor(cand)).Cost(&lost)
	}
	return 0
}

// output estimates the number of output tokens for a candidate. A limit of 0 means no limit.
func (a outputPrior) output(in *Input, cand *candidate, limit int64) int64 {
	if in.Op == llm.Embed || in.Op == llm.Moderate || in.Op.Media() {
		return 0
	}
	n := scaled(a.visible, cand.Seen.Length)
	if in.Features.Task == predict.Translation {
		n = cand.prompt + cand.prompt/10
	}
	switch {
	case !cand.target.Model.Abilities.Has(llm.Reasoning):
	case cand.effort == nil:
		n += a.reasoning
	default:
		n += int64(cand.effort.length * float64(a.reasoning))
	}
	if limit > 0 {
		n = min(n, limit)
	}
	return n * int64(max(in.Choices, 1))
}

// promptFor returns the number of prompt tokens for the candidate's model. For an input stored without text statistics, it returns the
// model-independent estimate.
func (r *ranking) promptFor(cand *candidate) int64 {
	in, n := r.in, &r.prompt[cand.model]
	if *n != 0 {
		return *n
	}
	if !r.measured {
		if in.Text.Empty() && len(in.ImageSizes) == 0 {
			*n = in.InputTokens
			return *n
		}
		r.tokenMeter, r.measured = token.NewMeter(token.Prompt{
			Text: in.Text, Messages: in.Messages, Tools: in.Needs.Has(llm.Tools),
			Images: in.Images, Sizes: in.ImageSizes, Attached: in.AttachedBytes, Unsized: in.Unsized,
		}), true
	}
	*n = r.tokenMeter.Prompt(&cand.entry.vocabulary)
	return *n
}
