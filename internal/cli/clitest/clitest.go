// Package clitest runs commands against a temporary data directory, for tests.
package clitest

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"fairlead.dev/internal/account"
	adminpolicies "fairlead.dev/internal/admin/policies"
	"fairlead.dev/internal/cli"
	"fairlead.dev/internal/cli/instance"
	"fairlead.dev/internal/config"
	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/replay"
	"fairlead.dev/internal/requestlog"
)

var update = flag.Bool("update", false, "write the output of commands to testdata")

// Noon is the current time in tests.
var Noon = time.Date(2026, 11, 15, 12, 0, 0, 0, time.UTC)

// Lab is a data directory with a console to run commands on it.
type Lab struct {
	T       *testing.T
	Dir     string
	Console *cli.Console
	Out     *bytes.Buffer
	Err     *syncBuffer

	Commands []cli.Command
}

// syncBuffer is a buffer that can be read while a command writes to it.
type syncBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (s *syncBuffer) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(p)
}

func (s *syncBuffer) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}

// New returns a lab without a terminal, without colours and isolated from the configuration of this machine.
func New(t *testing.T, commands ...cli.Command) *Lab {
	t.Helper()
	home := t.TempDir()
	empty := filepath.Join(home, "empty.yaml") // prevents the use of a configuration file on this machine
	if err := os.WriteFile(empty, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	l := &Lab{T: t, Dir: filepath.Join(home, "data"), Out: &bytes.Buffer{}, Err: &syncBuffer{}, Commands: commands}
	l.Console = &cli.Console{
		In: strings.NewReader(""), Out: l.Out, Err: l.Err, Width: func() int { return 0 }, Zone: time.UTC, Version: "dev",
		Now: func() time.Time { return Noon },
		Env: []string{
			"HOME=" + home, "XDG_CONFIG_HOME=" + home, "FAIRLEAD_DETECT=false", "FAIRLEAD_DATA_DIR=" + l.Dir,
			"FAIRLEAD_CONFIG=" + empty,
		},
		Secret: func(context.Context) (string, error) { t.Error("the command asked for a secret"); return "", nil },
	}
	return l
}

// Run executes a command line, checks its exit code and returns its output.
func (l *Lab) Run(want int, args ...string) (out, err string) {
	l.T.Helper()
	return l.RunContext(context.Background(), want, args...)
}

// RunContext is like Run with a context.
func (l *Lab) RunContext(ctx context.Context, want int, args ...string) (out, err string) {
	l.T.Helper()
	l.Out.Reset()
	l.Err.b.Reset()
	if got := cli.Run(ctx, l.Console, args, l.Commands...); got != want {
		l.T.Errorf("fairlead %s: exit code %d, want %d\nstdout: %s\nstderr: %s", strings.Join(args, " "), got, want, l.Out, l.Err)
	}
	return l.Out.String(), l.Err.String()
}

// Open opens the lab's data directory.
func (l *Lab) Open() (*instance.Instance, account.Workspace) {
	l.T.Helper()
	c := config.Default()
	c.DataDir = l.Dir
	i, err := instance.Open(l.T.Context(), &config.Loaded{Config: c})
	if err != nil {
		l.T.Fatal(err)
	}
	l.T.Cleanup(func() { _ = i.Close() })
	w, err := i.Workspace(l.T.Context(), "")
	if err != nil {
		l.T.Fatal(err)
	}
	return i, w
}

// Seed stores entries in the first workspace.
func (l *Lab) Seed(entries ...requestlog.Entry) {
	l.T.Helper()
	i, w := l.Open()
	for n := range entries {
		entries[n].WorkspaceID = w.ID
	}
	if err := i.Store.Log.WriteEntries(l.T.Context(), entries); err != nil {
		l.T.Fatal(err)
	}
}

// Golden compares output with a file in testdata.
func Golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(strings.Split(string(want), "\n"), strings.Split(got, "\n")); diff != "" {
		t.Errorf("%s (run with -update to accept):\n%s", name, diff)
	}
}

// Lines decodes JSON lines.
func Lines(t *testing.T, text string) []map[string]any {
	t.Helper()
	var list []map[string]any
	for line := range strings.Lines(text) {
		var one map[string]any
		if err := json.Unmarshal([]byte(line), &one); err != nil {
			t.Fatalf("not JSON: %s: %v", line, err)
		}
		list = append(list, one)
	}
	return list
}

// MustContain fails the test for every part that is missing from text.
func MustContain(t *testing.T, text string, parts ...string) {
	t.Helper()
	for _, part := range parts {
		if !strings.Contains(text, part) {
			t.Errorf("%q is not in:\n%s", part, text)
		}
	}
}

// WithProviders configures a working, a failing and a disabled provider.
func (l *Lab) WithProviders() *Lab {
	l.T.Helper()
	upstream := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer sk-0123456789abcdef" || r.URL.Path != "/v1/models" {
			w.WriteHeader(http.StatusUnauthorized)
			_, _ = w.Write([]byte(`{"error":{"message":"Incorrect API key provided","type":"invalid_request_error","code":"invalid_api_key"}}`))
			return
		}
		_, _ = w.Write([]byte(`{"data":[{"id":"one"},{"id":"two"}]}`))
	}))
	l.T.Cleanup(upstream.Close)
	l.Configure(`simulator: "off"
providers:
  - name: good
    base_url: ` + upstream.URL + `/v1
    api_keys: ["sk-0123456789abcdef"]
    models:
      - {name: house-model, upstream: one, input_per_mtok: 0.4, output_per_mtok: 1.6, cache_read_per_mtok: 0.1, context: 128000, quality: 0.7, abilities: [tools, vision]}
      - {name: house-embed, upstream: two, kind: embedding, input_per_mtok: 0.02, dimensions: 1536}
  - name: bad
    base_url: ` + upstream.URL + `/v1
    api_keys: ["sk-9999999999999999"]
    models: [{name: unpriced-model, upstream: one}, {name: house-model, upstream: one, input_per_mtok: 0, output_per_mtok: 0}]
  - name: resting
    base_url: ` + upstream.URL + `/v1
    disabled: true
`)
	return l
}

// Configure writes the lab's configuration file.
func (l *Lab) Configure(text string) {
	l.T.Helper()
	path := filepath.Join(l.T.TempDir(), "fairlead.yaml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		l.T.Fatal(err)
	}
	l.Console.Env = append(l.Console.Env, "FAIRLEAD_CONFIG="+path)
}

// File writes an input file for a command and returns its path.
func (l *Lab) File(name, text string) string {
	l.T.Helper()
	path := filepath.Join(l.T.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		l.T.Fatal(err)
	}
	return path
}

// routing opens the lab's data directory with providers, policies and ratings.
func (l *Lab) routing() (*instance.Instance, account.Workspace, *instance.Routing) {
	l.T.Helper()
	c := config.Default()
	c.DataDir, c.Detect = l.Dir, false
	i, err := instance.Open(l.T.Context(), &config.Loaded{Config: c})
	if err != nil {
		l.T.Fatal(err)
	}
	l.T.Cleanup(func() { _ = i.Close() })
	w, err := i.Workspace(l.T.Context(), "")
	if err != nil {
		l.T.Fatal(err)
	}
	r, err := i.Routing(l.T.Context(), func(string) string { return "" }, "test", slog.New(slog.DiscardHandler))
	if err != nil {
		l.T.Fatal(err)
	}
	return i, w, r
}

// StoreDecided routes the prompts as a server would and stores the requests, oldest first, with the versions of their decisions.
// It returns their IDs.
func (l *Lab) StoreDecided(change func(*requestlog.Entry), prompts ...string) []string {
	l.T.Helper()
	i, w, r := l.routing()
	var ids []string
	for n, prompt := range prompts {
		body := []byte(`{"model":"auto:cost","messages":[{"role":"user","content":"` + prompt + `"}]}`) // auto:cost selects the cheapest model independently of the prediction
		d, err := r.Explain(l.T.Context(), adminpolicies.ExplainQuery{WorkspaceID: w.ID, Body: body})
		if err != nil {
			l.T.Fatal(err)
		}
		e, first := Served(), d.Plan[0]
		e.ID, e.Decision, e.Versions = RequestID(e.Time, n), d, d.Versions
		e.Model, e.Provider, e.Policy = first.Model.Name, first.Provider, d.Policy
		e.Usage = llm.Usage{Input: 1000, Output: 500}
		e.Cost = new(first.Price.Cost(e.Usage))
		e.WorkspaceID, e.Body.Request, e.BodyState = w.ID, body, requestlog.BodyStored
		if change != nil {
			change(&e)
		}
		if err := i.Store.Log.WriteEntries(l.T.Context(), []requestlog.Entry{e}); err != nil {
			l.T.Fatal(err)
		}
		ids = append(ids, e.ID)
	}
	rules := r.ActiveRules(w.ID, nil)
	if err := replay.Keep(context.Background(), i.Store.Config, rules.Snapshot, rules.Policies, nil); err != nil {
		l.T.Fatal(err)
	}
	return ids
}

// Seeded stores the sample entries and returns the lab.
func (l *Lab) Seeded() *Lab {
	l.T.Helper()
	l.Seed(Served(), FellBack(), Failed(), Unpriced(), Free())
	return l
}

// FirstPolicies contains two policies, one of them enabled.
const FirstPolicies = `# what we allow
policies:
  - name: no-code-outside
    when: >-
      request.task == "code" &&
      key.tags["team"] == "infra"
    allow: {providers: [simulator]}
  - name: nights
    enabled: false
    when: time.hour < 6
    deny: Sleep.
`

// Squeeze returns the lines of text with runs of spaces replaced by one space, so that column widths do not matter.
func Squeeze(text string) []string {
	spaces := regexp.MustCompile(` {2,}`)
	var rows []string
	for line := range strings.Lines(text) {
		rows = append(rows, strings.TrimSpace(spaces.ReplaceAllString(line, "  ")))
	}
	return rows
}
