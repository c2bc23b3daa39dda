package route

import (
	"fmt"
	"slices"
	"strings"

	"fairlead.dev/internal/llm"
)

// collect adds the targets that the request's model names match. A policy's pin replaces the requested model.
func (r *ranking) collect() error {
	if pin := r.rules.Pin.Value; pin != "" {
		return r.addNamed([]string{pin}, false)
	}
	if r.in.Routed() && len(r.in.Controls.Models) == 0 {
		if t := r.in.Route; t != nil && len(t.Pool) > 0 {
			return r.addPinned(t)
		}
		return r.addPool()
	}
	names := r.in.Controls.Models
	if !r.in.Routed() {
		names = append([]string{r.in.Model}, names...)
	}
	return r.addNamed(names, r.in.Routed())
}

// addPinned adds the models of a pinned pool, and the model of the session's share.
func (r *ranking) addPinned(t *Route) error {
	names := t.Pool
	if share := t.shareModel(r.in.Draw); share != "" && !slices.Contains(names, share) {
		names = append([]string{share}, names...)
	}
	if r.addNamed(names, true) != nil {
		return llm.Errorf(llm.NoRoute, "No connected account offers a model of the route %s (%s). Add a provider account or change the pool of the route.", t.Name, strings.Join(names, ", ")).
			With("excluded", []string{})
	}
	return nil
}

// addPool adds the targets of the default pool, of the session's share, of models that a policy prefers, and the target that the
// conversation has used so far.
// Operations other than chat have no pool.
func (r *ranking) addPool() error {
	prices := r.snap.pricesAt(r.in.At)
	share := r.in.Route.shareModel(r.in.Draw)
	offered := false
	for i := range r.snap.entries {
		entry := &r.snap.entries[i]
		t := entry.target
		if !t.Serves(r.in.Op) || t.NamedOnly() {
			continue
		}
		offered = true
		preferred := len(r.rules.Prefer) > 0 && r.rules.Rank(t.Provider, t.Model.Name) < len(r.rules.Prefer)
		if r.in.Op != llm.Chat || r.snap.inPool[entry.model] || preferred || t.Model.Name == share || entry.id == r.in.Last {
			r.add(entry, &prices[i], 0, t.Model.Deprecated && r.snap.inPool[entry.model])
		}
	}
	if !offered {
		return llm.Errorf(llm.NoRoute, "No configured provider offers a model for %s. Add a provider or a model in the configuration.", r.in.Op).
			With("excluded", []string{})
	}
	return nil
}

// maxJoined is the maximum number of models that join the pool for a request.
const maxJoined = 4

// join adds able models outside the default pool if no model of the pool can serve the request, or only one because of its needs or because
// the providers deny the others to the account. It reports whether any joined.
func (r *ranking) join(needs llm.Abilities) bool {
	if r.in.Op != llm.Chat || !r.in.Routed() || len(r.in.Controls.Models) > 0 || r.rules.Pin.Value != "" || r.in.Route != nil && len(r.in.Route.Pool) > 0 {
		return false
	}
	able, denied := map[int]bool{}, false
	for _, cand := range r.ranked {
		if cand.Seen.Denied {
			denied = true
		} else {
			able[cand.model] = true
		}
	}
	unable := denied || slices.ContainsFunc(r.excluded, func(cand *candidate) bool {
		code := cand.excluded.Code
		return code == MissingCapability || code == ContextTooSmall || code == OutputLimitExceeded
	})
	if len(able) > 1 || len(able) == 1 && !unable {
		return false
	}
	// Retired models serve an account that turned out to offer no others.
	joined := r.joinBest(needs, false)
	if joined == 0 && len(able) == 0 && denied {
		joined = r.joinBest(needs, true)
	}
	if joined == 0 && len(able) == 0 {
		return r.addAllowed() // so that the rejection names why each of them cannot serve the request
	}
	return joined > 0
}

// joinBest adds the best able models outside the default pool, and those that the account turned out not to offer. It returns the number of
// models that the account may offer.
func (r *ranking) joinBest(needs llm.Abilities, retired bool) int {
	var x Exclusion
	var joining []option
	prices := r.snap.pricesAt(r.in.At)
	for i := range r.snap.entries {
		entry := &r.snap.entries[i]
		if t := entry.target; !t.Serves(llm.Chat) || t.NamedOnly() || t.Model.Deprecated != retired || slices.ContainsFunc(r.candidates, func(cand candidate) bool { return cand.target == t }) {
			continue
		}
		cand := &candidate{Candidate: Candidate{Target: entry.id, Model: entry.target.Model.Name, Provider: entry.target.Provider}, entry: entry, target: entry.target, model: entry.model, price: &prices[i], named: retired}
		cand.prompt = r.promptFor(cand)
		if permanentlyExcluded(r.in, cand, needs, r.outputTokens(), &x) || r.rules.forbid(cand, &x) {
			continue
		}
		o := r.optionFor(cand, nil)
		o.value = r.value(&o, o.total)
		joining = append(joining, o)
	}
	slices.SortStableFunc(joining, func(a, b option) int { return a.compare(&b) })
	models := map[int]bool{}
	for _, o := range joining {
		if len(models) == maxJoined && !models[o.cand.model] {
			continue
		}
		if r.c.State == nil || !r.c.State(o.cand.Target).Denied { // a denied model takes no place of one that the account offers
			models[o.cand.model] = true
		}
		r.add(o.cand.entry, o.cand.price, 0, retired)
	}
	return len(models)
}

// addAllowed replaces the candidates by all targets that the key allows. It reports whether there are others than before.
func (r *ranking) addAllowed() bool {
	before := len(r.candidates)
	prices := r.snap.pricesAt(r.in.At)
	for i := range r.snap.entries {
		if entry := &r.snap.entries[i]; entry.target.Serves(r.in.Op) && !entry.target.NamedOnly() && Allowed(r.in.AllowedModels, entry.target) {
			r.add(entry, &prices[i], 0, false)
		}
	}
	all := r.candidates[before:]
	if len(all) == 0 || len(all) == before {
		r.candidates = r.candidates[:before]
		return false
	}
	r.candidates = append(r.candidates[:0], all...)
	return true
}

// addNamed adds the targets for the names in order. If restrict is set, the names limit the choice of auto, and their order has no effect.
// Unknown names are ignored, but it is an error if no name is known or, without restrict, if the first name is unknown.
func (r *ranking) addNamed(names []string, restrict bool) error {
	for i, name := range names {
		targets := r.snap.Named(name)
		if len(targets) == 0 && i == 0 && !restrict {
			return notFound(r.snap, name)
		}
		order := i
		if restrict {
			order = 0
		}
		for _, t := range targets {
			if !slices.ContainsFunc(r.candidates, func(cand candidate) bool { return cand.target == t }) {
				price := newCurrentPrice(t, r.in.At)
				r.add(r.snap.entryOf(t), &price, order, true)
				r.candidates[len(r.candidates)-1].trusted = !restrict
			}
		}
	}
	if len(r.candidates) == 0 {
		return notFound(r.snap, names[0])
	}
	return nil
}

func (r *ranking) add(s *targetEntry, c *currentPrice, order int, named bool) {
	t, listed, preference := s.target, r.in.Controls.Provider.Order, 0
	providerOrder := slices.Index(listed, t.Provider)
	if providerOrder < 0 {
		providerOrder = len(listed) // unlisted providers come last
	}
	if len(r.rules.Prefer) > 0 {
		preference = r.rules.Rank(t.Provider, t.Model.Name)
	}
	r.candidates = append(r.candidates, candidate{
		Candidate: Candidate{Target: s.id, Model: t.Model.Name, Provider: t.Provider},
		entry:     s, target: t, model: s.model, price: c, fallbackOrder: order, named: named,
		providerOrder: providerOrder,
		preference:    preference,
	})
}

func notFound(snap *Snapshot, name string) error {
	near := snap.Suggest(name)
	hint := "GET /proxy/v1/models lists the available models."
	if len(near) > 0 {
		hint = fmt.Sprintf("Did you mean %q? ", near[0]) + hint
	}
	shown := name
	if len(shown) > 80 {
		shown = strings.ToValidUTF8(shown[:80], "") + "…"
	}
	problem := "does not exist"
	if _, known := snap.Catalog.Model(name); known {
		problem = "is not offered by any configured provider"
	}
	e := llm.Errorf(llm.ModelNotFound, "Model %q %s. %s", shown, problem, hint).With("suggestions", near)
	e.Param = "model"
	return e
}
