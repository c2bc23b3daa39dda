package route

import (
	"math"
	"slices"
	"strings"

	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/provider"
)

// permanentlyExcluded reports whether the target can never serve the request. If so, it stores the reason in why. Checks return a
// bool instead of an error because they run for every target of every request and most targets pass.
func permanentlyExcluded(in *Input, e *candidate, needs llm.Abilities, output int64, why *Exclusion) bool {
	w, t := &in.Controls.Provider, e.target
	switch {
	case !t.Serves(in.Op):
		return why.set(Exclusion{Code: MissingCapability, format: "only supports %s", subject: string(t.Model.Op)})
	case t.Model.Deprecated && !e.named: // callers may still name deprecated models
		return why.set(Exclusion{Code: Retired, format: "deprecated by its vendor"})
	case !Allowed(in.AllowedModels, t):
		return why.set(Exclusion{Code: NotAllowedByKey, format: "not in the key's allowed models"})
	case len(w.Only) > 0 && !slices.Contains(w.Only, t.Provider):
		return why.set(Exclusion{Code: NotRequested, format: "provider.only does not list %s", subject: t.Provider})
	case slices.Contains(w.Ignore, t.Provider):
		return why.set(Exclusion{Code: ProviderIgnored, format: "provider.ignore lists %s", subject: t.Provider})
	case w.NoFallbacks && len(w.Order) > 0 && !slices.Contains(w.Order, t.Provider):
		return why.set(Exclusion{Code: NotRequested, format: "provider.order does not list %s, and fallbacks are not allowed", subject: t.Provider})
	case w.DenyCollection && t.Collects:
		return why.set(Exclusion{Code: DataCollection, format: "%s may store or train on prompts", subject: t.Provider})
	case w.ZeroRetention && !t.ZeroRetention:
		return why.set(Exclusion{Code: DataRetention, format: "%s has no zero data retention", subject: t.Provider})
	case w.RequireParameters && t.Model.FixedSampling && len(in.Sampling) > 0:
		return why.set(Exclusion{Code: Unsupported, format: "ignores %s", subject: strings.Join(in.Sampling, ", ")})
	}
	return format(in, e, why) || abilities(in, e, needs, why) || contextSize(in, e, output, why) || vector(in, e, why) || price(in, e, why)
}

// temporarilyExcluded reports whether the target is temporarily unavailable. If so, it stores the reason in why.
func temporarilyExcluded(cand *candidate, why *Exclusion) bool {
	if cand.Seen.Open {
		return why.set(Exclusion{Code: CircuitOpen, format: "circuit open after repeated failures"})
	}
	if cand.Seen.BackingOff > 0 {
		words := "rate-limited by %s; retry in %s"
		if cand.Seen.Rejected {
			words = "%s rejected the credential or the model; next attempt in %s"
		}
		return why.set(Exclusion{Code: CredentialBackingOff, format: words, subject: cand.Provider, a: int64(cand.Seen.BackingOff)})
	}
	if cand.Seen.QuotaWait > 0 {
		return why.set(Exclusion{Code: QuotaExhausted, format: "the rate limit of %s is used up; enough quota in %s", subject: cand.Provider, a: int64(cand.Seen.QuotaWait)})
	}
	return false
}

// Allowed reports whether a list of allowed models contains the target. An element is a name, provider/model, or a prefix followed by *. An
// empty list contains all targets.
func Allowed(list []string, t *provider.Target) bool {
	return len(list) == 0 || slices.ContainsFunc(list, func(pattern string) bool {
		if matchesName(pattern, t.Model.Name) || slices.Contains(t.Model.Aliases, pattern) {
			return true
		}
		rest, ok := strings.CutPrefix(pattern, t.Provider)
		if ok && strings.HasPrefix(rest, "/") {
			return matchesName(rest[1:], t.Model.Name)
		}
		prefix, wild := strings.CutSuffix(pattern, "*")
		return wild && strings.HasPrefix(t.Provider, prefix) // open* matches every target of openai
	})
}

func matchesName(pattern, name string) bool {
	if prefix, ok := strings.CutSuffix(pattern, "*"); ok {
		return strings.HasPrefix(name, prefix)
	}
	return pattern == name
}

// optionalNeeds is the set of needs that a target may lack if the request sets best_effort.
const optionalNeeds = llm.Tools | llm.ParallelTools | llm.JSONMode | llm.JSONSchema

// format excludes targets whose wire format cannot express the request, even if the caller named the model. With best_effort, tools and
// schemas are dropped with a warning instead.
func format(in *Input, e *candidate, why *Exclusion) bool {
	carried := llm.Tools | llm.Vision | llm.AudioIn | llm.AudioOut | llm.Files | llm.JSONMode | llm.JSONSchema | llm.ResponsesAPI | llm.MessagesAPI
	if in.Controls.Provider.BestEffort {
		carried &^= optionalNeeds
	}
	if missing := in.Needs & carried & e.target.Lacks; missing != 0 {
		return why.set(Exclusion{Code: MissingCapability, format: "%s does not accept %s", subject: e.target.Provider, lacks: missing})
	}
	if in.ImageURLs > 0 && e.target.InlineMedia {
		return why.set(Exclusion{Code: MissingCapability, format: "%s does not accept image URLs", subject: e.target.Provider})
	}
	return false
}

// abilities excludes targets without a required capability. Unless the request sets require_parameters, it does not exclude a model that
// the request or a pin names, because the catalog may be out of date.
func abilities(in *Input, e *candidate, needs llm.Abilities, why *Exclusion) bool {
	if w := &in.Controls.Provider; w.BestEffort && !w.RequireParameters {
		needs &^= optionalNeeds
	}
	missing := e.target.Model.Abilities.Missing(needs&^llm.Transport) | needs&llm.WebSearch&e.target.Lacks
	if missing == 0 || (e.trusted && !in.Controls.Provider.RequireParameters) {
		return false
	}
	return why.set(Exclusion{Code: MissingCapability, format: "does not support %s", lacks: missing})
}

// contextSize excludes targets whose context window is too small. For models that the request or a pin names, it tolerates errors in
// the token estimate.
func contextSize(in *Input, e *candidate, output int64, why *Exclusion) bool {
	m := e.target.Model
	about := in.longest(e.prompt)
	prompt, need := about, about+output
	if e.trusted {
		prompt = about * 6 / 10
		need = prompt
	}
	if m.MaxInput > 0 && prompt > m.MaxInput {
		return why.set(Exclusion{Code: ContextTooSmall, format: "about %d prompt tokens exceed the input limit of %d", a: about, b: m.MaxInput})
	}
	if m.Context > 0 && need > m.Context {
		return why.set(Exclusion{Code: ContextTooSmall, format: "about %d tokens exceed the context window of %d", a: about + output, b: m.Context})
	}
	if !e.trusted && m.MaxOutput > 0 && output > m.MaxOutput {
		return why.set(Exclusion{Code: OutputLimitExceeded, format: "output limit of %d tokens", a: m.MaxOutput})
	}
	return false
}

// longest returns the number of tokens that must fit into the context window. For several inputs, it is the length of the longest one,
// because each input is processed separately.
func (in *Input) longest(prompt int64) int64 {
	if in.Longest == 0 {
		return prompt
	}
	return int64(math.Ceil(in.Longest * float64(prompt)))
}

func vector(in *Input, e *candidate, why *Exclusion) bool {
	if in.Op != llm.Embed || e.named {
		return false
	}
	m := e.target.Model
	if in.PinnedEmbed != "" && m.Name != in.PinnedEmbed {
		return why.set(Exclusion{Code: NotPinned, format: "the workspace's embedding model is %s", subject: in.PinnedEmbed})
	}
	if in.Dimensions > 0 && len(m.Dimensions) > 0 && in.Dimensions > slices.Max(m.Dimensions) {
		return why.set(Exclusion{Code: UnsupportedDimensions, format: "at most %d dimensions", a: slices.Max(m.Dimensions)})
	}
	return false
}

func price(in *Input, e *candidate, why *Exclusion) bool {
	p := e.target.Price
	if p == nil {
		if e.trusted && in.AllowUnpriced {
			return false
		}
		return why.set(Exclusion{Code: PriceUnknown, format: "no price set; set a price, or enable allow_unpriced"})
	}
	limit := in.Controls.Provider.MaxPrice
	if limit == nil {
		return false
	}
	p = e.price.price
	if limit.Prompt != nil && p.Input.Dollars() > *limit.Prompt {
		return why.set(Exclusion{Code: PriceLimitExceeded, format: "prompt price of $%g per million tokens exceeds max_price", dollar: p.Input.Dollars()})
	}
	if limit.Completion != nil && p.Output.Dollars() > *limit.Completion {
		return why.set(Exclusion{Code: PriceLimitExceeded, format: "completion price of $%g per million tokens exceeds max_price", dollar: p.Output.Dollars()})
	}
	return false
}
