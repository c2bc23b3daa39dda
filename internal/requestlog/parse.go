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

	"fairlead/internal/llm"
	"fairlead/internal/money"
	"fairlead/internal/spelling"
)

// parser reads one parameter into a filter or a page.
type parser func(f *Filter, p *Page, value string, now time.Time) error

// parameters are the names that address, API and command line share.
var parameters = map[string]parser{
	"id":          terms(func(f *Filter) *[]string { return &f.ID }),
	"decision":    terms(func(f *Filter) *[]string { return &f.Decision }, "expected", "fallback", "policy"),
	"outcome":     terms(func(f *Filter) *[]string { return &f.Outcome }, outcomes()...),
	"model":       terms(func(f *Filter) *[]string { return &f.Model }),
	"requested":   terms(func(f *Filter) *[]string { return &f.Requested }),
	"provider":    terms(func(f *Filter) *[]string { return &f.Provider }),
	"policy":      terms(func(f *Filter) *[]string { return &f.Policy }),
	"key":         terms(func(f *Filter) *[]string { return &f.Key }),
	"tag":         terms(func(f *Filter) *[]string { return &f.Tag }),
	"session":     terms(func(f *Filter) *[]string { return &f.Session }),
	"user":        terms(func(f *Filter) *[]string { return &f.User }),
	"status":      parseStatus,
	"stream":      truth(func(f *Filter) **bool { return &f.Stream }),
	"simulated":   truth(func(f *Filter) **bool { return &f.Simulated }),
	"source":      parseSource,
	"min_cost":    dollars(func(f *Filter) **money.Amount { return &f.MinCost }),
	"max_cost":    dollars(func(f *Filter) **money.Amount { return &f.MaxCost }),
	"min_saved":   dollars(func(f *Filter) **money.Amount { return &f.MinSaved }),
	"max_saved":   dollars(func(f *Filter) **money.Amount { return &f.MaxSaved }),
	"min_latency": duration(func(f *Filter) *time.Duration { return &f.MinLatency }),
	"max_latency": duration(func(f *Filter) *time.Duration { return &f.MaxLatency }),
	"from":        moment(func(f *Filter) *time.Time { return &f.From }),
	"to":          moment(func(f *Filter) *time.Time { return &f.To }),
	"unpriced":    parseUnpriced,
	"q":           func(f *Filter, _ *Page, value string, _ time.Time) error { f.Q = value; return nil },
	"before":      func(_ *Filter, p *Page, value string, _ time.Time) error { p.Before = value; return nil },
	"after":       func(_ *Filter, p *Page, value string, _ time.Time) error { p.After = value; return nil },
	"preset":      parsePreset, // only checked here: it comes after all others
	"sort":        parseSort,
	"limit":       parseLimit,
}

// MaxLimit is how many entries a page may have.
const MaxLimit = 200

// maxValues bounds how many values one parameter may list.
const maxValues = 50

// ParseFilter reads the parameters of an address into a filter and a page. The workspace is the caller's to set.
// A preset fills in what no other parameter says. Errors are *llm.Error and name the parameter.
func ParseFilter(values url.Values, now time.Time) (Filter, Page, error) {
	var f Filter
	var p Page
	for _, name := range slices.Sorted(maps.Keys(values)) {
		parse, ok := parameters[name]
		if !ok {
			return f, p, unknown(name)
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
		f.fill(&preset)
		p.Sort = cmp.Or(p.Sort, page.Sort)
	}
	if !f.From.IsZero() && !f.To.IsZero() && f.To.Before(f.From) {
		return f, p, invalid("to", "Parameter to: it lies before the start.")
	}
	return f, p, nil
}

func invalid(param, format string, args ...any) error {
	e := llm.Errorf(llm.InvalidRequest, format, args...)
	e.Param = param
	return e
}

func outcomes() []string {
	var out []string
	for _, o := range []Outcome{OK, ClientError, UpstreamError, Rejected, Cancelled, Partial, Interrupted, GatewayError} {
		out = append(out, string(o))
	}
	return out
}

// terms reads values between commas; a backslash makes the next character ordinary.
func terms(field func(*Filter) *[]string, allowed ...string) parser {
	return func(f *Filter, _ *Page, value string, _ time.Time) error {
		values := splitList(value)
		if len(values) == 0 && value != "" { // a filter that says nothing would select everything
			return fmt.Errorf("%q names nothing", value)
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
	if escaped { // it stands before nothing, and so for itself
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

func parseStatus(f *Filter, _ *Page, value string, _ time.Time) error {
	for _, v := range splitList(value) {
		n, err := strconv.Atoi(v)
		if err != nil || n < 0 || n > 999 {
			return fmt.Errorf("%q is no HTTP status", v)
		}
		f.Status = append(f.Status, n)
	}
	if len(f.Status) > maxValues {
		return fmt.Errorf("more than %d values", maxValues)
	}
	return nil
}

func truth(field func(*Filter) **bool) parser {
	return func(f *Filter, _ *Page, value string, _ time.Time) error {
		b, err := strconv.ParseBool(value)
		if err != nil {
			return fmt.Errorf("%q is neither true nor false", value)
		}
		*field(f) = &b
		return nil
	}
}

func parseSource(f *Filter, _ *Page, value string, _ time.Time) error {
	switch value {
	case SourceKey, SourcePlayground:
		f.Source = value
	case "all":
		f.Source = ""
	default:
		return fmt.Errorf("%q is not one of key, playground, all", value)
	}
	return nil
}

func parseUnpriced(f *Filter, _ *Page, value string, _ time.Time) error {
	b, err := strconv.ParseBool(value)
	if err != nil {
		return fmt.Errorf("%q is neither true nor false", value)
	}
	f.Unpriced = b
	return nil
}

func dollars(field func(*Filter) **money.Amount) parser {
	return func(f *Filter, _ *Page, value string, _ time.Time) error {
		amount, err := money.Parse(strings.TrimPrefix(value, "$"))
		if err != nil {
			return fmt.Errorf("%q is not an amount in dollars such as 0.05", value)
		}
		*field(f) = &amount
		return nil
	}
}

// duration reads "1.5s", or a plain number of milliseconds.
func duration(field func(*Filter) *time.Duration) parser {
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

func moment(field func(*Filter) *time.Time) parser {
	return func(f *Filter, _ *Page, value string, now time.Time) error {
		t, err := ParseTime(value, now)
		if err != nil {
			return err
		}
		*field(f) = t
		return nil
	}
}

func parsePreset(_ *Filter, _ *Page, value string, _ time.Time) error {
	if _, _, ok := Preset(value); !ok {
		return fmt.Errorf("%q is not one of %s", value, strings.Join(Presets(), ", "))
	}
	return nil
}

func parseSort(_ *Filter, p *Page, value string, _ time.Time) error {
	if !slices.Contains([]string{"time", "cost", "latency"}, value) {
		return fmt.Errorf("%q is not one of time, cost, latency", value)
	}
	p.Sort = value
	return nil
}

func parseLimit(_ *Filter, p *Page, value string, _ time.Time) error {
	n, err := strconv.Atoi(value)
	if err != nil || n < 1 || n > MaxLimit {
		return fmt.Errorf("%q is not a number from 1 to %d", value, MaxLimit)
	}
	p.Limit = n
	return nil
}

// ParseTime reads "now", "now-24h" (units s, m, h, d, w), a day such as 2026-11-15 (UTC), or RFC 3339.
func ParseTime(s string, now time.Time) (time.Time, error) {
	if rest, ok := strings.CutPrefix(s, "now"); ok {
		d, err := parseAge(rest)
		if err != nil {
			return time.Time{}, fmt.Errorf("%q is not a time such as now-24h or 2026-11-15T08:00:00Z", s)
		}
		return now.Add(d), nil
	}
	for _, layout := range []string{time.RFC3339Nano, time.DateOnly} {
		if t, err := time.Parse(layout, s); err == nil && t.Year() >= 1970 {
			return t.UTC(), nil
		}
	}
	return time.Time{}, fmt.Errorf("%q is not a time such as now-24h or 2026-11-15T08:00:00Z", s)
}

// parseAge reads what follows "now": nothing, or a signed number with a unit.
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
	if err != nil || n > 20_000 && unit > time.Hour || n < -20_000 && unit > time.Hour {
		return 0, strconv.ErrSyntax
	}
	return time.Duration(n) * unit, nil
}

// unknown names the parameter that was probably meant, or all there are.
func unknown(name string) error {
	known := slices.Sorted(maps.Keys(parameters))
	if near := spelling.Closest(name, known); near != "" {
		return invalid(name, "Unknown parameter %q; did you mean %q?", name, near)
	}
	return invalid(name, "Unknown parameter %q; there are %s.", name, strings.Join(known, ", "))
}
