package requestlog

import (
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"fairlead/internal/money"
	"fairlead/internal/route"
)

// Values writes the filter as the parameters that ParseFilter reads. The workspace is left out, times are absolute.
func (f *Filter) Values() url.Values {
	v := url.Values{}
	for name, values := range map[string][]string{
		"id": f.ID, "decision": f.Decision, "outcome": f.Outcome, "model": f.Model, "requested": f.Requested, "provider": f.Provider,
		"policy": f.Policy, "key": f.Key, "tag": f.Tag, "session": f.Session, "user": f.User,
	} {
		if len(values) > 0 {
			v.Set(name, joinList(values))
		}
	}
	for name, amount := range map[string]*money.Amount{"min_cost": f.MinCost, "max_cost": f.MaxCost, "min_saved": f.MinSaved, "max_saved": f.MaxSaved} {
		if amount != nil {
			v.Set(name, amount.String())
		}
	}
	for name, truth := range map[string]*bool{"stream": f.Stream, "simulated": f.Simulated} {
		if truth != nil {
			v.Set(name, strconv.FormatBool(*truth))
		}
	}
	for name, d := range map[string]time.Duration{"min_latency": f.MinLatency, "max_latency": f.MaxLatency} {
		if d > 0 {
			v.Set(name, d.String())
		}
	}
	for name, t := range map[string]time.Time{"from": f.From, "to": f.To} {
		if !t.IsZero() {
			v.Set(name, t.UTC().Format(time.RFC3339Nano))
		}
	}
	if len(f.Status) > 0 {
		texts := make([]string, len(f.Status))
		for i, status := range f.Status {
			texts[i] = strconv.Itoa(status)
		}
		v.Set("status", strings.Join(texts, ","))
	}
	if f.Unpriced {
		v.Set("unpriced", "true")
	}
	for name, value := range map[string]string{"q": f.Q, "source": f.Source} {
		if value != "" {
			v.Set(name, value)
		}
	}
	return v
}

// Values writes the page as the parameters that ParseFilter reads.
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

// preset is a filter that people ask for by name.
type preset struct {
	name   string
	filter func() (Filter, Page)
}

var presets = []preset{
	{"errors", func() (Filter, Page) {
		return Filter{Outcome: []string{string(UpstreamError), string(GatewayError), string(Partial), string(Interrupted)}}, Page{}
	}},
	{"fallbacks", func() (Filter, Page) { return Filter{Decision: []string{string(route.Fallback)}}, Page{} }},
	{"policy", func() (Filter, Page) { return Filter{Decision: []string{string(route.Policy)}}, Page{} }},
	{"expensive", func() (Filter, Page) { return Filter{}, Page{Sort: "cost"} }},
	{"slowest", func() (Filter, Page) { return Filter{}, Page{Sort: "latency"} }},
	{"negative_savings", func() (Filter, Page) {
		loss := money.Amount(-1)
		return Filter{MaxSaved: &loss}, Page{}
	}},
	{"unpriced", func() (Filter, Page) { return Filter{Unpriced: true}, Page{} }},
}

// Preset returns the filter and the order that a preset stands for.
func Preset(name string) (Filter, Page, bool) {
	i := slices.IndexFunc(presets, func(p preset) bool { return p.name == name })
	if i < 0 {
		return Filter{}, Page{}, false
	}
	f, p := presets[i].filter()
	return f, p, true
}

// fill takes from a preset what the filter leaves open.
func (f *Filter) fill(preset *Filter) {
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
}

// Presets lists the names of all presets.
func Presets() []string {
	names := make([]string, len(presets))
	for i, p := range presets {
		names[i] = p.name
	}
	return names
}
