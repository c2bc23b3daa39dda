package providerset

import (
	"fmt"
	"slices"

	"fairlead.dev/internal/admin/policies"
	"fairlead.dev/internal/catalog"
	"fairlead.dev/internal/config"
	"fairlead.dev/internal/provider"
	"fairlead.dev/internal/route"
	"fairlead.dev/internal/simulator"
	"fairlead.dev/internal/spelling"
)

// WithCandidates returns a snapshot with the targets of a set and the targets that the listed vendors would add: all catalog models of a
// vendor, or only the given models. A connected account adds only models that it lists. The targets have catalog prices and no credentials. A simulator that is used only because no provider is
// connected is removed. The snapshot is used only to compute decisions and cannot be used to send requests.
func (l *Loader) WithCandidates(f *Set, c config.Config, list []policies.BacktestVendor) (*route.Snapshot, error) {
	b := Builder{Config: c, Version: l.Version, Env: func(string) string { return "" }, Offered: l.Listed.offered(), Book: &catalog.PriceHistory{}}
	all := slices.Clone(f.Providers)
	if c.Simulator == "auto" {
		all = slices.DeleteFunc(all, func(p *provider.Provider) bool { return p.Name == simulator.Provider })
	}
	for i, one := range list {
		param := fmt.Sprintf("connect[%d]", i)
		v, known := findVendor(one.Vendor)
		if !known {
			e := invalid(param+".vendor", "Unknown vendor %q.", one.Vendor)
			if near := spelling.Closest(one.Vendor, VendorNames()); near != "" {
				e.Message += fmt.Sprintf(" Did you mean %q?", near)
			}
			return nil, e
		}
		targets := b.targets(f, v.Name, f.Catalog.Offers(v.Name), config.Provider{})
		at := slices.IndexFunc(all, func(p *provider.Provider) bool { return p.Name == v.Name })
		if at >= 0 {
			targets = b.onlyOffered(f, v.Name, targets, config.Provider{})
		}
		if len(one.Models) > 0 {
			chosen, err := only(targets, one, param)
			if err != nil {
				return nil, err
			}
			targets = chosen
		}
		if len(targets) == 0 {
			return nil, invalid(param+".vendor", "The catalog has no models of %s.", v.Title)
		}
		if at < 0 {
			s := b.settings(v.Name, v.BaseURL)
			s.Targets = targets
			p := v.New(s)
			setTags(p)
			all = append(all, p)
			continue
		}
		connected := *all[at] // the provider is connected, so add the models that it does not have
		connected.Targets = slices.Clone(connected.Targets)
		for _, t := range targets {
			if _, exists := connected.Target(t.Model.Name); !exists {
				connected.Targets = append(connected.Targets, t)
			}
		}
		all[at] = &connected
	}
	return route.NewSnapshot(f.Catalog, all, nil), nil
}

// only selects the targets of the models in c. It returns an error for a model without a target.
func only(targets []*provider.Target, c policies.BacktestVendor, param string) ([]*provider.Target, error) {
	var list []*provider.Target
	for i, name := range c.Models {
		at := slices.IndexFunc(targets, func(t *provider.Target) bool { return t.Model.Name == name })
		if at < 0 {
			return nil, invalid(fmt.Sprintf("%s.models[%d]", param, i), "The catalog has no model %q of %s, or your account does not list it.", name, c.Vendor)
		}
		list = append(list, targets[at])
	}
	return list, nil
}
