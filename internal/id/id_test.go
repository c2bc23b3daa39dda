package id

import (
	"regexp"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

var shape = regexp.MustCompile(`^req_[0-7][0-9A-HJKMNP-TV-Z]{25}$`)

// moment draws times that fit into 48 bits of milliseconds.
func moment() *rapid.Generator[time.Time] {
	return rapid.Map(rapid.Int64Range(0, 1<<48-1), time.UnixMilli)
}

func TestNewHasFormatAndTime(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		now := moment().Draw(t, "now")
		made := New("req", now)
		if !shape.MatchString(made) {
			t.Fatalf("New = %q, want a match of %s", made, shape)
		}
		if got, ok := Time(made); !ok || !got.Equal(now) {
			t.Fatalf("Time(%q) = %s, want %s", made, got, now)
		}
		if floor := Floor("req", now); floor > made || !shape.MatchString(floor) {
			t.Fatalf("%q sorts before its floor %q, or the floor is malformed", made, floor)
		}
	})
}

func TestIDsSortByTime(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		early, late := moment().Draw(t, "early"), moment().Draw(t, "late")
		if early.Equal(late) {
			return
		}
		if early.After(late) {
			early, late = late, early
		}
		if before, after := New("req", early), New("req", late); before >= after || before >= Floor("req", late) {
			t.Fatalf("%q of %s does not sort before %q of %s", before, early, after, late)
		}
	})
}

func TestAdjacentMillisecondsDiffer(t *testing.T) {
	t.Parallel()
	now := time.UnixMilli(1_767_355_200_000)
	for range 1000 {
		next := now.Add(time.Millisecond)
		if New("req", now) >= Floor("req", next) {
			t.Fatalf("an ID of %s sorts after the floor of the next millisecond", now)
		}
		now = next
	}
}

func TestIDsOfOneMillisecondDiffer(t *testing.T) {
	t.Parallel()
	now := time.UnixMilli(1_767_355_200_000)
	const many = 100_000
	seen := make(map[string]struct{}, many)
	for range many {
		seen[New("req", now)] = struct{}{}
	}
	if len(seen) != many {
		t.Errorf("%d of %d IDs are duplicates", many-len(seen), many)
	}
}

// The encoding is the same as in a ULID, so that other tools can read the time.
func TestEncodingIsThatOfULID(t *testing.T) {
	t.Parallel()
	full := [10]byte{255, 255, 255, 255, 255, 255, 255, 255, 255, 255}
	for _, tc := range []struct {
		ms     int64
		random [10]byte
		want   string
	}{
		{0, [10]byte{}, "x_00000000000000000000000000"},
		{0, [10]byte{9: 1}, "x_00000000000000000000000001"},
		{1, [10]byte{}, "x_00000000010000000000000000"},
		{1_469_918_176_385, [10]byte{}, "x_01ARYZ6S410000000000000000"},
		{1<<48 - 1, full, "x_7ZZZZZZZZZZZZZZZZZZZZZZZZZ"},
		{-5, [10]byte{}, "x_00000000000000000000000000"},
	} {
		if got := encode("x", time.UnixMilli(tc.ms), tc.random); got != tc.want {
			t.Errorf("encode(%d ms) = %s, want %s", tc.ms, got, tc.want)
		}
	}
}

func TestTimeRejectsOtherIDs(t *testing.T) {
	t.Parallel()
	whole := Floor("req", time.UnixMilli(1_767_355_200_000))
	body := strings.TrimPrefix(whole, "req_")
	for _, text := range []string{
		"", "_", "req_", body, "req-" + body, whole + "0", whole[:len(whole)-1], "req_" + strings.ToLower(body), "req_" + body[:25] + "U", "req_" + body[:25] + "\n",
		"req_" + body[:24] + "\r\n", "req_" + body[:25] + "=", "req_8" + body[1:], "req_Z" + body[1:], "req_" + body[:20] + "I" + body[21:], strings.Repeat("é", 14),
	} {
		if at, ok := Time(text); ok {
			t.Errorf("Time(%q) = %s, true; want false", text, at)
		}
	}
	for _, text := range []string{whole, "_" + body, "key_live_" + body} {
		if at, ok := Time(text); !ok || at.UnixMilli() != 1_767_355_200_000 {
			t.Errorf("Time(%q) = %s, %t", text, at, ok)
		}
	}
}

func FuzzTime(f *testing.F) {
	f.Add(Floor("req", time.UnixMilli(1)))
	f.Add("req_7ZZZZZZZZZZZZZZZZZZZZZZZZZ")
	f.Add("_\n0000000000000000000000000")
	f.Fuzz(func(t *testing.T, text string) {
		at, ok := Time(text)
		if !ok {
			return
		}
		prefix := text[:len(text)-27]
		if floor := Floor(prefix, at); text < floor || text[:len(prefix)+11] != floor[:len(prefix)+11] {
			t.Errorf("Time(%q) = %s, whose floor is %q", text, at, floor)
		}
	})
}

// IDs differ even if several IDs have the same millisecond, for example because the clocks of replicas differ or a clock steps back.
func TestIDsAreUniqueWhenTheClockStepsBack(t *testing.T) {
	t.Parallel()
	start := time.UnixMilli(1_793_707_200_000)
	seen := map[string]bool{}
	for _, skew := range []time.Duration{0, 5 * time.Minute, -5 * time.Minute, -time.Hour} {
		for round := range 10_000 {
			made := New("req", start.Add(skew).Add(time.Duration(round%10)*time.Millisecond))
			if seen[made] {
				t.Fatalf("%s was returned twice", made)
			}
			seen[made] = true
		}
	}
}
