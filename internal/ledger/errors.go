package ledger

import (
	"fmt"
	"strings"
	"time"

	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/money"
)

// budgetError returns the error for an amount that exceeds a budget: a *reservedError if the amount would fit without the
// reservations of other requests, otherwise a BudgetExceeded error. The error message names the budget, its amount, when it resets,
// and how the client can proceed.
func budgetError(b *Budget, s Status, amount money.Amount, zone *time.Location) error {
	owner, place, advice := describe(b)
	period := map[Period]string{Daily: "daily ", Weekly: "weekly ", Monthly: "monthly "}[b.Period]
	budget := period + "budget of " + b.Amount.Display()
	if !s.End.IsZero() {
		budget += fmt.Sprintf(" (resets %s)", s.End.In(zone).Format("2 Jan"))
	}
	if s.Spent < b.Amount && s.Spent.Add(amount) <= b.Amount {
		e := llm.Errorf(llm.RateLimited, "%s has spent %s of its %s, and the rest is reserved by requests in progress. Retry in 1 second, allow fewer output tokens or raise the budget in %s.",
			owner, s.Spent.Display(), budget, place)
		e.RetryAfter = time.Second
		e.Details = budgetDetails(b, s)
		e.Details["limit"] = map[string]any{"name": "budget", "limit": dollars(b.Amount), "used": dollars(s.Spent.Add(s.Held))}
		return &reservedError{budgetID: b.ID, err: e}
	}
	e := llm.Errorf(llm.BudgetExceeded, "%s has used its %s. Raise it in %s%s.", owner, budget, place, advice)
	if left := b.Amount.Sub(s.Spent); left > 0 {
		e = llm.Errorf(llm.BudgetExceeded, "%s has %s left of its %s, and this request may cost up to %s. Allow fewer output tokens, raise the budget in %s%s.",
			owner, left.Display(), budget, amount.Display(), place, advice)
	}
	e.Details = budgetDetails(b, s)
	return e
}

func budgetDetails(b *Budget, s Status) map[string]any {
	details := map[string]any{"budget_usd": dollars(b.Amount), "spent_usd": dollars(s.Spent), "held_usd": dollars(s.Held)}
	if !s.End.IsZero() {
		details["resets_at"] = s.End.UTC().Format(time.RFC3339)
	}
	switch {
	case strings.HasPrefix(b.ID, sessionPrefix):
		details["session"], details["resumable"] = b.Name, true
	case strings.HasPrefix(b.ID, userPrefix):
		details["end_user"], details["resumable"] = b.Name, true
	}
	return details
}

// beingRecounted returns the error for a budget that seems exhausted while charges may be counted twice after Redis
// lost data.
func beingRecounted() *llm.Error {
	return &llm.Error{
		Kind:       llm.LedgerUnavailable,
		Message:    "Budget usage is being recalculated. Retry in a few seconds.",
		RetryAfter: recountAfter / 2,
	}
}

// unknownSpending returns the error for a budget whose spending cannot be read.
func unknownSpending(cause error) *llm.Error {
	return &llm.Error{
		Kind:       llm.LedgerUnavailable,
		Message:    "Budget usage cannot be read right now. Retry in a few seconds.",
		RetryAfter: 2 * time.Second,
		Err:        cause,
	}
}

// describe returns the budget's owner, where the budget is set, and an alternative for the client.
func describe(b *Budget) (owner, place, advice string) {
	if strings.HasPrefix(b.ID, "ws:") {
		return fmt.Sprintf("Workspace %q", b.Name), "workspace settings", ""
	}
	if strings.HasPrefix(b.ID, sessionPrefix) {
		return fmt.Sprintf("Session %q", b.Name), "the session limits of the API key", " and send the request again to resume the session, or start a new session"
	}
	if strings.HasPrefix(b.ID, userPrefix) {
		return fmt.Sprintf("End user %q", b.Name), "the session limits of the API key", " and send the request again"
	}
	return fmt.Sprintf("Key %q", b.Name), "API key settings", " or use another key"
}

// Prefixes of the budget IDs for a session and for an end user of a key.
const (
	sessionPrefix = "session:"
	userPrefix    = "user:"
)

// dollars formats an exact amount with at least two decimals.
func dollars(a money.Amount) string {
	text := a.String()
	whole, cents, _ := strings.Cut(text, ".")
	for len(cents) < 2 {
		cents += "0"
	}
	return whole + "." + cents
}
