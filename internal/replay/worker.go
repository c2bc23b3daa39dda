package replay

import (
	"errors"
	"time"

	"fairlead/internal/llm"
	"fairlead/internal/money"
	"fairlead/internal/predict"
	"fairlead/internal/provider"
	"fairlead/internal/route"
)

// worker decides one request after the other.
type worker struct {
	options *Options
	record  record
}

func newWorker(o *Options) *worker { return &worker{options: o} }

// result is what became of one request.
type result struct {
	skipped  Reason // why it was not decided; empty when it was
	id       string
	at       time.Time
	baseline *money.Amount
	logged   choice
	live     choice
	draft    choice
}

// choice is where a request goes, and what comes of it.
type choice struct {
	target string // empty when it is refused
	model  string
	cost   *money.Amount
	chance *float64

	code     string        // of a refusal, as clients are told
	policy   string        // that made the choice, or refused
	denied   bool          // by that policy
	alone    *money.Amount // cost where the router alone would have sent it, when the policy made the choice
	matched  []int         // places of the policies that matched
	versions route.Versions
}

func (w *worker) decide(row *Row) result {
	r := &w.record
	switch err := r.read(row); {
	case errors.Is(err, errNoTrace):
		return result{id: row.ID, skipped: NoTrace, at: r.at}
	case err != nil:
		return result{id: row.ID, skipped: Unreadable, at: r.at}
	}
	out := result{id: r.id, at: r.at, baseline: r.baseline, skipped: w.unfit()}
	if out.skipped != "" {
		return out
	}
	out.logged = w.logged()
	out.live = w.choose(&w.options.Live)
	out.draft = out.live
	if w.options.Draft != nil {
		out.draft = w.choose(w.options.Draft)
	}
	return out
}

// unfit says why a request is not decided anew.
func (w *worker) unfit() Reason {
	in := &w.record.in
	judged := route.IsAuto(in.Model) && (in.Op == llm.Chat || in.Op == llm.Complete)
	switch {
	case judged && in.Predictor != w.options.Predictor:
		return OtherPredictor
	case w.options.All || judged:
		return ""
	case in.Op == llm.Embed:
		return Embeddings
	case in.Op == llm.Moderate:
		return Moderations
	}
	return Explicit
}

// logged is what was really chosen.
func (w *worker) logged() choice {
	r := &w.record
	c := choice{target: r.chosen}
	if c.target == "" {
		return c
	}
	c.cost = r.cost
	if t := w.target(&w.options.Live, c.target); t != nil {
		c.model = t.Model.Name
	} else {
		_, c.model = split(c.target)
	}
	c.chance = w.chance(c.model)
	if s := r.seen[c.target]; c.chance == nil && s.rated && r.in.Op == llm.Chat {
		c.chance = &s.quality // a model that is gone is as good as it was held to be
	}
	return c
}

// choose decides the request by the rules.
func (w *worker) choose(by *Rules) choice {
	r := &w.record
	in := r.in
	if by.Objective != nil && route.IsAuto(in.Model) {
		in.Objective = *by.Objective
	}
	d, err := route.Decide(&in, by.Snapshot, route.Conditions{
		State: w.state, CacheHit: w.warm, Policies: by.Policies, Corrections: by.Corrections, Feedback: by.Feedback,
	})
	c := choice{policy: d.Policy, versions: d.Versions}
	for i := range d.Policies {
		if d.Policies[i].Matched {
			c.matched = append(c.matched, i)
		}
	}
	if err != nil {
		c.code = codeOf(err)
		c.denied = c.code == llm.PolicyRejected.Code()
		return c
	}
	first := d.Plan[0]
	c.target, c.model = first.ID(), first.Model.Name
	c.cost = w.cost(first)
	c.chance = w.chance(c.model)
	if d.Alone != "" {
		c.alone = w.cost(w.target(by, d.Alone))
	}
	return c
}

func codeOf(err error) string {
	if e, ok := errors.AsType[*llm.Error](err); ok {
		return e.Kind.Code()
	}
	return llm.Internal.Code()
}

// cost is what the request costs at a target. Where it was sent, or served, in truth, that is what was paid.
func (w *worker) cost(t *provider.Target) *money.Amount {
	if t == nil {
		return nil
	}
	if id := t.ID(); id == w.record.served || id == w.record.chosen {
		return w.record.cost
	}
	return costAt(t, &w.record)
}

// chance is what a model is expected to do with the prompt, by the abilities in force.
func (w *worker) chance(model string) *float64 {
	in, live := &w.record.in, &w.options.Live
	ability, ok := live.Snapshot.Ability(model)
	if !ok || in.Op != llm.Chat && in.Op != llm.Complete || in.Predictor != w.options.Predictor {
		return nil
	}
	best := &ability
	if live.Corrections != nil {
		best = live.Corrections.Ability(model, best)
	}
	chance := predict.Success(&in.Features, best).Probability
	return &chance
}

func (w *worker) target(by *Rules, id string) *provider.Target {
	name, model := split(id)
	p, ok := by.Snapshot.Provider(name)
	if !ok {
		return nil
	}
	t, _ := p.Target(model)
	return t
}

func (w *worker) state(target string) route.State {
	s := w.record.seen[target].state
	if w.options.Ready {
		s.Open, s.BackingOff = false, 0
	}
	return s
}

func (w *worker) warm(t *provider.Target, _ int64) route.CacheHit {
	return w.record.seen[t.ID()].cache
}
