package main

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"fairlead/internal/account"
	"fairlead/internal/app"
	"fairlead/internal/config"
	"fairlead/internal/requestlog"
)

var update = flag.Bool("update", false, "write what the commands print into testdata")

// noon is the time in all tests.
var noon = time.Date(2026, 11, 15, 12, 0, 0, 0, time.UTC)

// lab is a data directory and the console of somebody who works on it.
type lab struct {
	t       *testing.T
	dir     string
	console *console
	out     *bytes.Buffer
	err     *syncBuffer
}

// syncBuffer may be read while a command writes.
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

// newLab is without a terminal, without colours and without any configuration of this machine.
func newLab(t *testing.T) *lab {
	t.Helper()
	home := t.TempDir()
	l := &lab{t: t, dir: filepath.Join(home, "data"), out: &bytes.Buffer{}, err: &syncBuffer{}}
	l.console = &console{
		in: strings.NewReader(""), out: l.out, err: l.err, width: func() int { return 0 }, zone: time.UTC,
		now: func() time.Time { return noon },
		env: []string{
			"HOME=" + home, "XDG_CONFIG_HOME=" + home, "FAIRLEAD_DETECT=false", "FAIRLEAD_DATA_DIR=" + l.dir,
			"FAIRLEAD_CONFIG=" + l.emptyConfig(home),
		},
		secret: func(context.Context) (string, error) { t.Error("asked for a secret"); return "", nil },
	}
	return l
}

// emptyConfig keeps the search for a configuration file away from this machine's own.
func (l *lab) emptyConfig(dir string) string {
	path := filepath.Join(dir, "empty.yaml")
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		l.t.Fatal(err)
	}
	return path
}

// run executes a command line and returns what it wrote; its exit code must be the wanted one.
func (l *lab) run(want int, args ...string) (out, err string) {
	l.t.Helper()
	return l.runContext(context.Background(), want, args...)
}

func (l *lab) runContext(ctx context.Context, want int, args ...string) (out, err string) {
	l.t.Helper()
	l.out.Reset()
	l.err.b.Reset()
	if got := run(ctx, l.console, args); got != want {
		l.t.Errorf("fairlead %s: exit code %d, want %d\nstdout: %s\nstderr: %s", strings.Join(args, " "), got, want, l.out, l.err)
	}
	return l.out.String(), l.err.String()
}

// open opens the lab's data beside the commands.
func (l *lab) open() (*app.Instance, account.Workspace) {
	l.t.Helper()
	c := config.Default()
	c.DataDir = l.dir
	i, err := app.OpenInstance(l.t.Context(), &config.Loaded{Config: c})
	if err != nil {
		l.t.Fatal(err)
	}
	l.t.Cleanup(func() { _ = i.Close() })
	w, err := i.Workspace(l.t.Context(), "")
	if err != nil {
		l.t.Fatal(err)
	}
	return i, w
}

// seed stores entries in the first workspace.
func (l *lab) seed(entries ...requestlog.Entry) {
	l.t.Helper()
	i, w := l.open()
	for n := range entries {
		entries[n].WorkspaceID = w.ID
	}
	if err := i.Store.Log.WriteEntries(l.t.Context(), entries); err != nil {
		l.t.Fatal(err)
	}
}

// golden compares with a file of testdata.
func golden(t *testing.T, name, got string) {
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

// lines decodes JSON lines.
func lines(t *testing.T, text string) []map[string]any {
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

func mustContain(t *testing.T, text string, parts ...string) {
	t.Helper()
	for _, part := range parts {
		if !strings.Contains(text, part) {
			t.Errorf("%q is not in:\n%s", part, text)
		}
	}
}
