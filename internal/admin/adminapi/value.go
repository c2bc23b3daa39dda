package adminapi

import (
	"math"
	"time"

	"fairlead.dev/internal/money"
)

// NonEmpty returns a pointer to s, or nil if s is empty. nil is encoded as null.
func NonEmpty(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

// Positive returns a pointer to n, or nil if n is zero or negative.
func Positive(n int) *int {
	if n <= 0 {
		return nil
	}
	return &n
}

// Millis returns d in milliseconds, or nil if d is zero or negative.
func Millis(d time.Duration) *int64 {
	if d <= 0 {
		return nil
	}
	return new(d.Milliseconds())
}

// Time returns t in UTC, or nil for the zero time.
func Time(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	return new(t.UTC())
}

// Percent returns part as a percentage of whole with one decimal, or nil if whole is not positive.
func Percent(part, whole money.Amount) *float64 {
	if whole <= 0 {
		return nil
	}
	return new(math.Round(part.Dollars()/whole.Dollars()*1000) / 10)
}

// Share returns part as a percentage of whole with one decimal, or nil if whole is not positive.
func Share(part, whole int64) *float64 {
	if whole <= 0 {
		return nil
	}
	return new(math.Round(float64(part)/float64(whole)*1000) / 10)
}

// Measured returns a pointer to ms, or nil if ms is zero or negative.
func Measured(ms int64) *int64 {
	if ms <= 0 {
		return nil
	}
	return &ms
}
