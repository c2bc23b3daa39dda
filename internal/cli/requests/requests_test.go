package requests

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"fairlead.dev/internal/account"
	"fairlead.dev/internal/cli"
	"fairlead.dev/internal/cli/clitest"
	"fairlead.dev/internal/cli/instance"
	"fairlead.dev/internal/requestlog"
)

func TestListRequests(t *testing.T) {
	t.Parallel()
	l := newLab(t).Seeded()
	out, err := l.Run(cli.ExitOK, "requests", "list")
	clitest.Golden(t, "list.txt", out)
	if err != "" {
		t.Errorf("stderr: got %s, want none", err)
	}
	l.Console.Terminal, l.Console.Width = true, func() int { return 100 }
	out, _ = l.Run(cli.ExitOK, "requests", "list", "--no-color")
	clitest.Golden(t, "list_100.txt", out)
	for line := range strings.Lines(out) {
		if cli.Width(strings.TrimSuffix(line, "\n")) > 100 {
			t.Errorf("wider than the terminal: %q", line)
		}
	}
}

func TestColoursRequireATerminal(t *testing.T) {
	t.Parallel()
	l := newLab(t).Seeded()
	l.Console.Terminal = true
	painted := func(args ...string) bool {
		out, _ := l.Run(cli.ExitOK, append([]string{"requests", "list"}, args...)...)
		return strings.Contains(out, "\x1b[")
	}
	if !painted() || painted("--no-color") {
		t.Errorf("colours %t by default, %t with --no-color; want true, false", painted(), painted("--no-color"))
	}
	l.Console.Env = append(l.Console.Env, "NO_COLOR=1")
	if painted() {
		t.Error("NO_COLOR does not disable colours")
	}
}

func TestRequestFilters(t *testing.T) {
	t.Parallel()
	l := newLab(t).Seeded()
	all := []requestlog.Entry{clitest.Served(), clitest.FellBack(), clitest.Failed(), clitest.Unpriced(), clitest.Free()}
	for line, want := range map[string][]int{
		"":                                       {4, 3, 2, 1, 0},
		"--decision fallback":                    {1},
		"--preset errors":                        {2},
		"--preset unpriced":                      {3},
		"--preset negative_savings":              {1},
		"--unpriced":                             {3},
		"--stream":                               {0},
		"--stream=false --provider provider-x":   {1},
		"--simulated=false --status 200":         {3, 1, 0},
		"--model small-b --tag team=search":      {1, 0},
		"--model small-b,house-model":            {3, 1, 0},
		"--model small-b --model house-model":    {3, 1, 0},
		"--from now-20m":                         {4, 3, 2},
		"--to now-20m":                           {1, 0},
		"--sort latency --limit 2":               {2, 1},
		"--before " + all[2].ID:                  {1, 0},
		"--q haiku --user u-1 --session s-1":     {1, 0},
		"--min-latency 2s --outcome rejected,ok": {},
		"--id " + all[0].ID + "," + all[4].ID:    {4, 0},
		"--key key_2":                            {2},
	} {
		out, _ := l.Run(cli.ExitOK, append([]string{"requests", "list", "--json"}, strings.Fields(line)...)...)
		got := []string{}
		for _, row := range clitest.Lines(t, out) {
			got = append(got, row["id"].(string))
		}
		ids := []string{}
		for _, i := range want {
			ids = append(ids, all[i].ID)
		}
		if diff := cmp.Diff(ids, got); diff != "" {
			t.Errorf("%s: %s", line, diff)
		}
	}
}

func TestInvalidFiltersAreReportedAsFlags(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	for line, want := range map[string]string{
		"--from 3x":                         `error: --from: invalid time "3x": use a form such as`,
		"--min-cost x":                      `error: --min-cost: "x" is not an amount`,
		"--limit 9999":                      `error: --limit: "9999" is not a number from 1 to 200` + "\n",
		"--from 2026-11-08 --to 2026-11-01": "error: --to: the end is before the start\n",
	} {
		_, err := l.Run(cli.ExitUsage, append([]string{"requests", "list"}, strings.Fields(line)...)...)
		clitest.MustContain(t, err, want)
	}
}

func TestKeysAreFilteredByNameToo(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	made, _ := l.Run(cli.ExitOK, "keys", "create", "--name", "nightly", "--json")
	e, other := clitest.Served(), clitest.FellBack()
	e.KeyID = clitest.Lines(t, made)[0]["id"].(string)
	l.Seed(e, other)
	out, _ := l.Run(cli.ExitOK, "requests", "list", "--json", "--key", "nightly")
	if rows := clitest.Lines(t, out); len(rows) != 1 || rows[0]["id"] != e.ID {
		t.Errorf("rows: %v", rows)
	}
}

func TestListSuggestsOlderRequests(t *testing.T) {
	t.Parallel()
	l := newLab(t).Seeded()
	_, err := l.Run(cli.ExitOK, "requests", "list", "--limit", "2")
	clitest.MustContain(t, err, "for older requests add  --before "+clitest.Unpriced().ID)
	out, err := l.Run(cli.ExitOK, "requests", "list", "--model", "nothing")
	if out != "" || !strings.Contains(err, "no requests match") {
		t.Errorf("%q %q", out, err)
	}
}

func TestShowRequest(t *testing.T) {
	t.Parallel()
	l := newLab(t).Seeded()
	for name, e := range map[string]requestlog.Entry{
		"show_expected.txt": clitest.Served(), "show_fallback.txt": clitest.FellBack(), "show_failed.txt": clitest.Failed(), "show_unpriced.txt": clitest.Unpriced(), "show_free.txt": clitest.Free(),
	} {
		out, err := l.Run(cli.ExitOK, "requests", "show", e.ID)
		clitest.Golden(t, name, out)
		if err != "" || strings.Contains(out, "\x1b") {
			t.Errorf("%s: stderr %q, or an escape code", name, err)
		}
		for line := range strings.Lines(out) {
			if cli.Width(strings.TrimSuffix(line, "\n")) > 120 {
				t.Errorf("%s: wider than 120 columns: %s", name, line)
			}
		}
	}
}

func TestShowRequestWithItsTexts(t *testing.T) {
	t.Parallel()
	l := newLab(t).Seeded()
	out, _ := l.Run(cli.ExitOK, "requests", "show", clitest.Served().ID, "--body")
	clitest.MustContain(t, out, "\nRequest\n{\n  \"model\": \"auto\",\n", "\nAnswer\nnot  [31mJSON\n")
	out, _ = l.Run(cli.ExitOK, "requests", "show", clitest.Failed().ID, "--body")
	clitest.MustContain(t, out, "\nPrompt and response\n  Storing bodies is disabled for the key of this request.\n")
}

func TestShowRequestAsJSON(t *testing.T) {
	t.Parallel()
	l := newLab(t).Seeded()
	out, _ := l.Run(cli.ExitOK, "requests", "show", clitest.Served().ID, "--json", "--body")
	got := clitest.Lines(t, out)
	if len(got) != 1 {
		t.Fatalf("got %d lines, want 1", len(got))
	}
	pick := map[string]any{}
	for _, name := range []string{"id", "model", "provider", "decision", "cost_usd", "baseline_cost_usd", "saved_usd", "latency_ms", "body_state"} {
		pick[name] = got[0][name]
	}
	want := map[string]any{
		"id": clitest.Served().ID, "model": "small-b", "provider": "provider-x", "decision": "expected", "cost_usd": "0.00032",
		"baseline_cost_usd": "0.0064", "saved_usd": "0.00608", "latency_ms": 412.0, "body_state": "stored",
	}
	if diff := cmp.Diff(want, pick); diff != "" {
		t.Error(diff)
	}
	trace := got[0]["trace"].(map[string]any)
	if n := len(trace["candidates"].([]any)); n != 4 || len(got[0]["attempts"].([]any)) != 1 {
		t.Errorf("candidates %d, attempts %v", n, got[0]["attempts"])
	}
	if body := got[0]["body"].(map[string]any); body["response"] != "not \x1b[31mJSON" {
		t.Errorf("body: got %v, want response %q", body, "not \x1b[31mJSON")
	}
}

// lateReader finds an entry only after a few attempts, as if the entry were still in the spool.
type lateReader struct {
	requestlog.Reader
	entry  requestlog.Entry
	misses int
}

func (r *lateReader) Entry(_ context.Context, _, id string) (requestlog.Entry, error) {
	if r.misses > 0 || id != r.entry.ID {
		r.misses--
		return requestlog.Entry{}, requestlog.ErrNotFound
	}
	return r.entry, nil
}

func TestShowWaitsForEntriesInTheSpool(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	commands := &requestCommands{instance.Commands{Console: l.Console, Options: &cli.Options{}}}
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		if err := commands.show(t.Context(), &lateReader{entry: clitest.Served(), misses: 5}, "ws", clitest.Served().ID, false); err != nil {
			t.Error(err)
		}
		if took := time.Since(began); took != 500*time.Millisecond {
			t.Errorf("took %s, want %s", took, 500*time.Millisecond)
		}
		began = time.Now()
		err := commands.show(t.Context(), &lateReader{}, "ws", "req_\x1bnone", false)
		if took := time.Since(began); err == nil || took != instance.SpoolDelay {
			t.Errorf("unknown request: got %v after %s, want an error after %s", err, took, instance.SpoolDelay)
		}
		clitest.MustContain(t, cli.ErrorText(t.Context(), err), `error: request "req_ none" not found in workspace ws`, "fix: see  fairlead requests list")
	})
}

func TestRequestsOfOtherWorkspacesAreHidden(t *testing.T) {
	t.Parallel()
	l := newLab(t).Seeded()
	i, w := l.Open()
	person, err := i.Accounts.CreateAccount(t.Context(), "a@example.com", "a long password", "")
	if err != nil {
		t.Fatal(err)
	}
	other, err := i.Accounts.CreateWorkspace(t.Context(), account.Actor{AccountID: person.ID, WorkspaceID: w.ID, Role: account.Owner}, "Other")
	if err != nil {
		t.Fatal(err)
	}
	out, _ := l.Run(cli.ExitOK, "requests", "list", "--json", "--workspace", other.ID)
	if out != "" {
		t.Errorf("rows of another workspace: got %s, want none", out)
	}
	_, errs := l.Run(cli.ExitFailed, "requests", "list", "--workspace", "ws_none")
	clitest.MustContain(t, errs, "Workspace not found.")
}
