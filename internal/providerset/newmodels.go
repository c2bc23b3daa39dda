package providerset

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"

	adminproviders "fairlead.dev/internal/admin/providers"
	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/provider"
)

// matches returns a function that reports whether a target serves the model that a provider lists under the given name.
func (f *Set) matches(listed string) func(*provider.Target) bool {
	canonical := listed
	if m, ok := f.Catalog.Model(listed); ok { // a dated name matches its undated model, which has the same price
		canonical = m.Name
	}
	return func(t *provider.Target) bool {
		return t.Upstream == listed || t.Model.Name == canonical || slices.Contains(t.Model.Aliases, listed)
	}
}

// NewModels returns the listed models that are neither in the catalog nor in the configuration of their provider,
// newest first. It omits models that the provider has removed from its list, models of providers that are disabled or not
// configured, and catalog models that the configuration does not offer.
func (f *Set) NewModels(seen []provider.ListedModel) []adminproviders.NewModel {
	byName := map[string]*provider.Provider{}
	for _, p := range f.Providers {
		byName[p.Name] = p
	}
	var list []adminproviders.NewModel
	for i := range seen {
		m := &seen[i]
		p := byName[m.Provider]
		if p == nil || p.Simulated || m.Gone() {
			continue
		}
		at := slices.IndexFunc(p.Targets, f.matches(m.Model))
		if at >= 0 && !p.Targets[at].NamedOnly() || f.inCatalog(p.Name, m.Model) {
			continue
		}
		list = append(list, adminproviders.NewModel{
			Provider: m.Provider, Model: m.Model, Op: localModel(f.Catalog, m.Model).Op, FirstSeen: m.FirstSeen, LastSeen: m.LastSeen, Callable: at >= 0,
			Config: f.priceSection(p, m.Model),
		})
	}
	slices.SortStableFunc(list, func(a, b adminproviders.NewModel) int {
		return cmp.Or(b.FirstSeen.Compare(a.FirstSeen), cmp.Compare(a.Provider, b.Provider), cmp.Compare(a.Model, b.Model))
	})
	return list
}

// unpriced returns the chat models that the providers' accounts list and whose price is unknown. They are no targets, because requests that
// name them are not served, but the pool says why they are not in it.
func (f *Set) unpriced(offered map[string][]string) []string {
	var names []string
	for _, p := range f.Providers {
		for _, listed := range offered[p.Name] {
			if !slices.ContainsFunc(p.Targets, f.matches(listed)) && !f.inCatalog(p.Name, listed) && localModel(f.Catalog, listed).Op == llm.Chat {
				names = append(names, listed)
			}
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// inCatalog reports whether the catalog has a price for the listed model at the provider's vendor.
func (f *Set) inCatalog(providerName, listed string) bool {
	m, known := f.Catalog.Model(listed)
	if !known {
		return false
	}
	vendorName := providerName
	if section, ok := f.sections[providerName]; ok {
		vendorName = vendor(section).Name
	}
	offer, offered := f.Catalog.Offer(vendorName, m.Name)
	return offered && offer.Price != nil
}

// pricePlaceholder marks a price that the operator has to enter. It is not a number, so that a section without prices
// is rejected.
const pricePlaceholder = "PRICE"

// priceSection returns the configuration file section that sets the price of a model.
func (f *Set) priceSection(p *provider.Provider, model string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "providers:\n  - name: %s\n", p.Name)
	section, inFile := f.sections[p.Name]
	if (!inFile || withCatalog(section)) && slices.ContainsFunc(p.Targets, func(t *provider.Target) bool { return !t.Listed }) {
		b.WriteString("    catalog: true\n") // without this line, a section with models offers only these models
	}
	name := model
	if !plainName.MatchString(model) {
		quoted, _ := json.Marshal(model) // encoding a string cannot fail
		name = string(quoted)
	}
	fmt.Fprintf(&b, "    models:\n      - {name: %s, input_per_mtok: %s, output_per_mtok: %s}\n", name, pricePlaceholder, pricePlaceholder)
	return b.String()
}

// plainName matches names that need no quotes in YAML.
var plainName = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9._/-]*$`)

// Unlisted returns, for each target whose model the provider has removed from its list, the time of the last list that contained the model.
// Models that were never in a list are omitted, because some providers do not list all models that they serve.
func (f *Set) Unlisted(seen []provider.ListedModel) map[string]time.Time {
	last := map[string]time.Time{}
	for _, p := range f.Providers {
		rows := slices.DeleteFunc(slices.Clone(seen), func(m provider.ListedModel) bool { return m.Provider != p.Name })
		if !slices.ContainsFunc(rows, func(m provider.ListedModel) bool { return m.Gone() }) {
			continue
		}
		listed := map[string]bool{}
		for i := range rows {
			matches := f.matches(rows[i].Model)
			for _, t := range p.Targets {
				switch {
				case !matches(t):
				case !rows[i].Gone():
					listed[t.ID()] = true // the provider may list a model under several names
				case rows[i].LastSeen.After(last[t.ID()]):
					last[t.ID()] = rows[i].LastSeen
				}
			}
		}
		maps.DeleteFunc(last, func(target string, _ time.Time) bool { return listed[target] })
	}
	return last
}
