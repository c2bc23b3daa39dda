package session

import (
	"context"
	"errors"

	"fairlead.dev/internal/account"
	"fairlead.dev/internal/limit"
	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/money"
)

// SpendUnit is the amount, in nano-dollars, that the rate limiter counts as one token. A session's spending limit per minute is enforced
// as a token limit in this unit.
const SpendUnit = 1000

// TakeTurn counts a request towards its session's per-minute limits. It returns nil if the session has no such limits. The cost is
// counted when it is known, so a request that starts below the spending limit may exceed the limit.
func (n *Namer) TakeTurn(ctx context.Context, limiter limit.Limiter, grant *account.Grant, name string) (*limit.Slot, error) {
	l := grant.Key.Sessions
	if l == nil || l.TurnsPerMinute == 0 && l.SpendPerMinute == 0 {
		return nil, nil
	}
	subject := n.Subject(OfSession, grant.Workspace.ID, grant.Key.ID, name)
	if subject == "" {
		return nil, nil
	}
	limits := limit.Limits{RequestsPerMinute: l.TurnsPerMinute}
	if l.SpendPerMinute > 0 {
		limits.TokensPerMinute = max(int64(l.SpendPerMinute)/SpendUnit, 1)
	}
	turn, err := limiter.Take(ctx, subject, limits, min(limits.TokensPerMinute, 1))
	if err != nil {
		return nil, rateError(err, name, l)
	}
	return turn, nil
}

// rateError returns the error for a session that exceeds one of its per-minute limits.
func rateError(err error, name string, l *account.SessionLimits) error {
	rejected, ok := errors.AsType[*llm.Error](err)
	if !ok || rejected.Kind != llm.RateLimited {
		return err
	}
	exceeded, _ := rejected.Details["limit"].(limit.Rejection)
	const advice = "An agent may be repeating itself. Resume the session later, or raise the session limits of the API key."
	e := llm.Errorf(llm.RateLimited, "Session %q may send %d requests a minute and has sent %d. %s", name, l.TurnsPerMinute, exceeded.Used, advice)
	details := map[string]any{"name": "session_turns_per_minute", "limit": l.TurnsPerMinute, "used": exceeded.Used}
	if exceeded.Name == limit.TokensPerMinute {
		used := money.Amount(exceeded.Used * SpendUnit)
		e = llm.Errorf(llm.RateLimited, "Session %q may spend %s a minute and has spent %s. %s", name, l.SpendPerMinute.Display(), used.Display(), advice)
		details = map[string]any{"name": "session_spend_per_minute_usd", "limit": l.SpendPerMinute.String(), "used": used.String()}
	}
	e.RetryAfter = rejected.RetryAfter
	return e.With("limit", details).With("session", name).With("resumable", true)
}
