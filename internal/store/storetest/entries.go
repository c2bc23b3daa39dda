package storetest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/requestlog"
	"fairlead.dev/internal/route"
	"fairlead.dev/internal/store"
)

// fataler is implemented by *testing.T and *rapid.T.
type fataler interface {
	Helper()
	Fatal(args ...any)
	Fatalf(format string, args ...any)
}

func must(t fataler, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func write(t fataler, db *store.DB, entries ...requestlog.Entry) {
	t.Helper()
	must(t, db.Log.WriteEntries(context.Background(), entries))
}

func ids(entries []requestlog.Entry) []string {
	out := make([]string, len(entries))
	for i, e := range entries {
		out[i] = e.ID
	}
	return out
}

func entriesRoundTrip(t *testing.T, db *store.DB) {
	ctx, ws := t.Context(), newWorkspace()
	want := sample(ws, now)
	write(t, db, want)

	got, err := db.Log.Entry(ctx, ws, want.ID)
	must(t, err)
	body, err := db.Log.EntryBody(ctx, ws, want.ID)
	must(t, err)
	list, err := db.Log.Entries(ctx, requestlog.Filter{WorkspaceID: ws}, requestlog.Page{})
	must(t, err)

	if diff := cmp.Diff(want.Body, body); diff != "" {
		t.Errorf("body: %s", diff)
	}
	if diff := cmp.Diff([]requestlog.Entry{listed(want)}, list); diff != "" {
		t.Errorf("list: %s", diff)
	}
	want.Body = requestlog.Body{}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("entry: %s", diff)
	}
}

// figurePagesHaveTheFiguresOfEntries compares pages that have only the fields for figures with pages of whole entries.
func figurePagesHaveTheFiguresOfEntries(t *testing.T, db *store.DB) {
	ctx, ws := t.Context(), newWorkspace()
	all := make([]requestlog.Entry, 70)
	for i := range all {
		all[i] = sample(ws, now.Add(-time.Duration(i)*time.Hour))
		e := &all[i]
		switch i % 5 {
		case 1:
			e.KeyID, e.KeyName, e.Cost, e.BaselineCost, e.Simulated = "", "", nil, nil, true
		case 2:
			e.KeyName, e.Model = `a "quoted" \ käse`+"\n", ""
			e.Usage = llm.Usage{CacheWrite: 7, CacheWriteLong: 3, AudioInput: 1, AudioOutput: 2, Searches: 4, Estimated: true, ServiceTier: "flex"}
		case 3:
			e.Cache = &requestlog.Cache{Status: requestlog.CacheHit, Age: time.Minute, Source: "req_1", Saved: amountOf("0.5")}
			e.Versions = route.Versions{Router: "1", Catalog: "2", Snapshot: "3", Predictor: "4", Policy: "5", Feedback: "6"}
		case 4:
			e.Cost, e.Outcome, e.Status, e.DecisionKind = amountOf("-1.000000001"), requestlog.UpstreamError, 502, route.Fallback
		}
	}
	write(t, db, all...)
	_, err := db.Log.DeleteEntries(ctx, requestlog.Filter{WorkspaceID: ws, Lists: requestlog.Lists{ID: []string{all[3].ID, all[40].ID}}}, false)
	must(t, err)

	for name, f := range map[string]requestlog.Filter{
		"all": {}, "not simulated": {Simulated: new(false)}, "two keys": {Lists: requestlog.Lists{Key: []string{"key_1", "key_2"}}}, "two days": {From: now.Add(-30 * time.Hour), To: now.Add(-time.Hour)},
	} {
		f.WorkspaceID = ws
		want, err := db.Log.Entries(ctx, f, requestlog.Page{Limit: requestlog.MaxLimit})
		must(t, err)
		for i, e := range want {
			want[i] = requestlog.Entry{
				ID: e.ID, Owner: requestlog.Owner{WorkspaceID: ws, KeyID: e.KeyID, KeyName: e.KeyName},
				Timing:   requestlog.Timing{Time: e.Time, Latency: e.Latency, TTFT: e.TTFT},
				Call:     requestlog.Call{Endpoint: e.Endpoint, Requested: e.Requested},
				Routing:  requestlog.Routing{Model: e.Model, Provider: e.Provider, Simulated: e.Simulated, Policy: e.Policy, DecisionKind: e.DecisionKind, Versions: e.Versions},
				Result:   requestlog.Result{Outcome: e.Outcome, Status: e.Status},
				Charge:   requestlog.Charge{Usage: e.Usage, Cost: e.Cost},
				Baseline: requestlog.Baseline{BaselineModel: e.BaselineModel, BaselineCost: e.BaselineCost},
				Cache:    e.Cache,
			}
		}
		var got []requestlog.Entry
		for before := ""; ; before = got[len(got)-1].ID {
			page, err := db.Log.Entries(ctx, f, requestlog.Page{Before: before, Limit: 16, Figures: true})
			must(t, err)
			if got = append(got, page...); len(page) < 16 {
				break
			}
		}
		if diff := cmp.Diff(want, got); diff != "" || len(got) < 20 {
			t.Errorf("%s: %d entries, want the same as without paging and at least 20 (-want +got):\n%s", name, len(got), diff)
		}
	}
}

func writingAgainChangesNothing(t *testing.T, db *store.DB) {
	ctx, ws := t.Context(), newWorkspace()
	first, second := sample(ws, now), sample(ws, now.Add(-time.Minute))
	write(t, db, first)
	changed := first
	changed.Model, changed.Cost = "another", amountOf("99")

	write(t, db, first, second, second, changed)

	got, err := db.Log.Entry(ctx, ws, first.ID)
	must(t, err)
	if got.Model != first.Model {
		t.Errorf("model after the second write = %q, want %q", got.Model, first.Model)
	}
	spent, err := db.Figures.Spent(ctx, "workspace", ws, time.Time{})
	must(t, err)
	if want := *amountOf("0.00062"); spent != want {
		t.Errorf("spent %s, want %s", spent, want)
	}
	groups, err := db.Figures.Breakdown(ctx, requestlog.BreakdownQuery{RollupFilter: requestlog.RollupFilter{WorkspaceID: ws}, By: "model"})
	must(t, err)
	if len(groups) != 1 || groups[0].Requests != 2 || groups[0].Cost != spent {
		t.Errorf("figures after the second write: %+v, want 2 requests", groups)
	}
}

// batchesMayOverlap writes more entries than fit in one statement, some of which already exist.
func batchesMayOverlap(t *testing.T, db *store.DB) {
	ctx, ws := t.Context(), newWorkspace()
	all := make([]requestlog.Entry, 97)
	var there []requestlog.Entry
	for i := range all {
		all[i] = sample(ws, now.Add(-time.Duration(i)*time.Second))
		if i%3 == 0 {
			there = append(there, all[i])
		}
	}
	write(t, db, there...)

	write(t, db, all...)
	write(t, db, all...)

	n, err := db.Log.Count(ctx, requestlog.Filter{WorkspaceID: ws, Lists: requestlog.Lists{Tag: []string{"team=search"}}}, 1000)
	must(t, err)
	groups, err := db.Figures.Breakdown(ctx, requestlog.BreakdownQuery{RollupFilter: requestlog.RollupFilter{WorkspaceID: ws}})
	must(t, err)
	spent, err := db.Figures.Spent(ctx, "workspace", ws, time.Time{})
	must(t, err)
	if want := *amountOf("0.03007"); n != len(all) || len(groups) != 1 || groups[0].Requests != int64(len(all)) || groups[0].Cost != want || spent != want {
		t.Errorf("%d entries, spent %s, figures %+v; want %d entries and %s", n, spent, groups, len(all), want)
	}
	for _, e := range all {
		body, err := db.Log.EntryBody(ctx, ws, e.ID)
		must(t, err)
		if diff := cmp.Diff(e.Body, body); diff != "" {
			t.Errorf("%s: %s", e.ID, diff)
		}
	}
}

func interruptedNeverReplacesComplete(t *testing.T, db *store.DB) {
	ctx, ws := t.Context(), newWorkspace()
	earlier, within := sample(ws, now), sample(ws, now)
	write(t, db, earlier)
	cut := func(e requestlog.Entry) requestlog.Entry {
		return requestlog.Entry{ID: e.ID, Owner: requestlog.Owner{WorkspaceID: ws}, Timing: requestlog.Timing{Time: e.Time}, Result: requestlog.Result{Outcome: requestlog.Interrupted}}
	}

	write(t, db, cut(earlier), cut(within), within)

	for _, id := range []string{earlier.ID, within.ID} {
		got, err := db.Log.Entry(ctx, ws, id)
		must(t, err)
		if got.Outcome != requestlog.OK {
			t.Errorf("outcome = %s, want ok", got.Outcome)
		}
	}
}

func unusualTextIsStored(t *testing.T, db *store.DB) {
	ctx, ws := t.Context(), newWorkspace()
	e := sample(ws, now)
	e.Model, e.Session, e.Preview = "m\x00\xff", strings.Repeat("s", 100_000), "p\x00\xff"
	e.Error = &requestlog.Failure{Message: strings.Repeat("e\x00", 50_000)}
	e.Tags = map[string]string{strings.Repeat("t", 10_000): "\x00\xff"}
	e.Body = requestlog.Body{Request: []byte("\x00\xff"), Response: []byte{}}

	write(t, db, e)

	list, err := db.Log.Entries(ctx, requestlog.Filter{WorkspaceID: ws, Lists: requestlog.Lists{Session: []string{e.Session}, Tag: []string{strings.Repeat("t", 10_000)}}}, requestlog.Page{})
	must(t, err)
	if len(list) != 1 {
		t.Fatalf("found %d entries, want 1", len(list))
	}
	body, err := db.Log.EntryBody(ctx, ws, e.ID)
	must(t, err)
	if diff := cmp.Diff(e.Body, body); diff != "" {
		t.Error(diff)
	}
}

func workspacesAreIsolated(t *testing.T, db *store.DB) {
	ctx, ws := t.Context(), newWorkspace()
	mine, theirs := sample(ws, now), sample(newWorkspace(), now)
	write(t, db, mine, theirs)

	_, foreign := db.Log.Entry(ctx, ws, theirs.ID)
	_, unknown := db.Log.Entry(ctx, ws, "req_nothing")
	_, body := db.Log.EntryBody(ctx, ws, theirs.ID)
	list, err := db.Log.Entries(ctx, requestlog.Filter{WorkspaceID: ws}, requestlog.Page{})
	must(t, err)

	for name, err := range map[string]error{"foreign": foreign, "unknown": unknown, "body": body} {
		if !errors.Is(err, requestlog.ErrNotFound) || err.Error() != unknown.Error() {
			t.Errorf("%s: %v, want ErrNotFound with the same text as for an unknown entry", name, err)
		}
	}
	if diff := cmp.Diff([]string{mine.ID}, ids(list)); diff != "" {
		t.Error(diff)
	}
}

func filtersAgreeWithMatch(t *testing.T, db *store.DB) {
	const span = 3 * time.Hour
	rapid.Check(t, func(t *rapid.T) {
		ws := newWorkspace()
		var entries []requestlog.Entry
		for range rapid.IntRange(0, 40).Draw(t, "entries") {
			entries = append(entries, drawEntry(t, ws, span))
		}
		write(t, db, entries...)
		slices.SortFunc(entries, func(a, b requestlog.Entry) int { return strings.Compare(b.ID, a.ID) })
		for range 5 {
			f := drawFilter(t, ws, span)
			want := []string{}
			for _, e := range entries {
				if f.Match(&e) {
					want = append(want, e.ID)
				}
			}
			got := pages(t, db, f, rapid.IntRange(1, 20).Draw(t, "limit"))
			if diff := cmp.Diff(want, got); diff != "" {
				t.Fatalf("filter %v: %s", f.Values(), diff)
			}
			count, err := db.Log.Count(context.Background(), f, 1000)
			for errors.Is(err, requestlog.ErrTooSlow) { // retry, because a busy machine may exceed the time limit
				count, err = db.Log.Count(context.Background(), f, 1000)
			}
			must(t, err)
			if count != len(want) {
				t.Fatalf("filter %v: counted %d, want %d", f.Values(), count, len(want))
			}
		}
	})
}

// pages lists IDs page by page.
func pages(t fataler, db *store.DB, f requestlog.Filter, limit int) []string {
	t.Helper()
	all := []string{}
	page := requestlog.Page{Limit: limit}
	for {
		entries, err := db.Log.Entries(context.Background(), f, page)
		must(t, err)
		all = append(all, ids(entries)...)
		if len(entries) < limit {
			return all
		}
		page.Before = entries[len(entries)-1].ID
	}
}

func sortedListsAreDescending(t *testing.T, db *store.DB) {
	ctx, ws := t.Context(), newWorkspace()
	var entries []requestlog.Entry
	for i, cost := range []string{"0.5", "0", "12.000000001", "12", "0.6"} {
		e := sample(ws, now.Add(-time.Duration(i)*time.Minute))
		e.Cost, e.Latency = amountOf(cost), time.Duration(i*i+1)*time.Second
		e.Usage = llm.Usage{Input: int64(10 * (i % 3)), CacheRead: 5, Output: int64(i)}
		entries = append(entries, e)
	}
	unknown := sample(ws, now)
	unknown.Cost, unknown.Latency, unknown.Usage = nil, 0, llm.Usage{}
	write(t, db, append(entries, unknown)...)
	at := func(i ...int) []string {
		var out []string
		for _, n := range i {
			out = append(out, entries[n].ID)
		}
		return out
	}

	for _, test := range []struct {
		sort string
		from time.Time
		want []string
	}{
		{"cost", time.Time{}, at(2, 3, 4, 0)},
		{"latency", time.Time{}, at(4, 3, 2, 1)},
		{"cost", now.Add(-90 * time.Second), at(0, 1)},
		{"tokens", time.Time{}, at(2, 4, 1, 3)},
		{"tokens", now.Add(-90 * time.Second), at(1, 0)},
	} {
		got, err := db.Log.Entries(ctx, requestlog.Filter{WorkspaceID: ws, From: test.from}, requestlog.Page{Sort: test.sort, Limit: 4})
		must(t, err)
		if diff := cmp.Diff(test.want, ids(got)); diff != "" {
			t.Errorf("sort by %s: %s", test.sort, diff)
		}
	}
	_, err := db.Log.Entries(ctx, requestlog.Filter{WorkspaceID: ws}, requestlog.Page{Sort: "colour"})
	if e, ok := errors.AsType[*llm.Error](err); !ok || e.Param != "sort" {
		t.Errorf("sort by colour: %v, want an error for sort", err)
	}
}

func pagesAfterAnEntryAscend(t *testing.T, db *store.DB) {
	ws := newWorkspace()
	var entries []requestlog.Entry
	for i := range 5 {
		entries = append(entries, sample(ws, now.Add(time.Duration(i)*time.Millisecond)))
	}
	write(t, db, entries...)

	got, err := db.Log.Entries(t.Context(), requestlog.Filter{WorkspaceID: ws, Lists: requestlog.Lists{Model: []string{"small-b"}}}, requestlog.Page{After: entries[1].ID, Limit: 2})
	must(t, err)

	if diff := cmp.Diff(ids(entries[2:4]), ids(got)); diff != "" {
		t.Error(diff)
	}
}

func pagesAreBounded(t *testing.T, db *store.DB) {
	ws := newWorkspace()
	var entries []requestlog.Entry
	for range 210 {
		entries = append(entries, sample(ws, now))
	}
	write(t, db, entries...)

	for limit, want := range map[int]int{0: 50, 7: 7, 1000: 200} {
		got, err := db.Log.Entries(t.Context(), requestlog.Filter{WorkspaceID: ws}, requestlog.Page{Limit: limit})
		must(t, err)
		if len(got) != want {
			t.Errorf("limit %d: %d entries, want %d", limit, len(got), want)
		}
	}
	n, err := db.Log.Count(t.Context(), requestlog.Filter{WorkspaceID: ws}, 100)
	must(t, err)
	if n != 100 {
		t.Errorf("counted %d, want 100", n)
	}
}

func searchesContinueWhereTheyStopped(t *testing.T, db *store.DB) {
	ws := newWorkspace()
	var entries, want []requestlog.Entry
	for i := range 40 {
		e := sample(ws, now.Add(-time.Duration(i*i)*time.Second))
		if i%3 == 0 {
			e.Preview = "needle in a haystack"
			want = append(want, e)
		}
		entries = append(entries, e)
	}
	write(t, db, entries...)
	f := requestlog.Filter{WorkspaceID: ws, Q: "Needle", From: now.Add(-1300 * time.Second), To: now.Add(-5 * time.Second)}

	found, page, stops := []string{}, requestlog.Page{Within: 1}, 0
	for {
		some, err := db.Log.Entries(t.Context(), f, page)
		found = append(found, ids(some)...)
		unfinished, ok := errors.AsType[*requestlog.UnfinishedError](err)
		if !ok {
			must(t, err)
			break
		}
		if !errors.Is(err, requestlog.ErrTooSlow) {
			t.Errorf("search: %v, want ErrTooSlow", err)
		}
		page.Before = unfinished.Before
		stops++
	}

	if diff := cmp.Diff(ids(want[1:13]), found); diff != "" || stops < 3 {
		t.Errorf("results after %d stops, want at least 3 (-want +got):\n%s", stops, diff)
	}
}

func searchesPastTheDeadlineFail(t *testing.T, db *store.DB) {
	ctx, cancel := context.WithDeadline(t.Context(), time.Now().Add(-time.Second))
	defer cancel()

	_, err := db.Log.Entries(ctx, requestlog.Filter{WorkspaceID: newWorkspace(), Q: "x"}, requestlog.Page{})

	if !errors.Is(err, requestlog.ErrTooSlow) {
		t.Errorf("search: %v, want ErrTooSlow", err)
	}
}

func settingsAreKept(t *testing.T, db *store.DB) {
	ctx, name := t.Context(), fmt.Sprintf("setting%d", serial.Add(1))
	before, err := db.Setting(ctx, name)
	must(t, err)
	first, err := db.KeepSetting(ctx, name+"-kept", "one")
	must(t, err)
	second, err := db.KeepSetting(ctx, name+"-kept", "two")
	must(t, err)
	if first != "one" || second != "one" {
		t.Errorf("KeepSetting = %q, then %q; want one both times", first, second)
	}
	must(t, db.SetSetting(ctx, name, "one"))
	must(t, db.SetSetting(ctx, name, "two"))

	after, err := db.Setting(ctx, name)

	must(t, err)
	if before != "" || after != "two" {
		t.Errorf("setting before %q, after %q; want none and two", before, after)
	}
}
