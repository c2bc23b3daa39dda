// Package migration converts the model_list of a LiteLLM proxy into a configuration file, and reports whether each
// setting was kept, changed or is not supported.
package migration

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"fairlead.dev/internal/catalog"
)

// Kind is the result of converting a setting.
type Kind string

// The kinds of findings.
const (
	Taken       Kind = "taken"
	Changed     Kind = "changed"
	Unsupported Kind = "unsupported"
)

// Finding is the result for one setting of the imported file.
type Finding struct {
	Kind    Kind   `json:"kind"`
	Setting string `json:"setting"` // path in the imported file
	Text    string `json:"text"`    // new setting, or required action
}

// Result is a converted configuration.
type Result struct {
	YAML     string    // configuration file with comments
	Findings []Finding // results: models in the order of the imported file, then the settings
}

func (r *Result) add(k Kind, setting, format string, args ...any) {
	r.Findings = append(r.Findings, Finding{k, setting, fmt.Sprintf(format, args...)})
}

// Report returns the findings as text, by kind.
func (r *Result) Report() string {
	var b strings.Builder
	for _, k := range []struct {
		kind  Kind
		title string
	}{{Taken, "Taken over"}, {Changed, "Changed: please check"}, {Unsupported, "Not supported"}} {
		first := true
		for _, f := range r.Findings {
			if f.Kind != k.kind {
				continue
			}
			if first {
				b.WriteString(k.title + "\n")
				first = false
			}
			fmt.Fprintf(&b, "  %s: %s\n", f.Setting, f.Text)
		}
	}
	return b.String()
}

// instance is a provider of the new configuration.
type instance struct {
	name    string
	vendor  string // name of the vendor; empty for an endpoint of an unknown vendor
	baseURL string
	options map[string]string
	keys    []string
	catalog bool // whether the provider offers all models of the vendor
	models  []*model
}

// model is one model entry of a provider in the new configuration.
type model struct {
	name, upstream string
	kind           string
	aliases        []string
	price          price
	context        int64
	maxOutput      int64
	abilities      []string
	quality        float64
	total, first   string // timeouts for the whole response and for the first token
	comment        string
}

// price holds prices in US dollars per million tokens. nil means unknown.
type price struct{ input, output, cacheRead, cacheWrite *float64 }

// identity returns the same string for instances that differ only in their keys.
func (i *instance) identity() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s %v %v", i.vendor, i.baseURL, i.options, i.catalog)
	for _, m := range i.models {
		fmt.Fprintf(&b, " %s=%s", m.name, m.upstream)
	}
	return b.String()
}

// merge combines instances that differ only in their keys, and gives every instance a unique name.
func merge(list []*instance) []*instance {
	var merged []*instance
	for _, one := range list {
		if i := slices.IndexFunc(merged, func(m *instance) bool { return m.identity() == one.identity() }); i >= 0 && len(one.keys) > 0 {
			merged[i].keys = append(merged[i].keys, one.keys...)
			continue
		}
		merged = append(merged, one)
	}
	used := map[string]int{}
	for _, one := range merged {
		base := cmp.Or(one.name, one.vendor, "custom")
		used[base]++
		if one.name = base; used[base] > 1 {
			one.name = base + "-" + strconv.Itoa(used[base])
		}
	}
	return merged
}

// describe copies the properties of a catalog model to m, because the name of m may be unknown to the catalog or belong to another model.
func (m *model) describe(c *catalog.Catalog, vendor string, known *catalog.Model) {
	m.comment = "Prices and limits of " + known.Name + "."
	if m.price.input == nil {
		m.price = listPrice(c, vendor, known.Name)
	}
	m.context, m.maxOutput = cmp.Or(m.context, known.Context), cmp.Or(m.maxOutput, known.MaxOutput)
	m.abilities, m.quality = known.Abilities.Names(), known.Quality
}

// listPrice returns the catalog price of a model: the price at the vendor if the vendor offers the model, otherwise the list price.
func listPrice(c *catalog.Catalog, vendor, name string) price {
	p := c.ListPrice(name)
	if offer, ok := c.Offer(vendor, name); ok && offer.Price != nil {
		p = offer.Price
	}
	if p == nil {
		return price{}
	}
	dollars := func(nano int64) *float64 {
		amount := float64(nano) / 1e9
		return &amount
	}
	found := price{input: dollars(int64(p.Input)), output: dollars(int64(p.Output))}
	if p.CacheRead != nil {
		found.cacheRead = dollars(int64(*p.CacheRead))
	}
	if p.CacheWrite != nil {
		found.cacheWrite = dollars(int64(*p.CacheWrite))
	}
	return found
}

// writer writes YAML.
type writer struct{ strings.Builder }

func (w *writer) line(depth int, format string, args ...any) {
	w.WriteString(strings.Repeat("  ", depth) + fmt.Sprintf(format, args...) + "\n")
}

var plainText = regexp.MustCompile(`^[A-Za-z_/][A-Za-z0-9._/@+-]*$`)

// quoted returns text as a YAML scalar.
func quoted(text string) string {
	if plainText.MatchString(text) && !slices.Contains([]string{"true", "false", "null", "yes", "no", "on", "off", "y", "n"}, strings.ToLower(text)) {
		return text
	}
	return strconv.Quote(text)
}

func list(texts []string) string {
	var parts []string
	for _, t := range texts {
		parts = append(parts, quoted(t))
	}
	return "[" + strings.Join(parts, ", ") + "]"
}

// providers writes the providers section.
func (w *writer) providers(instances []*instance) {
	if len(instances) == 0 {
		return
	}
	w.line(0, "providers:")
	for _, i := range instances {
		w.line(1, "- name: %s", quoted(i.name))
		if i.vendor != "" && i.vendor != i.name {
			w.line(2, "vendor: %s", i.vendor)
		}
		if i.vendor == "" {
			w.line(2, "format: chat")
		}
		if i.baseURL != "" {
			w.line(2, "base_url: %s", quoted(i.baseURL))
		}
		if len(i.keys) > 0 {
			w.line(2, "api_keys: %s", list(i.keys))
		}
		if len(i.options) > 0 {
			w.line(2, "options:")
			for _, name := range sortedKeys(i.options) {
				w.line(3, "%s: %s", name, quoted(i.options[name]))
			}
		}
		if i.catalog {
			w.line(2, "catalog: true  # all models of the vendor that the catalog knows")
		}
		if len(i.models) > 0 {
			w.line(2, "models:")
			for _, m := range i.models {
				w.model(m)
			}
		}
	}
}

func (w *writer) model(m *model) {
	if m.comment != "" {
		w.line(3, "# %s", m.comment)
	}
	w.line(3, "- name: %s", quoted(m.name))
	if m.upstream != "" && m.upstream != m.name {
		w.line(4, "upstream: %s", quoted(m.upstream))
	}
	if m.kind != "" && m.kind != "chat" {
		w.line(4, "kind: %s", m.kind)
	}
	if len(m.aliases) > 0 {
		w.line(4, "aliases: %s", list(m.aliases))
	}
	for _, p := range []struct {
		name  string
		value *float64
	}{{"input_per_mtok", m.price.input}, {"output_per_mtok", m.price.output}, {"cache_read_per_mtok", m.price.cacheRead}, {"cache_write_per_mtok", m.price.cacheWrite}} {
		if p.value != nil {
			w.line(4, "%s: %s", p.name, strconv.FormatFloat(*p.value, 'f', -1, 64))
		}
	}
	if m.context > 0 {
		w.line(4, "context: %d", m.context)
	}
	if m.maxOutput > 0 {
		w.line(4, "max_output: %d", m.maxOutput)
	}
	if len(m.abilities) > 0 {
		w.line(4, "abilities: %s", list(m.abilities))
	}
	if m.quality > 0 {
		w.line(4, "quality: %s", strconv.FormatFloat(m.quality, 'f', 3, 64))
	}
	if m.total != "" || m.first != "" {
		w.line(4, "timeouts:")
		if m.first != "" {
			w.line(5, "first_token: %s", m.first)
		}
		if m.total != "" {
			w.line(5, "total: %s", m.total)
		}
	}
}

func sortedKeys[V any](m map[string]V) []string {
	var names []string
	for name := range m {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

var (
	notSlug      = regexp.MustCompile(`[^a-z0-9._-]+`)
	validModel   = regexp.MustCompile(`^[A-Za-z0-9@][A-Za-z0-9@._:/+-]{0,199}$`)
	reservedName = regexp.MustCompile(`(?i)^(claude-)?auto(:.*)?$`)
)

// validName reports whether clients can use a model name.
func validName(name string) bool {
	return validModel.MatchString(name) && !reservedName.MatchString(name)
}
