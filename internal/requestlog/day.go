package requestlog

import "time"

// DayStart returns when the day of a moment begins in a zone: at the whole hour of UTC that is nearest to its midnight,
// because figures are summed up by hours of UTC. That is midnight itself wherever the zone is whole hours away from UTC.
// Between two days it is the earlier of two equally near hours. A nil zone is UTC.
func DayStart(t time.Time, zone *time.Location) time.Time {
	if zone == nil {
		zone = time.UTC
	}
	// An hour belongs to the day in which its middle lies.
	middle := t.UTC().Truncate(time.Hour).Add(30 * time.Minute)
	start := dayOf(middle, zone).UTC()
	early := start.Sub(start.Truncate(time.Hour))
	if early > 30*time.Minute {
		return start.Truncate(time.Hour).Add(time.Hour)
	}
	return start.Truncate(time.Hour)
}

// NextDay returns when the day after that of a moment begins.
func NextDay(t time.Time, zone *time.Location) time.Time {
	start := DayStart(t, zone)
	// The longest day has 25 hours and the shortest 23: noon of the next one is 36 hours on, give or take an hour.
	return DayStart(start.Add(36*time.Hour), zone)
}

// DayShift is how far from midnight in the zone the day of a moment begins: negative when before it.
func DayShift(t time.Time, zone *time.Location) time.Duration {
	start := DayStart(t, zone)
	return start.Sub(dayOf(start.Add(12*time.Hour), zone))
}

// dayOf is the first moment of the day of t in the zone: after the gap where clocks go forward at midnight, and the
// earlier of the two where they go back to it.
func dayOf(t time.Time, zone *time.Location) time.Time {
	if zone == nil {
		zone = time.UTC
	}
	y, m, d := t.In(zone).Date()
	start := time.Date(y, m, d, 0, 0, 0, 0, zone)
	if start.Day() != d { // midnight does not exist, and Date has taken a time before the gap
		start = start.Add(time.Hour)
	}
	if before := start.Add(-time.Hour); before.Day() == d {
		return before
	}
	return start
}
