package configfile

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"fairlead.dev/internal/cli"
	"fairlead.dev/internal/cli/clitest"
)

func TestCheckConfiguration(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	path := filepath.Join(t.TempDir(), "fairlead.yaml")
	write := func(text string) {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("listen: 127.0.0.1:9000\nproviders: [{name: openai, api_keys: [sk-0123456789abcdef]}]\n")
	out, _ := l.Run(cli.ExitOK, "config", "check", path)
	clitest.MustContain(t, out, path+": ok – 1 provider, listen 127.0.0.1:9000, data directory "+l.Dir)

	write("listn: 127.0.0.1:9000\nsimulator: sometimes\n")
	out, err := l.Run(cli.ExitProblems, "config", "check", path)
	clitest.MustContain(t, out, `line 1: unknown field "listn"`, `did you mean "listen"?`, "line 2:", "fix: ", "2 problems")
	if err != "" {
		t.Errorf("stderr: got %s, want none", err)
	}
	out, _ = l.Run(cli.ExitProblems, "config", "check", "--config", path, "--json")
	rows := clitest.Lines(t, out)
	if len(rows) != 2 || rows[0]["line"] != 1.0 || rows[0]["suggestion"] != "listen" || rows[0]["code"] != "E1004" {
		t.Errorf("JSON: %s", out)
	}
	out, err = l.Run(cli.ExitFailed, "keys", "list", "--config", path)
	if out != "" || !strings.Contains(err, `unknown field "listn"`) {
		t.Errorf("keys list with an invalid file: stdout %q, stderr %q", out, err)
	}
	if _, errStat := os.Stat(l.Dir); errStat == nil {
		t.Error("an invalid configuration created a data directory")
	}
}

func TestCheckWarnsAboutUnknownBaseline(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	path := filepath.Join(t.TempDir(), "fairlead.yaml")
	for model, want := range map[string]string{
		"gpt-4.1": "", "openai/gpt-4.1": "", "house-70b": "",
		"gtp-4.1": "warning: default_model: no model is called \"gtp-4.1\", so savings are unknown; did you mean \"gpt-4.1\"?\n",
	} {
		text := "default_model: " + model + "\nproviders:\n  - {name: openai, api_keys: [sk-0123456789abcdef]}\n  - {name: house, base_url: \"http://127.0.0.1:1/v1\", models: [{name: house-70b}]}\n"
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, stderr := l.Run(cli.ExitOK, "config", "check", path); stderr != want {
			t.Errorf("%s: %q, want %q", model, stderr, want)
		}
	}
}

func TestCheckPoliciesOfTheConfiguration(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	path := filepath.Join(t.TempDir(), "fairlead.yaml")
	write := func(text string) {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("providers:\n  - {name: openai, api_keys: [sk-0123456789abcdef], tags: [eu]}\npolicies:\n  - {name: in-europe, allow: {tags: [eu, local]}}\n")
	out, _ := l.Run(cli.ExitOK, "config", "check", path)
	clitest.MustContain(t, out, path+": ok")

	write("master_key: short # 0123456789\npolicies:\n  - {name: cheap, pin: gtp-4.1}\n")
	out, _ = l.Run(cli.ExitProblems, "config", "check", path)
	clitest.MustContain(t, out, "master_key has 5 characters")

	write("listen: 127.0.0.1:1\npolicies:\n  - name: cheap\n    when: request.tsk == \"code\"\n    allow: {tags: [eu]}\n")
	out, _ = l.Run(cli.ExitProblems, "config", "check", path)
	clitest.MustContain(t, out, path+` line 4: policy "cheap": request has no field "tsk"`, "   4 |     when: request.tsk == \"code\"\n     |                   ^^^ did you mean \"task\"?\n",
		path+` line 5: policy "cheap": `, "2 problems: correct them, then run  fairlead config check --config "+path)
	out, _ = l.Run(cli.ExitProblems, "config", "check", path, "--json")
	rows := clitest.Lines(t, out)
	if len(rows) != 2 || rows[0]["line"] != 4.0 || rows[0]["column"] != 19.0 || rows[0]["path"] != "policies[0].when" || rows[0]["suggestion"] != "task" {
		t.Errorf("JSON: %s", out)
	}
	if _, errStat := os.Stat(l.Dir); errStat == nil {
		t.Error("config check created a data directory")
	}
}

func TestPrintConfiguration(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.Configure("listen: 127.0.0.1:9000\nproviders: [{name: openai, api_keys: [sk-0123456789abcdef]}]\n")
	out, _ := l.Run(cli.ExitOK, "config", "print", "--origin", "--data-dir", "/elsewhere")
	clitest.MustContain(t, out, "listen: 127.0.0.1:9000", "fairlead.yaml:1", "data_dir: /elsewhere", "# --data-dir", "# default", "…cdef")
	if strings.Contains(out, "0123456789") {
		t.Errorf("a secret is shown: %s", out)
	}
	out, _ = l.Run(cli.ExitOK, "config", "print", "--json")
	if view := clitest.Lines(t, out)[0]; view["listen"] != "127.0.0.1:9000" {
		t.Errorf("JSON: got %s, want listen 127.0.0.1:9000", out)
	}
	out, _ = l.Run(cli.ExitOK, "config", "print", "--json", "--origin")
	var got []map[string]any
	for _, row := range clitest.Lines(t, out) {
		if path := row["path"]; path == "data_dir" || path == "providers[0].name" || path == "admin_listen" {
			got = append(got, map[string]any{"path": path, "value": row["value"], "origin": filepath.Base(row["origin"].(string))})
		}
	}
	want := []map[string]any{
		{"path": "admin_listen", "value": "", "origin": "default"},
		{"path": "data_dir", "value": l.Dir, "origin": "FAIRLEAD_DATA_DIR"},
		{"path": "providers[0].name", "value": "openai", "origin": "fairlead.yaml:2"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestVersion(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	out, _ := l.Run(cli.ExitOK, "version")
	clitest.MustContain(t, out, "fairlead dev (", "/", "go1")
	if out, _ := l.Run(cli.ExitOK, "--version"); out != "fairlead version dev\n" {
		t.Errorf("--version: got %q, want %q", out, "fairlead version dev\n")
	}
}
