package config

import (
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// Day is a duration of 24 hours. The time package has no such constant.
const Day = 24 * time.Hour

// daysPattern matches a duration that starts with days, which time.ParseDuration does not support.
var daysPattern = regexp.MustCompile(`^(\d{1,6})d(.*)$`)

// ParseDuration parses durations such as 250ms, 10s and 1h30m. Unlike the standard library it supports days: 30d, 1d12h.
func ParseDuration(text string) (time.Duration, error) {
	var days time.Duration
	rest := text
	if m := daysPattern.FindStringSubmatch(text); m != nil {
		n, err := strconv.Atoi(m[1])
		if err != nil || n > math.MaxInt64/int(Day) {
			return 0, fmt.Errorf("%q: not a duration", text)
		}
		if days, rest = time.Duration(n)*Day, m[2]; rest == "" {
			return days, nil
		}
	}
	d, err := time.ParseDuration(rest)
	if err != nil || (days > 0 && (d < 0 || d > math.MaxInt64-days || rest[0] == '+')) {
		return 0, fmt.Errorf("%q: not a duration", text)
	}
	return days + d, nil
}

// FormatDuration formats a duration for ParseDuration without trailing zero units: 10m, 1h30m, 90d.
func FormatDuration(d time.Duration) string {
	if d >= Day {
		rest := d % Day
		text := strconv.FormatInt(int64(d/Day), 10) + "d"
		if rest == 0 {
			return text
		}
		return text + FormatDuration(rest)
	}
	text := d.String()
	if strings.HasSuffix(text, "m0s") {
		text = strings.TrimSuffix(text, "0s")
	}
	if strings.HasSuffix(text, "h0m") {
		text = strings.TrimSuffix(text, "0m")
	}
	return text
}

// Size is a number of bytes, written as 512, 64KiB, 32MiB or 1GiB.
type Size int64

// The units of a Size.
const (
	KiB Size = 1 << 10
	MiB Size = 1 << 20
	GiB Size = 1 << 30
)

var sizeUnits = []struct {
	name string
	size Size
}{{"GiB", GiB}, {"MiB", MiB}, {"KiB", KiB}, {"B", 1}}

// ParseSize parses sizes such as 512, 512B, 64KiB, 32MiB or 1GiB.
func ParseSize(text string) (Size, error) {
	digits, unit := text, Size(1)
	for _, u := range sizeUnits {
		if before, ok := strings.CutSuffix(text, u.name); ok {
			digits, unit = strings.TrimSpace(before), u.size
			break
		}
	}
	n, err := strconv.ParseUint(digits, 10, 63)
	if err != nil || n > math.MaxInt64/uint64(unit) {
		return 0, fmt.Errorf("%q: not a size", text)
	}
	return Size(n) * unit, nil
}

// String formats the size in the largest unit that divides it.
func (s Size) String() string {
	for _, u := range sizeUnits[:len(sizeUnits)-1] {
		if s >= u.size && s%u.size == 0 {
			return strconv.FormatInt(int64(s/u.size), 10) + u.name
		}
	}
	return strconv.FormatInt(int64(s), 10)
}

var looseSize = regexp.MustCompile(`(?i)^\s*(\d+)\s*([kmg])i?b?\s*$`)

// SuggestSize suggests a size for spellings such as 32MB and 32m.
func SuggestSize(text string) string {
	m := looseSize.FindStringSubmatch(text)
	if m == nil {
		return ""
	}
	return m[1] + strings.ToUpper(m[2]) + "iB"
}

// SuggestDuration suggests a duration for spellings such as "10 seconds". It returns an empty string for a number without a unit.
func SuggestDuration(text string) string {
	m := looseDuration.FindStringSubmatch(text)
	if m == nil {
		return ""
	}
	unit := strings.ToLower(m[2])
	if !strings.HasPrefix(unit, "ms") && !strings.HasPrefix(unit, "milli") {
		return m[1] + unit[:1]
	}
	return m[1] + "ms"
}

var looseDuration = regexp.MustCompile(`(?i)^\s*(\d+)\s*(ms|millis(?:econds?)?|s|secs?|seconds?|m|mins?|minutes?|h|hrs?|hours?|d|days?)\s*$`)
