package storetest

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/money"
	"fairlead.dev/internal/requestlog"
	"fairlead.dev/internal/route"
	"fairlead.dev/internal/store"
)

// counted holds the entries and attempts that figures are computed from.
type counted struct {
	entries  []requestlog.Entry
	attempts []requestlog.Attempt
}

// recompute computes the figures directly from the entries, without the code under test. Quantiles are exact.
func recompute(c counted) requestlog.Figures {
	var f requestlog.Figures
	var latencies, ttfts []time.Duration
	for _, a := range c.attempts {
		f.Attempts++
		f.Failed += count(a.Class == llm.UpstreamTimeout)
	}
	for _, e := range c.entries {
		f.Requests++
		f.Served += count(served(&e))
		f.Errors += count(slices.Contains([]requestlog.Outcome{"upstream_error", "gateway_error", "partial", "interrupted"}, e.Outcome))
		f.Rejected += count(e.Outcome == "rejected")
		f.Expected += count(e.DecisionKind == route.Expected)
		f.Fallbacks += count(e.DecisionKind == route.Fallback)
		f.Policies += count(e.DecisionKind == route.Policy)
		hit := e.Cache != nil && e.Cache.Status == "hit"
		f.CacheHits += count(hit)
		if e.Cache != nil && e.Cache.Saved != nil {
			f.CacheSaved += *e.Cache.Saved
		}
		f.Priced += count(e.Cost != nil && !hit)
		if e.Cost != nil && !hit {
			f.Cost += *e.Cost
		}
		if e.Cost != nil && e.BaselineCost != nil {
			f.Compared++
			f.ComparedCost += *e.Cost
			f.BaselineCost += *e.BaselineCost
		}
		f.InputTokens += e.Usage.Input + e.Usage.CacheRead + e.Usage.CacheWrite
		f.CachedTokens += e.Usage.CacheRead
		f.OutputTokens += e.Usage.Output
		if served(&e) && e.Latency > 0 {
			latencies = append(latencies, e.Latency)
		}
		if served(&e) && e.TTFT > 0 {
			ttfts = append(ttfts, e.TTFT)
		}
	}
	f.LatencyP50, f.LatencyP95, f.TTFTP50 = exact(latencies, 50), exact(latencies, 95), exact(ttfts, 50)
	return f
}

// served reports whether a target served the request.
func served(e *requestlog.Entry) bool {
	return e.Model != "" && (e.Cache == nil || e.Cache.Status != "hit")
}

func count(yes bool) int64 {
	if yes {
		return 1
	}
	return 0
}

func exact(values []time.Duration, percent int) int64 {
	if len(values) == 0 {
		return 0
	}
	slices.Sort(values)
	return values[max((len(values)*percent+99)/100, 1)-1].Milliseconds()
}

// near compares figures: sums exactly, quantiles with a tolerance of a tenth (plus a millisecond for rounding).
func near(want, got requestlog.Figures) string {
	for _, q := range []struct{ want, got *int64 }{
		{&want.LatencyP50, &got.LatencyP50}, {&want.LatencyP95, &got.LatencyP95}, {&want.TTFTP50, &got.TTFTP50},
	} {
		if off := max(*q.want-*q.got, *q.got-*q.want); off*10 <= *q.want+10 {
			*q.got = *q.want
		}
	}
	return gocmp.Diff(want, got)
}

func figuresEqualRecomputation(t *testing.T, db *store.DB) {
	rapid.Check(t, func(t *rapid.T) {
		ws := newWorkspace()
		// Minutes are kept for two days, so within a day and a half both ends of a range are exact to the minute.
		const span = 36 * time.Hour
		var all []requestlog.Entry
		for range rapid.IntRange(1, 4).Draw(t, "batches") {
			var batch []requestlog.Entry
			for range rapid.IntRange(0, 15).Draw(t, "entries") {
				batch = append(batch, drawEntry(t, ws, span))
			}
			write(t, db, batch...)
			write(t, db, batch...) // delivering the batch again must not count it twice
			all = append(all, batch...)
		}
		f := requestlog.RollupFilter{
			WorkspaceID: ws,
			From:        now.Add(-time.Duration(rapid.IntRange(0, 36*60).Draw(t, "from")) * time.Minute).Truncate(time.Minute),
			To:          now.Add(time.Minute).Truncate(time.Minute),
		}
		if rapid.Bool().Draw(t, "by key") {
			f.Key = []string{"key_1"}
		}
		if rapid.Bool().Draw(t, "simulated") {
			yes := true
			f.Simulated = &yes
		}
		f.Source = rapid.SampledFrom([]string{"", "key", "playground"}).Draw(t, "source")
		if rapid.Bool().Draw(t, "by policy") {
			f.Policy = []string{"a", words[len(words)-1]}
		}
		if rapid.Bool().Draw(t, "by model") {
			f.Model = []string{"a", "it's", "small-b"}
		}
		if rapid.Bool().Draw(t, "by provider") {
			f.Provider = []string{"", "x,y", "bad\xffutf"}
		}
		for by, name := range map[string]func(*requestlog.Entry) string{
			"":         func(*requestlog.Entry) string { return "" },
			"key":      func(e *requestlog.Entry) string { return e.KeyID },
			"model":    func(e *requestlog.Entry) string { return e.Model },
			"provider": func(e *requestlog.Entry) string { return e.Provider },
			"policy":   func(e *requestlog.Entry) string { return e.Policy },
		} {
			checkBreakdown(t, db, f, all, by, name)
		}
		checkSeries(t, db, f, all, rapid.SampledFrom([]time.Duration{time.Minute, time.Hour, 24 * time.Hour}).Draw(t, "step"))
	})
}

// selected groups the entries and attempts that a roll-up filter selects.
func selected[K comparable](f requestlog.RollupFilter, entries []requestlog.Entry, group func(*requestlog.Entry) K) map[K]counted {
	whole := requestlog.Filter{
		WorkspaceID: f.WorkspaceID, From: f.From, To: f.To,
		Lists:     requestlog.Lists{Key: f.Key, Model: f.Model, Provider: f.Provider, Policy: f.Policy},
		Simulated: f.Simulated, Source: f.Source,
	}
	groups := map[K]counted{}
	for _, e := range entries {
		if whole.Match(&e) {
			c := groups[group(&e)]
			c.entries = append(c.entries, e)
			groups[group(&e)] = c
		}
		for _, a := range e.Attempts {
			tried := e
			tried.Model, tried.Provider = a.Model, a.Provider
			if whole.Match(&tried) {
				c := groups[group(&tried)]
				c.attempts = append(c.attempts, a)
				groups[group(&tried)] = c
			}
		}
	}
	return groups
}

func checkBreakdown(t *rapid.T, db *store.DB, f requestlog.RollupFilter, all []requestlog.Entry, by string, name func(*requestlog.Entry) string) {
	groups := selected(f, all, func(e *requestlog.Entry) string { return requestlog.Term(name(e)) })
	got, err := db.Figures.Breakdown(context.Background(), requestlog.BreakdownQuery{RollupFilter: f, By: by})
	must(t, err)
	if len(got) != len(groups) {
		t.Fatalf("%d groups by %q, want %d", len(got), by, len(groups))
	}
	if !slices.IsSortedFunc(got, func(a, b requestlog.Group) int { return cmp.Compare(b.Requests, a.Requests) }) {
		t.Fatal("groups are not sorted by requests")
	}
	for _, g := range got {
		if diff := near(recompute(groups[g.Name]), g.Figures); diff != "" {
			t.Fatalf("%s %q: %s", by, g.Name, diff)
		}
	}
}

func checkSeries(t *rapid.T, db *store.DB, f requestlog.RollupFilter, all []requestlog.Entry, step time.Duration) {
	by := selected(f, all, func(e *requestlog.Entry) time.Time { return e.Time.Truncate(step) })
	got, err := db.Figures.Series(context.Background(), requestlog.SeriesQuery{RollupFilter: f, Step: step})
	must(t, err)
	missing := len(by)
	for _, b := range got {
		if _, ok := by[b.Start]; ok {
			missing--
		}
		if diff := near(recompute(by[b.Start]), b.Figures); diff != "" {
			t.Fatalf("bucket %s of %s: %s", b.Start, step, diff)
		}
	}
	if missing != 0 {
		t.Fatalf("%d buckets with entries are missing, want none", missing)
	}
}

func volumesCountAnyFilter(t *testing.T, db *store.DB) {
	rapid.Check(t, func(t *rapid.T) {
		ws, span := newWorkspace(), 5*time.Hour
		var all []requestlog.Entry
		for range rapid.IntRange(0, 25).Draw(t, "entries") {
			all = append(all, drawEntry(t, ws, span))
		}
		write(t, db, all...)
		f := drawFilter(t, ws, span)
		f.From, f.To = now.Add(-span), now.Add(time.Millisecond)

		got, err := db.Log.Volumes(context.Background(), requestlog.VolumeQuery{Filter: f, Step: time.Hour, Within: time.Minute})
		must(t, err)

		want := map[time.Time]requestlog.Volume{}
		for at := f.From.Truncate(time.Hour); at.Before(f.To); at = at.Add(time.Hour) {
			want[at] = requestlog.Volume{Start: at}
		}
		for _, e := range all {
			if !f.Match(&e) {
				continue
			}
			v := want[e.Time.Truncate(time.Hour)]
			v.Requests++
			v.Errors += count(slices.Contains([]requestlog.Outcome{"upstream_error", "gateway_error", "partial", "interrupted"}, e.Outcome))
			v.Fallbacks += count(e.DecisionKind == route.Fallback)
			want[v.Start] = v
		}
		counted := map[time.Time]requestlog.Volume{}
		for _, v := range got {
			counted[v.Start] = v
		}
		if diff := gocmp.Diff(want, counted); diff != "" || len(got) != len(want) {
			t.Fatalf("%v: %s", f.Values(), diff)
		}
	})
}

func volumesReportUncountedTime(t *testing.T, db *store.DB) {
	ws := newWorkspace()
	for age := range 40 {
		write(t, db, sample(ws, now.Add(-time.Duration(age)*time.Hour)))
	}
	q := requestlog.VolumeQuery{
		Filter: requestlog.Filter{WorkspaceID: ws, Q: "haiku", From: now.Add(-48 * time.Hour), To: now.Add(time.Hour)}, Step: time.Hour, Within: 1,
	}
	got, err := db.Log.Volumes(t.Context(), q)

	unfinished, ok := errors.AsType[*requestlog.UnfinishedError](err)
	if !ok || unfinished.Before == "" || len(got) != 50 {
		t.Fatalf("Volumes: %v with %d buckets, want it unfinished with 50", err, len(got))
	}
	for _, v := range got {
		if v.Start.Before(now.Add(-time.Hour)) && v.Requests > 0 {
			t.Errorf("the bucket at %s has requests although the search stopped before %v", v.Start, unfinished.Before)
		}
	}
	q.Step, q.Within = time.Second, time.Minute
	if _, err := db.Log.Volumes(t.Context(), q); err == nil {
		t.Error("Volumes with too many buckets returned no error")
	}
}

func seriesHasNoGaps(t *testing.T, db *store.DB) {
	ws := newWorkspace()
	write(t, db, sample(ws, now.Add(-100*time.Hour)), sample(ws, now.Add(-97*time.Hour)), sample(ws, now))

	for _, test := range []struct {
		name  string
		query requestlog.SeriesQuery
		first time.Time
		want  []int64
	}{
		{
			"days from the first request",
			requestlog.SeriesQuery{RollupFilter: requestlog.RollupFilter{WorkspaceID: ws}, Step: 24 * time.Hour},
			time.Date(2026, 11, 11, 0, 0, 0, 0, time.UTC),
			[]int64{2, 0, 0, 0, 1},
		},
		{
			"days from the first request because the range is too long",
			requestlog.SeriesQuery{RollupFilter: requestlog.RollupFilter{WorkspaceID: ws, From: now.AddDate(-30, 0, 0), To: now.Add(time.Minute)}, Step: 24 * time.Hour},
			time.Date(2026, 11, 11, 0, 0, 0, 0, time.UTC),
			[]int64{2, 0, 0, 0, 1},
		},
		{
			"expired minutes become hours",
			requestlog.SeriesQuery{RollupFilter: requestlog.RollupFilter{WorkspaceID: ws, From: now.Add(-100 * time.Hour), To: now.Add(-96 * time.Hour)}, Step: time.Second},
			time.Date(2026, 11, 11, 8, 0, 0, 0, time.UTC),
			[]int64{1, 0, 0, 1, 0},
		},
		{
			"minutes",
			requestlog.SeriesQuery{RollupFilter: requestlog.RollupFilter{WorkspaceID: ws, From: now.Add(-2 * time.Minute)}, Step: time.Minute},
			time.Date(2026, 11, 15, 12, 32, 0, 0, time.UTC),
			[]int64{0, 0, 1, 0},
		},
	} {
		got, err := db.Figures.Series(t.Context(), test.query)
		must(t, err)
		var requests []int64
		for _, b := range got {
			requests = append(requests, b.Requests)
		}
		if diff := gocmp.Diff(test.want, requests); diff != "" {
			t.Errorf("%s: %s", test.name, diff)
		} else if !got[0].Start.Equal(test.first) {
			t.Errorf("%s: begins at %s, want %s", test.name, got[0].Start, test.first)
		}
	}
}

func volumesOfALongRangeStartWithTheFirstEntry(t *testing.T, db *store.DB) {
	ws := newWorkspace()
	q := requestlog.VolumeQuery{Filter: requestlog.Filter{WorkspaceID: ws, From: now.AddDate(-30, 0, 0), To: now.Add(time.Minute)}, Step: 24 * time.Hour, Within: time.Minute}
	for _, want := range [][]int64{{0}, {1, 0, 1}} {
		got, err := db.Log.Volumes(t.Context(), q)
		must(t, err)
		var requests []int64
		for _, v := range got {
			requests = append(requests, v.Requests)
		}
		if diff := gocmp.Diff(want, requests); diff != "" {
			t.Error(diff)
		}
		write(t, db, sample(ws, now.Add(-48*time.Hour)), sample(ws, now))
	}
}

func daysFollowTheTimeZone(t *testing.T, db *store.DB) {
	ws := newWorkspace()
	at := func(day, hour, minute int) time.Time { return time.Date(2026, 11, day, hour, minute, 0, 0, time.UTC) }
	write(t, db, sample(ws, at(12, 4, 59)), sample(ws, at(12, 5, 1)), sample(ws, at(12, 17, 59)), sample(ws, at(12, 18, 5)), sample(ws, at(12, 23, 30)))
	type bucket struct {
		Start    string
		Requests int64
	}
	for _, test := range []struct {
		zone string
		want []bucket
	}{
		{"UTC", []bucket{{"11-12 00:00", 5}, {"11-13 00:00", 0}}},
		{"America/New_York", []bucket{{"11-11 05:00", 1}, {"11-12 05:00", 4}, {"11-13 05:00", 0}}},
		{"Asia/Tokyo", []bucket{{"11-11 15:00", 2}, {"11-12 15:00", 3}}},
		{"Asia/Kolkata", []bucket{{"11-11 18:00", 3}, {"11-12 18:00", 2}}},
	} {
		zone, err := time.LoadLocation(test.zone)
		must(t, err)
		rollup := requestlog.RollupFilter{WorkspaceID: ws, From: at(12, 0, 0), To: at(13, 9, 0)}
		series, err := db.Figures.Series(t.Context(), requestlog.SeriesQuery{RollupFilter: rollup, Step: 24 * time.Hour, Zone: zone})
		must(t, err)
		f := requestlog.Filter{WorkspaceID: ws, From: rollup.From, To: rollup.To}
		volumes, err := db.Log.Volumes(t.Context(), requestlog.VolumeQuery{Filter: f, Step: 24 * time.Hour, Zone: zone, Within: time.Minute})
		must(t, err)
		var summed, counted []bucket
		for _, b := range series {
			summed = append(summed, bucket{b.Start.Format("01-02 15:04"), b.Requests})
		}
		for _, v := range volumes {
			counted = append(counted, bucket{v.Start.Format("01-02 15:04"), v.Requests})
		}
		if diff := gocmp.Diff(test.want, summed); diff != "" {
			t.Errorf("%s, from roll-ups: %s", test.zone, diff)
		}
		if diff := gocmp.Diff(test.want, counted); diff != "" {
			t.Errorf("%s, counted: %s", test.zone, diff)
		}
	}
	// Hours are kept for 400 days. For earlier times there are only UTC days.
	tokyo, err := time.LoadLocation("Asia/Tokyo")
	must(t, err)
	old, err := db.Figures.Series(t.Context(), requestlog.SeriesQuery{RollupFilter: requestlog.RollupFilter{WorkspaceID: ws, From: now.AddDate(0, 0, -401)}, Step: 24 * time.Hour, Zone: tokyo})
	must(t, err)
	if start := old[0].Start; start.Hour() != 0 {
		t.Errorf("a series over 400 days starts at %s, want midnight UTC", start)
	}
}

func figuresRejectInvalidQueries(t *testing.T, db *store.DB) {
	ws := newWorkspace()
	write(t, db, sample(ws, now.AddDate(0, 0, -150)))
	_, tooMany := db.Figures.Series(t.Context(), requestlog.SeriesQuery{RollupFilter: requestlog.RollupFilter{WorkspaceID: ws, From: now.AddDate(-9, 0, 0)}, Step: time.Hour})
	_, unknown := db.Figures.Breakdown(t.Context(), requestlog.BreakdownQuery{RollupFilter: requestlog.RollupFilter{WorkspaceID: ws}, By: "colour"})

	for param, err := range map[string]error{"from": tooMany, "by": unknown} {
		if e, ok := errors.AsType[*llm.Error](err); !ok || e.Kind != llm.InvalidRequest || e.Param != param {
			t.Errorf("%s: %v, want InvalidRequest", param, err)
		}
	}
}

func spendingComesFromTheLedger(t *testing.T, db *store.DB) {
	ctx, ws := t.Context(), newWorkspace()
	one, two := ws+"_key1", ws+"_key2"
	var written []string
	for _, spend := range []struct {
		key  string
		age  time.Duration
		cost *money.Amount
	}{{one, time.Minute, amountOf("0.25")}, {one, 50 * time.Hour, amountOf("4")}, {two, time.Minute, amountOf("0.000000001")}, {two, time.Minute, nil}} {
		e := sample(ws, now.Add(-spend.age))
		e.KeyID, e.Cost = spend.key, spend.cost
		write(t, db, e)
		written = append(written, e.ID)
	}
	spent := func(kind, id string, since time.Time, except ...string) string {
		t.Helper()
		a, err := db.Figures.Spent(ctx, kind, id, since, except...)
		must(t, err)
		return a.String()
	}
	day := now.Add(-24 * time.Hour)

	got := []string{
		spent("key", one, day), spent("key", one, time.Time{}), spent("key", two, day), spent("workspace", ws, day), spent("key", "unknown", day),
		spent("key", one, day, written[0]), spent("key", one, time.Time{}, written[0], "req_elsewhere"), spent("key", one, day, written[1]),
		spent("workspace", ws, day, slices.Concat(slices.Repeat([]string{"req_elsewhere"}, 700), written[2:])...),
	}
	if diff := gocmp.Diff([]string{"0.25", "4.25", "0.000000001", "0.250000001", "0", "0", "4", "0.25", "0.25"}, got); diff != "" {
		t.Error(diff)
	}
	byKey, err := db.Figures.Spending(ctx, ws, day)
	must(t, err)
	if diff := gocmp.Diff(map[string]money.Amount{one: 250_000_000, two: 1}, byKey); diff != "" {
		t.Error(diff)
	}
	if _, err := db.Figures.Spent(ctx, "planet", ws, day); err == nil {
		t.Error("Spent of an unknown kind of owner returned no error")
	}
}
