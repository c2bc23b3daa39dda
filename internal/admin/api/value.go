package api

import (
	"math"
	"time"

	"fairlead/internal/money"
)

// text is nil for an empty text: what is not known is null.
func NonEmpty(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

func Positive(n int) *int {
	if n <= 0 {
		return nil
	}
	return &n
}

// millis is nil for a duration that was not measured.
func Millis(d time.Duration) *int64 {
	if d <= 0 {
		return nil
	}
	return new(d.Milliseconds())
}

// moment is nil for the zero time.
func Time(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	return new(t.UTC())
}

// percent is part as a share of whole, to a tenth; nil when there is no whole.
func Percent(part, whole money.Amount) *float64 {
	if whole <= 0 {
		return nil
	}
	return new(math.Round(part.Dollars()/whole.Dollars()*1000) / 10)
}

// share is part of whole, to a tenth of a percent; nil when there is no whole.
func Share(part, whole int64) *float64 {
	if whole <= 0 {
		return nil
	}
	return new(math.Round(float64(part)/float64(whole)*1000) / 10)
}

func Measured(ms int64) *int64 {
	if ms <= 0 {
		return nil
	}
	return &ms
}
