package ledger

import (
	"fmt"
	"time"
)

// Window returns the bounds of the period that contains now: start inclusive, end exclusive. A day begins with the
// first moment of its local date, even if a clock change skips or repeats midnight. If a clock change repeats part of
// the previous date, that part belongs to the day that has already begun. Total has no bounds: both are zero.
func Window(p Period, zone *time.Location, now time.Time) (start, end time.Time) {
	if p == Total {
		return time.Time{}, time.Time{}
	}
	y, m, d := now.In(zone).Date()
	day := time.Date(y, m, d, 0, 0, 0, 0, time.UTC) // in UTC, clock changes do not affect date arithmetic
	if next := day.AddDate(0, 0, 1); !firstMoment(next, zone).After(now) {
		day = next
	}
	next := day.AddDate(0, 0, 1)
	switch p {
	case Weekly:
		day = day.AddDate(0, 0, -(int(day.Weekday())+6)%7)
		next = day.AddDate(0, 0, 7)
	case Monthly:
		day = day.AddDate(0, 0, 1-day.Day())
		next = day.AddDate(0, 1, 0)
	case Daily, Total:
	}
	return firstMoment(day, zone), firstMoment(next, zone)
}

// zones caches the time zones of budgets by name.
type zones map[string]*time.Location

func (z zones) load(name string) (*time.Location, error) {
	if zone := z[name]; zone != nil {
		return zone, nil
	}
	zone, err := time.LoadLocation(name)
	if err != nil {
		return nil, fmt.Errorf("load budget time zone: %w", err)
	}
	z[name] = zone
	return zone, nil
}

// firstMoment returns the earliest time at which the local date is the given date or later. time.Date cannot be used: for a
// midnight that does not exist it may return a time on the evening before.
func firstMoment(date time.Time, zone *time.Location) time.Time {
	const farthest = 26 * time.Hour // an upper bound for the UTC offset of any zone
	at := date.Add(-farthest)
	for {
		local := at.In(zone)
		_, offset := local.Zone()
		_, change := local.ZoneBounds()
		midnight := date.Add(-time.Duration(offset) * time.Second)
		if midnight.Before(at) { // the clock change at this time skips midnight
			midnight = at
		}
		if change.IsZero() || midnight.Before(change) {
			return midnight.UTC()
		}
		at = change
	}
}
