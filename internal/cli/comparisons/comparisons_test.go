package comparisons

import (
	"testing"

	"go.uber.org/goleak"

	"fairlead.dev/internal/cli"
	"fairlead.dev/internal/cli/clitest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestComparisonIsSetShownAndEnded(t *testing.T) {
	t.Parallel()
	l := clitest.New(t, New).Seeded()
	out, _ := l.Run(cli.ExitOK, "comparison", "show")
	clitest.MustContain(t, out, "Responses are not compared", "0 compared")
	_, err := l.Run(cli.ExitUsage, "comparison", "set", "--budget", "5")
	clitest.MustContain(t, err, "--baseline")
	_, err = l.Run(cli.ExitUsage, "comparison", "set", "--baseline", "gpt-4.1")
	clitest.MustContain(t, err, "--budget")
	_, err = l.Run(cli.ExitUsage, "comparison", "set", "--baseline", "gpt-4.11", "--budget", "5")
	clitest.MustContain(t, err, `unknown model "gpt-4.11"`)
	_, err = l.Run(cli.ExitUsage, "comparison", "set", "--baseline", "gpt-4.1", "--budget", "5", "--judge", "gpt-4.1-mini")
	clitest.MustContain(t, err, "another vendor")
	_, err = l.Run(cli.ExitUsage, "comparison", "set", "--baseline", "gpt-4.1", "--budget", "5", "--share", "2")
	clitest.MustContain(t, err, "share")
	out, _ = l.Run(cli.ExitOK, "comparison", "set", "--baseline", "gpt-4.1", "--budget", "5")
	clitest.MustContain(t, out, "baseline  gpt-4.1", "share     5 %", "budget    $5.00 per month")
	out, _ = l.Run(cli.ExitOK, "comparison", "set", "--share", "0.2", "--json")
	clitest.MustContain(t, out, `"baseline":"gpt-4.1"`, `"share":0.2`)
	_, err = l.Run(cli.ExitOK, "comparison", "list")
	clitest.MustContain(t, err, "no requests were compared")
	out, _ = l.Run(cli.ExitOK, "comparison", "off")
	clitest.MustContain(t, out, "Responses are not compared")
}
