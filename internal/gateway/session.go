package gateway

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"fairlead.dev/internal/account"
	"fairlead.dev/internal/ledger"
	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/money"
	"fairlead.dev/internal/policy"
	"fairlead.dev/internal/route"
	"fairlead.dev/internal/session"
)

// nameSession sets the session of a request that names no session: the session of the response that the request continues, or a session
// derived from the beginning of the conversation. The prompt's fingerprint was computed earlier, so it contains a session only if the
// client named one.
func (r *run) nameSession(p *prompt) {
	switch req := p.req; {
	case req.Controls.SessionID != "":
		p.session = session.Given
	case req.Stored != nil && req.Stored.Session != "":
		req.Controls.SessionID, p.session = req.Stored.Session, session.Given
	case r.Sessions != nil && r.call.ID != "": // an explanation belongs to no session
		by := session.Caller{Workspace: r.call.Grant.Workspace.ID, Key: cmp.Or(r.call.AccountID, r.call.Grant.Key.ID), EndUser: req.EndUser}
		if req.Controls.SessionID = r.Sessions.Derive(by, p.cache.Opening); req.Controls.SessionID != "" {
			p.session = session.Derived
		}
	}
}

// limitByPolicy applies a policy's session budget, unless the key enforces one that is not higher. It reports whether the request must be
// routed again with the model auto:cost.
func (r *run) limitByPolicy(ctx context.Context, p *prompt, limit policy.SessionLimit) bool {
	b, ok := r.Sessions.PolicyBudget(r.call.Grant, p.req.Controls.SessionID, limit)
	if !ok {
		return false
	}
	if i := slices.IndexFunc(p.budgets, func(known ledger.Budget) bool { return known.ID == b.ID }); i < 0 {
		p.budgets = append(p.budgets, b)
	} else if p.budgets[i].WarnOnly || p.budgets[i].Amount > b.Amount {
		p.budgets[i] = b
	}
	p.limited = true
	if !limit.Downgrade || p.downgrade != "" {
		return false
	}
	r.downgrade(ctx, p, []ledger.Budget{b})
	return p.downgrade != ""
}

// downgrade selects the objective cost of the request's route for a chat request if one of the budgets has reached its warning threshold,
// or auto:cost if the request names a model. The caller resolves the new name.
func (a *Access) downgrade(ctx context.Context, p *prompt, budgets []ledger.Budget) {
	if p.req.Op != llm.Chat {
		return
	}
	for i, b := range budgets {
		s := a.Ledger.Status(b)
		if !s.Loaded { // this replica has not loaded the budget yet
			if hold, err := a.Ledger.TryHold(ctx, budgets[i:i+1], 0); err == nil {
				hold.Release()
			}
			s = a.Ledger.Status(b)
		}
		if p.downgrade = session.Exhausts(b, s); p.downgrade != "" {
			break
		}
	}
	if p.downgrade == "" {
		return
	}
	base := route.Auto
	if p.req.Routed {
		base, _, _ = strings.Cut(p.req.Model, ":")
	} else {
		p.req.Controls.Models = nil // the list contains fallbacks for the requested model, which the request no longer uses
	}
	p.req.Model = base + ":cost"
}

// hold counts the call towards the limits of its session and reserves its maximum cost on every budget that applies.
func (r *run) hold(ctx context.Context, grant *account.Grant, p plan) (held reservation, err error) {
	hold, err := r.countOnSession(ctx, grant, p, func() (*ledger.Hold, error) {
		held, err = r.reserve(ctx, grant, p)
		return held.hold, err
	})
	held.hold = hold
	return held, err
}

// countOnSession counts one model call towards the session's per-minute limits. reserve returns the hold of the call. When the hold is
// settled, the cost counts towards the spending of the session.
func (r *run) countOnSession(ctx context.Context, grant *account.Grant, p plan, reserve func() (*ledger.Hold, error)) (*ledger.Hold, error) {
	if grant.Key.Sessions == nil {
		return reserve()
	}
	turn, err := r.Sessions.TakeTurn(ctx, r.Limits, grant, p.req.Controls.SessionID)
	if err != nil {
		return nil, err
	}
	hold, err := reserve()
	if turn == nil {
		return hold, err
	}
	if err != nil {
		turn.Settle(0)
		turn.Release()
		return nil, err
	}
	return ledger.NewHold(hold.Amount(), func(cost money.Amount) {
		hold.Settle(cost)
		turn.Settle(int64(cost) / session.SpendUnit)
		turn.Release()
	}), nil
}
