package admin

import (
	"context"
	"net/http"
	"testing"
	"time"

	"fairlead.dev/internal/admin/budgets"
	"fairlead.dev/internal/budget"
	"fairlead.dev/internal/ledger"
	"fairlead.dev/internal/money"
)

// fakeBudgets is a budgets.Reader with one budget of a key and one budget of an end user.
type fakeBudgets struct{}

func (fakeBudgets) key() budget.Item {
	i := budget.Item{
		ID: "key_read", Kind: budget.OfKey, KeyID: "key_read", KeyName: "read", CreatedBy: "acc_developer",
		Budget: ledger.Budget{ID: "key:key_read", Name: "read", Amount: 10 * money.Dollar, Period: ledger.Monthly, WarnPercent: 80},
		Status: ledger.Status{Loaded: true, Spent: 9 * money.Dollar, Held: 2 * money.Dollar, Start: noon.AddDate(0, 0, -14), End: noon.AddDate(0, 0, 16)},
	}
	recent := budget.NewRecentSpending(ledger.Monthly, time.Time{}, noon)
	for day := range 7 {
		recent.Charges = append(recent.Charges, budget.Charge{At: noon.AddDate(0, 0, -day).Add(-time.Hour), Amount: money.Dollar / 2})
	}
	i.Forecast = budget.Predict(&i.Budget, i.Status, recent, noon)
	return i
}

func (s fakeBudgets) Owned(context.Context, string) ([]budget.Item, error) {
	return []budget.Item{s.key()}, nil
}

func (fakeBudgets) Shared(context.Context, string) ([]budget.Item, bool, error) {
	return []budget.Item{{ID: "user.key_read.YW5uYQ", Kind: budget.OfUser, KeyID: "key_read", KeyName: "read", Budget: ledger.Budget{Name: "anna", Amount: money.Dollar, Period: ledger.Total}, Forecast: budget.Forecast{Outlook: budget.Unknown}}}, true, nil
}

func TestBudgetsShowUseAndForecast(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	var list budgets.BudgetList
	s.call("GET", "/budgets", "", as("acc_viewer")).want(http.StatusOK).into(&list)
	if len(list.Budgets) != 2 || !list.More {
		t.Fatalf("%+v", list)
	}
	one, user := list.Budgets[0], list.Budgets[1]
	s.call("GET", "/budgets", "", as("acc_admin")).want(http.StatusOK).into(&list)
	if one.Left != 0 || *one.Percent != 90 || one.CanEdit || !list.Budgets[0].CanEdit || one.Forecast.Outlook != "runs_out" || one.Forecast.UsedUpAt.Sub(noon.AddDate(0, 0, 2)).Abs() > time.Hour || *one.Forecast.Expected != 17*money.Dollar {
		t.Errorf("key: %+v", one)
	}
	if user.Kind != "user" || user.ResetsAt != nil || user.Forecast.Expected != nil || user.Forecast.Outlook != "unknown" {
		t.Errorf("end user: %+v", user)
	}
}
