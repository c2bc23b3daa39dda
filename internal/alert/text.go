package alert

import (
	"fmt"
	"strings"
	"time"

	"fairlead.dev/internal/money"
)

// Format formats a value in its unit.
func Format(u Unit, value float64) string {
	switch u {
	case Dollars:
		return money.Amount(value * float64(money.Dollar)).Display()
	case Percent:
		return trim(value, 1) + " %"
	case Milliseconds:
		return trim(value, 0) + " ms"
	case Points:
		return trim(value, 2) + " points"
	case Days:
		if value < 0 {
			return "0 days"
		}
		return trim(value, 1) + " days"
	case Count:
	}
	return trim(value, 0)
}

// trim formats a number without trailing zeros.
func trim(value float64, digits int) string {
	text := fmt.Sprintf("%.*f", digits, value)
	if strings.Contains(text, ".") {
		text = strings.TrimRight(strings.TrimRight(text, "0"), ".")
	}
	return text
}

// Title returns the first line of a notification.
func (e *Event) Title() string {
	switch e.Type {
	case Test:
		return "Test notification from Fairlead"
	case Recovered:
		return "Recovered: " + e.RuleName
	case Firing:
	}
	return "Alert: " + e.RuleName
}

// Sentence describes an event: the figure, its threshold and its subject.
func (e *Event) Sentence() string {
	info, ok := Info(e.Kind)
	if e.Type == Test || !ok {
		return "This channel receives alerts of this workspace."
	}
	figure := info.Name
	if e.Label != "" {
		figure += " of " + e.Label
	}
	value, bound := Format(info.Unit, e.Value), Format(info.Unit, e.Threshold)
	side := "at or above"
	if info.Below {
		side = "below"
	}
	text := fmt.Sprintf("%s: %s, %s the threshold of %s", figure, value, side, bound)
	if e.Type == Recovered {
		text = fmt.Sprintf("%s: %s. It was %s the threshold of %s for %s", figure, value, side, bound, e.At.Sub(e.Since).Round(time.Second))
	}
	switch e.Window {
	case "":
	case "day":
		text += " (today)"
	case "week", "month":
		text += " (this " + string(e.Window) + ")"
	default:
		text += " (last " + string(e.Window) + ")"
	}
	text += "."
	if e.Detail != "" {
		text += " " + e.Detail
	}
	return text
}
