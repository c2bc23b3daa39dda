package account_test

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"fairlead.dev/internal/account"
	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/money"
)

func comparing(change func(*account.Comparison)) account.WorkspaceChange {
	c := &account.Comparison{Share: 0.05, Baseline: "gpt-4.1", Budget: money.Dollar}
	change(c)
	return account.WorkspaceChange{Comparison: &c}
}

func TestComparisonSettingsAreCheckedAndAudited(t *testing.T) {
	t.Parallel()
	f := newFixture(t, "invitation")
	owner := f.owner("ann@example.com")
	for _, tc := range []struct {
		param  string
		change func(*account.Comparison)
	}{
		{"settings.share", func(c *account.Comparison) { c.Share = 0 }},
		{"settings.share", func(c *account.Comparison) { c.Share = 1.1 }},
		{"settings.share", func(c *account.Comparison) { c.Share = math.NaN() }},
		{"settings.holdout", func(c *account.Comparison) { c.Holdout = -0.1 }},
		{"settings.holdout", func(c *account.Comparison) { c.Holdout = 0.6 }},
		{"settings.holdout", func(c *account.Comparison) { c.Share, c.Holdout = 0.9, 0.2 }},
		{"settings.baseline", func(c *account.Comparison) { c.Baseline = "" }},
		{"settings.judge", func(c *account.Comparison) { c.Judge = "a\nb" }},
		{"settings.budget_usd", func(c *account.Comparison) { c.Budget = 0 }},
		{"settings.hook", func(c *account.Comparison) { c.Hook = "https://10.0.0.1/score" }},
		{"settings.hook", func(c *account.Comparison) { c.Hook = "https://" + strings.Repeat("a", 3000) }},
	} {
		_, err := f.UpdateWorkspace(f.ctx, owner, owner.WorkspaceID, comparing(tc.change))
		f.refused(err, llm.InvalidRequest, tc.param)
	}
	f.clock.pass(time.Second)
	set := comparing(func(c *account.Comparison) { c.Hook = "https://8.8.8.8/score" })
	got, err := f.UpdateWorkspace(f.ctx, owner, owner.WorkspaceID, set)
	f.must(err)
	if diff := cmp.Diff(*set.Comparison, got.Comparison); diff != "" {
		t.Error(diff)
	}
	events, err := f.Audit(f.ctx, owner.WorkspaceID, "", 1)
	f.must(err)
	if e := events[0]; e.Action != "workspace.update" || !strings.Contains(string(e.After), `"comparison":{"share":0.05,"baseline":"gpt-4.1"`) || strings.Contains(string(e.Before), "comparison") {
		t.Errorf("%+v", e)
	}
	got, err = f.UpdateWorkspace(f.ctx, owner, owner.WorkspaceID, account.WorkspaceChange{Comparison: new(*account.Comparison)})
	f.must(err)
	if got.Comparison != nil {
		t.Errorf("%+v", got.Comparison)
	}
}

// Comparison calls are not charged to the workspace budget, so a tenant could exceed that budget by raising the comparison
// budget.
func TestOnlyTheOperatorRaisesComparisonBudgetsOfLimitedWorkspaces(t *testing.T) {
	t.Parallel()
	f := newFixture(t, "open")
	boss, tenant := f.owner("ann@example.com"), f.owner("bob@example.com")
	_, err := f.UpdateWorkspace(f.ctx, boss, tenant.WorkspaceID, account.WorkspaceChange{Budget: new(&account.Budget{Amount: money.Dollar, Period: account.Monthly})})
	f.must(err)
	dollars := func(n int64) account.WorkspaceChange {
		return comparing(func(c *account.Comparison) { c.Budget = money.Amount(n) * money.Dollar })
	}
	_, err = f.UpdateWorkspace(f.ctx, tenant, tenant.WorkspaceID, dollars(1))
	f.refused(err, llm.PermissionDenied)
	_, err = f.UpdateWorkspace(f.ctx, boss, tenant.WorkspaceID, dollars(5))
	f.must(err)
	_, err = f.UpdateWorkspace(f.ctx, tenant, tenant.WorkspaceID, dollars(6))
	f.refused(err, llm.PermissionDenied)
	_, err = f.UpdateWorkspace(f.ctx, tenant, tenant.WorkspaceID, dollars(4))
	f.must(err)
}
