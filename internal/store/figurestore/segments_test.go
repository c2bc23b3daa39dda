package figurestore

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

func TestSegmentsCoverARangeOnce(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 15, 12, 34, 56, 0, time.UTC)
	at := func(day, hour, minute int) time.Time { return time.Date(2026, 11, day, hour, minute, 0, 0, time.UTC) }
	for _, test := range []struct {
		name     string
		from, to time.Time
		want     string
	}{
		{"within an hour", at(15, 10, 5), at(15, 10, 20), "minutes 15T10:05-15T10:20"},
		{"over hours", at(15, 8, 5), at(15, 11, 20), "minutes 15T08:05-15T09:00, hours 15T09:00-15T11:00, minutes 15T11:00-15T11:20"},
		{"old ends grow to hours", at(10, 8, 5), at(10, 11, 20), "hours 10T08:00-10T12:00"},
		{"days with finer ends", at(10, 8, 5), at(15, 11, 20), "hours 10T08:00-11T00:00, days 11T00:00-15T00:00, hours 15T00:00-15T11:00, minutes 15T11:00-15T11:20"},
		{"whole days", at(3, 0, 0), at(5, 0, 0), "days 03T00:00-05T00:00"},
		{"nothing", at(5, 0, 0), at(5, 0, 0), ""},
	} {
		var got []string
		for _, s := range segments(test.from, test.to, now, []unit{days, hours, minutes}) {
			got = append(got, fmt.Sprintf("%s %s-%s", strings.TrimPrefix(s.unit.table(), "rollup_"), s.from.Format("02T15:04"), s.to.Format("02T15:04")))
		}
		if joined := strings.Join(got, ", "); joined != test.want {
			t.Errorf("%s: %s, want %s", test.name, joined, test.want)
		}
	}
}
