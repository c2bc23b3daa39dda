package ledger

import (
	_ "embed"
	"strings"
	"testing"
	"time"
	_ "time/tzdata" // provides the same time zones on every machine

	"pgregory.net/rapid"
)

//go:embed testdata/zones.txt
var zoneNames string

func TestWindow(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		period          Period
		zone            string
		now, start, end string
	}{
		"a day in UTC":                            {Daily, "UTC", "2026-11-03T10:00:00Z", "2026-11-03T00:00:00Z", "2026-11-04T00:00:00Z"},
		"midnight starts the new day":             {Daily, "UTC", "2026-11-03T00:00:00Z", "2026-11-03T00:00:00Z", "2026-11-04T00:00:00Z"},
		"a week begins on Monday":                 {Weekly, "UTC", "2026-11-08T23:59:59Z", "2026-11-02T00:00:00Z", "2026-11-09T00:00:00Z"},
		"Monday is the first day of the week":     {Weekly, "UTC", "2026-11-09T00:00:00Z", "2026-11-09T00:00:00Z", "2026-11-16T00:00:00Z"},
		"a month":                                 {Monthly, "UTC", "2028-02-29T12:00:00Z", "2028-02-01T00:00:00Z", "2028-03-01T00:00:00Z"},
		"a short day in Berlin":                   {Daily, "Europe/Berlin", "2026-03-29T12:00:00Z", "2026-03-28T23:00:00Z", "2026-03-29T22:00:00Z"},
		"a long day in Berlin":                    {Daily, "Europe/Berlin", "2026-10-25T12:00:00Z", "2026-10-24T22:00:00Z", "2026-10-25T23:00:00Z"},
		"midnight skipped in Cairo":               {Daily, "Africa/Cairo", "2026-04-24T12:00:00Z", "2026-04-23T22:00:00Z", "2026-04-24T21:00:00Z"},
		"midnight repeated in Havana":             {Daily, "America/Havana", "2026-11-01T12:00:00Z", "2026-11-01T04:00:00Z", "2026-11-02T05:00:00Z"},
		"the evening repeated in Cairo":           {Daily, "Africa/Cairo", "2026-10-29T21:30:00Z", "2026-10-28T21:00:00Z", "2026-10-29T22:00:00Z"},
		"a date skipped in Samoa":                 {Daily, "Pacific/Apia", "2011-12-30T12:00:00Z", "2011-12-30T10:00:00Z", "2011-12-31T10:00:00Z"},
		"a date repeated in Newfoundland":         {Daily, "America/St_Johns", "2010-11-07T02:45:00Z", "2010-11-07T02:30:00Z", "2010-11-08T03:30:00Z"},
		"the UTC offset changes at a month start": {Monthly, "Asia/Kathmandu", "2026-11-03T10:00:00Z", "2026-10-31T18:15:00Z", "2026-11-30T18:15:00Z"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			start, end := Window(tt.period, location(t, tt.zone), at(t, tt.now))
			if !start.Equal(at(t, tt.start)) || !end.Equal(at(t, tt.end)) {
				t.Errorf("Window = %v to %v, want %s to %s", start, end, tt.start, tt.end)
			}
		})
	}
}

func TestTotalHasNoBounds(t *testing.T) {
	t.Parallel()
	start, end := Window(Total, time.UTC, at(t, "2026-11-03T10:00:00Z"))
	if !start.IsZero() || !end.IsZero() {
		t.Errorf("Window = %v to %v, want zero times", start, end)
	}
}

// The test covers the days around every clock change from 2024 to 2032 in every zone, and the first days of years without a change.
// Windows have no gaps or overlaps, and each local date has exactly one window. Each window begins at local
// midnight, or at the first moment after midnight if midnight does not exist.
func TestDaysInEveryZone(t *testing.T) {
	t.Parallel()
	last := at(t, "2033-01-01T00:00:00Z")
	for name := range strings.Lines(zoneNames) {
		name = strings.TrimSpace(name)
		zone := location(t, name)
		for now := at(t, "2024-01-01T12:00:00Z"); now.Before(last); {
			checkDays(t, zone, now, 5)
			_, change := now.Add(72 * time.Hour).In(zone).ZoneBounds()
			if change.IsZero() || change.Sub(now) > 366*24*time.Hour {
				now = now.AddDate(1, 0, 0)
				continue
			}
			now = change.Add(-48 * time.Hour)
		}
	}
}

func checkDays(t *testing.T, zone *time.Location, now time.Time, days int) {
	t.Helper()
	_, end := Window(Daily, zone, now)
	for range days {
		start, next := Window(Daily, zone, end)
		if !start.Equal(end) {
			t.Fatalf("%s: window from %v begins at %v: a gap or an overlap", zone, end, start)
		}
		if last, _ := Window(Daily, zone, next.Add(-1)); !last.Equal(start) {
			t.Fatalf("%s: the last moment before %v is in the window from %v, want %v", zone, next, last, start)
		}
		local, before := start.In(zone), start.Add(-1).In(zone)
		if local.Day() == before.Day() {
			t.Fatalf("%s: window begins at %v within a date", zone, local)
		}
		if h, m, s := local.Clock(); h+m+s != 0 && !changesAt(start, zone) {
			t.Fatalf("%s: window begins at %v, not at midnight", zone, local)
		}
		if length := next.Sub(start); length < 22*time.Hour || length > 26*time.Hour {
			t.Fatalf("%s: day of %v at %v", zone, length, local)
		}
		end = next
	}
}

func changesAt(t time.Time, zone *time.Location) bool {
	_, before := t.Add(-1).In(zone).Zone()
	_, after := t.In(zone).Zone()
	return before != after
}

// Weeks and months are made of whole days, and every moment is in exactly one of each.
func TestWindowsAreMadeOfDays(t *testing.T) {
	t.Parallel()
	names := strings.Fields(zoneNames)
	rapid.Check(t, func(t *rapid.T) {
		zone, err := time.LoadLocation(rapid.SampledFrom(names).Draw(t, "zone"))
		if err != nil {
			t.Fatal(err)
		}
		now := time.Unix(rapid.Int64Range(1704067200, 1988150400).Draw(t, "now"), 0)
		period := rapid.SampledFrom([]Period{Weekly, Monthly}).Draw(t, "period")
		start, end := Window(period, zone, now)
		dayStart, dayEnd := Window(Daily, zone, now)
		if now.Before(start) || !now.Before(end) || dayStart.Before(start) || dayEnd.After(end) {
			t.Fatalf("%s window %v to %v, day %v to %v, now %v", period, start, end, dayStart, dayEnd, now)
		}
		if first, _ := Window(Daily, zone, start); !first.Equal(start) {
			t.Fatalf("%s window begins at %v, its day at %v", period, start, first)
		}
		if again, _ := Window(period, zone, end); !again.Equal(end) {
			t.Fatalf("next window begins at %v, want %v", again, end)
		}
	})
}

func location(t *testing.T, name string) *time.Location {
	t.Helper()
	zone, err := time.LoadLocation(name)
	if err != nil {
		t.Fatal(err)
	}
	return zone
}

func at(t *testing.T, s string) time.Time {
	t.Helper()
	moment, err := time.Parse(time.RFC3339, s)
	if err != nil {
		t.Fatal(err)
	}
	return moment
}
