package app

import (
	"slices"
	"time"

	"fairlead.dev/internal/budget"
	"fairlead.dev/internal/ledger"
	"fairlead.dev/internal/policy"
	"fairlead.dev/internal/session"
)

// budgetService returns the service that reads budgets. The amounts come from the ledger, which replicas share if Redis is
// configured.
func (a *App) budgetService(names *session.Namer) *budget.Service {
	return &budget.Service{
		Accounts: a.accounts, Status: func(b ledger.Budget) ledger.Status { return a.ledger.Status(b) }, Spent: a.spent,
		Charges: a.db.Figures, Subjects: a.db.Sessions, Sessions: a.db.Log, Requests: a.db.Log,
		Namer: names, Now: time.Now,
		LimitsSessions: func(workspaceID string) bool {
			return slices.ContainsFunc(a.policies.For(workspaceID).Policies(), func(p policy.Policy) bool { return p.SessionBudget != nil })
		},
	}
}
