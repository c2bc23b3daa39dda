package gateway

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"fairlead.dev/internal/account"
	"fairlead.dev/internal/bill"
	"fairlead.dev/internal/budget"
	"fairlead.dev/internal/gateway/upstream"
	"fairlead.dev/internal/ledger"
	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/money"
	"fairlead.dev/internal/provider"
	"fairlead.dev/internal/route"
	"fairlead.dev/internal/session"
)

// reservation is the money held for a request and what the money pays for.
type reservation struct {
	hold    *ledger.Hold
	terms   bill.Terms
	targets []*provider.Target // targets of the plan whose cost the hold covers
	waited  time.Duration      // time spent waiting for money that other requests reserved
}

const (
	// budgetShare is the part of the available budget that a request without an output limit may reserve, so that parallel requests do not
	// wait for each other.
	budgetShare = 8
	// ampleFactor and ampleOutput are the multiple of the expected output, and the minimum, for which a request may reserve up to half of the
	// available budget. leastOutput is reserved in any case.
	ampleFactor, ampleOutput, leastOutput = 4, 4096, 1024
)

// reserve reserves the maximum cost of the plan on every budget that applies. If the budgets have too little left for the longest output and
// the caller sets no limit, the output limit is lowered. Targets that do not fit leave the plan. The request waits only if no target fits
// until other requests release what they reserved.
func (r *run) reserve(ctx context.Context, grant *account.Grant, p plan) (reservation, error) {
	budgets := append(budget.Applied(grant), p.budgets...)
	held := reservation{targets: p.decision.Plan, terms: bill.Terms{
		Request: p.req, At: r.call.Start, MaxOutput: p.maxOutput, Budgeted: budget.CanReject(grant) || p.limited,
	}}
	if r.call.Shadow != nil { // a shadow call is compared with another response, so its output is not limited to fit the budget
		return held.take(ctx, r.Ledger.TryHold, []ledger.Budget{r.call.Shadow.Budget})
	}
	for range 3 { // another request may reserve the money between the two steps, and the first step may load the budgets
		if !held.fit(p, r.available(budgets)) {
			break
		}
		if taken, err := held.take(ctx, r.Ledger.TryHold, budgets); !insufficient(err) {
			return taken, err
		}
	}
	if !held.fit(p, r.unspent(budgets)) || p.immediate {
		return held.take(ctx, r.Ledger.TryHold, budgets)
	}
	began := time.Now()
	taken, err := held.take(ctx, r.Ledger.Hold, budgets)
	if d := time.Since(began); d >= upstream.MinWait {
		taken.waited = d
	}
	return taken, err
}

// take holds the maximum cost of the targets.
func (r reservation) take(ctx context.Context, hold func(context.Context, []ledger.Budget, money.Amount) (*ledger.Hold, error), budgets []ledger.Budget) (reservation, error) {
	held, err := hold(ctx, budgets, r.terms.MaxCost(r.targets))
	if err == nil {
		r.hold, r.terms.Held = held, new(held.Amount())
	}
	return r, err
}

// fit keeps the targets of the plan that the amount pays for, and lowers the output limit if the longest output costs more than a share of
// the amount. If no target fits, it keeps the cheapest and returns false.
func (r *reservation) fit(p plan, amount money.Amount) bool {
	plan := p.decision.Plan
	r.targets, r.terms.Cap = plan, nil
	if amount == money.Max {
		return true
	}
	first := slices.IndexFunc(plan, func(t *provider.Target) bool { return r.terms.Fits(t, amount) })
	if first < 0 {
		r.targets = []*provider.Target{slices.MinFunc(plan, func(a, b *provider.Target) int {
			return cmp.Compare(r.terms.OutputCost(a, bill.MinOutput), r.terms.OutputCost(b, bill.MinOutput))
		})}
		return false
	}
	if t := plan[first]; bill.Generates(p.req.Op) && p.req.MaxOutput == 0 && t.Price != nil {
		ample := max(ampleFactor*p.decision.Candidates[first].Output, ampleOutput)
		most := min(amount, max(amount/budgetShare, min(amount/2, r.terms.OutputCost(t, ample)), r.terms.OutputCost(t, leastOutput)))
		r.terms.Cap, amount = &most, most
	}
	r.targets = make([]*provider.Target, 0, len(plan))
	for _, t := range plan[first:] {
		if r.terms.Fits(t, amount) {
			r.targets = append(r.targets, t)
		}
	}
	return true
}

// insufficient reports whether err means that a budget has too little left, now or permanently.
func insufficient(err error) bool {
	if err == nil {
		return false
	}
	kind := llm.AsError(err).Kind
	return kind == llm.BudgetExceeded || kind == llm.RateLimited
}

// adviseBudget adds to an error for an exceeded budget which model and how much output would fit, or what the cheapest model costs.
func (r *run) adviseBudget(p plan, terms bill.Terms, err error) error {
	e := llm.AsError(err)
	if e.Kind != llm.BudgetExceeded || !bill.Generates(p.req.Op) {
		return err
	}
	targets := p.decision.Plan
	if !route.IsAuto(p.req.Model) {
		req, prompt := *p.req, *p.prompt
		req.Model, req.Controls.Models, prompt.req = "auto:cost", nil, &req
		if d, err := r.route(&prompt, readRequest(&prompt)); err == nil {
			targets = append(slices.Clone(targets), d.Plan...)
		}
	}
	left := r.unspent(append(budget.Applied(r.call.Grant), p.budgets...))
	targets = slices.DeleteFunc(slices.Clone(targets), func(t *provider.Target) bool { return t.Price == nil })
	for _, t := range targets {
		tokens := terms.Affordable(t, left)
		if p.req.MaxOutput > 0 {
			tokens = min(tokens, p.req.MaxOutput)
		}
		if tokens >= 1 {
			cost := terms.OutputCost(t, tokens)
			e.Message += fmt.Sprintf(" %s with at most %d output tokens would fit: it may cost up to %s.", t.Model.Name, tokens, cost.Display())
			return e.With("fits", map[string]any{"model": t.Model.Name, "provider": t.Provider, "max_output_tokens": tokens, "cost_usd": cost.String()})
		}
	}
	if len(targets) == 0 {
		return err
	}
	tokens := cmp.Or(p.req.MaxOutput, bill.MinOutput)
	t := slices.MinFunc(targets, func(a, b *provider.Target) int {
		return cmp.Compare(terms.OutputCost(a, tokens), terms.OutputCost(b, tokens))
	})
	cost := terms.OutputCost(t, tokens)
	e.Message += fmt.Sprintf(" The cheapest model for this request is %s, which may cost up to %s for %d output tokens.", t.Model.Name, cost.Display(), tokens)
	return e.With("cheapest", map[string]any{"model": t.Model.Name, "provider": t.Provider, "max_output_tokens": tokens, "cost_usd": cost.String()})
}

// available returns the smallest amount available in any of the budgets. Amounts held by other requests are not available.
func (a *Access) available(budgets []ledger.Budget) money.Amount {
	return a.least(budgets, func(b ledger.Budget, s ledger.Status) money.Amount { return b.Amount.Sub(s.Spent).Sub(s.Held) })
}

// unspent returns the smallest unspent amount in any of the budgets. Amounts held by other requests count as unspent.
func (a *Access) unspent(budgets []ledger.Budget) money.Amount {
	return a.least(budgets, func(b ledger.Budget, s ledger.Status) money.Amount { return b.Amount.Sub(s.Spent) })
}

// least returns the smallest amount among the loaded and enforced budgets, or money.Max if there are none.
func (a *Access) least(budgets []ledger.Budget, amount func(ledger.Budget, ledger.Status) money.Amount) money.Amount {
	least := money.Max
	for _, b := range budgets {
		s := a.Ledger.Status(b)
		if b.WarnOnly || !s.Loaded {
			continue
		}
		least = min(least, amount(b, s))
	}
	return least
}

// newSeries returns an empty series of attempts for a call.
func (r *run) newSeries(p plan, held reservation) *upstream.Series {
	grant := r.call.Grant
	s := &upstream.Series{
		Dispatcher: r.Dispatcher, Settings: &r.settings.Attempts, Snapshot: r.snapshot, Plan: held.targets, Terms: held.terms, Prompt: p.tokens, StoresText: r.storesText(),
		Requester:   upstream.Requester{KeyID: grant.Key.ID, Workspace: grant.Workspace.ID, Session: p.req.Controls.SessionID},
		CallOptions: upstream.CallOptions{Format: r.call.Route.Format},
	}
	s.Clock.WaitedForBudget(held.waited)
	if r.Reasoning != nil {
		assumed := p.decision.Plan[0].ID()
		if r.call.Shadow != nil {
			assumed = "" // the request was written for another target
		}
		s.Request = func(req *llm.Request, t *provider.Target) *llm.Request {
			return r.Reasoning.WithoutForeign(req, grant.Workspace.ID, t.ID(), assumed)
		}
	}
	if p.req.Op == llm.Chat && !p.decision.NoCacheMarks {
		key := r.promptCacheKey(p)
		s.Cache = func(t *provider.Target) (hints provider.CacheHints) {
			hints.Mark = p.cache.EndMark(bill.CacheRules(t)).Lifetime()
			if t.CacheKey {
				hints.Key = key
			}
			return hints
		}
	}
	return s
}

// promptCacheKey returns the key that sends the turns of a session to the same prompt cache, or an empty key if the client sets one itself.
// Derived sessions without tools get no key: most of them have one turn, and providers recognise a shared prompt prefix without a key.
func (r *run) promptCacheKey(p plan) string {
	if p.session != session.Given && !p.req.Needs.Has(llm.Tools) {
		return ""
	}
	if slices.ContainsFunc(p.req.Fields, func(f llm.Field) bool {
		return f.Name == "prompt_cache_key" && string(p.req.Body[f.Value:f.End]) != "null"
	}) {
		return ""
	}
	return r.Sessions.CacheKey(r.call.Grant.Workspace.ID, p.req.Controls.SessionID)
}
