package ledger

import (
	"fmt"
	"strings"
	"time"

	"fairlead/internal/llm"
	"fairlead/internal/money"
)

// refuse says in one sentence whose budget it is, how large, when it starts anew, and what to do.
func refuse(b *Budget, s Status, amount money.Amount, zone *time.Location) *llm.Error {
	owner, place, advice := describe(b)
	budget := strings.TrimSpace(adjective(b.Period) + " budget of " + b.Amount.Display())
	if !s.End.IsZero() {
		budget += fmt.Sprintf(" (resets %s)", s.End.In(zone).Format("2 Jan"))
	}
	var e *llm.Error
	left := b.Amount.Sub(s.Spent).Sub(s.Held)
	if left > 0 {
		e = llm.Errorf(llm.BudgetExceeded, "%s has %s left of its %s, and this request may cost up to %s. Allow fewer output tokens, raise the budget in %s%s.",
			owner, left.Display(), budget, amount.Display(), place, advice)
	} else {
		e = llm.Errorf(llm.BudgetExceeded, "%s has used its %s. Raise it in %s%s.", owner, budget, place, advice)
	}
	e.Details = map[string]any{"budget_usd": dollars(b.Amount), "spent_usd": dollars(s.Spent), "held_usd": dollars(s.Held)}
	if !s.End.IsZero() {
		e.Details["resets_at"] = s.End.UTC().Format(time.RFC3339)
	}
	return e
}

// unknownSpending is the answer where nobody can say what is left.
func unknownSpending(cause error) *llm.Error {
	return &llm.Error{
		Kind:       llm.LedgerUnavailable,
		Message:    "What has been spent of the budget cannot be read right now. Repeat the request in a few seconds.",
		RetryAfter: 2 * time.Second,
		Err:        cause,
	}
}

// keptForOthers is the answer where others may spend the rest, and have not said that they will not.
func keptForOthers() *llm.Error {
	return &llm.Error{
		Kind:       llm.LedgerUnavailable,
		Message:    "The rest of the budget is kept for other gateways at the moment. Repeat the request in a second.",
		RetryAfter: time.Second,
	}
}

// countedAnew is the answer where the budget seems to be used up, but something may have been counted twice after a loss.
func countedAnew() *llm.Error {
	return &llm.Error{
		Kind:       llm.LedgerUnavailable,
		Message:    "What has been spent of the budget is being counted anew. Repeat the request in a few seconds.",
		RetryAfter: recountAfter / 2,
	}
}

// describe names the owner, where its budget is set, and what else one can do.
func describe(b *Budget) (owner, place, advice string) {
	if strings.HasPrefix(b.ID, "ws:") {
		return fmt.Sprintf("Workspace %q", b.Name), "workspace settings", ""
	}
	return fmt.Sprintf("Key %q", b.Name), "API key settings", " or use another key"
}

func adjective(p Period) string {
	switch p {
	case Daily:
		return "daily"
	case Weekly:
		return "weekly"
	case Monthly:
		return "monthly"
	default:
		return ""
	}
}

// dollars writes an exact amount for programs, with at least two digits behind the point.
func dollars(a money.Amount) string {
	text := a.String()
	whole, cents, _ := strings.Cut(text, ".")
	for len(cents) < 2 {
		cents += "0"
	}
	return whole + "." + cents
}
