package requestlog

import (
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"fairlead.dev/internal/money"
)

// Parameter describes a filter as an API query parameter, a command-line flag and a dashboard filter.
type Parameter struct {
	Name    string
	Label   string   // display name
	Help    string   // description in one sentence
	Example string   // sample value
	Values  []string // allowed values; nil for any
	List    bool     // whether several values may be given, separated by commas
	Switch  bool     // whether the name without a value means true

	parse func(f *Filter, p *Page, value string, now time.Time) error
	write func(f *Filter) string // returns the value of the parameter; empty if the filter does not use the parameter
}

// Parameters returns all filters in the order in which users see them.
func Parameters() []Parameter { return slices.Clone(parameters()) }

var parameters = sync.OnceValue(func() []Parameter {
	all := []Parameter{
		{
			Name: "from", Label: "from", Help: "Start, inclusive: RFC 3339, or relative such as now-24h.", Example: "now-24h",
			parse: parseMoment(func(f *Filter) *time.Time { return &f.From }), write: func(f *Filter) string { return momentText(f.From) },
		},
		{
			Name: "to", Label: "to", Help: "End, exclusive: RFC 3339, or relative such as now.", Example: "now",
			parse: parseMoment(func(f *Filter) *time.Time { return &f.To }), write: func(f *Filter) string { return momentText(f.To) },
		},
		{
			Name: "preset", Label: "preset", Help: "A named filter; the other parameters refine it.", Values: Presets(),
			parse: func(_ *Filter, _ *Page, value string, _ time.Time) error {
				if _, _, ok := Preset(value); !ok { // only validated here; ParseFilter applies the preset after all other parameters
					return fmt.Errorf("%q is not one of %s", value, strings.Join(Presets(), ", "))
				}
				return nil
			},
			write: func(*Filter) string { return "" },
		},
	}
	for i := range columns {
		all = append(all, columns[i].parameters()...)
	}
	return append(
		all,
		Parameter{
			Name: "tag", Label: "tag", Help: "Tags as name=value, or name for any value.", Example: "team=search", List: true,
			parse: parseTerms(func(f *Filter) *[]string { return &f.Tag }, nil), write: func(f *Filter) string { return joinList(f.Tag) },
		},
		Parameter{
			Name: "source", Label: "source", Help: "How requests came in: with an API key, or from the dashboard's playground; all by default.",
			Values: []string{SourceKey, SourcePlayground, "all"},
			parse: func(f *Filter, _ *Page, value string, _ time.Time) error {
				switch value {
				case SourceKey, SourcePlayground:
					f.Source = value
				case "all":
					f.Source = ""
				default:
					return fmt.Errorf("%q is not one of key, playground, all", value)
				}
				return nil
			},
			write: func(f *Filter) string { return f.Source },
		},
		Parameter{
			Name: "unpriced", Label: "unpriced", Help: "Requests whose cost is unknown.", Switch: true,
			parse: func(f *Filter, _ *Page, value string, _ time.Time) error {
				b, err := strconv.ParseBool(value)
				if err != nil {
					return fmt.Errorf("%q is not true or false", value)
				}
				f.Unpriced = b
				return nil
			},
			write: func(f *Filter) string {
				if !f.Unpriced {
					return ""
				}
				return "true"
			},
		},
		Parameter{
			Name: "q", Label: "search", Help: "Text to search in previews, IDs and errors. Requires read_bodies.",
			parse: func(f *Filter, _ *Page, value string, _ time.Time) error { f.Q = value; return nil },
			write: func(f *Filter) string { return f.Q },
		},
		Parameter{
			Name: "text", Label: "text", Help: "Text to search in stored requests and responses, ignoring case. Lists by time only. Requires read_bodies.", Example: "connection reset",
			parse: func(f *Filter, _ *Page, value string, _ time.Time) error {
				if len(value) > maxText {
					return fmt.Errorf("the search text has more than %d bytes", maxText)
				}
				f.Text = value
				return nil
			},
			write: func(f *Filter) string { return f.Text },
		},
	)
})

// parameters returns the filter parameters of a column.
func (c *Column) parameters() []Parameter {
	p := Parameter{Name: c.Name, Label: c.Label, Help: c.Help, Example: c.Example, Values: c.Values}
	switch c.Kind {
	case Text:
		p.List, p.parse, p.write = true, parseTerms(c.terms, c.Values), func(f *Filter) string { return joinList(c.Terms(f)) }
	case Number:
		p.List, p.parse, p.write = true, parseCodes(c.codes), func(f *Filter) string {
			var texts []string
			for _, n := range c.Codes(f) {
				texts = append(texts, strconv.Itoa(n))
			}
			return strings.Join(texts, ",")
		}
	case Truth:
		p.Switch, p.parse, p.write = true, parseTruth(c.truth), func(f *Filter) string {
			if want := c.Truth(f); want != nil {
				return strconv.FormatBool(*want)
			}
			return ""
		}
	case Amount, Duration:
		return c.rangeParameters()
	}
	return []Parameter{p}
}

// rangeParameters returns the filter parameters for the minimum and the maximum of a column with a range.
func (c *Column) rangeParameters() []Parameter {
	low := Parameter{Name: "min_" + c.Name, Label: c.Label + " ≥", Help: "Minimum. " + c.Help, Example: c.Example}
	high := Parameter{Name: "max_" + c.Name, Label: c.Label + " ≤", Help: "Maximum. " + c.Help, Example: c.Example}
	if c.Kind == Amount {
		lowest, highest := func(f *Filter) **money.Amount { return c.bounds(f).minAmount }, func(f *Filter) **money.Amount { return c.bounds(f).maxAmount }
		low.parse, low.write = parseDollars(lowest), func(f *Filter) string { return amountText(*lowest(f)) }
		high.parse, high.write = parseDollars(highest), func(f *Filter) string { return amountText(*highest(f)) }
		return []Parameter{low, high}
	}
	lowest, highest := func(f *Filter) *time.Duration { return c.bounds(f).minDuration }, func(f *Filter) *time.Duration { return c.bounds(f).maxDuration }
	low.parse, low.write = parseDuration(lowest), func(f *Filter) string { return durationText(*lowest(f)) }
	high.parse, high.write = parseDuration(highest), func(f *Filter) string { return durationText(*highest(f)) }
	return []Parameter{low, high}
}

// Values encodes the filter as the parameters that ParseFilter decodes. It omits the workspace; times are absolute.
func (f *Filter) Values() url.Values {
	v := url.Values{}
	for _, p := range parameters() {
		if text := p.write(f); text != "" {
			v.Set(p.Name, text)
		}
	}
	return v
}

// Conditions counts the parameters that the filter sets.
func (f *Filter) Conditions() int {
	n := 0
	for _, p := range parameters() {
		if p.write(f) != "" {
			n++
		}
	}
	return n
}

func momentText(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format(time.RFC3339Nano)
}

func amountText(a *money.Amount) string {
	if a == nil {
		return ""
	}
	return a.String()
}

func durationText(d time.Duration) string {
	if d <= 0 {
		return ""
	}
	return d.String()
}
