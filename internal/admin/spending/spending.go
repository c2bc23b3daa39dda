// Package spending describes budgets and their usage for the admin API.
package spending

import (
	"context"
	"time"

	"fairlead.dev/internal/account"
	"fairlead.dev/internal/admin/adminapi"
	"fairlead.dev/internal/money"
)

// BudgetView is the API representation of a budget.
type BudgetView struct {
	Amount      money.Amount `json:"amount_usd"`
	Period      string       `json:"period" enum:"day,week,month,total"`
	Zone        string       `json:"zone,omitempty" maxLength:"100" doc:"IANA time zone in which periods begin. Defaults to UTC."`
	WarnPercent int          `json:"warn_percent,omitempty" minimum:"0" maximum:"100" doc:"Percentage of the budget at which a warning is shown."`
	WarnOnly    bool         `json:"warn_only,omitempty" doc:"Warn instead of rejecting requests when the budget is used up."`
}

// BudgetUseView describes the usage of a budget in the current period.
type BudgetUseView struct {
	Spent    money.Amount `json:"spent_usd"`
	Held     money.Amount `json:"held_usd" doc:"Reserved for requests in progress."`
	Percent  *float64     `json:"percent"`
	ResetsAt *time.Time   `json:"resets_at"`
}

// Change converts a budget field of an update. It returns nil for an omitted field and a pointer to nil for null.
func Change(f adminapi.Field[BudgetView]) **account.Budget {
	if !f.Given {
		return nil
	}
	return new(f.Value.Budget())
}

// Budget converts the view to an account.Budget. It returns nil for a nil view.
func (v *BudgetView) Budget() *account.Budget {
	if v == nil {
		return nil
	}
	return &account.Budget{
		Amount: v.Amount, Period: account.Period(v.Period), Zone: v.Zone, WarnPercent: v.WarnPercent, WarnOnly: v.WarnOnly,
	}
}

// ViewOf returns the view of a budget, or nil for a nil budget.
func ViewOf(b *account.Budget) *BudgetView {
	if b == nil {
		return nil
	}
	return &BudgetView{Amount: b.Amount, Period: string(b.Period), Zone: b.Zone, WarnPercent: b.WarnPercent, WarnOnly: b.WarnOnly}
}

// UseViewOf returns the budget usage of owner, which is a key ID or a workspace ID. It returns nil if owner has no budget.
func UseViewOf(all map[string]BudgetUse, owner string, b *account.Budget) *BudgetUseView {
	use, ok := all[owner]
	if !ok || b == nil {
		return nil
	}
	return &BudgetUseView{Spent: use.Spent, Held: use.Held, Percent: adminapi.Percent(use.Spent, b.Amount), ResetsAt: adminapi.Time(use.ResetsAt)}
}

// Reader reads budget usage.
type Reader interface {
	// BudgetUse maps the IDs of the keys and of the workspace to their budget usage in the current period. It omits those without
	// a budget.
	BudgetUse(ctx context.Context, workspaceID string) (map[string]BudgetUse, error)
}

// BudgetUse describes the usage of a budget in the current period.
type BudgetUse struct {
	Spent    money.Amount
	Held     money.Amount // amount reserved for requests in progress
	ResetsAt time.Time    // time of the next reset; zero if the budget never resets
}
