package app

import (
	"path/filepath"
	"testing"

	"fairlead.dev/internal/account"
	"fairlead.dev/internal/ledger"
	"fairlead.dev/internal/money"
	"fairlead.dev/internal/spool"
)

func TestBudgetUseIncludesWorkspaceWithoutKeys(t *testing.T) {
	t.Parallel()
	i := openInstance(t)
	w, err := i.Workspace(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	limit := &account.Budget{Amount: money.Dollar, Period: account.Monthly}
	if _, err := i.Accounts.UpdateWorkspace(t.Context(), account.CommandLine(w.ID), w.ID, account.WorkspaceChange{Budget: &limit}); err != nil {
		t.Fatal(err)
	}
	queue, err := spool.Open(filepath.Join(t.TempDir(), "spool"), spool.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer queue.Close()
	a := &App{accountParts: accountParts{accounts: i.Accounts}, storageParts: storageParts{db: i.Store}, logParts: logParts{spool: queue}}
	a.ledger = ledger.New(ledger.Options{})

	use, err := adminBackend{a}.BudgetUse(t.Context(), w.ID)
	if u, ok := use[w.ID]; err != nil || len(use) != 1 || !ok || u.ResetsAt.IsZero() {
		t.Errorf("use without keys: %v, %v; want only that of the workspace", use, err)
	}
	for _, b := range []*account.Budget{limit, nil} {
		key, _, err := i.Accounts.CreateKey(t.Context(), account.CommandLine(w.ID), account.KeySettings{Name: "ci", Budget: b})
		if err != nil {
			t.Fatal(err)
		}
		use, err = adminBackend{a}.BudgetUse(t.Context(), w.ID)
		if err != nil {
			t.Fatal(err)
		}
		if _, ok := use[key.ID]; ok != (b != nil) || len(use) != 2 {
			t.Errorf("use with keys: %v; want that of the workspace and of the key with a budget", use)
		}
	}
}
