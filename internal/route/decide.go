package route

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"fairlead/internal/llm"
	"fairlead/internal/money"
	"fairlead/internal/provider"
)

// Decide plans one request. It returns a decision also with an error, so that the refusal can be explained.
func Decide(in Input, snap *Snapshot, state func(target string) State) (*Decision, error) {
	d := &Decision{
		Kind:       Expected,
		Input:      in,
		Policies:   []PolicyHit{},
		Candidates: []Candidate{},
		Versions:   Versions{Router: Router, Catalog: snap.Catalog.Version()},
	}
	field, err := fieldOf(in, snap)
	if err != nil {
		return d, err
	}
	var ranked []ranking
	var out []Candidate
	for _, e := range field {
		c := candidate(e.target)
		if c.Excluded = exclude(in, e); c.Excluded != nil {
			out = append(out, c)
			continue
		}
		s := state(e.target.ID())
		score(&c, in, e.target, s)
		c.Excluded = unready(e.target, s)
		ranked = append(ranked, ranking{candidate: c, entrant: e})
	}
	sortRanked(in, ranked)
	if len(ranked) > 0 && ranked[0].candidate.Excluded != nil {
		d.Kind = Fallback // the first choice is not to be had at the moment
	}
	ready, unready := split(ranked)
	sortRanked(in, ready) // once more: who is not to be had lends its model no rank
	ready, dropped := bound(in, ready)
	out = append(out, dropped...)
	for i := range ready {
		ready[i].candidate.Rank = i + 1
		d.Candidates = append(d.Candidates, ready[i].candidate)
		d.Plan = append(d.Plan, ready[i].entrant.target)
	}
	for _, r := range unready {
		out = append(out, r.candidate)
	}
	d.Candidates = append(d.Candidates, out...)
	if len(ready) == 0 {
		return d, refusal(in, out)
	}
	if len(ready) > 1 {
		d.RunnerUp = ready[1].candidate.Target
		d.Margin = round(ready[0].candidate.Score - ready[1].candidate.Score)
	}
	if in.Op == llm.Embed {
		ranked = ready // another model's vectors are no alternative
	}
	d.Baseline = baseline(in, snap, ranked)
	return d, nil
}

// entrant is a target in the running, with the place the caller gave its model.
type entrant struct {
	target *provider.Target
	place  int  // 0 for the model asked for, then the fallbacks in the order given
	named  bool // the caller named this model: its word counts for more than our table of abilities
}

type ranking struct {
	candidate Candidate
	entrant   entrant
}

// split parts those that can be tried now from those that are failing or resting.
func split(ranked []ranking) (ready, unready []ranking) {
	for _, r := range ranked {
		if r.candidate.Excluded == nil {
			ready = append(ready, r)
		} else {
			unready = append(unready, r)
		}
	}
	return ready, unready
}

// IsAuto reports whether a model name leaves the choice to the router.
func IsAuto(name string) bool { return name == "auto" || strings.HasPrefix(name, "auto:") }

// fieldOf collects the targets that the request's model names mean.
func fieldOf(in Input, snap *Snapshot) ([]entrant, error) {
	if IsAuto(in.Model) && len(in.Controls.Models) == 0 {
		var field []entrant
		for _, t := range snap.targets {
			if t.Serves(in.Op) {
				field = append(field, entrant{target: t})
			}
		}
		if len(field) == 0 {
			return nil, llm.Errorf(llm.NoRoute, "No configured provider offers a model for %s. Add a provider, or a model to one, in the configuration.", in.Op).
				With("excluded", []string{})
		}
		return field, nil
	}
	names := in.Controls.Models
	if !IsAuto(in.Model) {
		names = append([]string{in.Model}, names...)
	}
	return namedField(in, snap, names)
}

// namedField collects the targets of the names in order. With auto in front the names only bound the choice.
func namedField(in Input, snap *Snapshot, names []string) ([]entrant, error) {
	var field []entrant
	seen := map[*provider.Target]bool{}
	for i, name := range names {
		targets := snap.Named(name)
		if len(targets) == 0 && i == 0 {
			return nil, notFound(snap, name)
		}
		place := i
		if IsAuto(in.Model) {
			place = 0
		}
		for _, t := range targets {
			if !seen[t] {
				seen[t] = true
				field = append(field, entrant{target: t, place: place, named: true})
			}
		}
	}
	return field, nil
}

func notFound(snap *Snapshot, name string) error {
	near := snap.Suggest(name)
	hint := "GET /proxy/v1/models lists what is on offer."
	if len(near) > 0 {
		hint = fmt.Sprintf("Did you mean %q? ", near[0]) + hint
	}
	shown := name
	if len(shown) > 80 {
		shown = strings.ToValidUTF8(shown[:80], "") + "…"
	}
	what := "is not known"
	if _, known := snap.Catalog.Model(name); known {
		what = "is known, but no configured provider offers it"
	}
	e := llm.Errorf(llm.ModelNotFound, "Model %q %s. %s", shown, what, hint).With("suggestions", near)
	e.Param = "model"
	return e
}

func candidate(t *provider.Target) Candidate {
	return Candidate{Target: t.ID(), Model: t.Model.Name, Provider: t.Provider}
}

// sortRanked sorts by the caller's own order of models and providers first, then by score, the targets of one model
// together so that another provider of the same model is tried before another model.
func sortRanked(in Input, ranked []ranking) {
	best := map[string]float64{}
	for _, r := range ranked {
		best[r.candidate.Model] = max(r.candidate.Score, cmp.Or(best[r.candidate.Model], math.Inf(-1)))
	}
	slices.SortFunc(ranked, func(a, b ranking) int {
		return cmp.Or(
			cmp.Compare(a.entrant.place, b.entrant.place),
			cmp.Compare(wished(in, a.entrant.target), wished(in, b.entrant.target)),
			-cmp.Compare(best[a.candidate.Model], best[b.candidate.Model]),
			cmp.Compare(a.candidate.Model, b.candidate.Model),
			-cmp.Compare(a.candidate.Score, b.candidate.Score),
			cmp.Compare(a.candidate.Target, b.candidate.Target),
		)
	})
}

// bound leaves out what may not follow the first choice.
func bound(in Input, ranked []ranking) ([]ranking, []Candidate) {
	keep := ranked
	var why Exclusion
	switch {
	case len(ranked) == 0:
		return ranked, nil
	case in.Op == llm.Embed: // vectors of different models do not mix
		first := ranked[0].candidate.Model
		keep = slices.DeleteFunc(slices.Clone(ranked), func(r ranking) bool { return r.candidate.Model != first })
		why = Exclusion{NotPinned, "vectors of " + first + " do not mix with another model's"}
	case in.Controls.Provider.NoFallbacks:
		keep = ranked[:1]
		why = Exclusion{NotRequested, "the request allows no fallbacks"}
	}
	var dropped []Candidate
	for _, r := range ranked {
		if !slices.ContainsFunc(keep, func(k ranking) bool { return k.candidate.Target == r.candidate.Target }) {
			r.candidate.Excluded = &why
			dropped = append(dropped, r.candidate)
		}
	}
	return keep, dropped
}

// wished is the place of the target's provider in provider.order; unlisted ones come after all listed ones.
func wished(in Input, t *provider.Target) int {
	if i := slices.Index(in.Controls.Provider.Order, t.Provider); i >= 0 {
		return i
	}
	return len(in.Controls.Provider.Order)
}

// baseline is the first that applies: what caller, policy, key or workspace name, else the priciest eligible candidate.
func baseline(in Input, snap *Snapshot, ranked []ranking) *Baseline {
	if !IsAuto(in.Model) {
		return &Baseline{Model: snap.Canonical(in.Model), Source: "caller"}
	}
	if hint := in.Baseline; hint.Model != "" {
		m, known := snap.Catalog.Model(hint.Model)
		if !known || m.Op == in.Op {
			return &Baseline{Model: snap.Canonical(hint.Model), Source: hint.Source}
		}
	}
	dearest := slices.MaxFunc(ranked, func(a, b ranking) int {
		return cmp.Or(cmp.Compare(priceOf(a), priceOf(b)), -cmp.Compare(a.candidate.Target, b.candidate.Target))
	})
	if dearest.candidate.Price == nil {
		return nil
	}
	return &Baseline{Model: dearest.candidate.Model, Source: "priciest"}
}

func priceOf(r ranking) money.Amount {
	if r.candidate.Price == nil {
		return -1
	}
	return *r.candidate.Price
}

// refusal turns a field with nobody left into the error that fits the reasons.
func refusal(in Input, out []Candidate) error {
	excluded := make([]map[string]any, 0, len(out))
	count := map[Reason]int{}
	for _, c := range out {
		count[c.Excluded.Code]++
		if len(excluded) < 50 {
			excluded = append(excluded, map[string]any{"target": c.Target, "code": c.Excluded.Code, "reason": c.Excluded.Reason})
		}
	}
	all := func(codes ...Reason) bool {
		n := 0
		for _, code := range codes {
			n += count[code]
		}
		return n == len(out)
	}
	switch {
	case all(ContextTooSmall, OutputTooLarge):
		return llm.Errorf(llm.ContextTooLong,
			"The request needs about %d tokens, which is beyond the maximum context length of every model it may use (context_length_exceeded). Shorten the messages or lower max_tokens.",
			in.InputTokens+in.MaxOutput).With("excluded", excluded)
	case all(KeyForbids):
		e := llm.Errorf(llm.ModelNotAllowed, "This API key may not use model %q. Use one of the key's allowed models, or change them in API key settings.", in.Model)
		e.Param = "model"
		return e.With("allowed_models", in.AllowedModels)
	case count[CircuitOpen]+count[Resting] > 0:
		e := llm.Errorf(llm.NoTargetReady, "Every provider that could serve this request is failing or resting at the moment. Repeat it in a few seconds.").With("excluded", excluded)
		e.RetryAfter = 3 * time.Second
		return e
	}
	return llm.Errorf(llm.NoRoute, "No model can serve this request under its conditions: %s. See details.excluded and relax one of them.", mainReason(out)).
		With("excluded", excluded)
}

// mainReason is the most frequent reason in words.
func mainReason(out []Candidate) string {
	count := map[string]int{}
	best := ""
	for _, c := range out {
		text := c.Excluded.Reason
		count[text]++
		if best == "" || count[text] > count[best] {
			best = text
		}
	}
	return best
}

func round(f float64) float64 { return math.Round(f*1e6) / 1e6 }
