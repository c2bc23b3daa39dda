package cli

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"fairlead.dev/internal/money"
	"fairlead.dev/internal/wire/show"
)

// Dash is printed for an unknown number, which must not look like zero.
const Dash = "—"

// Time layouts for list columns and for single values.
const (
	RowTime  = "Jan 02 15:04:05"
	FullTime = "2006-01-02 15:04:05 MST"
)

// Dollars formats an amount.
func Dollars(a money.Amount) string { return a.Display() }

// Amount formats an amount that may be unknown.
func Amount(a *money.Amount) string {
	if a == nil {
		return Dash
	}
	return Dollars(*a)
}

// Cost formats a model's cost. Zero is "free", and unknown is a dash.
func Cost(a *money.Amount) string {
	if a != nil && *a == 0 {
		return "free"
	}
	return Amount(a)
}

// Rate formats a price per million tokens. Zero is "free", and unknown is a dash.
func Rate(r *money.Rate) string {
	switch {
	case r == nil:
		return Dash
	case *r == 0:
		return "free"
	}
	return Dollars(money.Amount(*r)) // both types are in nano-dollars
}

// Count formats a whole number with thousands separators.
func Count(n int64) string {
	digits := strconv.FormatInt(n, 10)
	sign := ""
	if n < 0 {
		sign, digits = "-", digits[1:]
	}
	var b strings.Builder
	for i, d := range digits {
		if i > 0 && (len(digits)-i)%3 == 0 {
			b.WriteByte(',')
		}
		b.WriteRune(d)
	}
	return sign + b.String()
}

// Plural formats a number with its noun: "1 model", "1,200 models".
func Plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return Count(int64(n)) + " " + noun + "s"
}

// Duration formats a latency: 850 µs, 412 ms, 1,840 ms, 62.5 s, 3 m 5 s.
func Duration(d time.Duration) string {
	switch {
	case d <= 0:
		return "0 ms"
	case d < time.Millisecond:
		return Count(max(1, d.Microseconds())) + " µs"
	case d < 10*time.Second:
		return Count(d.Round(time.Millisecond).Milliseconds()) + " ms"
	case d < time.Minute:
		return strconv.FormatFloat(d.Seconds(), 'f', 1, 64) + " s"
	}
	whole := d.Round(time.Second)
	return fmt.Sprintf("%d m %d s", int64(whole/time.Minute), int64(whole%time.Minute/time.Second))
}

// DurationOrDash formats a duration, or returns a dash if it is not positive.
func DurationOrDash(d time.Duration) string {
	if d <= 0 {
		return Dash
	}
	return Duration(d)
}

// CostChange formats the difference between the cost and the baseline cost in percent, such as -67 %.
func CostChange(saved, baseline money.Amount) string {
	share := money.SavedPercent(saved, baseline)
	if share == nil {
		return Dash
	}
	rounded := math.Round(-*share)
	switch {
	case rounded == 0:
		return "0 %"
	case rounded == -100:
		return strconv.FormatFloat(-*share, 'f', 1, 64) + " %"
	case rounded > 0:
		return "+" + Count(int64(rounded)) + " %"
	}
	return Count(int64(rounded)) + " %"
}

// Tokens formats a number of tokens, such as 128K, 1M or 8,192.
func Tokens(n int64) string {
	switch {
	case n <= 0:
		return Dash
	case n >= 1_000_000:
		return strings.TrimSuffix(strconv.FormatFloat(float64(n)/1e6, 'f', 1, 64), ".0") + "M"
	case n >= 10_000:
		return strconv.FormatInt((n+500)/1000, 10) + "K"
	}
	return Count(n)
}

// OrDash returns text, or a dash if it is empty.
func OrDash(text string) string {
	if text == "" {
		return Dash
	}
	return text
}

// Clean makes external text safe to print on one line. It removes control characters, which could move the cursor.
func Clean(text string) string {
	return strings.Map(func(r rune) rune {
		if show.Harmful(r) {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(text, "\uFFFD"))
}

// CleanLines is like Clean but keeps line breaks and tabs.
func CleanLines(text string) string {
	return strings.Map(func(r rune) rune {
		if r != '\n' && r != '\t' && show.Harmful(r) {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(text, "\uFFFD"))
}

// Wrap breaks text between words into lines of at most width columns. Longer words are not broken.
func Wrap(text string, width int) []string {
	var lines []string
	line, used := "", 0
	for word := range strings.FieldsSeq(text) {
		w := Width(word)
		if line != "" && used+1+w > width {
			lines = append(lines, line)
			line, used = "", 0
		}
		if line != "" {
			line, used = line+" ", used+1
		}
		line, used = line+word, used+w
	}
	if line != "" {
		lines = append(lines, line)
	}
	return lines
}

// PluralPolicies formats a number of policies: "1 policy", "3 policies".
func PluralPolicies(n int) string {
	if n == 1 {
		return "1 policy"
	}
	return Count(int64(n)) + " policies"
}
