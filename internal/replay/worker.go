package replay

import (
	"errors"
	"strings"
	"time"

	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/money"
	"fairlead.dev/internal/provider"
	"fairlead.dev/internal/route"
	"fairlead.dev/internal/route/predict"
)

// worker recomputes one decision at a time.
type worker struct {
	options *Options
	record  record
}

// result is the outcome of one request.
type result struct {
	skipped  Reason // reason why the decision was not recomputed; empty if it was
	id       string
	at       time.Time
	baseline *money.Amount
	logged   choice
	live     choice
	draft    choice
}

// choice is the target of a request, with its cost and predicted quality.
type choice struct {
	target  string // ID of the target; empty if the request is rejected
	model   string
	cost    *money.Amount
	quality *float64 // predicted success probability

	code     string        // error code of a rejection
	policy   string        // name of the policy that made the choice or rejected the request
	denied   bool          // whether that policy rejected the request
	alone    *money.Amount // cost of the router's own choice, if the policy changed it
	matched  []int         // indexes of the policies that matched
	versions route.Versions
}

// decide recomputes the decision of a row.
func (w *worker) decide(row *Row) result {
	r := &w.record
	switch err := r.read(row); {
	case errors.Is(err, errNoTrace):
		return result{id: row.ID, skipped: NoTrace, at: r.at}
	case err != nil:
		return result{id: row.ID, skipped: Unreadable, at: r.at}
	}
	out := result{id: r.id, at: r.at, baseline: r.baseline, skipped: w.skipReason()}
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

// skipReason returns the reason why the decision of a request is not recomputed, or an empty reason.
func (w *worker) skipReason() Reason {
	in := &w.record.in
	predicted := in.Routed() && (in.Op == llm.Chat || in.Op == llm.Complete)
	switch {
	case predicted && in.Predictor != w.options.Predictor:
		return OtherPredictor
	case w.options.All || predicted:
		return ""
	case in.Op == llm.Embed:
		return Embeddings
	case in.Op == llm.Moderate:
		return Moderations
	}
	return Explicit
}

// logged returns the recorded choice.
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
		_, c.model, _ = strings.Cut(c.target, "/")
	}
	c.quality = w.quality(c.model, r.effort)
	if s := r.seen[c.target]; c.quality == nil && s.rated && r.in.Op == llm.Chat {
		c.quality = &s.quality // the model was removed, so use the recorded prediction
	}
	return c
}

// choose makes the decision under the given rules.
func (w *worker) choose(by *Rules) choice {
	r := &w.record
	in := r.in
	if by.Objective != nil && in.Routed() {
		in.Objective = *by.Objective
	}
	d, err := route.Decide(&in, by.Snapshot, route.Conditions{
		State:    func(target string) route.State { return r.seen[target].state },
		CacheHit: func(t *provider.Target, _ int64, _ bool) route.CacheHit { return r.seen[t.ID()].cache },
		Policies: by.Policies, Corrections: by.Corrections, Feedback: by.Feedback,
	})
	c := choice{policy: d.Policy, versions: d.Versions}
	for i := range d.Policies {
		if d.Policies[i].Matched {
			c.matched = append(c.matched, i)
		}
	}
	if err != nil {
		c.code = llm.Internal.Code()
		if e, ok := errors.AsType[*llm.Error](err); ok {
			c.code = e.Kind.Code()
		}
		c.denied = c.code == llm.PolicyRejected.Code()
		return c
	}
	first := d.Plan[0]
	c.target, c.model = first.ID(), first.Model.Name
	c.cost = w.cost(first)
	c.quality = w.quality(c.model, first.Effort)
	if d.Alone != "" {
		c.alone = w.cost(w.target(by, d.Alone))
	}
	return c
}

// cost returns the cost of one response from a target: the recorded cost if the target was chosen or served the request, otherwise the cost
// of the recorded tokens.
func (w *worker) cost(t *provider.Target) *money.Amount {
	if t == nil {
		return nil
	}
	r, id := &w.record, t.ID()
	if id == r.served || id == r.chosen {
		return r.cost
	}
	if t.Price == nil || r.usage.Total() == 0 {
		return nil
	}
	return new(t.Price.At(r.in.At).Cost(usageWith(r.usage, r.seen[id].cache))) // cost with the cache hit that was recorded for the target
}

// quality returns a model's predicted success probability at a reasoning effort with the active abilities, or nil if it is unknown. If only
// the draft includes the model, quality uses the draft's ability.
func (w *worker) quality(model, effort string) *float64 {
	in, live := &w.record.in, &w.options.Live
	ability, ok := live.Snapshot.Ability(model)
	if draft := w.options.Draft; !ok && draft != nil {
		ability, ok = draft.Snapshot.Ability(model)
	}
	if !ok || in.Op != llm.Chat && in.Op != llm.Complete || in.Predictor != w.options.Predictor {
		return nil
	}
	if task := in.Features.Task; live.Corrections != nil {
		ability.Levels[task.Index()] += live.Corrections.Shift(model, task)
	}
	return new(predict.Success(&in.Features, &ability, effort).Probability)
}

func (w *worker) target(by *Rules, id string) *provider.Target {
	name, model, _ := strings.Cut(id, "/") // a model name may contain slashes
	p, ok := by.Snapshot.Provider(name)
	if !ok {
		return nil
	}
	t, _ := p.Target(model)
	return t
}
