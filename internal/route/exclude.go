package route

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"fairlead/internal/llm"
	"fairlead/internal/provider"
)

// exclude returns why the target can never serve the request, or nil.
func exclude(in Input, e entrant) *Exclusion {
	for _, check := range []func(Input, entrant) *Exclusion{operation, retired, permission, wishes, format, abilities, size, vector, price} {
		if x := check(in, e); x != nil {
			return x
		}
	}
	return nil
}

// unready returns why the target cannot serve just now, or nil.
func unready(t *provider.Target, s State) *Exclusion {
	if s.Open {
		return &Exclusion{CircuitOpen, "its circuit is open after repeated failures"}
	}
	if s.Resting > 0 {
		return &Exclusion{Resting, fmt.Sprintf("%s asked us to wait; ready in %s", t.Provider, s.Resting.Round(100*time.Millisecond))}
	}
	return nil
}

func operation(in Input, e entrant) *Exclusion {
	if !e.target.Serves(in.Op) {
		return &Exclusion{LacksAbility, fmt.Sprintf("it is a model for %s", e.target.Model.Op)}
	}
	return nil
}

// retired keeps auto away from models that their vendor is about to switch off; whoever names one knows why.
func retired(_ Input, e entrant) *Exclusion {
	if e.target.Model.Deprecated && !e.named {
		return &Exclusion{Retired, "its vendor has announced its end"}
	}
	return nil
}

func permission(in Input, e entrant) *Exclusion {
	if Allowed(in.AllowedModels, e.target) {
		return nil
	}
	return &Exclusion{KeyForbids, "the key's allowed models do not include it"}
}

// Allowed reports whether a list of allowed models (names, provider/model, or prefixes ending in *) admits the target.
func Allowed(list []string, t *provider.Target) bool {
	if len(list) == 0 {
		return true
	}
	return slices.ContainsFunc(list, func(pattern string) bool {
		return matches(pattern, t.Model.Name) || matches(pattern, t.ID()) || slices.Contains(t.Model.Aliases, pattern)
	})
}

func matches(pattern, name string) bool {
	if prefix, ok := strings.CutSuffix(pattern, "*"); ok {
		return strings.HasPrefix(name, prefix)
	}
	return pattern == name
}

func wishes(in Input, e entrant) *Exclusion {
	w, t := in.Controls.Provider, e.target
	switch {
	case len(w.Only) > 0 && !slices.Contains(w.Only, t.Provider):
		return &Exclusion{NotRequested, "provider.only does not list " + t.Provider}
	case slices.Contains(w.Ignore, t.Provider):
		return &Exclusion{ProviderIgnored, "provider.ignore lists " + t.Provider}
	case w.NoFallbacks && len(w.Order) > 0 && !slices.Contains(w.Order, t.Provider):
		return &Exclusion{NotRequested, "provider.order does not list " + t.Provider + ", and fallbacks are not allowed"}
	case w.DenyCollection && t.Collects:
		return &Exclusion{CollectsData, t.Provider + " may keep or train on what it is sent"}
	case w.ZeroRetention && !t.ZeroRetention:
		return &Exclusion{KeepsData, t.Provider + " is not marked as keeping nothing"}
	case w.RequireParameters && t.Model.FixedSampling && len(in.Sampling) > 0:
		return &Exclusion{Unsupported, "it ignores " + strings.Join(in.Sampling, ", ")}
	}
	return nil
}

// shapes are the needs whose loss a caller may accept: the answer is another, but it is one.
const shapes = llm.Tools | llm.ParallelTools | llm.JSONMode | llm.JSONSchema

// format leaves out who cannot be told what the request says, named or not: it would be lost on the way. With best_effort
// tools and schemas may be, and the adapter warns of it.
func format(in Input, e entrant) *Exclusion {
	carried := llm.Tools | llm.Vision | llm.AudioIn | llm.AudioOut | llm.Files | llm.JSONMode | llm.JSONSchema
	if in.Controls.Provider.BestEffort {
		carried &^= shapes
	}
	if missing := in.Needs & carried & e.target.Lacks; missing != 0 {
		return &Exclusion{LacksAbility, e.target.Provider + " cannot be sent " + strings.Join(missing.Names(), ", ")}
	}
	if in.ImageURLs > 0 && e.target.InlineMedia {
		return &Exclusion{LacksAbility, e.target.Provider + " takes images by their bytes, not by URL"}
	}
	return nil
}

// abilities trusts a caller who names a model: our table may be behind, and the provider answers for itself.
func abilities(in Input, e entrant) *Exclusion {
	needs := in.Needs &^ llm.ManyChoices &^ llm.Logprobs &^ llm.Reasoning &^ llm.ParallelTools
	switch w := in.Controls.Provider; {
	case w.RequireParameters:
		needs = in.Needs
	case w.BestEffort:
		needs &^= shapes
	}
	missing := e.target.Model.Abilities.Missing(needs)
	if missing == 0 || (e.named && !in.Controls.Provider.RequireParameters) {
		return nil
	}
	return &Exclusion{LacksAbility, "it lacks " + strings.Join(missing.Names(), ", ")}
}

// size leaves named models alone unless the prompt is far beyond them: our count is an estimate.
func size(in Input, e entrant) *Exclusion {
	m := e.target.Model
	about := InputTokens(in, m)
	need := about
	if e.named {
		need = need * 6 / 10
	}
	if m.MaxInput > 0 && need > m.MaxInput {
		return &Exclusion{ContextTooSmall, fmt.Sprintf("about %d prompt tokens are more than the %d it takes", about, m.MaxInput)}
	}
	if m.Context > 0 && need+outputWithin(in, e) > m.Context {
		return &Exclusion{ContextTooSmall, fmt.Sprintf("about %d tokens do not fit its window of %d", about+in.MaxOutput, m.Context)}
	}
	if !e.named && m.MaxOutput > 0 && in.MaxOutput > m.MaxOutput {
		return &Exclusion{OutputTooLarge, fmt.Sprintf("it writes at most %d tokens", m.MaxOutput)}
	}
	return nil
}

func outputWithin(in Input, e entrant) int64 {
	if e.named {
		return 0
	}
	return in.MaxOutput
}

func vector(in Input, e entrant) *Exclusion {
	if in.Op != llm.Embed || e.named {
		return nil
	}
	m := e.target.Model
	if in.PinnedEmbed != "" && m.Name != in.PinnedEmbed {
		return &Exclusion{NotPinned, "the workspace's embedding model is " + in.PinnedEmbed}
	}
	if in.Dimensions > 0 && len(m.Dimensions) > 0 && in.Dimensions > slices.Max(m.Dimensions) {
		return &Exclusion{WrongDimensions, fmt.Sprintf("its vectors have at most %d dimensions", slices.Max(m.Dimensions))}
	}
	return nil
}

func price(in Input, e entrant) *Exclusion {
	p := e.target.Price
	if p == nil {
		if e.named && in.AllowUnpriced {
			return nil
		}
		return &Exclusion{PriceUnknown, "its price is unknown; set one in the configuration, or allow_unpriced for callers who name it"}
	}
	limit := in.Controls.Provider.MaxPrice
	if limit == nil {
		return nil
	}
	p = p.At(in.At)
	if limit.Prompt != nil && p.Input.Dollars() > *limit.Prompt {
		return &Exclusion{TooDear, fmt.Sprintf("its prompt price of $%g per million tokens is above max_price", p.Input.Dollars())}
	}
	if limit.Completion != nil && p.Output.Dollars() > *limit.Completion {
		return &Exclusion{TooDear, fmt.Sprintf("its completion price of $%g per million tokens is above max_price", p.Output.Dollars())}
	}
	return nil
}
