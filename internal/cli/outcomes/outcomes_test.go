package outcomes

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"fairlead.dev/internal/cli"
	"fairlead.dev/internal/cli/clitest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestOutcomesAreShownExportedAndReset(t *testing.T) {
	t.Parallel()
	l := clitest.New(t, New).Seeded()
	_, err := l.Run(cli.ExitOK, "outcomes", "show")
	clitest.MustContain(t, err, "the static abilities are used", "of 50 ratings and verdicts")
	out, _ := l.Run(cli.ExitOK, "outcomes", "set", "--enabled=false", "--json")
	clitest.MustContain(t, out, `"enabled":`)
	_, err = l.Run(cli.ExitOK, "outcomes", "show")
	clitest.MustContain(t, err, "learning is disabled")
	l.Run(cli.ExitOK, "outcomes", "export")
	_, err = l.Run(cli.ExitOK, "outcomes", "reset")
	clitest.MustContain(t, err, "no longer affect routing")
	l.Run(cli.ExitOK, "outcomes", "reset", "--model", "gpt-5-mini")
	i, w := l.Open()
	defer func() { _ = i.Close() }()
	events, auditErr := i.Accounts.Audit(t.Context(), w.ID, "", 3)
	if auditErr != nil {
		t.Fatal(auditErr)
	}
	got := []string{}
	for _, e := range events {
		got = append(got, e.Actor+" "+e.Action+" "+e.Object+" "+string(e.After))
	}
	want := []string{
		"command line learning.reset gpt-5-mini ", "command line learning.reset learning ", `command line learning.update learning {"enabled":false}`,
	}
	slices.Sort(got)
	slices.Sort(want)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
