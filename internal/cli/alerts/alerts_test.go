package alerts

import (
	"testing"
	"time"

	"go.uber.org/goleak"

	"fairlead.dev/internal/alert"
	"fairlead.dev/internal/cli"
	"fairlead.dev/internal/cli/clitest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestAlertsCommands(t *testing.T) {
	t.Parallel()
	l := clitest.New(t, New)
	_, err := l.Run(cli.ExitOK, "alerts", "list")
	clitest.MustContain(t, err, "no alert rules yet")
	i, w := l.Open()
	rule := alert.Rule{
		ID: "rule_1", WorkspaceID: w.ID, Name: "Error rate", Kind: alert.ErrorRate, Threshold: 2.5, Window: "1h", Enabled: true,
		CreatedAt: clitest.Noon, MutedUntil: clitest.Noon.Add(2 * time.Hour),
	}
	if err := i.Store.Alerts.AddRule(t.Context(), rule, alert.MaxRules); err != nil {
		t.Fatal(err)
	}
	out, _ := l.Run(cli.ExitOK, "alerts", "list")
	clitest.MustContain(t, out, "Error rate", "unknown (muted)", "≥ 2.5 %", "1h")
	_, err = l.Run(cli.ExitOK, "alerts", "history", "--rule", "Error rate")
	clitest.MustContain(t, err, "no events yet")
	_, err = l.Run(cli.ExitFailed, "alerts", "history", "--rule", "Latency")
	clitest.MustContain(t, err, "not found")
	_, err = l.Run(cli.ExitUsage, "alerts", "add", "error_rate")
	clitest.MustContain(t, err, `"fairlead alerts add" was removed`, "dashboard")
}
