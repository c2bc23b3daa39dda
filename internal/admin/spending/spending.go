// Package spending describes budgets and their use.
package spending

import (
	"context"
	"time"

	"fairlead/internal/account"
	"fairlead/internal/admin/adminapi"
	"fairlead/internal/money"
)

// BudgetView is a budget.
type BudgetView struct {
	Amount      money.Amount `json:"amount_usd"`
	Period      string       `json:"period" enum:"day,week,month,total"`
	Zone        string       `json:"zone,omitempty" maxLength:"100" doc:"IANA time zone in which periods begin. Defaults to UTC."`
	WarnPercent int          `json:"warn_percent,omitempty" minimum:"0" maximum:"100" doc:"Percentage of the budget at which a warning is shown."`
	WarnOnly    bool         `json:"warn_only,omitempty" doc:"Warn instead of rejecting requests when the budget is used up."`
}

// BudgetUseView is the use of a budget in the current period.
type BudgetUseView struct {
	Spent    money.Amount `json:"spent_usd"`
	Held     money.Amount `json:"held_usd" doc:"Reserved for requests in progress."`
	Percent  *float64     `json:"percent"`
	ResetsAt *time.Time   `json:"resets_at"`
}

// Change converts an update of a budget.
func Change(f adminapi.Field[BudgetView]) **account.Budget {
	if !f.Given {
		return nil
	}
	return new(f.Value.Budget())
}

// Budget converts the view to an account.Budget; nil for none.
func (v *BudgetView) Budget() *account.Budget {
	if v == nil {
		return nil
	}
	return &account.Budget{
		Amount: v.Amount, Period: account.Period(v.Period), Zone: v.Zone, WarnPercent: v.WarnPercent, WarnOnly: v.WarnOnly,
	}
}

// ViewOf returns the view of a budget, or nil.
func ViewOf(b *account.Budget) *BudgetView {
	if b == nil {
		return nil
	}
	return &BudgetView{Amount: b.Amount, Period: string(b.Period), Zone: b.Zone, WarnPercent: b.WarnPercent, WarnOnly: b.WarnOnly}
}

// UseViewOf returns the view of the use of the budget of owner, or nil.
func UseViewOf(all map[string]BudgetUse, owner string, b *account.Budget) *BudgetUseView {
	use, ok := all[owner]
	if !ok || b == nil {
		return nil
	}
	return &BudgetUseView{Spent: use.Spent, Held: use.Held, Percent: adminapi.Percent(use.Spent, b.Amount), ResetsAt: adminapi.Time(use.ResetsAt)}
}

// Reader reads the use of budgets.
type Reader interface {
	// BudgetUse returns the use in the current period by key ID, and of the workspace by its ID. Keys and workspaces
	// without a budget are omitted.
	BudgetUse(ctx context.Context, workspaceID string) (map[string]BudgetUse, error)
}

// BudgetUse is the use of a budget in the current period.
type BudgetUse struct {
	Spent    money.Amount
	Held     money.Amount // reserved for requests in progress
	ResetsAt time.Time    // zero if the budget never resets
}
