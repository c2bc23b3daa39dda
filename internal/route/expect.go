package route

import (
	"cmp"
	"math"
	"slices"

	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/money"
	"fairlead.dev/internal/route/predict"
	"fairlead.dev/internal/token"
)

// usualOutput is the number of visible tokens assumed for a request without a predicted length, such as one that names its model.
const usualOutput = 300

// visibleTokens returns the expected visible output of the request, corrected with the lengths observed in the workspace.
func visibleTokens(in *Input) int64 {
	return scaled(cmp.Or(in.Features.Output, usualOutput), in.Lengths.Visible)
}

// reasoningTokens returns the expected reasoning of the request at an effort, corrected with the lengths observed in the workspace.
func reasoningTokens(in *Input, effort string) int64 {
	return scaled(int64(predict.Reasoning(in.Features.Difficulty, effort)), in.Lengths.Reasoning)
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
	raw := d.Input.Features.Output
	if raw == 0 {
		return Length{}
	}
	expected := Length{Visible: float64(raw)}
	for i := range d.Candidates {
		if cand := &d.Candidates[i]; cand.Target == target {
			visible := scaled(visibleTokens(&d.Input), cand.Seen.Length)
			expected.Reasoning = float64(max(0, cand.Output-visible))
			if f := d.Input.Lengths.Reasoning; f > 0 {
				expected.Reasoning /= f
			}
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
func expectedSession(in *Input) Session {
	turns := float64(min(in.Turns, horizon))
	if in.Op != llm.Chat || !in.Needs.Has(llm.Tools) || in.Conversation.Purpose != "" {
		return Session{Turns: turns}
	}
	n, prompt := float64(in.Turns), float64(in.InputTokens)
	first := max(prompt-n*growthTokens, prompt/4)
	typical := min(agentTurns*math.Pow(max(first/agentPrompt, 1), agentPower), mostTurns)
	return Session{Turns: max(typical*typical/(typical+n), turns/2), Growth: growthTokens + growthShare*first, Output: float64(visibleTokens(in))}
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

// expect estimates the output and the cost of an option, with cached tokens at the cached price. The total includes reading the prompt again
// in later turns. If it included the whole session, the cost of a switch would be a small share of it, and agents would often change models.
func (r *ranking) expect(o *option) {
	cand := o.cand
	u := llm.Usage{Input: cand.prompt, Output: r.outputOf(o)}
	o.output = u.Output
	if cand.price.price == nil {
		return
	}
	rates := cand.price.ratesFor(cand.prompt)
	uncached := rates.Cost(&u)
	o.cost = uncached
	if cached := &cand.Cache; cached.Read != 0 || cached.Write != 0 {
		u.CacheRead = min(cached.Read, u.Input)
		u.CacheWrite = min(cached.Write, u.Input-u.CacheRead)
		if cached.Long {
			u.CacheWriteLong = u.CacheWrite
		}
		u.Input -= u.CacheRead + u.CacheWrite
		o.cost = rates.Cost(&u)
	}
	o.total, o.uncached = o.cost, uncached
	if r.session.Turns > 0 {
		ahead := r.session.usage(cand.prompt, cand.Cache.Caches)
		cand.Ahead = rates.Cost(&ahead)
	}
	again := Session{Turns: float64(min(r.in.Turns, horizon))}
	if again.Turns == 0 {
		return
	}
	full, cached := again.usage(cand.prompt, false), again.usage(cand.prompt, cand.Cache.Caches)
	o.total, o.uncached = o.cost.Add(rates.Cost(&cached)), uncached.Add(rates.Cost(&full))
}

// outputOf estimates the number of output tokens of an option.
func (r *ranking) outputOf(o *option) int64 {
	in := r.in
	if in.Op == llm.Embed || in.Op == llm.Moderate || in.Op.Media() {
		return 0
	}
	n := scaled(visibleTokens(in), o.cand.Seen.Length)
	if o.cand.target.Model.Abilities.Has(llm.Reasoning) {
		level := llm.DefaultEffort
		if o.effort != nil {
			level = o.effort.level
		}
		n += reasoningTokens(in, level)
	}
	if r.maxOutput > 0 {
		n = min(n, r.maxOutput)
	}
	return n * int64(max(in.Choices, 1))
}

// leaveOverBudget excludes the targets whose answer may not fit what the budgets of the request can still hold. If none fits, only the
// cheapest remains, and the hold tells the caller what is missing.
func (r *ranking) leaveOverBudget() {
	if r.in.Room == nil || !r.in.Routed() || len(r.ready) == 0 {
		return
	}
	needs := make([]money.Amount, len(r.ready))
	for i, cand := range r.ready {
		needs[i] = r.ampleCost(cand)
	}
	limit := max(*r.in.Room, slices.Min(needs))
	kept := r.ready[:0]
	for i, cand := range r.ready {
		if needs[i] <= limit {
			kept = append(kept, cand)
			continue
		}
		r.exclude(cand, Exclusion{Code: OverBudget, format: "may cost $%g, which is more than the budget has left", dollar: round(needs[i].Dollars())})
		r.excluded = append(r.excluded, cand)
	}
	r.ready = kept
	r.ranked = slices.DeleteFunc(r.ranked, func(cand *candidate) bool { return !cand.ready() && cand.excluded.Code == OverBudget })
}

// ampleCost returns the cost of the request with ample room for the answer. Without an output limit of the caller, the gateway sets one that
// the budget can pay for, so that a multiple of the expected output is enough.
func (r *ranking) ampleCost(cand *candidate) money.Amount {
	const ample, least = 3, 1024 // multiple of the expected output, and minimum
	if cand.price.price == nil {
		return 0
	}
	output := r.maxOutput
	for i := range r.options {
		if o := &r.options[i]; o.cand == cand && output == 0 {
			output = max(o.output*ample, least) // the lowest effort comes first
		}
	}
	if m := cand.target.Model.MaxOutput; m > 0 {
		output = min(output, m)
	}
	u := llm.Usage{Input: cand.prompt, Output: output * int64(max(r.in.Choices, 1))}
	return cand.price.ratesFor(cand.prompt).Cost(&u)
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
