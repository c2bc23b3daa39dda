package route

import (
	"math"
	"slices"
	"strings"

	"fairlead/internal/llm"
	"fairlead/internal/provider"
)

// exclude reports whether the target can never serve the request. Every target is asked about in every request, and most
// pass: so each check only answers yes or no, and writes why where it is yes.
func exclude(in *Input, e *entrant, needs llm.Abilities, room int64, why *Exclusion) bool {
	return operation(in, e, why) || retired(in, e, why) || permission(in, e, why) || wishes(in, e, why) || format(in, e, why) ||
		abilities(in, e, needs, why) || size(in, e, room, why) || vector(in, e, why) || price(in, e, why)
}

// unready reports whether the target cannot serve just now, and writes why.
func unready(one *runner, why *Exclusion) bool {
	if one.Seen.Open {
		return why.is(Exclusion{Code: CircuitOpen, words: "its circuit is open after repeated failures"})
	}
	if one.Seen.BackingOff > 0 {
		words := "%s limits its rate; ready in %s"
		if one.Seen.Refused {
			words = "%s refused the credential or the model; next attempt in %s"
		}
		return why.is(Exclusion{Code: CredentialBackingOff, words: words, who: one.Provider, a: int64(one.Seen.BackingOff)})
	}
	return false
}

func operation(in *Input, e *entrant, why *Exclusion) bool {
	if !e.target.Serves(in.Op) {
		return why.is(Exclusion{Code: MissingCapability, words: "it is a model for %s", who: string(e.target.Model.Op)})
	}
	return false
}

// retired keeps auto away from models that their vendor is about to switch off; whoever names one knows why.
func retired(_ *Input, e *entrant, why *Exclusion) bool {
	if e.target.Model.Deprecated && !e.named {
		return why.is(Exclusion{Code: Retired, words: "its vendor has announced its end"})
	}
	return false
}

func permission(in *Input, e *entrant, why *Exclusion) bool {
	if Allowed(in.AllowedModels, e.target) {
		return false
	}
	return why.is(Exclusion{Code: NotAllowedByKey, words: "the key's allowed models do not include it"})
}

// Allowed reports whether a list of allowed models (names, provider/model, or prefixes ending in *) admits the target.
func Allowed(list []string, t *provider.Target) bool {
	return len(list) == 0 || listed(list, t)
}

// listed reports whether a pattern of the list means the target.
func listed(list []string, t *provider.Target) bool {
	return slices.ContainsFunc(list, func(pattern string) bool { return means(pattern, t) })
}

// means reports whether a pattern (a name, provider/model, or a prefix of one ending in *) means the target.
func means(pattern string, t *provider.Target) bool {
	if matches(pattern, t.Model.Name) || slices.Contains(t.Model.Aliases, pattern) {
		return true
	}
	rest, ok := strings.CutPrefix(pattern, t.Provider)
	if ok && strings.HasPrefix(rest, "/") {
		return matches(rest[1:], t.Model.Name)
	}
	prefix, wild := strings.CutSuffix(pattern, "*")
	return wild && strings.HasPrefix(t.Provider, prefix) // open* means every target of openai
}

func matches(pattern, name string) bool {
	if prefix, ok := strings.CutSuffix(pattern, "*"); ok {
		return strings.HasPrefix(name, prefix)
	}
	return pattern == name
}

func wishes(in *Input, e *entrant, why *Exclusion) bool {
	w, t := &in.Controls.Provider, e.target
	switch {
	case len(w.Only) > 0 && !slices.Contains(w.Only, t.Provider):
		return why.is(Exclusion{Code: NotRequested, words: "provider.only does not list %s", who: t.Provider})
	case slices.Contains(w.Ignore, t.Provider):
		return why.is(Exclusion{Code: ProviderIgnored, words: "provider.ignore lists %s", who: t.Provider})
	case w.NoFallbacks && len(w.Order) > 0 && !slices.Contains(w.Order, t.Provider):
		return why.is(Exclusion{Code: NotRequested, words: "provider.order does not list %s, and fallbacks are not allowed", who: t.Provider})
	case w.DenyCollection && t.Collects:
		return why.is(Exclusion{Code: DataCollection, words: "%s may keep or train on what it is sent", who: t.Provider})
	case w.ZeroRetention && !t.ZeroRetention:
		return why.is(Exclusion{Code: DataRetention, words: "%s is not marked as keeping nothing", who: t.Provider})
	case w.RequireParameters && t.Model.FixedSampling && len(in.Sampling) > 0:
		return why.is(Exclusion{Code: Unsupported, words: "it ignores %s", who: strings.Join(in.Sampling, ", ")})
	}
	return false
}

// shapes are the needs whose loss a caller may accept: the answer is another, but it is one.
const shapes = llm.Tools | llm.ParallelTools | llm.JSONMode | llm.JSONSchema

// format leaves out who cannot be told what the request says, named or not: it would be lost on the way. With best_effort
// tools and schemas may be, and the adapter warns of it.
func format(in *Input, e *entrant, why *Exclusion) bool {
	carried := llm.Tools | llm.Vision | llm.AudioIn | llm.AudioOut | llm.Files | llm.JSONMode | llm.JSONSchema
	if in.Controls.Provider.BestEffort {
		carried &^= shapes
	}
	if missing := in.Needs & carried & e.target.Lacks; missing != 0 {
		return why.is(Exclusion{Code: MissingCapability, words: "%s cannot be sent %s", who: e.target.Provider, lacks: missing})
	}
	if in.ImageURLs > 0 && e.target.InlineMedia {
		return why.is(Exclusion{Code: MissingCapability, words: "%s takes images by their bytes, not by URL", who: e.target.Provider})
	}
	return false
}

// relaxations are the needs that auto gives up, in this order, when no target has them all: the adapter leaves the field out
// and warns.
var relaxations = [...]llm.Abilities{
	0,
	llm.ParallelTools | llm.Logprobs,
	llm.ParallelTools | llm.Logprobs | llm.ManyChoices | llm.Reasoning,
}

// abilities excludes targets that lack what the request needs. A model that the caller named is trusted: the catalog may be
// out of date, and the provider decides.
func abilities(in *Input, e *entrant, needs llm.Abilities, why *Exclusion) bool {
	if w := &in.Controls.Provider; w.BestEffort && !w.RequireParameters {
		needs &^= shapes
	}
	missing := e.target.Model.Abilities.Missing(needs)
	if missing == 0 || (e.trusted && !in.Controls.Provider.RequireParameters) {
		return false
	}
	return why.is(Exclusion{Code: MissingCapability, words: "it lacks %s", lacks: missing})
}

// size leaves named models alone unless the prompt is far beyond them: our count is an estimate.
func size(in *Input, e *entrant, room int64, why *Exclusion) bool {
	m := e.target.Model
	about := in.longest(e.prompt)
	prompt, need := about, about+room
	if e.trusted {
		prompt = about * 6 / 10
		need = prompt
	}
	if m.MaxInput > 0 && prompt > m.MaxInput {
		return why.is(Exclusion{Code: ContextTooSmall, words: "about %d prompt tokens are more than the %d it takes", a: about, b: m.MaxInput})
	}
	if m.Context > 0 && need > m.Context {
		return why.is(Exclusion{Code: ContextTooSmall, words: "about %d tokens do not fit its window of %d", a: about + room, b: m.Context})
	}
	if !e.trusted && m.MaxOutput > 0 && room > m.MaxOutput {
		return why.is(Exclusion{Code: OutputLimitExceeded, words: "it writes at most %d tokens", a: m.MaxOutput})
	}
	return false
}

// longest is how much of a prompt must fit a window: of several inputs each is read by itself.
func (in *Input) longest(prompt int64) int64 {
	if in.Longest == 0 {
		return prompt
	}
	return int64(math.Ceil(in.Longest * float64(prompt)))
}

func vector(in *Input, e *entrant, why *Exclusion) bool {
	if in.Op != llm.Embed || e.named {
		return false
	}
	m := e.target.Model
	if in.PinnedEmbed != "" && m.Name != in.PinnedEmbed {
		return why.is(Exclusion{Code: NotPinned, words: "the workspace's embedding model is %s", who: in.PinnedEmbed})
	}
	if in.Dimensions > 0 && len(m.Dimensions) > 0 && in.Dimensions > slices.Max(m.Dimensions) {
		return why.is(Exclusion{Code: UnsupportedDimensions, words: "its vectors have at most %d dimensions", a: slices.Max(m.Dimensions)})
	}
	return false
}

func price(in *Input, e *entrant, why *Exclusion) bool {
	p := e.target.Price
	if p == nil {
		if e.trusted && in.AllowUnpriced {
			return false
		}
		return why.is(Exclusion{Code: PriceUnknown, words: "its price is unknown; set one in the configuration, or allow_unpriced for callers who name it"})
	}
	limit := in.Controls.Provider.MaxPrice
	if limit == nil {
		return false
	}
	p = e.card.price
	if limit.Prompt != nil && p.Input.Dollars() > *limit.Prompt {
		return why.is(Exclusion{Code: PriceLimitExceeded, words: "its prompt price of $%g per million tokens is above max_price", dollar: p.Input.Dollars()})
	}
	if limit.Completion != nil && p.Output.Dollars() > *limit.Completion {
		return why.is(Exclusion{Code: PriceLimitExceeded, words: "its completion price of $%g per million tokens is above max_price", dollar: p.Output.Dollars()})
	}
	return false
}
