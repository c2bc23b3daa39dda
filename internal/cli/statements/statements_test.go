package statements

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"fairlead.dev/internal/cli"
	"fairlead.dev/internal/cli/clitest"
	"fairlead.dev/internal/money"
	"fairlead.dev/internal/statement"
)

func TestStatementIsWrittenAndVerified(t *testing.T) {
	t.Parallel()
	lab := clitest.New(t, New).Seeded()
	file := filepath.Join(t.TempDir(), "november.html")
	_, info := lab.Run(cli.ExitOK, "statement", "--month", "2026-11", "-o", file)
	clitest.MustContain(t, info, "statement of 2026-11 with", file)
	out, _ := lab.Run(cli.ExitOK, "statement", "verify", file)
	clitest.MustContain(t, out, "Verified: all lines of 2026-11 match the log")

	out, _ = lab.Run(cli.ExitOK, "statement", "--month", "2026-11", "--format", "json")
	s, err := statement.Parse([]byte(out))
	if err != nil {
		t.Fatal(err)
	}
	if s.Total.Requests == 0 || s.Complete || s.Quality != nil {
		t.Errorf("statement %+v", s.Total)
	}

	// A request that was not in the log when the statement was written.
	late := clitest.Served()
	late.ID, late.Cost = clitest.RequestID(late.Time, 777), new(money.Amount(5))
	lab.Seed(late)
	out, _ = lab.Run(cli.ExitProblems, "statement", "verify", file)
	clitest.MustContain(t, out, "days 2026-11-15: requests is", "days 2026-11-15: cost_usd is", "total: checksum is")
	out, _ = lab.Run(cli.ExitProblems, "statement", "verify", file, "--json")
	var first statement.Difference
	if err := json.Unmarshal([]byte(strings.SplitN(out, "\n", 2)[0]), &first); err != nil || first.Line == "" {
		t.Errorf("%s: %v", out, err)
	}
}

func TestPreviousMonthIsTheDefault(t *testing.T) {
	t.Parallel()
	lab := clitest.New(t, New).Seeded()
	out, _ := lab.Run(cli.ExitOK, "statement", "--json")
	s, err := statement.Parse([]byte(out))
	if err != nil {
		t.Fatal(err)
	}
	if s.Month != "2026-10" || !s.Complete || s.Total.Requests != 0 {
		t.Errorf("month %s, complete %t, %d requests", s.Month, s.Complete, s.Total.Requests)
	}
}

func TestInvalidStatementFlags(t *testing.T) {
	t.Parallel()
	lab := clitest.New(t, New).Seeded()
	for _, args := range [][]string{
		{"statement", "--month", "November"}, {"statement", "--month", "2027-01"}, {"statement", "--format", "pdf"},
	} {
		lab.Run(cli.ExitUsage, args...)
	}
	other := filepath.Join(t.TempDir(), "other.json")
	if err := os.WriteFile(other, []byte("{}"), 0o600); err != nil {
		t.Fatal(err)
	}
	_, info := lab.Run(cli.ExitFailed, "statement", "verify", other)
	clitest.MustContain(t, info, "use a file that")
}
