package budgets

import (
	"testing"
	"time"

	"go.uber.org/goleak"

	"fairlead.dev/internal/account"
	"fairlead.dev/internal/cli"
	"fairlead.dev/internal/cli/clitest"
	"fairlead.dev/internal/id"
	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/money"
	"fairlead.dev/internal/requestlog"
	"fairlead.dev/internal/session"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// TestBudgetsCommands seeds a month of traffic: the key ci spends two dollars a day, half of it by the end user anna, and its budget has
// rejected one request.
func TestBudgetsCommands(t *testing.T) {
	t.Parallel()
	l := clitest.New(t, New)
	_, err := l.Run(cli.ExitOK, "budgets", "list")
	clitest.MustContain(t, err, "no budgets yet")

	i, w := l.Open()
	by := account.CommandLine(w.ID)
	key, _, failed := i.Accounts.CreateKey(t.Context(), by, account.KeySettings{
		Name: "ci", Budget: &account.Budget{Amount: 40 * money.Dollar, Period: account.Monthly, WarnPercent: 80},
		Sessions: &account.SessionLimits{UserBudget: &account.Budget{Amount: 100 * money.Dollar, Period: account.Total}},
	})
	if failed != nil {
		t.Fatal(failed)
	}
	if _, _, failed = i.Accounts.CreateKey(t.Context(), by, account.KeySettings{Name: "new", Budget: &account.Budget{Amount: money.Dollar, Period: account.Daily}}); failed != nil {
		t.Fatal(failed)
	}
	user := i.Budgets(l.Console.Now).Namer.Subject(session.OfUser, w.ID, key.ID, "anna")
	var entries []requestlog.Entry
	add := func(at time.Time, change func(*requestlog.Entry)) {
		e := requestlog.Entry{
			ID: id.New("req", at), Owner: requestlog.Owner{WorkspaceID: w.ID, KeyID: key.ID, KeyName: "ci"},
			Timing: requestlog.Timing{Time: at}, Result: requestlog.Result{Outcome: requestlog.OK, Status: 200},
			Routing: requestlog.Routing{Model: "large", Attempts: []requestlog.Attempt{}},
			Call:    requestlog.Call{Requested: "auto"}, Labels: requestlog.Labels{Session: "run", SessionSource: "given"},
			Charge: requestlog.Charge{Cost: new(money.Dollar)}, BodyState: requestlog.BodyDisabled,
		}
		change(&e)
		entries = append(entries, e)
	}
	for day := range 14 {
		at := clitest.Noon.AddDate(0, 0, -day)
		add(at.Add(-time.Hour), func(*requestlog.Entry) {})
		add(at.Add(-2*time.Hour), func(e *requestlog.Entry) { e.EndUser, e.Subjects, e.Model = "anna", []string{user}, "small" })
	}
	add(clitest.Noon.Add(-time.Minute), func(e *requestlog.Entry) {
		e.Outcome, e.Status, e.Model, e.Cost = requestlog.Rejected, 402, "", nil
		e.Error = &requestlog.Failure{Code: "BUDGET_EXCEEDED", Message: `Key "ci" has $0.01 left of its monthly budget of $40.00.`, Origin: llm.FromGateway}
	})
	add(clitest.Noon.Add(-time.Minute), func(e *requestlog.Entry) {
		e.Outcome, e.Status, e.Model, e.Cost = requestlog.Rejected, 402, "", nil
		e.Error = &requestlog.Failure{Code: "BUDGET_EXCEEDED", Message: `Workspace "ci" has used its budget.`, Origin: llm.FromGateway}
	})
	if err := i.Store.Log.WriteEntries(t.Context(), entries); err != nil {
		t.Fatal(err)
	}

	out, _ := l.Run(cli.ExitOK, "budgets", "list")
	clitest.MustContain(t, out, "runs out around 21 November; resets 1 December", "70 %", "not enough data; resets 16 November", "end user of ci")
	out, _ = l.Run(cli.ExitOK, "budgets", "show", "ci")
	clitest.MustContain(t, out, "$28.00 of $40.00 (70 %), per month", "per day   $2.00", "large", "small", entries[len(entries)-2].ID)
	detail := clitest.Lines(t, mustOut(l.Run(cli.ExitOK, "budgets", "show", key.ID, "--json")))[0]
	if rejected := detail["rejected"].([]any); len(rejected) != 1 {
		t.Errorf("requests rejected by the key's budget: got %v, want 1", rejected)
	}
	curve := detail["curve"].([]any)
	first, last := curve[0].(map[string]any), curve[len(curve)-1].(map[string]any)
	if first["at"] != "2026-11-01T00:00:00Z" || first["spent_usd"] != "0" || last["at"] != "2026-11-15T12:00:00Z" || last["spent_usd"] != "28" || len(curve) < 14 {
		t.Errorf("curve %v", curve)
	}
	if expected := detail["expected"].([]any); expected[len(expected)-1].(map[string]any)["at"] != "2026-12-01T00:00:00Z" {
		t.Errorf("forecast %v, want it to end at 2026-12-01", expected)
	}
	for _, one := range clitest.Lines(t, mustOut(l.Run(cli.ExitOK, "budgets", "list", "--json"))) {
		if one["name"] == "anna" && (one["kind"] != "user" || one["spent_usd"] != "14") {
			t.Errorf("end user: %v", one)
		}
	}
	out, _ = l.Run(cli.ExitOK, "budgets", "show", "anna")
	clitest.MustContain(t, out, "$14.00 of $100.00 (14 %), never resets", "request", "per day   $1.00")
	_, err = l.Run(cli.ExitFailed, "budgets", "show", "nothing")
	clitest.MustContain(t, err, "not found", "fairlead budgets list")
}

func mustOut(out, _ string) string { return out }
