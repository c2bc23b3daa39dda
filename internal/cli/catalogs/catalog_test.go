package catalogs

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"fairlead.dev/internal/cli"
	"fairlead.dev/internal/cli/clitest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestCatalogFileIsExportedSignedAndVerified(t *testing.T) {
	t.Parallel()
	l := clitest.New(t, New)
	dir := t.TempDir()
	path, key := filepath.Join(dir, "catalog.txt"), filepath.Join(dir, "catalog.key")

	public, _ := l.Run(cli.ExitOK, "catalog", "keygen", "--out", key)
	public = strings.TrimSpace(public)
	l.Run(cli.ExitOK, "catalog", "export", "--out", path)
	_, err := l.Run(cli.ExitOK, "catalog", "sign", path, "--key", key)
	clitest.MustContain(t, err, public)
	out, _ := l.Run(cli.ExitOK, "catalog", "verify", path, "--public-key", public)
	clitest.MustContain(t, out, "created  "+clitest.Noon.UTC().Format("2006-01-02T15:04:05Z"))

	for file, mode := range map[string]os.FileMode{key: 0o600, path + ".sig": 0o644} {
		if info, err := os.Stat(file); err != nil || info.Mode().Perm() != mode {
			t.Errorf("%s: %v, %v", file, info, err)
		}
	}
	out, _ = l.Run(cli.ExitOK, "catalog", "show", path, "--json")
	row := clitest.Lines(t, out)[0]
	if row["models"].(float64) < 100 || len(row["sha256"].(string)) != 64 {
		t.Errorf("%v", row)
	}
	built, _ := l.Run(cli.ExitOK, "catalog", "show", "--json")
	if own := clitest.Lines(t, built)[0]; own["source"] != "built-in" || own["version"] != row["version"] {
		t.Errorf("%v", own)
	}

	text, readErr := os.ReadFile(path)
	if readErr != nil {
		t.Fatal(readErr)
	}
	if err := os.WriteFile(path, []byte(strings.Replace(string(text), ",2,8,", ",3,8,", 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err = l.Run(cli.ExitFailed, "catalog", "verify", path, "--public-key", public)
	clitest.MustContain(t, err, "the signature does not match")
	if err := os.WriteFile(path, []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err = l.Run(cli.ExitFailed, "catalog", "sign", path, "--key", key)
	clitest.MustContain(t, err, "not a catalog file")
}

func TestCatalogCommandsExplainMissingArguments(t *testing.T) {
	t.Parallel()
	l := clitest.New(t, New)
	for _, args := range [][]string{
		{"catalog", "keygen"},
		{"catalog", "sign", "catalog.txt"},
		{"catalog", "verify", "catalog.txt"},
		{"catalog", "export", "--created", "yesterday"},
	} {
		l.Run(cli.ExitUsage, args...)
	}
	_, err := l.Run(cli.ExitFailed, "catalog", "show", filepath.Join(t.TempDir(), "none.txt"))
	clitest.MustContain(t, err, "does not exist")
}
