package requests

import (
	"context"
	"encoding/csv"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"fairlead.dev/internal/cli"
	"fairlead.dev/internal/cli/clitest"
	"fairlead.dev/internal/cli/instance"
	"fairlead.dev/internal/requestlog"
)

func TestExportCSV(t *testing.T) {
	t.Parallel()
	l := newLab(t).Seeded()
	out, err := l.Run(cli.ExitOK, "requests", "export", "--columns", "id,model,cost_usd,saved_usd,preview", "--decision", "expected,fallback")
	rows, errCSV := csv.NewReader(strings.NewReader(out)).ReadAll()
	if errCSV != nil || err != "" {
		t.Fatalf("%v %s", errCSV, err)
	}
	want := [][]string{
		{"id", "model", "cost_usd", "saved_usd", "preview"},
		{clitest.Free().ID, "sim-small", "0", "0", ""},
		{clitest.Unpriced().ID, "house-model", "", "", ""},
		{clitest.FellBack().ID, "small-b", "0.00032", "-0.00022", `'=Write a haiku\u001b[2J about the sea`},
		{clitest.Served().ID, "small-b", "0.00032", "0.00608", `'=Write a haiku\u001b[2J about the sea`},
	}
	if diff := cmp.Diff(want, rows); diff != "" {
		t.Error(diff)
	}
}

func TestExportReadsAllPages(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	var entries []requestlog.Entry
	for n := range 450 {
		entries = append(entries, at(-n-1, n))
	}
	l.Seed(entries...)
	path := filepath.Join(t.TempDir(), "all.jsonl")
	out, err := l.Run(cli.ExitOK, "requests", "export", "--format", "jsonl", "--columns", "id", "--output", path)
	if out != "" {
		t.Errorf("stdout: got %s, want none", out)
	}
	clitest.MustContain(t, err, "450 requests written to "+path)
	text, errRead := os.ReadFile(path)
	if errRead != nil {
		t.Fatal(errRead)
	}
	var got []string
	for _, row := range clitest.Lines(t, string(text)) {
		got = append(got, row["id"].(string))
	}
	if diff := cmp.Diff(ids(entries...), got); diff != "" {
		t.Error(diff)
	}
	if info, errStat := os.Stat(path); errStat != nil {
		t.Error(errStat)
	} else if info.Mode().Perm() != 0o600 {
		t.Errorf("mode of the export is %v, want 0600", info.Mode())
	}
	if _, errStat := os.Stat(path + ".part"); errStat == nil {
		t.Error("the unfinished file was not removed")
	}
}

func TestInterruptedExportLeavesNoFile(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	ctx, cancel := context.WithCancel(t.Context())
	store := &growing{}
	for n := range 300 {
		store.add(at(-n, n))
	}
	path := filepath.Join(t.TempDir(), "part.csv")
	interrupting := &interrupted{growing: store, cancel: cancel}
	commands := &requestCommands{instance.Commands{Console: l.Console, Options: &cli.Options{}}}
	err := commands.export(ctx, interrupting, requestlog.Filter{}, exportFlags{format: "csv", output: path})
	if cli.ExitCode(ctx, err) != cli.ExitInterrupted || cli.ErrorText(ctx, err) != "interrupted" {
		t.Errorf("export: got %v, want interrupted", err)
	}
	clitest.MustContain(t, l.Err.String(), "200 requests written before the export stopped")
	if left, _ := filepath.Glob(path + "*"); left != nil {
		t.Errorf("files after the interruption: %v, want none", left)
	}
}

func TestExportContinuesStoppedSearch(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	store := &growing{}
	for n := range 30 {
		store.add(at(-n, n))
	}
	commands := &requestCommands{instance.Commands{Console: l.Console, Options: &cli.Options{}}}
	path := filepath.Join(t.TempDir(), "all.csv")
	err := commands.export(t.Context(), &stopping{growing: store}, requestlog.Filter{Q: "x"}, exportFlags{format: "csv", output: path, columns: "id"})
	text, errRead := os.ReadFile(path)
	if got := strings.Fields(string(text)); err != nil || errRead != nil || len(got) != 31 {
		t.Errorf("%d lines, %v, %v", len(got), err, errRead)
	}
}

// stopping is a store whose search reaches its time limit once, after ten requests.
type stopping struct {
	*growing
	stopped bool
}

func (s *stopping) Entries(ctx context.Context, f requestlog.Filter, p requestlog.Page) ([]requestlog.Entry, error) {
	page, err := s.growing.Entries(ctx, f, p)
	if s.stopped {
		return page, err
	}
	s.stopped = true
	return page[:10], &requestlog.UnfinishedError{Before: page[9].ID}
}

// interrupted cancels the context after the first page.
type interrupted struct {
	*growing
	cancel context.CancelFunc
}

func (i *interrupted) Entries(ctx context.Context, f requestlog.Filter, p requestlog.Page) ([]requestlog.Entry, error) {
	page, err := i.growing.Entries(ctx, f, p)
	i.cancel()
	return page, err
}

func TestProgress(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	now := clitest.Noon
	p := &cli.Progress{Out: &b, Terminal: true, Now: func() time.Time { return now }, Began: clitest.Noon, Shown: clitest.Noon, Total: 1000}
	p.Add(100) // the bar is not drawn again this soon
	now = now.Add(500 * time.Millisecond)
	p.Add(150)
	p.End()
	if got, want := b.String(), "\r\x1b[K[######..................] 250/1,000, 500/s, 2s left\r\x1b[K"; got != want {
		t.Errorf("bar: %q, want %q", got, want)
	}
	b.Reset()
	p = &cli.Progress{Out: &b, Now: func() time.Time { return now }, Began: now, Shown: now}
	now = now.Add(9 * time.Second)
	p.Add(50)
	now = now.Add(time.Second)
	p.Add(50)
	p.End()
	if got, want := b.String(), "100 requests, 10/s\n"; got != want {
		t.Errorf("lines: %q, want %q", got, want)
	}
}
