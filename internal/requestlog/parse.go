package requestlog

import (
	"cmp"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/money"
	"fairlead.dev/internal/spelling"
)

// MaxLimit is the maximum number of entries on a page.
const MaxLimit = 200

// MaxFigures is the maximum number of entries on a page with Figures.
const MaxFigures = 500

// maxValues is the maximum number of values in one parameter.
const maxValues = 50

// ParseFilter decodes query parameters into a filter and a page. The caller sets the workspace. A preset sets the conditions
// that no other parameter sets. Errors are *llm.Error and name the parameter.
func ParseFilter(values url.Values, now time.Time) (Filter, Page, error) {
	var f Filter
	var p Page
	for _, name := range slices.Sorted(maps.Keys(values)) {
		parse, err := parserOf(name)
		if err != nil {
			return f, p, err
		}
		for _, value := range values[name] {
			if value == "" {
				continue
			}
			if err := parse(&f, &p, value, now); err != nil {
				return f, p, invalid(name, "Parameter %s: %v.", name, err)
			}
		}
	}
	if name := values.Get("preset"); name != "" {
		preset, page, _ := Preset(name)
		if len(f.Outcome) == 0 {
			f.Outcome = preset.Outcome
		}
		if len(f.Decision) == 0 {
			f.Decision = preset.Decision
		}
		if f.MaxSaved == nil {
			f.MaxSaved = preset.MaxSaved
		}
		f.Unpriced = f.Unpriced || preset.Unpriced
		p.Sort = cmp.Or(p.Sort, page.Sort)
	}
	if !f.From.IsZero() && !f.To.IsZero() && f.To.Before(f.From) {
		return f, p, invalid("to", "Parameter to: the end is before the start.")
	}
	return f, p, nil
}

// parser decodes one parameter into a filter or a page.
type parser = func(f *Filter, p *Page, value string, now time.Time) error

// parserOf returns the parser for a filter or page parameter. The error for an unknown parameter suggests the closest name or lists all
// names.
func parserOf(name string) (parser, error) {
	known := []string{"after", "before", "limit", "sort"}
	for _, p := range parameters() {
		if p.Name == name {
			return p.parse, nil
		}
		known = append(known, p.Name)
	}
	switch name {
	case "before":
		return func(_ *Filter, p *Page, value string, _ time.Time) error { p.Before = value; return nil }, nil
	case "after":
		return func(_ *Filter, p *Page, value string, _ time.Time) error { p.After = value; return nil }, nil
	case "sort":
		return func(_ *Filter, p *Page, value string, _ time.Time) error {
			if !slices.Contains([]string{"time", "cost", "latency", "tokens"}, value) {
				return fmt.Errorf("%q is not one of time, cost, latency, tokens", value)
			}
			p.Sort = value
			return nil
		}, nil
	case "limit":
		return func(_ *Filter, p *Page, value string, _ time.Time) error {
			n, err := strconv.Atoi(value)
			if err != nil || n < 1 || n > MaxLimit {
				return fmt.Errorf("%q is not a number from 1 to %d", value, MaxLimit)
			}
			p.Limit = n
			return nil
		}, nil
	}
	slices.Sort(known)
	if near := spelling.Closest(name, known); near != "" {
		return nil, invalid(name, "Unknown parameter %q. Did you mean %q?", name, near)
	}
	return nil, invalid(name, "Unknown parameter %q. Use one of %s.", name, strings.Join(known, ", "))
}

func invalid(param, format string, args ...any) error {
	e := llm.Errorf(llm.InvalidRequest, format, args...)
	e.Param = param
	return e
}

// parseTerms decodes comma-separated values. A backslash escapes the next character.
func parseTerms(field func(*Filter) *[]string, allowed []string) parser {
	return func(f *Filter, _ *Page, value string, _ time.Time) error {
		values := splitList(value)
		if len(values) == 0 && value != "" { // an empty list would select everything
			return fmt.Errorf("%q has no value", value)
		}
		for _, v := range values {
			if len(allowed) > 0 && !slices.Contains(allowed, v) {
				return fmt.Errorf("%q is not one of %s", v, strings.Join(allowed, ", "))
			}
			*field(f) = append(*field(f), v)
		}
		if len(*field(f)) > maxValues {
			return fmt.Errorf("more than %d values", maxValues)
		}
		return nil
	}
}

func splitList(s string) []string {
	var out []string
	var current strings.Builder
	escaped := false
	for _, r := range s {
		switch {
		case escaped:
			current.WriteRune(r)
			escaped = false
		case r == '\\':
			escaped = true
		case r == ',':
			out = append(out, current.String())
			current.Reset()
		default:
			current.WriteRune(r)
		}
	}
	if escaped { // a trailing backslash is literal
		current.WriteRune('\\')
	}
	return slices.DeleteFunc(append(out, current.String()), func(v string) bool { return v == "" })
}

func joinList(values []string) string {
	escaped := make([]string, len(values))
	for i, v := range values {
		escaped[i] = strings.NewReplacer(`\`, `\\`, `,`, `\,`).Replace(v)
	}
	return strings.Join(escaped, ",")
}

// parseCodes decodes comma-separated HTTP statuses.
func parseCodes(field func(*Filter) *[]int) parser {
	return func(f *Filter, _ *Page, value string, _ time.Time) error {
		for _, v := range splitList(value) {
			n, err := strconv.Atoi(v)
			if err != nil || n < 0 || n > 999 {
				return fmt.Errorf("%q is not an HTTP status", v)
			}
			*field(f) = append(*field(f), n)
		}
		if len(*field(f)) > maxValues {
			return fmt.Errorf("more than %d values", maxValues)
		}
		return nil
	}
}

func parseTruth(field func(*Filter) **bool) parser {
	return func(f *Filter, _ *Page, value string, _ time.Time) error {
		b, err := strconv.ParseBool(value)
		if err != nil {
			return fmt.Errorf("%q is not true or false", value)
		}
		*field(f) = &b
		return nil
	}
}

func parseDollars(field func(*Filter) **money.Amount) parser {
	return func(f *Filter, _ *Page, value string, _ time.Time) error {
		amount, err := money.Parse(strings.TrimPrefix(value, "$"))
		if err != nil {
			return fmt.Errorf("%q is not an amount in dollars such as 0.05", value)
		}
		*field(f) = &amount
		return nil
	}
}

// parseDuration decodes a duration such as "1.5s", or a number of milliseconds.
func parseDuration(field func(*Filter) *time.Duration) parser {
	return func(f *Filter, _ *Page, value string, _ time.Time) error {
		d, err := time.ParseDuration(value)
		if ms, errNumber := strconv.ParseUint(value, 10, 40); errNumber == nil {
			d, err = time.Duration(ms)*time.Millisecond, nil
		}
		if err != nil || d < 0 {
			return fmt.Errorf("%q is not a duration such as 800ms or 2s", value)
		}
		*field(f) = d
		return nil
	}
}

func parseMoment(field func(*Filter) *time.Time) parser {
	return func(f *Filter, _ *Page, value string, now time.Time) error {
		t, err := ParseTime(value, now)
		if err != nil {
			return err
		}
		*field(f) = t
		return nil
	}
}

// ParseTime parses "now", "now-24h" (units s, m, h, d, w), a day such as 2026-11-15 (UTC), or RFC 3339.
func ParseTime(s string, now time.Time) (time.Time, error) {
	if rest, ok := strings.CutPrefix(s, "now"); ok {
		d, err := parseAge(rest)
		if err != nil {
			return time.Time{}, fmt.Errorf("invalid time %q: use a form such as now-24h or 2026-11-15T08:00:00Z", s)
		}
		return now.Add(d), nil
	}
	for _, layout := range []string{time.RFC3339Nano, time.DateOnly} {
		if t, err := time.Parse(layout, s); err == nil && t.Year() >= 1970 {
			return t.UTC(), nil
		}
	}
	return time.Time{}, fmt.Errorf("invalid time %q: use a form such as now-24h or 2026-11-15T08:00:00Z", s)
}

// maxAge is the maximum distance from now. It is less than the maximum of time.Duration.
const maxAge = 20_000 * 24 * time.Hour

// parseAge parses the part after "now": empty, or a signed number with a unit.
func parseAge(s string) (time.Duration, error) {
	if s == "" {
		return 0, nil
	}
	units := map[byte]time.Duration{'s': time.Second, 'm': time.Minute, 'h': time.Hour, 'd': 24 * time.Hour, 'w': 7 * 24 * time.Hour}
	unit, ok := units[s[len(s)-1]]
	if !ok || (s[0] != '-' && s[0] != '+') {
		return 0, strconv.ErrSyntax
	}
	n, err := strconv.ParseInt(s[:len(s)-1], 10, 32)
	if err != nil || max(n, -n) > int64(maxAge/unit) {
		return 0, strconv.ErrSyntax
	}
	return time.Duration(n) * unit, nil
}
