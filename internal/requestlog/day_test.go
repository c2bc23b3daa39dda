package requestlog

import (
	"testing"
	"time"
	_ "time/tzdata" // provides the same time zones on every machine

	"pgregory.net/rapid"
)

func zoneOf(t testing.TB, name string) *time.Location {
	t.Helper()
	zone, err := time.LoadLocation(name)
	if err != nil {
		t.Fatal(err)
	}
	return zone
}

func TestDaysBeginAtMidnightOrTheNearestHour(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ zone, at, start, next, shift string }{
		{"UTC", "2026-11-15T12:34:00Z", "2026-11-15T00:00:00Z", "2026-11-16T00:00:00Z", "0s"},
		{"America/New_York", "2026-11-15T03:00:00Z", "2026-11-14T05:00:00Z", "2026-11-15T05:00:00Z", "0s"},
		{"Asia/Tokyo", "2026-11-15T15:00:00Z", "2026-11-15T15:00:00Z", "2026-11-16T15:00:00Z", "0s"},
		{"Asia/Kolkata", "2026-11-15T17:59:00Z", "2026-11-14T18:00:00Z", "2026-11-15T18:00:00Z", "-30m0s"},
		{"Asia/Kolkata", "2026-11-15T18:00:00Z", "2026-11-15T18:00:00Z", "2026-11-16T18:00:00Z", "-30m0s"},
		{"Asia/Kathmandu", "2026-11-15T18:00:00Z", "2026-11-15T18:00:00Z", "2026-11-16T18:00:00Z", "-15m0s"},
		{"America/St_Johns", "2026-11-15T03:10:00Z", "2026-11-15T03:00:00Z", "2026-11-16T03:00:00Z", "-30m0s"},
		// Clocks change on the next two days: the first has 25 hours, the second 23 hours.
		{"America/New_York", "2026-11-01T12:00:00Z", "2026-11-01T04:00:00Z", "2026-11-02T05:00:00Z", "0s"},
		{"Europe/Berlin", "2026-03-29T12:00:00Z", "2026-03-28T23:00:00Z", "2026-03-29T22:00:00Z", "0s"},
		// On these days, midnight occurs twice in Havana and does not exist in Beirut.
		{"America/Havana", "2026-11-01T04:30:00Z", "2026-11-01T04:00:00Z", "2026-11-02T05:00:00Z", "0s"},
		{"Asia/Beirut", "2026-03-29T12:00:00Z", "2026-03-28T22:00:00Z", "2026-03-29T21:00:00Z", "0s"},
	} {
		at, err := time.Parse(time.RFC3339, test.at)
		if err != nil {
			t.Fatal(err)
		}
		zone := zoneOf(t, test.zone)
		start, next := DayStart(at, zone).Format(time.RFC3339), NextDay(at, zone).Format(time.RFC3339)
		if shift := DayShift(at, zone).String(); start != test.start || next != test.next || shift != test.shift {
			t.Errorf("%s in %s: from %s to %s, shifted %s; want %s, %s, %s", test.at, test.zone, start, next, shift, test.start, test.next, test.shift)
		}
	}
	if got := DayStart(time.Date(2026, 11, 15, 1, 0, 0, 0, time.UTC), nil); !got.Equal(time.Date(2026, 11, 15, 0, 0, 0, 0, time.UTC)) {
		t.Errorf("DayStart without a zone = %s, want midnight UTC", got)
	}
}

// TestDaysFollowEachOther checks that every time is inside its day, and that each day begins where the previous day ends.
func TestDaysFollowEachOther(t *testing.T) {
	t.Parallel()
	zones := []string{
		"UTC", "Europe/Berlin", "America/New_York", "Asia/Kolkata", "Asia/Kathmandu", "Pacific/Chatham", "Australia/Lord_Howe",
		"America/St_Johns", "America/Havana", "Asia/Beirut", "Pacific/Kiritimati", "Africa/Cairo", "America/Santiago",
	}
	rapid.Check(t, func(t *rapid.T) {
		zone, err := time.LoadLocation(rapid.SampledFrom(zones).Draw(t, "zone"))
		if err != nil {
			t.Fatal(err)
		}
		at := time.Unix(rapid.Int64Range(1_600_000_000, 2_000_000_000).Draw(t, "at"), 0)
		start, next := DayStart(at, zone), NextDay(at, zone)
		if at.Before(start) || !at.Before(next) {
			t.Fatalf("%s is not in its day from %s to %s", at.UTC(), start, next)
		}
		if !DayStart(start, zone).Equal(start) || !DayStart(next, zone).Equal(next) || !DayStart(next.Add(-1), zone).Equal(start) {
			t.Fatalf("%s: %s and %s are not the boundaries of a day", at.UTC(), start, next)
		}
		if shift := DayShift(at, zone); shift.Abs() > 30*time.Minute {
			t.Fatalf("day of %s begins %s from midnight, want at most 30 minutes", start, shift)
		}
		if hours := next.Sub(start).Hours(); hours < 23 || hours > 25 {
			t.Fatalf("the day from %[2]s has %[1]v hours, want 23 to 25", hours, start)
		}
	})
}
