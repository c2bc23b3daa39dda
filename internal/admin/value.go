package admin

import (
	"math"
	"time"

	"fairlead/internal/money"
)

// text is nil for an empty text: what is not known is null.
func text(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

func positive(n int) *int {
	if n <= 0 {
		return nil
	}
	return &n
}

// millis is nil for a duration that was not measured.
func millis(d time.Duration) *int64 {
	if d <= 0 {
		return nil
	}
	return new(d.Milliseconds())
}

// moment is nil for the zero time.
func moment(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	return new(t.UTC())
}

// percent is part as a share of whole, to a tenth; nil when there is no whole.
func percent(part, whole money.Amount) *float64 {
	if whole <= 0 {
		return nil
	}
	return new(math.Round(part.Dollars()/whole.Dollars()*1000) / 10)
}

// share is part of whole, to a tenth of a percent; nil when there is no whole.
func share(part, whole int64) *float64 {
	if whole <= 0 {
		return nil
	}
	return new(math.Round(float64(part)/float64(whole)*1000) / 10)
}
