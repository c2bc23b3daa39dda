// Package budgets serves the budgets of a workspace with their use and forecast.
package budgets

import (
	"context"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"fairlead.dev/internal/account"
	"fairlead.dev/internal/admin/adminapi"
	"fairlead.dev/internal/budget"
	"fairlead.dev/internal/money"
)

// Deps are the dependencies of the operations.
type Deps struct{ Budgets Reader }

// Reader reads budgets. It is implemented by budget.Service.
type Reader interface {
	// Owned returns the budgets of the workspace and its active keys.
	Owned(ctx context.Context, workspaceID string) ([]budget.Item, error)
	// Shared returns the budgets of recent sessions and end users, and whether there are more.
	Shared(ctx context.Context, workspaceID string) ([]budget.Item, bool, error)
}

type handlers struct {
	Deps
	*adminapi.Server
}

// BudgetList holds the budgets of a workspace.
type BudgetList struct {
	Budgets []Budget `json:"budgets" doc:"The budget of the workspace, those of keys, then those of sessions and end users, the most used first."`
	More    bool     `json:"more" doc:"Whether older sessions are not listed. The budgets of the 200 most recent sessions of the last 30 days are listed."`
}

// Budget is a budget with its use in the current period and its forecast.
type Budget struct {
	ID          string         `json:"id"`
	Kind        string         `json:"kind" enum:"workspace,key,session,user"`
	Name        string         `json:"name" doc:"Name of the workspace, the key, the session or the end user."`
	KeyID       *string        `json:"key_id" doc:"API key. null for the budget of the workspace."`
	KeyName     *string        `json:"key_name"`
	Amount      money.Amount   `json:"amount_usd"`
	Spent       money.Amount   `json:"spent_usd"`
	Held        money.Amount   `json:"held_usd" doc:"Reserved for requests in progress."`
	Left        money.Amount   `json:"left_usd" doc:"Neither spent nor reserved."`
	Percent     *float64       `json:"percent" doc:"Spent share of the amount."`
	Period      string         `json:"period" enum:"day,week,month,total"`
	Zone        string         `json:"zone" doc:"IANA time zone in which periods begin. Empty for UTC."`
	WarnPercent int            `json:"warn_percent" doc:"Share of the amount at which a warning is shown. 0 for none."`
	WarnOnly    bool           `json:"warn_only" doc:"Whether requests are served when the budget is used up."`
	Downgrade   bool           `json:"downgrade" doc:"Whether requests are served by auto:cost from warn_percent on."`
	StartsAt    *time.Time     `json:"starts_at" doc:"Start of the current period. null for a budget that never resets."`
	ResetsAt    *time.Time     `json:"resets_at" doc:"End of the current period. null for a budget that never resets."`
	ByPolicy    bool           `json:"by_policy" doc:"Whether a policy sets the budget of the session. It is the one that applied to the latest request of the session."`
	CanEdit     bool           `json:"can_edit" doc:"Whether the caller may change the amount."`
	Forecast    BudgetForecast `json:"forecast"`
}

// BudgetForecast is the expected spending if the recent rate continues. The recent rate is measured over the last 24 hours for a
// daily budget, otherwise over the last 7 days.
type BudgetForecast struct {
	Outlook  string        `json:"outlook" enum:"unknown,idle,lasts,runs_out,used_up" doc:"unknown: fewer than 3 hours of data for a daily budget, or fewer than 3 days. idle: no recent spending. lasts: until the reset, or for a year if the budget never resets. runs_out: before the reset."`
	PerDay   money.Amount  `json:"per_day_usd" doc:"Recent spending in 24 hours."`
	Expected *money.Amount `json:"expected_usd" nullable:"true" doc:"Spending expected at the reset. null without a reset or with too little data."`
	UsedUpAt *time.Time    `json:"used_up_at" doc:"When the budget will be used up. null if not before the reset, or not within a year."`
}

// Mount registers the operations.
func Mount(s *adminapi.Server, d Deps) {
	a := &handlers{Deps: d, Server: s}
	tags := []string{"budgets"}
	adminapi.Register(s, account.ReadRequests, huma.Operation{
		OperationID: "list-budgets", Method: http.MethodGet, Path: "/budgets", Tags: tags, Summary: "List budgets with their use and forecast",
	}, func(ctx context.Context, c *adminapi.Call, _ *struct{}) (*adminapi.Output[BudgetList], error) {
		owned, err := a.Budgets.Owned(ctx, c.WorkspaceID)
		if err != nil {
			return nil, err
		}
		shared, more, err := a.Budgets.Shared(ctx, c.WorkspaceID)
		if err != nil {
			return nil, err
		}
		list := BudgetList{Budgets: make([]Budget, 0, len(owned)+len(shared)), More: more}
		for _, items := range [][]budget.Item{owned, shared} {
			for i := range items {
				list.Budgets = append(list.Budgets, View(&items[i], c.Actor))
			}
		}
		return adminapi.Respond(list), nil
	})
}

// View returns the API representation of a budget.
func View(i *budget.Item, by account.Actor) Budget {
	b, s, f := &i.Budget, &i.Status, &i.Forecast
	// edits only controls the display. Budgets are changed with the operations of keys and workspaces, which check the permission.
	edits := by.May(account.ManageKeys) || (by.May(account.ManageOwnKeys) && by.AccountID != "" && by.AccountID == i.CreatedBy)
	if i.Kind == budget.OfWorkspace {
		edits = by.May(account.ManageWorkspace)
	}
	forecast := BudgetForecast{Outlook: string(f.Outlook), PerDay: f.PerDay, UsedUpAt: adminapi.Time(f.UsedUp)}
	if f.Outlook != budget.Unknown && !s.End.IsZero() {
		forecast.Expected = &f.Expected
	}
	return Budget{
		ID: i.ID, Kind: string(i.Kind), Name: b.Name, KeyID: adminapi.NonEmpty(i.KeyID), KeyName: adminapi.NonEmpty(i.KeyName),
		Amount: b.Amount, Spent: s.Spent, Held: s.Held, Left: i.Left(), Percent: adminapi.Percent(s.Spent, b.Amount),
		Period: string(b.Period), Zone: b.Zone, WarnPercent: b.WarnPercent, WarnOnly: b.WarnOnly, Downgrade: i.Downgrade,
		StartsAt: adminapi.Time(s.Start), ResetsAt: adminapi.Time(s.End), ByPolicy: i.ByPolicy, CanEdit: edits && !i.ByPolicy, Forecast: forecast,
	}
}
