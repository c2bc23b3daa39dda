package backup

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"fairlead.dev/internal/account"
	"fairlead.dev/internal/cli"
	"fairlead.dev/internal/cli/clitest"
	"fairlead.dev/internal/store"
)

// names returns the names of the keys in the lab.
func names(l *clitest.Lab, create string) string {
	l.T.Helper()
	i, w := l.Open()
	if create != "" {
		if _, _, err := i.Accounts.CreateKey(l.T.Context(), account.CommandLine(w.ID), account.KeySettings{Name: create}); err != nil {
			l.T.Fatal(err)
		}
	}
	keys, err := i.Accounts.Keys(l.T.Context(), w.ID)
	if err != nil {
		l.T.Fatal(err)
	}
	var list []string
	for _, k := range keys {
		list = append(list, k.Name)
	}
	return strings.Join(list, " ")
}

func TestBackupIsRestored(t *testing.T) {
	t.Parallel()
	l := clitest.New(t, NewBackup, NewRestore)
	names(l, "first")
	file := filepath.Join(t.TempDir(), "copy.db")
	if _, text := l.Run(cli.ExitOK, "backup", file); !strings.Contains(text, "master key is not included") {
		t.Errorf("backup printed %q, want a note about the master key", text)
	}
	if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the backup has the mode %v, %v; want 0600", info, err)
	}
	l.Run(cli.ExitFailed, "backup", file) // a backup is not replaced
	if got := names(l, "second"); got != "second first" {
		t.Fatalf("keys %q before the restore, want second first", got)
	}

	release, err := store.Lock(l.Dir)
	if err != nil {
		t.Fatal(err)
	}
	l.Run(cli.ExitFailed, "restore", file, "--yes") // a server is running
	if err := release(); err != nil {
		t.Fatal(err)
	}
	damaged := filepath.Join(t.TempDir(), "damaged.db")
	if err := os.WriteFile(damaged, []byte("SQLite format 3\x00 and more"), 0o600); err != nil {
		t.Fatal(err)
	}
	l.Run(cli.ExitFailed, "restore", damaged, "--yes")
	if got := names(l, ""); got != "second first" {
		t.Fatalf("keys %q after refused restores, want second first", got)
	}

	l.Run(cli.ExitOK, "restore", file, "--yes")
	if got := names(l, ""); got != "first" {
		t.Errorf("keys %q after the restore, want first", got)
	}

	other := clitest.New(t, NewRestore)
	l.Run(cli.ExitUsage, "backup")
	other.Run(cli.ExitFailed, "restore", file, "--yes") // the master key is missing
	names(other, "own")
	other.Run(cli.ExitFailed, "restore", file, "--yes") // the master key is another one
	if got := names(other, ""); got != "own" {
		t.Errorf("keys %q after a restore with another master key, want own", got)
	}
}

func TestBackupOfPostgresNamesItsTools(t *testing.T) {
	t.Parallel()
	l := clitest.New(t, NewBackup)
	l.Console.Env = append(l.Console.Env, "FAIRLEAD_STORE=postgres://localhost/x")
	if _, text := l.Run(cli.ExitFailed, "backup", filepath.Join(t.TempDir(), "x")); !strings.Contains(text, "pg_dump") {
		t.Errorf("printed %q, want pg_dump", text)
	}
}
