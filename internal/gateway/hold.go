package gateway

import (
	"context"
	"net/http"
	"slices"

	"fairlead.dev/internal/account"
	"fairlead.dev/internal/attempt"
	"fairlead.dev/internal/bill"
	"fairlead.dev/internal/budget"
	"fairlead.dev/internal/ledger"
	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/money"
	"fairlead.dev/internal/provider"
	"fairlead.dev/internal/session"
)

// reserve reserves the maximum cost of the request on every budget that applies, and returns the terms on which that cost is based. When
// the caller sets no output limit and a budget has too little left for the longest output, reserve sets the limit to the number of tokens
// that the budget can pay for. It waits only if the cost would fit without the reservations of other requests.
func (g *Gateway) reserve(ctx context.Context, in *incoming, grant *account.Grant, p plan) (*ledger.Hold, bill.Terms, error) {
	budgets, targets := append(budget.Applied(grant), p.budgets...), p.decision.Plan
	terms := bill.Terms{
		Request: p.req, Client: in.Route.Format, Counter: g.counter, At: in.Start, MaxOutput: p.maxOutput, Budgeted: budget.CanReject(grant) || p.limited,
	}
	if in.shadow != nil {
		budgets = []ledger.Budget{in.shadow.Budget}
	}
	held := func(hold *ledger.Hold, err error) (*ledger.Hold, bill.Terms, error) {
		if err != nil {
			return nil, terms, err
		}
		terms.Held = new(hold.Amount())
		return hold, terms, nil
	}
	// A shadow call is compared with another response, so its output is not limited to fit the budget.
	if !bill.Generates(p.req.Op) || p.req.MaxOutput > 0 || in.shadow != nil {
		take := g.Ledger.Hold
		if p.immediate {
			take = g.Ledger.TryHold
		}
		return held(take(ctx, budgets, terms.MaxCost(targets)))
	}
	hold, err := g.Ledger.TryHold(ctx, budgets, terms.MaxCost(targets))
	if !insufficient(err) {
		return held(hold, err)
	}
	if limitOutput(&terms, terms.Affordable(targets, g.available(budgets))) {
		if hold, err := g.Ledger.TryHold(ctx, budgets, terms.MaxCost(targets)); !insufficient(err) {
			return held(hold, err)
		}
	}
	terms.MaxOutput = p.maxOutput
	if llm.AsError(err).Kind == llm.BudgetExceeded && !limitOutput(&terms, terms.Affordable(targets, g.unspent(budgets))) {
		return nil, terms, err
	}
	return held(g.Ledger.Hold(ctx, budgets, terms.MaxCost(targets)))
}

// insufficient reports whether err means that a budget has too little left, now or permanently.
func insufficient(err error) bool {
	if err == nil {
		return false
	}
	kind := llm.AsError(err).Kind
	return kind == llm.BudgetExceeded || kind == llm.RateLimited
}

// limitOutput lowers the output limit to the affordable number of tokens and reports whether enough is left for a useful response. It keeps
// a lower limit that a policy has set.
func limitOutput(terms *bill.Terms, affordable int64) bool {
	if terms.MaxOutput > 0 && terms.MaxOutput <= affordable {
		return true
	}
	terms.MaxOutput = affordable
	return affordable >= bill.MinOutput
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

// newSeries returns an empty series of attempts for a request.
func (g *Gateway) newSeries(in *incoming, grant *account.Grant, p plan, terms bill.Terms, storesText bool) *attempt.Series {
	s := &attempt.Series{
		Dispatcher: g.Dispatcher, Settings: &in.Settings.Attempts, Snapshot: in.Snapshot, Plan: p.decision.Plan, Terms: terms, StoresText: storesText,
		Requester:   attempt.Requester{KeyID: grant.Key.ID, Workspace: grant.Workspace.ID, Session: p.req.Controls.SessionID},
		CallOptions: attempt.CallOptions{Format: in.Route.Format},
	}
	if p.req.Op == llm.Chat && !p.decision.NoCacheMarks {
		// The prompt-cache key sends the turns of a session to the same prompt cache, unless the client sets a key itself. Derived sessions
		// without tools get no key: most of them have one turn, and providers recognise a shared prompt prefix without a key.
		key := ""
		set := slices.ContainsFunc(p.req.Fields, func(f llm.Field) bool {
			return f.Name == "prompt_cache_key" && string(p.req.Body[f.Value:f.End]) != "null"
		})
		if !set && (p.session == session.Given || p.req.Needs.Has(llm.Tools)) {
			key = g.Sessions.CacheKey(grant.Workspace.ID, p.req.Controls.SessionID)
		}
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

// begin records the request durably before the first provider is called.
func (r *Recording) begin(rec *recorder, s *attempt.Series) error {
	rec.Begin(s)
	if r.Tracing != nil {
		s.Propagate = func(h http.Header, provider string, attempt int) {
			r.Tracing.Propagate(h, rec.Entry, provider, attempt)
		}
	}
	if err := r.Log.Begin(rec.Entry); err != nil {
		return err
	}
	r.Started(rec.Entry)
	return nil
}
