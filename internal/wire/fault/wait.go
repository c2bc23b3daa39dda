package fault

import (
	"math"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"time"
)

const (
	longestWait = 5 * time.Minute
	absurdWait  = 7 * 24 * time.Hour // longer waits are treated as invalid and ignored
)

var tryAgain = regexp.MustCompile(`(?i)try again in ((?:[0-9.]+(?:ms|s|m|h))+)`)

// retryAfter returns the time that the provider asks clients to wait, at most longestWait. It returns 0 if the provider does not ask for a
// wait.
func retryAfter(status int, h http.Header, f fault, now time.Time) time.Duration {
	wait, ok := askedWait(status, h, f, now)
	if !ok {
		wait, ok = resets(h, now, status == http.StatusTooManyRequests)
	}
	if !ok {
		return 0
	}
	return min(wait, longestWait)
}

// passes reports whether the provider asks clients to wait, for any length of time.
func passes(status int, h http.Header, f fault, now time.Time) bool {
	_, asked := askedWait(status, h, f, now)
	return asked || f.delay != ""
}

// askedWait returns the time to wait if the response states it explicitly. Rate limit headers are ignored, because some providers send
// them with every response.
func askedWait(status int, h http.Header, f fault, now time.Time) (time.Duration, bool) {
	for _, read := range []func() (time.Duration, bool){
		func() (time.Duration, bool) { return inUnits(h.Get("Retry-After-Ms"), time.Millisecond) },
		func() (time.Duration, bool) { return inUnits(h.Get("Retry-After"), time.Second) },
		func() (time.Duration, bool) { return untilDate(h, now) },
		func() (time.Duration, bool) { return parseWait(f.delay) },
		func() (time.Duration, bool) { return saidWait(f.message, status == http.StatusTooManyRequests) },
	} {
		if wait, ok := read(); ok {
			return wait, true
		}
	}
	return 0, false
}

func sane(d time.Duration) (time.Duration, bool) { return d, d > 0 && d <= absurdWait }

// inUnits parses a decimal number as a duration in the given unit.
func inUnits(value string, unit time.Duration) (time.Duration, bool) {
	n, err := strconv.ParseFloat(strings.TrimSpace(value), 64)
	if err != nil || math.IsNaN(n) || n < 0 || n*float64(unit) > float64(absurdWait) {
		return 0, false
	}
	return sane(time.Duration(n * float64(unit)))
}

// untilDate parses Retry-After as a date. The provider's clock may differ from the gateway's clock, so the wait is
// computed from the Date header if it is present.
func untilDate(h http.Header, now time.Time) (time.Duration, bool) {
	at, err := http.ParseTime(h.Get("Retry-After"))
	if err != nil {
		return 0, false
	}
	if date, err := http.ParseTime(h.Get("Date")); err == nil {
		now = date
	}
	return sane(at.Sub(now))
}

func parseWait(value string) (time.Duration, bool) {
	d, err := time.ParseDuration(value)
	if err != nil {
		return 0, false
	}
	return sane(d)
}

// resets returns the time until all exhausted rate limits are reset, according to the rate limit headers. If no limit is reported as
// exhausted, it returns the time until the first limit is reset.
func resets(h http.Header, now time.Time, limited bool) (time.Duration, bool) {
	if !limited {
		return 0, false
	}
	var spent, shortest time.Duration
	for _, what := range []string{"-Requests", "-Tokens", ""} {
		wait, ok := resetWait(h.Get("X-Ratelimit-Reset"+what), now)
		if !ok {
			continue
		}
		if h.Get("X-Ratelimit-Remaining"+what) == "0" {
			spent = max(spent, wait)
		}
		if shortest == 0 || wait < shortest {
			shortest = wait
		}
	}
	if spent > 0 {
		return spent, true
	}
	return shortest, shortest > 0
}

// resetWait parses a duration such as 6m0s, a number of seconds, or a Unix time in seconds or milliseconds.
func resetWait(value string, now time.Time) (time.Duration, bool) {
	if d, ok := parseWait(value); ok {
		return d, true
	}
	n, err := strconv.ParseFloat(value, 64)
	switch {
	case err != nil || math.IsNaN(n) || n > 1e14:
		return 0, false
	case n > 1e12:
		return sane(time.UnixMilli(int64(n)).Sub(now))
	case n > 1e9:
		return sane(time.Unix(int64(n), 0).Sub(now))
	}
	return inUnits(value, time.Second)
}

// saidWait extracts the time to wait from the text of an error message.
func saidWait(message string, limited bool) (time.Duration, bool) {
	match := tryAgain.FindStringSubmatch(message)
	if match == nil || !limited {
		return 0, false
	}
	return parseWait(match[1])
}
