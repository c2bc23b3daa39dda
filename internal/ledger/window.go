package ledger

import "time"

// Window returns the span of a period that now lies in: start inclusive, end exclusive. A day begins with the first
// moment of its local date, also where a clock change skips or repeats midnight; a date that a clock change brings
// back belongs to the day that had begun already. Total has no bounds: both are zero.
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

// span is the first date of the period that holds the day, and the first date of the next.
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

// civil is a date as midnight UTC: arithmetic on it knows no clock changes.
func civil(local time.Time) time.Time {
	y, m, d := local.Date()
	return time.Date(y, m, d, 0, 0, 0, 0, time.UTC)
}

// firstMoment is the earliest moment at which the zone's date is the given one or later. time.Date is no help here:
// for a midnight that does not exist it may answer with the evening before.
func firstMoment(date time.Time, zone *time.Location) time.Time {
	const farthest = 26 * time.Hour // no zone is farther from UTC
	at := date.Add(-farthest)
	for {
		local := at.In(zone)
		_, offset := local.Zone()
		_, change := local.ZoneBounds()
		midnight := date.Add(-time.Duration(offset) * time.Second)
		if midnight.Before(at) { // the change that begins this stretch skipped it
			midnight = at
		}
		if change.IsZero() || midnight.Before(change) {
			return midnight.UTC()
		}
		at = change
	}
}
