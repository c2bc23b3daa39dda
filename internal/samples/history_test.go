package samples

import (
	"context"
	"errors"
	"testing"
	"time"

	"fairlead.dev/internal/id"
	"fairlead.dev/internal/requestlog"
	"fairlead.dev/internal/route"
)

// recorder keeps the written entries.
type recorder struct {
	entries []requestlog.Entry
	fails   error
}

func (r *recorder) WriteEntries(_ context.Context, entries []requestlog.Entry) error {
	r.entries = append(r.entries, entries...)
	return r.fails
}

func templates() []requestlog.Entry {
	entry := func(kind route.Kind, outcome requestlog.Outcome) requestlog.Entry {
		return requestlog.Entry{
			ID:      id.New("req", time.Now()),
			Owner:   requestlog.Owner{WorkspaceID: "ws_1", KeyID: requestlog.SampleKeys()[0].ID},
			Routing: requestlog.Routing{Simulated: true, DecisionKind: kind, Attempts: []requestlog.Attempt{{AttemptTiming: requestlog.AttemptTiming{Duration: time.Second}}}},
			Result:  requestlog.Result{Outcome: outcome},
			Timing:  requestlog.Timing{Latency: time.Second, Overhead: time.Millisecond},
			Labels:  requestlog.Labels{Session: "chat"},
		}
	}
	return []requestlog.Entry{
		entry(route.Expected, requestlog.OK), entry(route.Expected, requestlog.OK), entry(route.Policy, requestlog.OK),
		entry(route.Fallback, requestlog.OK), entry(route.Expected, requestlog.UpstreamError),
	}
}

func TestHistoryCoversTwoWeeksWithAnIncident(t *testing.T) {
	t.Parallel()
	end := time.Date(2026, 11, 17, 16, 20, 0, 0, time.UTC)
	h := newHistory(end, 0)
	var to recorder
	reported := 0
	if err := h.write(t.Context(), templates(), &to, func(written int) { reported = written }); err != nil {
		t.Fatal(err)
	}
	if n := len(to.entries); n < h.rows*9/10 || n > h.rows*11/10 || reported != h.rows {
		t.Errorf("%d entries, %d reported; want about %d and exactly %[3]d", n, reported, h.rows)
	}
	days, ids := map[string]int{}, map[string]bool{}
	incident, incidentFailures, failures := 0, 0, 0
	for _, e := range to.entries {
		at, ok := id.Time(e.ID)
		if !ok || !at.Equal(e.Time) || e.Time.After(end) || e.Time.Before(end.Add(-14*24*time.Hour)) {
			t.Fatalf("entry %s has time %s, want that of its ID in the last 14 days", e.ID, e.Time)
		}
		days[e.Time.Format(time.DateOnly)]++
		ids[e.ID] = true
		switch inside := e.Time.Day() == 13 && e.Time.Hour() >= incidentFrom && e.Time.Hour() < incidentTo; {
		case inside:
			incident++
			if isFailing(&e) {
				incidentFailures++
			}
		case isFailing(&e):
			failures++
		}
	}
	if len(days) != 15 || len(ids) != len(to.entries) { // the first and the last day are incomplete
		t.Errorf("%d days and %d IDs of %d entries, want 15 days and unique IDs: %v", len(days), len(ids), len(to.entries), days)
	}
	if days["2026-11-14"]*2 > days["2026-11-13"] { // Saturday and Friday
		t.Errorf("Saturday has more than half of Friday's requests: %v", days)
	}
	if incident < 10 || incidentFailures*3 < incident || failures*5 > len(to.entries) {
		t.Errorf("%d of %d requests failed in the incident, %d of %d otherwise",
			incidentFailures, incident, failures, len(to.entries)-incident)
	}
}

func TestIncidentIsVisibleOnEveryDayOfTheWeek(t *testing.T) {
	t.Parallel()
	for hours := 0; hours < 14*24; hours += 5 {
		end := time.Date(2026, 11, 9, 0, 30, 0, 0, time.UTC).Add(time.Duration(hours) * time.Hour)
		h := newHistory(end, 0)
		var to recorder
		if err := h.write(t.Context(), templates(), &to, func(int) {}); err != nil {
			t.Fatal(err)
		}
		requests, failed := 0, 0
		for i := range to.entries {
			if e := &to.entries[i]; h.inIncident(e.Time) {
				requests++
				if isFailing(e) {
					failed++
				}
				if e.Time.Before(end.AddDate(0, 0, -7)) {
					t.Fatalf("%s: the incident at %s is not in the last week", end, e.Time)
				}
			}
		}
		if requests < 20 || failed*3 < requests {
			t.Errorf("%s: %d of %d requests failed in the incident, want a third of at least 20", end, failed, requests)
		}
	}
}

func TestHistoryIsLimitedByTheRetention(t *testing.T) {
	t.Parallel()
	end := time.Date(2026, 11, 17, 16, 20, 0, 0, time.UTC)
	for retention, days := range map[time.Duration]int{0: 14, 90 * 24 * time.Hour: 14, 3 * 24 * time.Hour: 3, time.Hour: 0} {
		var to recorder
		h := newHistory(end, retention)
		if err := h.write(t.Context(), templates(), &to, func(int) {}); err != nil || h.rows != days*requestsADay {
			t.Errorf("%s: %d rows, %v; want %d", retention, h.rows, err, days*requestsADay)
		}
		if len(to.entries) > 0 && to.entries[0].Time.Before(end.Add(-time.Duration(days)*24*time.Hour)) {
			t.Errorf("%s: first entry at %s, which is before the retention", retention, to.entries[0].Time)
		}
	}
}

func TestHistoryStopsOnErrorsAndCancel(t *testing.T) {
	t.Parallel()
	broken := &recorder{fails: errors.New("disk full")}
	if err := newHistory(time.Now(), 0).write(t.Context(), templates(), broken, func(int) {}); !errors.Is(err, broken.fails) || len(broken.entries) != historyBatch {
		t.Errorf("%d entries, %v; want %d and the write error", len(broken.entries), err, historyBatch)
	}
	ctx, cancel := context.WithCancel(t.Context())
	var to recorder
	err := newHistory(time.Now(), 0).write(ctx, templates(), &to, func(int) { cancel() })
	if !errors.Is(err, context.Canceled) || len(to.entries) != historyBatch {
		t.Errorf("%d entries after a cancel, %v; want %d and context.Canceled", len(to.entries), err, historyBatch)
	}
}
