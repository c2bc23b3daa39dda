package config

import (
	"testing"
	"time"

	"pgregory.net/rapid"
)

func TestParseDuration(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]time.Duration{
		"250ms": 250 * time.Millisecond, "10s": 10 * time.Second, "1h30m": 90 * time.Minute,
		"30d": 30 * Day, "1d12h": 36 * time.Hour, "0s": 0, "0": 0, "-5s": -5 * time.Second,
	} {
		if got, err := ParseDuration(text); err != nil || got != want {
			t.Errorf("%q: got %s, %v, want %s", text, got, err, want)
		}
	}
	for _, text := range []string{"", "10", "s", "d", "1d-5s", "1d+5s", "-1d", "999999d", "1dd", "1d 5s", "ten", "1.5d"} {
		if got, err := ParseDuration(text); err == nil {
			t.Errorf("%q: got %s, want an error", text, got)
		}
	}
}

func TestFormatDuration(t *testing.T) {
	t.Parallel()
	for want, d := range map[string]time.Duration{
		"250ms": 250 * time.Millisecond, "10s": 10 * time.Second, "10m": 10 * time.Minute, "1h": time.Hour,
		"1h30m": 90 * time.Minute, "1h0m5s": time.Hour + 5*time.Second, "90d": 90 * Day, "1d12h": 36 * time.Hour, "0s": 0, "20m": 20 * time.Minute,
	} {
		if got := FormatDuration(d); got != want {
			t.Errorf("%v: got %s, want %s", d, got, want)
		}
	}
}

func TestParseSize(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]Size{"0": 0, "512": 512, "512B": 512, "64KiB": 64 * KiB, "32MiB": 32 * MiB, "1GiB": GiB, "1 GiB": GiB} {
		if got, err := ParseSize(text); err != nil || got != want {
			t.Errorf("%q: got %d, %v, want %d", text, got, err, want)
		}
	}
	for _, text := range []string{"", "MiB", "-1", "1.5MiB", "32MB", "32M", "9999999999GiB", "99999999999999999999", "1 2"} {
		if got, err := ParseSize(text); err == nil {
			t.Errorf("%q: got %d, want an error", text, got)
		}
	}
}

func TestWrittenUnitsAreReadBack(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		d := time.Duration(rapid.Int64Range(0, int64(100_000*Day)).Draw(t, "duration"))
		if got, err := ParseDuration(FormatDuration(d)); err != nil || got != d {
			t.Errorf("%d is written %s and read as %d, %v", d, FormatDuration(d), got, err)
		}
		s := Size(rapid.Int64Min(0).Draw(t, "size"))
		if got, err := ParseSize(s.String()); err != nil || got != s {
			t.Errorf("%d is written %s and read as %d, %v", s, s, got, err)
		}
	})
}

func TestSuggestions(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{"10 seconds": "10s", "5 min": "5m", "2 Hours": "2h", "7 days": "7d", "100 millis": "100ms", "90": "", "soon": ""} {
		if got := SuggestDuration(text); got != want {
			t.Errorf("duration %q: got %q, want %q", text, got, want)
		}
	}
	for text, want := range map[string]string{"32MB": "32MiB", "32m": "32MiB", "1 gb": "1GiB", "5k": "5KiB", "large": ""} {
		if got := SuggestSize(text); got != want {
			t.Errorf("size %q: got %q, want %q", text, got, want)
		}
	}
}
