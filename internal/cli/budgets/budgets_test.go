package budgets

import (
	"testing"
	"time"

	"go.uber.org/goleak"

	"fairlead.dev/internal/account"
	"fairlead.dev/internal/cli"
	"fairlead.dev/internal/cli/clitest"
	"fairlead.dev/internal/id"
	"fairlead.dev/internal/money"
	"fairlead.dev/internal/requestlog"
	"fairlead.dev/internal/session"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// TestBudgetsCommands seeds a month of traffic: the key ci spends two dollars a day, half of it by the end
// user anna.
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
	if err := i.Store.Log.WriteEntries(t.Context(), entries); err != nil {
		t.Fatal(err)
	}

	out, _ := l.Run(cli.ExitOK, "budgets", "list")
	clitest.MustContain(t, out, "runs out around 21 November; resets 1 December", "70 %", "not enough data; resets 16 November", "end user of ci")
	out, _ = l.Run(cli.ExitOK, "budgets", "list", "--json")
	for _, one := range clitest.Lines(t, out) {
		if one["name"] == "anna" && (one["kind"] != "user" || one["spent_usd"] != "14") {
			t.Errorf("end user: %v", one)
		}
	}
}
