package requestlog

import "time"

// DayStart returns the start of the day that contains t in the given zone, rounded to the nearest whole UTC hour, because figures are summed
// by UTC hours. For zones with an offset of whole hours, the result is midnight. If two hours are equally near, it is the earlier hour. A
// nil zone means UTC.
func DayStart(t time.Time, zone *time.Location) time.Time {
	if zone == nil {
		zone = time.UTC
	}
	// An hour belongs to the day that contains the middle of the hour.
	middle := t.UTC().Truncate(time.Hour).Add(30 * time.Minute)
	start := dayOf(middle, zone).UTC()
	early := start.Sub(start.Truncate(time.Hour))
	if early > 30*time.Minute {
		return start.Truncate(time.Hour).Add(time.Hour)
	}
	return start.Truncate(time.Hour)
}

// NextDay returns the start of the day after the day that contains t.
func NextDay(t time.Time, zone *time.Location) time.Time {
	start := DayStart(t, zone)
	// A day has 23 to 25 hours, so 36 hours after its start is around noon of the next day.
	return DayStart(start.Add(36*time.Hour), zone)
}

// DayShift returns DayStart(t, zone) minus midnight in the zone.
func DayShift(t time.Time, zone *time.Location) time.Duration {
	start := DayStart(t, zone)
	return start.Sub(dayOf(start.Add(12*time.Hour), zone))
}

// dayOf returns the start of the day that contains t in the zone. If clocks skip midnight, it is the end of the gap. If midnight occurs
// twice, it is the first midnight.
func dayOf(t time.Time, zone *time.Location) time.Time {
	if zone == nil {
		zone = time.UTC
	}
	y, m, d := t.In(zone).Date()
	start := time.Date(y, m, d, 0, 0, 0, 0, zone)
	if start.Day() != d { // midnight does not exist, and Date returned a time before the gap
		start = start.Add(time.Hour)
	}
	if before := start.Add(-time.Hour); before.Day() == d {
		return before
	}
	return start
}
