package report

import (
	"context"
	"net/url"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"fairlead.dev/internal/money"
	"fairlead.dev/internal/requestlog"
)

var now = time.Date(2026, 11, 15, 12, 34, 56, 0, time.UTC)

// reader returns fixed rows and records the queries.
type reader struct {
	slices  Slices
	later   Slices // rows for queries of the last hour
	queries []Query
}

func (r *reader) Slices(_ context.Context, q *Query) (Slices, error) {
	r.queries = append(r.queries, *q)
	if !q.From.Before(now.Add(-time.Hour)) {
		return r.later, nil
	}
	return r.slices, nil
}

func row(by, then string, requests, cost int64) Row {
	return Row{By: by, Then: then, Sums: requestlog.Sums{Figures: requestlog.Figures{RequestCounts: requestlog.RequestCounts{Requests: requests}, Spending: requestlog.Spending{Cost: money.Amount(cost)}}}}
}

func query(t *testing.T, text string) Query {
	t.Helper()
	values, err := url.ParseQuery(text)
	if err != nil {
		t.Fatal(err)
	}
	q, err := Parse(values, now)
	if err != nil {
		t.Fatal(err)
	}
	return q
}

func TestQueriesReadTheFastestRollups(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		query          string
		figures, facts int // number of reads, including the read of the total
	}{
		{"by=model", 2, 0},
		{"by=key", 1, 1},
		{"by=member", 1, 1},
		{"by=member&source=all", 1, 1},
		{"by=model&key=k", 2, 1}, // the facts are incomplete, so the groups are read from the figures too
		{"by=user", 1, 1},
		{"by=user&then=model", 1, 2},
		{"by=model&then=provider&key=k", 3, 1},
		{"user=u", 0, 1},
	} {
		figures, facts := &reader{slices: Slices{Kept: true}}, &reader{slices: Slices{Kept: true, Since: now}}
		if test.query != "by=model&key=k" && test.query != "by=model&then=provider&key=k" {
			facts.slices.Since = time.Time{}
		}
		if _, err := (&Source{Figures: figures, Facts: facts}).Run(t.Context(), query(t, test.query), now); err != nil {
			t.Fatal(err)
		}
		if len(figures.queries) != test.figures || len(facts.queries) != test.facts {
			t.Errorf("%s: %d queries for figures, %d for facts; want %d and %d",
				test.query, len(figures.queries), len(facts.queries), test.figures, test.facts)
		}
	}
}

func TestResultNamesMissingData(t *testing.T) {
	t.Parallel()
	figures := &reader{slices: Slices{Kept: true, Rows: []Row{row("", "", 100, 1000)}}, later: Slices{Kept: true, Rows: []Row{row("", "", 65, 810)}}}
	facts := &reader{slices: Slices{
		Rows: []Row{row("u1", "", 30, 300), row("u2", "", 20, 500), row("u3", "", 5, 1)}, Since: now.Add(-time.Hour),
	}}
	r, err := (&Source{Figures: figures, Facts: facts}).Run(t.Context(), query(t, "by=user&limit=2&from=now-30d"), now)
	if err != nil {
		t.Fatal(err)
	}
	want := []any{int64(100), "u2", "u1", int64(15), money.Amount(10), int64(35), []string{NoteRange, NoteCovered, NoteTop}}
	var notes []string
	for _, n := range r.Notes {
		notes = append(notes, n.Code)
	}
	got := []any{r.Total.Requests, r.Groups[0].Value, r.Groups[1].Value, r.Rest.Requests, r.Rest.Cost, r.Uncovered.Requests, notes}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if r.From != now.Add(-30*24*time.Hour).Truncate(time.Hour) {
		t.Errorf("From = %s, want 30 days ago", r.From)
	}
}

// A sample can estimate more for the groups than the exact total has.
func TestSampledGroupsKeepTheExactTotal(t *testing.T) {
	t.Parallel()
	figures := &reader{slices: Slices{Kept: true, Rows: []Row{row("", "", 100, 1000)}}}
	facts := &reader{slices: Slices{Kept: true, Sampled: true, Rows: []Row{row("u1", "", 60, 1100), row("u2", "", 30, 5)}}}
	r, err := (&Source{Figures: figures, Facts: facts}).Run(t.Context(), query(t, "by=user&limit=2&model=m"), now)
	if err != nil {
		t.Fatal(err)
	}
	if r.Total.Cost != 1000 || !r.Sampled || r.Rest.Requests != 10 || r.Rest.Cost != 0 || r.Notes[0].Code != NoteSampled {
		t.Errorf("report %+v, rest %+v; want the exact total and a note", r, r.Rest)
	}
	if _, err := (&Source{Figures: figures, Facts: facts}).Run(t.Context(), query(t, "by=model&user=u&client=c&tag=a"), now); err == nil {
		t.Error("a query with an estimated total was accepted")
	}
}

func TestMemberIsTheCreatorOfTheKey(t *testing.T) {
	t.Parallel()
	figures := &reader{slices: Slices{Kept: true, Rows: []Row{row("key_1", "m", 3, 30), row("key_2", "m", 2, 20), row("key_3", "n", 1, 10)}}}
	owner := func(key string) string { return map[string]string{"key_1": "acc", "key_2": "acc"}[key] }
	r, err := (&Source{Figures: figures, Facts: figures, Owner: owner}).Run(t.Context(), query(t, "by=member&then=key"), now)
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Groups) != 2 || r.Groups[0].Value != "acc" || r.Groups[0].Cost != 50 || len(r.Groups[0].Groups) != 2 || r.Groups[0].Groups[1].Value != "key_2" || r.Groups[1].Value != "key_3" {
		t.Errorf("groups %+v, want the keys grouped by their creator", r.Groups)
	}
}

func TestParseRejectsInvalidParameters(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"by=colour", "by=tag:", "then=model", "by=model&then=model", "measure=fun", "limit=0", "limit=501", "limit=x", "by=model&q=x", "from=now&to=now-1h",
		"tag=a,b", "from=never",
	} {
		values, _ := url.ParseQuery(text)
		if _, err := Parse(values, now); err == nil {
			t.Errorf("Parse(%s) succeeded, want an error", text)
		}
	}
}

// hourly returns one request of the model "a" per hour, and one of "b" per ten hours.
type hourly struct{ spans [][2]time.Time }

func (h *hourly) Slices(_ context.Context, q *Query) (Slices, error) {
	if q.By != "" {
		h.spans = append(h.spans, [2]time.Time{q.From, q.To})
	}
	found := Slices{Kept: true}
	for at := q.From.Add(time.Hour - 1).Truncate(time.Hour); at.Before(q.To); at = at.Add(time.Hour) {
		found.Rows = append(found.Rows, row("a", "", 1, 1))
		if at.Hour()%10 == 0 {
			found.Rows = append(found.Rows, row("b", "", 1, 100))
		}
	}
	return found, nil
}

func TestSeriesCoversTheRangeOnce(t *testing.T) {
	t.Parallel()
	paris, err := time.LoadLocation("Europe/Paris")
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		query string
		step  time.Duration
		bins  int
		zone  *time.Location
	}{
		{"by=model&from=now-1h", time.Minute, 61, nil},
		{"by=model&from=now-6h", 5 * time.Minute, 73, nil},
		{"by=model&from=now-24h", time.Hour, 25, nil},
		{"by=model&from=now-30d", day, 31, paris},            // the clocks change on 25 October
		{"by=user&from=now-30d", day, 31, nil},               // facts are summed by UTC day
		{"by=model&key=k&from=now-30d", day, 31, nil},        // the query uses two dimensions
		{"by=model&from=now-500d&to=now-450d", day, 51, nil}, // the hourly roll-ups have been deleted
		{"by=model&from=now-300d", 7 * day, 43, nil},
	} {
		h := &hourly{}
		source := &Source{Figures: h, Facts: h}
		q := query(t, test.query)
		s, err := source.Series(t.Context(), q, paris, now)
		if err != nil {
			t.Fatal(err)
		}
		if s.Step != test.step || len(s.Bins) != test.bins || s.Zone != test.zone {
			t.Errorf("%s: %d bins of %s in %s, want %d of %s", test.query, len(s.Bins), s.Step, s.Zone, test.bins, test.step)
		}
		if diff := cmp.Diff([]string{"b", "a"}, s.Groups); diff != "" && test.step >= time.Hour {
			t.Errorf("%s: %s", test.query, diff)
		}
		bins := h.spans[len(h.spans)-len(s.Bins):]
		for i, span := range bins {
			if i > 0 && !span[0].Equal(bins[i-1][1]) || !span[0].Before(span[1]) {
				t.Errorf("%s: bin %d is %s after %s, want no gap or overlap", test.query, i, span, bins[i-1])
			}
		}
		if !bins[0][0].Equal(s.From) || !bins[len(bins)-1][1].Equal(s.To) {
			t.Errorf("%s: the bins cover %s to %s, want %s to %s", test.query, bins[0][0], bins[len(bins)-1][1], s.From, s.To)
		}
		if last := s.Bins[len(s.Bins)-1]; test.step == day && (last.Total.Requests < 13 || last.Groups[1].Requests == 0) {
			t.Errorf("%s: last bin %+v, want at least 13 requests of both groups", test.query, last)
		}
	}
}
