package reports

import (
	"strings"
	"testing"

	"go.uber.org/goleak"

	"fairlead.dev/internal/cli"
	"fairlead.dev/internal/cli/clitest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestReport(t *testing.T) {
	t.Parallel()
	l := clitest.New(t, New).Seeded()
	out, _ := l.Run(cli.ExitOK, "report", "--by", "model", "--then", "session", "--from", "now-30d")
	clitest.MustContain(t, out, "MODEL", "small-b", "  s-1", "total")
	out, _ = l.Run(cli.ExitOK, "report", "--by", "user", "--from", "now-30d", "--json")
	clitest.MustContain(t, out, `"by":"user"`, `"groups":[{`, `"notes":[`)
	out, _ = l.Run(cli.ExitOK, "report", "--by", "model", "--from", "now-30d", "--csv")
	if lines := strings.Split(strings.TrimSpace(out), "\n"); !strings.HasPrefix(lines[0], "row,by,by_label,then,then_label,requests") || !strings.HasPrefix(lines[len(lines)-1], "total,") {
		t.Errorf("CSV: %s", out)
	}
	_, err := l.Run(cli.ExitUsage, "report", "--by", "colour")
	clitest.MustContain(t, err, "--by: use model")
}
