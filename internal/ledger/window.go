package ledger

import "time"

// Window returns the bounds of the period that contains now: start inclusive, end exclusive. A day begins with the
// first moment of its local date, even if a clock change skips or repeats midnight. If a clock change repeats part of
// the previous date, that part belongs to the day that has already begun. Total has no bounds: both are zero.
func Window(p Period, zone *time.Location, now time.Time) (start, end time.Time) {
	if p == Total {
		return time.Time{}, time.Time{}
	}
	day := civil(now.In(zone))
	if next := day.AddDate(0, 0, 1); !firstMoment(next, zone).After(now) {
		day = next
	}
	from, to := span(p, day)
	return firstMoment(from, zone), firstMoment(to, zone)
}

// span returns the first date of the period that contains day and the first date of the next period.
func span(p Period, day time.Time) (from, to time.Time) {
	switch p {
	case Weekly:
		from = day.AddDate(0, 0, -(int(day.Weekday())+6)%7)
		return from, from.AddDate(0, 0, 7)
	case Monthly:
		from = day.AddDate(0, 0, 1-day.Day())
		return from, from.AddDate(0, 1, 0)
	default:
		return day, day.AddDate(0, 0, 1)
	}
}

// civil returns the date as midnight UTC, so that date arithmetic is not affected by clock changes.
func civil(local time.Time) time.Time {
	y, m, d := local.Date()
	return time.Date(y, m, d, 0, 0, 0, 0, time.UTC)
}

// firstMoment returns the earliest time at which the zone's date is date or later. time.Date cannot be used: for a midnight
// that does not exist it may return a time on the evening before.
func firstMoment(date time.Time, zone *time.Location) time.Time {
	const farthest = 26 * time.Hour // the largest offset of any zone
	at := date.Add(-farthest)
	for {
		local := at.In(zone)
		_, offset := local.Zone()
		_, change := local.ZoneBounds()
		midnight := date.Add(-time.Duration(offset) * time.Second)
		if midnight.Before(at) { // skipped by the clock change at at
			midnight = at
		}
		if change.IsZero() || midnight.Before(change) {
			return midnight.UTC()
		}
		at = change
	}
}
