package main

import (
	"context"
	"net/url"
	"reflect"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"fairlead/internal/account"
	"fairlead/internal/admin/requests"
	"fairlead/internal/requestlog"
)

func seeded(t *testing.T) *lab {
	t.Helper()
	l := newLab(t)
	l.seed(served0(), fellBack(), failed(), unpriced(), free())
	return l
}

func TestListRequests(t *testing.T) {
	t.Parallel()
	l := seeded(t)
	out, err := l.run(exitDone, "requests", "list")
	golden(t, "list.txt", out)
	if err != "" {
		t.Errorf("stderr: %s", err)
	}
	l.console.terminal, l.console.width = true, func() int { return 100 }
	out, _ = l.run(exitDone, "requests", "list", "--no-color")
	golden(t, "list_100.txt", out)
	for line := range strings.Lines(out) {
		if widthOf(strings.TrimSuffix(line, "\n")) > 100 {
			t.Errorf("wider than the terminal: %q", line)
		}
	}
}

func TestColoursNeedATerminalAndLeave(t *testing.T) {
	t.Parallel()
	l := seeded(t)
	l.console.terminal = true
	painted := func(args ...string) bool {
		out, _ := l.run(exitDone, append([]string{"requests", "list"}, args...)...)
		return strings.Contains(out, "\x1b[")
	}
	if !painted() || painted("--no-color") {
		t.Error("colours on a terminal, unless --no-color is given")
	}
	l.console.env = append(l.console.env, "NO_COLOR=1")
	if painted() {
		t.Error("NO_COLOR is not obeyed")
	}
}

func TestRequestFilters(t *testing.T) {
	t.Parallel()
	l := seeded(t)
	all := []requestlog.Entry{served0(), fellBack(), failed(), unpriced(), free()}
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
		out, _ := l.run(exitDone, append([]string{"requests", "list", "--json"}, strings.Fields(line)...)...)
		got := []string{}
		for _, row := range lines(t, out) {
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

func TestFiltersThatCannotBeReadAreNamedAsFlags(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	for line, want := range map[string]string{
		"--from 3x":                         `error: --from: "3x" is not a time such as`,
		"--min-cost x":                      `error: --min-cost: "x" is not an amount`,
		"--limit 9999":                      `error: --limit: "9999" is not a number from 1 to 200` + "\n",
		"--from 2026-11-08 --to 2026-11-01": "error: --to: it lies before the start\n",
	} {
		_, err := l.run(exitUsage, append([]string{"requests", "list"}, strings.Fields(line)...)...)
		mustContain(t, err, want)
	}
}

func TestKeysAreFilteredByNameToo(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	made, _ := l.run(exitDone, "keys", "create", "--name", "nightly", "--json")
	e, other := served0(), fellBack()
	e.KeyID = lines(t, made)[0]["id"].(string)
	l.seed(e, other)
	out, _ := l.run(exitDone, "requests", "list", "--json", "--key", "nightly")
	if rows := lines(t, out); len(rows) != 1 || rows[0]["id"] != e.ID {
		t.Errorf("rows: %v", rows)
	}
}

func TestFilterFlagsAreTheParametersOfTheAPI(t *testing.T) {
	t.Parallel()
	cmd := (&requestCommands{console: newLab(t).console, options: &options{}}).newList()
	for field := range reflect.TypeFor[requests.Filters]().Fields() {
		name := field.Tag.Get("query")
		if cmd.Flag(strings.ReplaceAll(name, "_", "-")) == nil {
			t.Errorf("no flag for %s", name)
		}
		if _, _, err := requestlog.ParseFilter(url.Values{name: {""}}, noon); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestOlderRequestsAreAnnounced(t *testing.T) {
	t.Parallel()
	l := seeded(t)
	_, err := l.run(exitDone, "requests", "list", "--limit", "2")
	mustContain(t, err, "for older ones add  --before "+unpriced().ID)
	out, err := l.run(exitDone, "requests", "list", "--model", "nothing")
	if out != "" || !strings.Contains(err, "no requests match") {
		t.Errorf("%q %q", out, err)
	}
}

func TestShowRequest(t *testing.T) {
	t.Parallel()
	l := seeded(t)
	for name, e := range map[string]requestlog.Entry{
		"show_expected.txt": served0(), "show_fallback.txt": fellBack(), "show_failed.txt": failed(), "show_unpriced.txt": unpriced(), "show_free.txt": free(),
	} {
		out, err := l.run(exitDone, "requests", "show", e.ID)
		golden(t, name, out)
		if err != "" || strings.Contains(out, "\x1b") {
			t.Errorf("%s: stderr %q, or an escape code", name, err)
		}
		for line := range strings.Lines(out) {
			if widthOf(strings.TrimSuffix(line, "\n")) > 100 {
				t.Errorf("%s: wider than 100 columns: %s", name, line)
			}
		}
	}
}

func TestShowRequestWithItsTexts(t *testing.T) {
	t.Parallel()
	l := seeded(t)
	out, _ := l.run(exitDone, "requests", "show", served0().ID, "--body")
	mustContain(t, out, "\nRequest\n{\n  \"model\": \"auto\",\n", "\nAnswer\nnot  [31mJSON\n")
	out, _ = l.run(exitDone, "requests", "show", failed().ID, "--body")
	mustContain(t, out, "\nTexts\n  Storing bodies is disabled for the key of this request.\n")
}

func TestShowRequestAsJSON(t *testing.T) {
	t.Parallel()
	l := seeded(t)
	out, _ := l.run(exitDone, "requests", "show", served0().ID, "--json", "--body")
	got := lines(t, out)
	if len(got) != 1 {
		t.Fatalf("%d lines", len(got))
	}
	pick := map[string]any{}
	for _, name := range []string{"id", "model", "provider", "decision", "cost_usd", "baseline_cost_usd", "saved_usd", "latency_ms", "body_state"} {
		pick[name] = got[0][name]
	}
	want := map[string]any{
		"id": served0().ID, "model": "small-b", "provider": "provider-x", "decision": "expected", "cost_usd": "0.00032",
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
		t.Errorf("body: %v", body)
	}
}

// lateReader finds an entry only after a few looks, as when it is on its way from the spool.
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

func TestShowWaitsForWhatIsOnItsWay(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	commands := &requestCommands{console: l.console, options: &options{}}
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		if err := commands.show(t.Context(), &lateReader{entry: served0(), misses: 5}, "ws", served0().ID, false); err != nil {
			t.Error(err)
		}
		if took := time.Since(began); took != 500*time.Millisecond {
			t.Errorf("took %s", took)
		}
		began = time.Now()
		err := commands.show(t.Context(), &lateReader{}, "ws", "req_\x1bnone", false)
		if took := time.Since(began); err == nil || took != spoolDelay {
			t.Errorf("gave up after %s: %v", took, err)
		}
		mustContain(t, errorText(t.Context(), err), `error: there is no request "req_ none" in workspace ws`, "fix: see  fairlead requests list")
	})
}

func TestRequestsOfAnotherWorkspaceAreNotSeen(t *testing.T) {
	t.Parallel()
	l := seeded(t)
	i, w := l.open()
	person, err := i.Accounts.CreateAccount(t.Context(), "a@example.com", "a long password", "")
	if err != nil {
		t.Fatal(err)
	}
	other, err := i.Accounts.CreateWorkspace(t.Context(), account.Actor{AccountID: person.ID, WorkspaceID: w.ID, Role: account.Owner}, "Other")
	if err != nil {
		t.Fatal(err)
	}
	out, _ := l.run(exitDone, "requests", "list", "--json", "--workspace", other.ID)
	if out != "" {
		t.Errorf("rows of another workspace: %s", out)
	}
	_, errs := l.run(exitFailed, "requests", "list", "--workspace", "ws_none")
	mustContain(t, errs, "Workspace not found.")
}
