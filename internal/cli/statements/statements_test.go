package statements

import (
	"os"
	"path/filepath"
	"testing"

	"fairlead.dev/internal/cli"
	"fairlead.dev/internal/cli/clitest"
)

func TestStatementIsWritten(t *testing.T) {
	t.Parallel()
	lab := clitest.New(t, New).Seeded()
	file := filepath.Join(t.TempDir(), "november.html")
	_, info := lab.Run(cli.ExitOK, "statement", "--month", "2026-11", "-o", file)
	clitest.MustContain(t, info, "statement of 2026-11 with", file)
	page, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	clitest.MustContain(t, string(page), "Statement 2026-11", "the month has not ended", "By API key")
	out, _ := lab.Run(cli.ExitOK, "statement", "--month", "2026-11", "--csv")
	clitest.MustContain(t, out, "row,name,key_name,requests", "\nmodel,", "\nkey,", "\nday,2026-11-15,", "\ntotal,")
	out, _ = lab.Run(cli.ExitOK, "statement")
	clitest.MustContain(t, out, "Statement 2026-10")
}

func TestInvalidStatementFlags(t *testing.T) {
	t.Parallel()
	lab := clitest.New(t, New).Seeded()
	for _, args := range [][]string{
		{"statement", "--month", "November"}, {"statement", "--month", "2027-01"}, {"statement", "verify", "november.html"},
	} {
		lab.Run(cli.ExitUsage, args...)
	}
}
