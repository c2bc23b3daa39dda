package session

import (
	"fmt"

	"fairlead.dev/internal/account"
	"fairlead.dev/internal/ledger"
	"fairlead.dev/internal/policy"
)

// DowngradePercent is the percentage of a budget that must be spent before requests are served by auto:cost. It applies to budgets
// without a warning threshold.
const DowngradePercent = 80

// Budgets returns the budgets that a key sets for a session and for an end user. An empty name has no budget.
func (n *Namer) Budgets(grant *account.Grant, session, endUser string) []ledger.Budget {
	l := grant.Key.Sessions
	if n == nil || l == nil {
		return nil
	}
	var all []ledger.Budget
	add := func(k Kind, name string, b *account.Budget) {
		if b == nil || name == "" {
			return
		}
		all = append(all, ledger.Budget{
			ID: n.Subject(k, grant.Workspace.ID, grant.Key.ID, name), Name: name,
			Amount: b.Amount, Period: ledger.Period(b.Period), Zone: b.Zone, WarnPercent: b.WarnPercent, WarnOnly: b.WarnOnly,
		})
	}
	add(OfSession, session, l.Budget)
	add(OfUser, endUser, l.UserBudget)
	return all
}

// PolicyBudget returns the budget that a policy sets for a session of a key. It returns false for a nil Namer and for a request without a
// session.
func (n *Namer) PolicyBudget(grant *account.Grant, session string, limit policy.SessionLimit) (ledger.Budget, bool) {
	if n == nil || session == "" {
		return ledger.Budget{}, false
	}
	return ledger.Budget{
		ID: n.Subject(OfSession, grant.Workspace.ID, grant.Key.ID, session), Name: session,
		Amount: limit.Amount, Period: ledger.Period(account.Total), WarnPercent: int(limit.WarnPercent),
	}, true
}

// Exhausts returns the reason for serving a request by auto:cost: a text that states how much of the budget is spent. It returns ""
// if less than the warning threshold is spent, or if the amount spent is not loaded.
func Exhausts(b ledger.Budget, s ledger.Status) string {
	threshold := b.WarnPercent
	if threshold <= 0 {
		threshold = DowngradePercent
	}
	if !s.Loaded || s.Percent < float64(threshold) {
		return ""
	}
	owner := "the session"
	if b.ID != "" && b.ID[0] == OfUser[0] {
		owner = "the end user"
	}
	return fmt.Sprintf("%s of the %s budget of %s is spent", s.Spent.Display(), b.Amount.Display(), owner)
}
