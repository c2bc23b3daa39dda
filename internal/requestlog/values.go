package requestlog

import (
	"net/url"
	"slices"
	"strconv"

	"fairlead.dev/internal/money"
	"fairlead.dev/internal/route"
)

// Values encodes the page as the parameters that ParseFilter decodes.
func (p *Page) Values() url.Values {
	v := url.Values{}
	for name, value := range map[string]string{"before": p.Before, "after": p.After, "sort": p.Sort} {
		if value != "" {
			v.Set(name, value)
		}
	}
	if p.Limit > 0 {
		v.Set("limit", strconv.Itoa(p.Limit))
	}
	return v
}

// preset is a named filter.
type preset struct {
	name   string
	filter func() (Filter, Page)
}

var presets = []preset{
	{"errors", func() (Filter, Page) {
		return Filter{Lists: Lists{Outcome: []string{string(UpstreamError), string(GatewayError), string(Partial), string(Interrupted)}}}, Page{}
	}},
	{"fallbacks", func() (Filter, Page) { return Filter{Lists: Lists{Decision: []string{string(route.Fallback)}}}, Page{} }},
	{"policy", func() (Filter, Page) { return Filter{Lists: Lists{Decision: []string{string(route.Policy)}}}, Page{} }},
	{"expensive", func() (Filter, Page) { return Filter{}, Page{Sort: "cost"} }},
	{"slowest", func() (Filter, Page) { return Filter{}, Page{Sort: "latency"} }},
	{"negative_savings", func() (Filter, Page) {
		loss := money.Amount(-1)
		return Filter{Ranges: Ranges{MaxSaved: &loss}}, Page{}
	}},
	{"unpriced", func() (Filter, Page) { return Filter{Unpriced: true}, Page{} }},
}

// Preset returns the filter and the sort order of the preset with the given name. It reports false for an unknown name.
func Preset(name string) (Filter, Page, bool) {
	i := slices.IndexFunc(presets, func(p preset) bool { return p.name == name })
	if i < 0 {
		return Filter{}, Page{}, false
	}
	f, p := presets[i].filter()
	return f, p, true
}

// Presets lists the names of all presets.
func Presets() []string {
	names := make([]string, len(presets))
	for i, p := range presets {
		names[i] = p.name
	}
	return names
}
