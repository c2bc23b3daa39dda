package connect

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"fairlead.dev/internal/account"
	"fairlead.dev/internal/cli"
	"fairlead.dev/internal/cli/clitest"
)

// fakeGateway answers like a gateway with one model. fail makes model requests fail.
type fakeGateway struct {
	*httptest.Server
	fail    bool
	session string   // members of the response to a request for a session; empty if it does not exist
	calls   []string // paths of the model requests
	keys    []string // keys that they used
}

func newFakeGateway(t *testing.T) *fakeGateway {
	t.Helper()
	f := &fakeGateway{}
	f.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.URL.Path == "/readyz":
			_, _ = w.Write([]byte(`{"status":"ready","checks":[]}`))
		case r.URL.Path == "/proxy/v1/models":
			_, _ = w.Write([]byte(`{"data":[
				{"id":"auto","kind":"auto","context_window":128000,"abilities":["tools","vision","reasoning"]},
				{"id":"large","kind":"chat","context_window":1000000,"max_output_tokens":64000,"abilities":["tools"]},
				{"id":"embed","kind":"embeddings"}]}`))
		case f.fail:
			w.Header().Set("X-Fairlead-Error-Code", "PROVIDER_UPSTREAM_ERROR")
			w.WriteHeader(http.StatusBadGateway)
			_, _ = w.Write([]byte(`{"error":{"message":"every attempt failed"}}`))
		case r.URL.Path == "/api/v1/sessions/abc" && f.session != "" && r.Header.Get("Authorization") == "Bearer "+f.keys[0]:
			_, _ = w.Write([]byte(`{"turns": 3, ` + f.session + `}`))
		case strings.HasPrefix(r.URL.Path, "/api/v1/sessions/"):
			w.WriteHeader(http.StatusNotFound)
		case r.URL.Path == "/api/v1/keys":
			w.Header().Set("X-Fairlead-Error-Code", "SCOPE_DENIED")
			w.WriteHeader(http.StatusForbidden)
		default:
			f.calls, f.keys = append(f.calls, r.URL.Path), append(f.keys, strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer "))
			w.Header().Set("X-Fairlead-Model", "large")
			w.Header().Set("X-Fairlead-Provider", "alpha")
			w.Header().Set("X-Fairlead-Cost", "0.0001")
			_, _ = w.Write([]byte(`{}`))
		}
	}))
	t.Cleanup(f.Close)
	return f
}

// newLab returns a lab whose gateway is the fake one, and the home directory.
func newLab(t *testing.T, gateway *fakeGateway) (*clitest.Lab, string) {
	t.Helper()
	l := clitest.New(t, New, NewStatusline)
	home := t.TempDir()
	l.Console.Env = append(l.Console.Env, "HOME="+home, "XDG_CONFIG_HOME="+filepath.Join(home, ".config"), "SHELL=/bin/bash", "PATH=",
		"FAIRLEAD_LISTEN="+strings.TrimPrefix(gateway.URL, "http://"))
	return l, home
}

// readTree returns the files below a directory.
func readTree(t *testing.T, dir string) map[string]string {
	t.Helper()
	files := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		files[strings.TrimPrefix(path, dir+"/")] = string(text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o750), os.WriteFile(path, []byte(text), 0o600)); err != nil {
		t.Fatal(err)
	}
}

func TestConnectAndUndo(t *testing.T) {
	t.Setenv("PATH", t.TempDir()) // no agent is installed
	paths := map[api]string{
		messages: "/proxy/v1/messages", responses: "/proxy/v1/responses", chat: "/proxy/v1/chat/completions",
		gemini: "/proxy/v1beta/models/gemini-auto:generateContent",
	}
	for i := range agents {
		a := &agents[i]
		t.Run(a.name, func(t *testing.T) {
			gateway := newFakeGateway(t)
			l, home := newLab(t, gateway)
			write(t, filepath.Join(home, ".bashrc"), "alias l=ls\n")
			write(t, filepath.Join(home, ".claude", "settings.json"), "{\n  // mine\n  \"theme\": \"dark\",\n}\n")
			write(t, filepath.Join(home, ".config", "goose", "config.yaml"), "# mine\nGOOSE_MODE: auto\n")
			before := readTree(t, home)

			_, printed := l.Run(cli.ExitOK, "connect", a.name, "--budget", "20/week")

			if !slices.Equal(gateway.calls, []string{paths[a.api]}) {
				t.Errorf("the test requests are %v, want one to %s", gateway.calls, paths[a.api])
			}
			if !strings.Contains(printed, "large at alpha answered in ") || strings.Contains(printed, "fl_") {
				t.Errorf("the output does not name the model, or shows the key:\n%s", printed)
			}
			key := gateway.keys[0]
			withKey := 0
			for name, text := range readTree(t, home) {
				if strings.Contains(text, key) {
					withKey++
					if info, err := os.Stat(filepath.Join(home, name)); err != nil || info.Mode().Perm()&0o077 != 0 {
						t.Errorf("%s contains the key, but others can read it: %v %v", name, info.Mode(), err)
					}
				}
			}
			if withKey == 0 {
				t.Error("no file contains the key")
			}
			instance, workspace := l.Open()
			keys, err := instance.Accounts.Keys(t.Context(), workspace.ID)
			if err != nil || len(keys) != 1 || keys[0].Name != a.name || keys[0].Budget == nil || keys[0].Budget.Period != "week" {
				t.Fatalf("the keys are %+v (%v), want one with the agent's name and a weekly budget", keys, err)
			}

			l.Run(cli.ExitOK, "connect", a.name) // connecting again replaces the key
			l.Run(cli.ExitOK, "connect", a.name, "--undo")

			if diff := cmp.Diff(before, readTree(t, home)); diff != "" {
				t.Errorf("undoing did not restore the files: %s", diff)
			}
			if keys, err = instance.Accounts.Keys(t.Context(), workspace.ID); err != nil || len(keys) != 2 {
				t.Fatalf("%d keys (%v), want 2", len(keys), err)
			}
			for _, k := range keys {
				if k.RevokedAt.IsZero() {
					t.Errorf("key %s is not revoked", k.ID)
				}
			}
		})
	}
}

func TestConnectChangesTheTargetOfALink(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	l, home := newLab(t, newFakeGateway(t))
	target, link := filepath.Join(home, "dotfiles", "claude.json"), filepath.Join(home, ".claude", "settings.json")
	write(t, filepath.Join(home, ".claude", "mine"), "")
	if err := os.Symlink("../dotfiles/claude.json", link); err != nil {
		t.Fatal(err)
	}
	l.Run(cli.ExitFailed, "connect", "claude-code") // the target is missing
	write(t, target, "{\"env\": {\r\n  \"ANTHROPIC_AUTH_TOKEN\": \"sk-mine\"\r\n}}\r\n")

	l.Run(cli.ExitOK, "connect", "claude-code")

	text := readTree(t, home)["dotfiles/claude.json"]
	if !strings.Contains(text, `"claude-auto"`) || strings.Contains(text, "sk-mine") || strings.Count(text, "\n") != strings.Count(text, "\r\n") {
		t.Errorf("the target is %q, want the settings without the other credential and with the same line breaks", text)
	}
	if info, err := os.Lstat(link); err != nil || info.Mode()&fs.ModeSymlink == 0 {
		t.Errorf("the link was replaced: %v %v", info, err)
	}
}

func TestUndoKeepsChangedFilesAside(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	l, home := newLab(t, newFakeGateway(t))
	path := filepath.Join(home, ".claude", "settings.json")
	write(t, path, `{"theme": "dark"}`)
	l.Run(cli.ExitOK, "connect", "claude-code")
	write(t, path, `{"theme": "light"}`)
	l.Run(cli.ExitOK, "connect", "claude-code")

	_, printed := l.Run(cli.ExitOK, "connect", "claude-code", "--undo")

	files := readTree(t, filepath.Dir(path))
	if files["settings.json"] != `{"theme": "dark"}` || !strings.HasPrefix(files["settings.json.fairlead-changed"], `{"theme": "light"`) {
		t.Errorf("the files are %v, want the original, and the changed version beside it", files)
	}
	if !strings.Contains(printed, "settings.json.fairlead-changed") {
		t.Errorf("the output does not name the changed version:\n%s", printed)
	}
}

func TestFailedConnectChangesNothing(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	for name, prepare := range map[string]func(f *fakeGateway, home string){
		"the test request fails":  func(f *fakeGateway, _ string) { f.fail = true },
		"the file is invalid":     func(_ *fakeGateway, home string) { write(t, filepath.Join(home, ".claude", "settings.json"), `{"a": `) },
		"the gateway is stopped":  func(f *fakeGateway, _ string) { f.Close() },
		"the file is a directory": func(_ *fakeGateway, home string) { write(t, filepath.Join(home, ".claude", "settings.json", "x"), "") },
		"the file is read-only": func(_ *fakeGateway, home string) {
			write(t, filepath.Join(home, ".claude", "settings.json"), "{}")
			if err := os.Chmod(filepath.Join(home, ".claude", "settings.json"), 0o400); err != nil {
				t.Fatal(err)
			}
		},
		"the directory is a file": func(_ *fakeGateway, home string) { write(t, filepath.Join(home, ".claude"), "mine") },
	} {
		t.Run(name, func(t *testing.T) {
			gateway := newFakeGateway(t)
			l, home := newLab(t, gateway)
			prepare(gateway, home)
			before := readTree(t, home)

			l.Run(cli.ExitFailed, "connect", "claude-code")

			if diff := cmp.Diff(before, readTree(t, home)); diff != "" {
				t.Errorf("files changed: %s", diff)
			}
			instance, workspace := l.Open()
			keys, err := instance.Accounts.Keys(t.Context(), workspace.ID)
			if err != nil || slices.ContainsFunc(keys, func(k account.Key) bool { return k.RevokedAt.IsZero() }) {
				t.Errorf("a key is left: %+v %v", keys, err)
			}
		})
	}
}

func TestPrintChangesNothing(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	l, home := newLab(t, newFakeGateway(t))
	for i := range agents {
		out, _ := l.Run(cli.ExitOK, "connect", agents[i].name, "--print", "--server", "https://models.example.com")
		if !strings.Contains(out, "https://models.example.com") {
			t.Errorf("%s: the output lacks the address:\n%s", agents[i].name, out)
		}
	}
	if files := readTree(t, home); len(files) > 0 {
		t.Errorf("files were written: %v", files)
	}
}

func TestProjectSettings(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	project := t.TempDir()
	t.Chdir(project)
	l, home := newLab(t, newFakeGateway(t))
	l.Run(cli.ExitUsage, "connect", "codex", "--project")

	l.Run(cli.ExitOK, "connect", "claude-code", "--project")

	text := readTree(t, project)[".claude/settings.local.json"]
	var settings struct{ Model, APIKeyHelper string }
	if err := json.Unmarshal([]byte(text), &settings); err != nil || settings.Model != "claude-auto" {
		t.Errorf("the settings are %s (%v)", text, err)
	}
	if _, err := os.Stat(filepath.Join(home, ".claude")); err == nil {
		t.Error("the user's settings were changed")
	}
	l.Run(cli.ExitOK, "connect", "claude-code", "--project", "--undo")
	_, printed := l.Run(cli.ExitOK, "connect", "aider", "--project")
	_, undone := l.Run(cli.ExitOK, "connect", "aider", "--project", "--undo")
	if !strings.Contains(printed, "Do not commit it.") || !strings.Contains(undone, "removed "+filepath.Join(project, ".aider.conf.yml")) {
		t.Errorf("the output does not warn about the key, or does not name the removed file:\n%s\n%s", printed, undone)
	}
	if files := readTree(t, project); len(files) > 0 {
		t.Errorf("files are left: %v", files)
	}
}

func TestRemoteGatewayUsesTheGivenKey(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	gateway := newFakeGateway(t)
	l, home := newLab(t, gateway)
	l.Console.Env = append(l.Console.Env, "FAIRLEAD_API_KEY=fl_given")

	l.RunContext(context.Background(), cli.ExitOK, "connect", "aider", "--server", gateway.URL+"/")

	if text := readTree(t, home)[".aider.conf.yml"]; !strings.Contains(text, "openai-api-key: fl_given") || !strings.Contains(text, gateway.URL+"/proxy/v1") {
		t.Errorf("the settings are %s", text)
	}
	l.Run(cli.ExitFailed, "connect", "aider", "--server", gateway.URL, "--budget", "5/day") // the key may not create keys
	l.Run(cli.ExitUsage, "connect", "aider", "--budget", "5/year")
	l.Run(cli.ExitUsage, "connect", "adier")
}

func TestLocalGatewayAtAnotherAddressGetsItsOwnKey(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	gateway := newFakeGateway(t)
	l, _ := newLab(t, gateway)
	l.Console.Env = append(l.Console.Env, "FAIRLEAD_LISTEN=127.0.0.1:1")

	l.Run(cli.ExitFailed, "connect", "aider")
	l.Run(cli.ExitOK, "connect", "aider", "--server", gateway.URL)
	l.Run(cli.ExitOK, "connect", "aider", "--undo")

	instance, workspace := l.Open()
	keys, err := instance.Accounts.Keys(t.Context(), workspace.ID)
	if err != nil || len(keys) != 1 || keys[0].RevokedAt.IsZero() {
		t.Errorf("the keys are %+v (%v), want one that was created and revoked", keys, err)
	}
}

func TestListShowsInstalledAndConnectedAgents(t *testing.T) {
	bin := t.TempDir()
	write(t, filepath.Join(bin, "opencode"), "")
	if err := os.Chmod(filepath.Join(bin, "opencode"), 0o700); err != nil { //nolint:gosec // a program must be executable
		t.Fatal(err)
	}
	t.Setenv("PATH", bin)
	gateway := newFakeGateway(t)
	l, _ := newLab(t, gateway)
	l.Run(cli.ExitOK, "connect", "opencode")

	out, _ := l.Run(cli.ExitOK, "connect", "--json")

	var first struct{ Agent, Installed, Connected string }
	if err := json.Unmarshal([]byte(strings.SplitN(out, "\n", 2)[0]), &first); err != nil {
		t.Fatal(err)
	}
	if first.Agent != "opencode" || first.Installed == "" || first.Connected != gateway.URL {
		t.Errorf("the first agent is %+v, want the installed and connected one", first)
	}
	if got := strings.Count(out, "\n"); got != len(agents) {
		t.Errorf("%d agents are listed, want %d", got, len(agents))
	}
}

func TestStatusline(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	gateway := newFakeGateway(t)
	l, home := newLab(t, gateway)
	const input = `{"session_id": "abc", "model": {"id": "claude-auto", "display_name": "claude-auto"}, "workspace": {"project_dir": "/src"}}`
	print := func() string {
		l.Console.In = strings.NewReader(input)
		out, _ := l.Run(cli.ExitOK, "statusline")
		return out
	}
	if got := print(); got != "claude-auto\n" {
		t.Errorf("without a connection: %q", got)
	}
	l.Run(cli.ExitOK, "connect", "claude-code")
	for session, want := range map[string]string{
		"": "claude-auto",
		`"last_model": "small", "cost_usd": "0.1", "saved_usd": "0.3", "baseline_cost_usd": "0.4"`:                "claude-auto → small · $0.1000 · saved $0.3000 (-75 %)",
		`"last_model": "small", "cost_usd": "0.5", "saved_usd": "-0.1", "baseline_cost_usd": "0.4"`:               "claude-auto → small · $0.5000 · $0.1000 more than the baseline",
		`"last_model": "small", "cost_usd": "0.5", "saved_usd": null, "baseline_cost_usd": null, "unpriced": 1`:   "claude-auto → small · at least $0.5000",
		`"last_model": null, "cost_usd": "0", "saved_usd": null, "baseline_cost_usd": null, "unpriced": 3`:        "claude-auto · cost unknown",
		`"last_model": "sim", "cost_usd": "0.5", "saved_usd": null, "baseline_cost_usd": null, "simulated": true`: "claude-auto → sim · $0.5000 · simulated",
	} {
		gateway.session = session
		if got := print(); got != want+"\n" {
			t.Errorf("%s: got %q, want %q", session, got, want)
		}
	}
	settings := readTree(t, home)[".claude/settings.json"]
	if !strings.Contains(settings, ` statusline"`) {
		t.Errorf("the settings have no status line: %s", settings)
	}
	l.Run(cli.ExitOK, "connect", "claude-code", "--undo")
	write(t, filepath.Join(home, ".claude", "settings.json"), `{"statusLine": {"type": "command", "command": "mine"}}`)
	l.Run(cli.ExitOK, "connect", "claude-code")
	if settings = readTree(t, home)[".claude/settings.json"]; !strings.Contains(settings, `"mine"`) {
		t.Errorf("the user's status line was replaced: %s", settings)
	}
	l.Console.In = strings.NewReader("")
	l.Run(cli.ExitFailed, "statusline")
}
