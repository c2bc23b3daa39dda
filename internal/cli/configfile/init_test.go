package configfile

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"fairlead.dev/internal/cli"
	"fairlead.dev/internal/cli/clitest"
)

func TestStartingFileIsValidWithAndWithoutComments(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	path := filepath.Join(t.TempDir(), "fairlead.yaml")
	out, err := l.Run(cli.ExitOK, "init", path)
	if out != path+": written\n" {
		t.Errorf("stdout: got %q, want %q", out, path+": written\n")
	}
	clitest.MustContain(t, err, "then run  fairlead config check "+path)
	if !strings.HasPrefix(starting, "# yaml-language-server: $schema=http://127.0.0.1:8080/config.schema.json\n") {
		t.Error("the first line of the initial file does not name the schema")
	}
	out, err = l.Run(cli.ExitOK, "config", "check", path)
	clitest.MustContain(t, out, path+": ok – 0 providers, listen 127.0.0.1:8080")
	if err != "" {
		t.Errorf("config check warns about the initial file: %s", err)
	}

	var on strings.Builder
	for line := range strings.Lines(starting) {
		if rest, ok := strings.CutPrefix(line, "#"); ok && !strings.HasPrefix(rest, " ") || strings.HasPrefix(line, "#  ") {
			line = rest
		}
		on.WriteString(line)
	}
	clitest.MustContain(t, on.String(), "\nlisten: ", "\nproviders:\n  - name: openai\n", "\n  - name: no-collectors\n")
	if errWrite := os.WriteFile(path, []byte(on.String()), 0o600); errWrite != nil {
		t.Fatal(errWrite)
	}
	l.Console.Env = append(l.Console.Env, "OPENAI_API_KEY=sk-0123456789abcdef", "DATABASE_PASSWORD=secret", "FAIRLEAD_DETECT=")
	out, err = l.Run(cli.ExitOK, "config", "check", path)
	clitest.MustContain(t, out, path+": ok – 2 providers")
	if err != "" {
		t.Errorf("config check warns about the initial file without comments: %s", err)
	}
}

func TestStartingFileOverwritesNothing(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	path := filepath.Join(t.TempDir(), "fairlead.yaml")
	if err := os.WriteFile(path, []byte("listen: 127.0.0.1:9000\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, line := range [][]string{{"init", path}, {"init", "--yes", "--config", path}} {
		out, err := l.Run(cli.ExitFailed, line...)
		clitest.MustContain(t, err, "error: "+path+" already exists", "fix: edit it, or use another name")
		if text, errRead := os.ReadFile(path); errRead != nil || string(text) != "listen: 127.0.0.1:9000\n" || out != "" {
			t.Errorf("%v: the file is %q, %v; stdout %q", line, text, errRead, out)
		}
	}
	_, err := l.Run(cli.ExitFailed, "init", filepath.Join(filepath.Dir(path), "nowhere", "fairlead.yaml"))
	clitest.MustContain(t, err, "the directory does not exist", "fix: create the directory")
}

// A server that is started with the same options reads the written file.
func TestStartingFileIsWrittenWhereServerReadsIt(t *testing.T) {
	l := newLab(t)
	t.Chdir(t.TempDir())
	named := filepath.Join(t.TempDir(), "named.yaml")
	l.Console.Env = append(l.Console.Env, "FAIRLEAD_CONFIG="+named)
	out, _ := l.Run(cli.ExitOK, "init", "--json")
	if got := clitest.Lines(t, out); len(got) != 1 || got[0]["path"] != named {
		t.Errorf("JSON: %s", out)
	}
	l.Console.Env = append(l.Console.Env, "FAIRLEAD_CONFIG=")
	if out, _ := l.Run(cli.ExitOK, "init", "--quiet"); out != "fairlead.yaml: written\n" {
		t.Errorf("stdout without a path: got %q, want %q", out, "fairlead.yaml: written\n")
	}
	for _, path := range []string{named, "fairlead.yaml"} {
		info, err := os.Stat(path)
		if err != nil || info.Mode().Perm() != 0o600 || info.Size() != int64(len(starting)) {
			t.Errorf("%s: %v, %v", path, info, err)
		}
	}
}
