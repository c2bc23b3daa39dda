package instance

import (
	"context"
	"time"

	"fairlead.dev/internal/budget"
	"fairlead.dev/internal/ledger"
	"fairlead.dev/internal/money"
)

// Budgets returns the budgets of the instance. They do not include holds, which only a running server has.
func (i *Instance) Budgets(now func() time.Time) *budget.Service {
	return &budget.Service{
		Accounts: i.Accounts, Status: ledger.New(ledger.Options{Now: now}).Status,
		Spent: func(ctx context.Context, budgetID string, since time.Time) (money.Amount, error) {
			return i.Store.Charged(ctx, budgetID, since)
		},
		Charges: i.Store.Figures, Subjects: i.Store.Sessions, Sessions: i.Store.Log, Requests: i.Store.Log,
		Namer: i.names, Now: now,
	}
}
