package sessions

import (
	"testing"

	"go.uber.org/goleak"

	"fairlead.dev/internal/cli"
	"fairlead.dev/internal/cli/clitest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestListSessions(t *testing.T) {
	t.Parallel()
	l := clitest.New(t, New).Seeded()
	out, _ := l.Run(cli.ExitOK, "sessions", "list", "--json")
	lines := clitest.Lines(t, out)
	if len(lines) != 1 || lines[0]["id"] != "s-1" || lines[0]["turns"] != float64(2) {
		t.Errorf("sessions: %s", out)
	}
	out, _ = l.Run(cli.ExitOK, "sessions", "list")
	clitest.MustContain(t, out, "SESSION", "s-1", "small-b")
	_, err := l.Run(cli.ExitOK, "sessions", "list", "--min-turns", "3")
	clitest.MustContain(t, err, "no sessions match")
	_, err = l.Run(cli.ExitUsage, "sessions", "list", "--source", "guessed")
	clitest.MustContain(t, err, "given or derived")
}

func TestShowSession(t *testing.T) {
	t.Parallel()
	l := clitest.New(t, New).Seeded()
	out, _ := l.Run(cli.ExitOK, "sessions", "show", "s-1")
	clitest.MustContain(t, out, "session s-1 (given)", "2 turns", "TURN", "fallback:")
	_, err := l.Run(cli.ExitFailed, "sessions", "show", "s-9")
	clitest.MustContain(t, err, `session "s-9" not found`, "fairlead sessions list")
}
