package app

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"time"

	"fairlead/internal/catalog"
	"fairlead/internal/config"
	"fairlead/internal/egress"
	"fairlead/internal/llm"
	"fairlead/internal/mockprovider"
	"fairlead/internal/money"
	"fairlead/internal/policy"
	"fairlead/internal/provider"
	"fairlead/internal/provider/compatible"
	"fairlead/internal/redact"
	"fairlead/internal/route"
	"fairlead/internal/wire/chat"
)

// fleet is every provider of the instance with the catalog they were built from.
type fleet struct {
	catalog   *catalog.Catalog
	providers []*provider.Provider
	off       []*provider.Provider // configured, but switched off
	sources   map[string]string    // provider -> where it comes from: file, env, detected, simulator
	priced    map[string]bool      // targets whose price was set in the dashboard
	hosts     []string             // that configuration or detection names: they may be private
	routes    *route.Snapshot
	policies  *policy.Set // of the instance
	rejected  []error     // credentials in the environment that cannot be used
}

// credentials are those kept in the vault, by provider.
type credentials map[string][]provider.Credential

// assemble builds the providers that file, environment, loopback and simulator bring, in this order: a name taken by
// an earlier one is left alone.
func (b builder) assemble() (*fleet, error) {
	base, err := catalog.Default()
	if err != nil {
		return nil, fmt.Errorf("read the catalog: %w", err)
	}
	priced := base.With(b.book.Overrides(base))
	f := &fleet{catalog: priced.With(overrides(b.config)), sources: map[string]string{}, priced: map[string]bool{}}
	f.allow(b.config.Catalog.URL)
	for _, p := range b.config.Providers {
		if p.Disabled {
			b.disabled = append(b.disabled, p.Name)
		}
		b.add(f, b.fromFile(f, p), "file", p.BaseURL)
	}
	if b.config.Detect {
		b.detectEnvironment(f)
		b.addLocal(f)
	}
	if b.config.Simulator == "on" || (b.config.Simulator == "auto" && len(f.providers) == 0) {
		b.add(f, b.simulated(), "simulator", "")
	}
	if err := errors.Join(f.rejected...); err != nil {
		return nil, err
	}
	f.routes = route.NewSnapshot(f.catalog, f.providers, b.predictor)
	return f, nil
}

// builder holds what providers are built from.
type builder struct {
	config    config.Config
	version   string
	env       func(string) string
	vault     credentials
	disabled  []string // switched off in the dashboard or the file
	local     []localServer
	listed    map[string][]string // models that providers list themselves, by provider
	simulator *mockprovider.Simulator
	fetch     *http.Client          // for the token services of vendors that have one
	book      *catalog.PriceHistory // imported prices and those set by hand
	predictor route.Predictor
}

// add takes a provider into the fleet and lets calls reach the address that was named for it, or notes that it is
// switched off.
func (b builder) add(f *fleet, p *provider.Provider, source, address string) {
	f.sources[p.Name] = source
	label(p)
	p.Concurrent = cmp.Or(p.Concurrent, max(1, b.config.Limits.Concurrent*3/4))
	if slices.Contains(b.disabled, p.Name) {
		f.off = append(f.off, p)
		return
	}
	for _, t := range p.Targets {
		set := b.book.Find(t.Provider, t.Model.Name)
		if set != nil && set.ByHand() && !pricedInFile(b.config, t.Provider, t.Model.Name) {
			t.Price, f.priced[t.ID()] = set.Price, true // also where the catalog has no say: on this machine, in the simulator
		}
	}
	f.providers = append(f.providers, p)
	f.allow(address)
}

func (f *fleet) has(name string) bool { return f.sources[name] != "" }

// allow lets the calls to an address that the configuration names reach it, wherever it is.
func (f *fleet) allow(baseURL string) {
	u, err := url.Parse(baseURL)
	if err != nil || u.Host == "" {
		return
	}
	port := cmp.Or(u.Port(), map[string]string{"http": "80", "https": "443"}[u.Scheme])
	f.hosts = append(f.hosts, u.Hostname()+":"+port)
}

// vendor is the one that a provider of the file names, unless it is said to speak another format than that one; else a
// plain one of its format.
func vendor(p config.Provider) provider.Vendor {
	if v, ok := findVendor(cmp.Or(p.Vendor, p.Name)); ok && (p.Format == "" || p.Format == v.Format) {
		return v
	}
	return plain[cmp.Or(p.Format, chat.Name)](p.Name, p.Name)
}

func (b builder) fromFile(f *fleet, p config.Provider) *provider.Provider {
	v := vendor(p)
	secrets := secretsOf(p.Name, p.APIKeys, "file")
	address, _ := v.Address(b.env) // config asks for base_url where there is none
	if len(p.APIKeys) == 0 && (p.BaseURL == "" || p.BaseURL == address) {
		secrets = b.fromVariables(f, p.Name, v) // the vendor's own key goes to the vendor's own address only
	}
	offers := f.catalog.Offers(p.Name)
	if withCatalog(p) {
		offers = append(offers, f.catalog.Offers(v.Name)...)
	} else {
		offers = slices.DeleteFunc(offers, func(o catalog.Offer) bool {
			return !slices.ContainsFunc(p.Models, func(m config.Model) bool { return m.Name == o.Model })
		})
	}
	s := b.settings(p.Name, cmp.Or(p.BaseURL, address))
	s.Headers, s.Collects, s.Options = p.Headers, p.Collects, b.options(v, p.Options)
	s.Credentials = slices.Concat(secrets, b.vault[p.Name])
	s.Targets = b.withListed(f, p.Name, b.targets(f, p.Name, offers, p), p)
	built := v.New(s)
	built.Concurrent = p.Concurrent
	return built
}

// withCatalog reports whether the provider offers what the catalog knows of its vendor: by default only when the file
// lists no models itself.
func withCatalog(p config.Provider) bool {
	if p.Catalog == nil {
		return len(p.Models) == 0
	}
	return *p.Catalog
}

func (b builder) settings(name, baseURL string) provider.Settings {
	return provider.Settings{
		Name: name, BaseURL: baseURL, UserAgent: "fairlead/" + b.version,
		MaxLine: int(b.config.Limits.EventLine), MaxAnswer: int64(b.config.Limits.Answer), Fetch: b.fetch,
	}
}

// options are what a vendor alone needs: as the file says, else as the environment does.
func (b builder) options(v provider.Vendor, ofFile map[string]string) map[string]string {
	all := map[string]string{}
	if v.Options != nil {
		maps.Copy(all, v.Options(b.env))
	}
	maps.Copy(all, ofFile)
	return all
}

// detectEnvironment adds the vendors whose usual variables are set, or whose credentials are in the vault.
func (b builder) detectEnvironment(f *fleet) {
	for _, v := range vendors() {
		secrets := append(b.fromVariables(f, v.Name, v), b.vault[v.Name]...)
		address, known := v.Address(b.env)
		if len(secrets) == 0 || !known || f.has(v.Name) {
			continue
		}
		s := b.settings(v.Name, address)
		s.Credentials, s.Options = secrets, b.options(v, nil)
		s.Targets = b.withListed(f, v.Name, b.targets(f, v.Name, f.catalog.Offers(v.Name), config.Provider{}), config.Provider{})
		b.add(f, v.New(s), "env", address)
	}
}

// fromVariables reads a vendor's credential from its usual variables; the first that is set counts. One that is too short is
// rejected.
func (b builder) fromVariables(f *fleet, name string, v provider.Vendor) []provider.Credential {
	secret, variable := v.Key(b.env)
	if secret = strings.TrimSpace(secret); secret == "" {
		return nil
	}
	if len(secret) < redact.MinCredential {
		f.rejected = append(f.rejected, fmt.Errorf("%s holds a credential with fewer than %d characters, which cannot be told from ordinary text: set the provider's real key, or unset the variable", variable, redact.MinCredential))
		return nil
	}
	return []provider.Credential{{ID: name + "#1", Secret: secret, Source: "env " + variable}}
}

func secretsOf(name string, secrets []string, source string) []provider.Credential {
	var list []provider.Credential
	for i, s := range secrets {
		if s != "" {
			list = append(list, provider.Credential{ID: fmt.Sprintf("%s#%d", name, i+1), Secret: s, Source: source})
		}
	}
	return list
}

// addLocal adds the model servers found on loopback. What they serve costs nothing.
func (b builder) addLocal(f *fleet) {
	for _, found := range b.local {
		if f.has(found.vendor.Name) {
			continue
		}
		var offers []catalog.Offer
		for _, name := range found.models {
			offers = append(offers, catalog.Offer{Model: name, Provider: found.vendor.Name, Upstream: name, Price: &catalog.Price{Source: "local"}})
		}
		settings := b.settings(found.vendor.Name, found.vendor.BaseURL)
		settings.Targets = b.targets(f, found.vendor.Name, offers, config.Provider{})
		b.add(f, found.vendor.New(settings), "detected", found.vendor.BaseURL)
	}
}

// simulated is the provider that needs no network and costs nothing.
func (b builder) simulated() *provider.Provider {
	models := b.simulator.Models()
	var targets []*provider.Target
	for i, o := range b.simulator.Offers() {
		targets = append(targets, &provider.Target{
			Provider: mockprovider.Provider, Vendor: mockprovider.Provider, Model: &models[i], Upstream: o.Upstream, Price: o.Price,
			FirstToken: b.firstToken(&models[i], config.Provider{}), Waits: b.waits(&models[i], config.Provider{}), Simulated: true,
		})
	}
	s := b.settings(mockprovider.Provider, "http://simulator.invalid/v1")
	s.Targets = targets
	p := compatible.Plain(mockprovider.Provider, "Simulator").New(s)
	p.Simulated = true
	p.Transport = mockprovider.Transport(b.simulator)
	return p
}

// targets makes the targets of a provider's offers.
func (b builder) targets(f *fleet, name string, offers []catalog.Offer, p config.Provider) []*provider.Target {
	var list []*provider.Target
	seen := map[string]bool{}
	for _, o := range offers {
		model := f.catalog.At(o)
		if model == nil {
			model = localModel(f.catalog, o.Model)
		}
		if seen[model.Name] {
			continue
		}
		seen[model.Name] = true
		list = append(list, &provider.Target{
			Provider: name, Vendor: cmp.Or(p.Vendor, name), Model: model, Upstream: o.Upstream, Price: o.Price,
			FirstToken: b.firstToken(model, p), Waits: b.waits(model, p), ZeroRetention: p.ZeroRetention, Tags: p.Tags,
		})
	}
	return list
}

// withListed adds the models that the provider lists itself and that neither the catalog nor the configuration knows. Their
// price is unknown.
func (b builder) withListed(f *fleet, name string, targets []*provider.Target, p config.Provider) []*provider.Target {
	var offers []catalog.Offer
	for _, model := range b.listed[name] {
		canonical := model
		if m, ok := f.catalog.Model(model); ok { // also a dated name, which has the price of its model
			canonical = m.Name
		}
		known := slices.ContainsFunc(targets, func(t *provider.Target) bool {
			return t.Upstream == model || t.Model.Name == canonical || slices.Contains(t.Model.Aliases, model)
		})
		if !known {
			offers = append(offers, catalog.Offer{Model: model, Provider: name, Upstream: model})
		}
	}
	for _, t := range b.targets(f, name, offers, p) {
		t.Listed = true
		targets = append(targets, t)
	}
	return targets
}

// localModel describes a model that a local server lists: what the catalog knows under a like name, else common abilities.
func localModel(cat *catalog.Catalog, name string) *catalog.Model {
	m := catalog.Model{Name: name, Op: llm.Chat, Abilities: catalog.Common &^ llm.Vision, Assumed: true}
	if known, ok := cat.Model(name); ok {
		m = *known
		m.Name = name
	} else if strings.Contains(name, "embed") {
		m.Op, m.Abilities = llm.Embed, 0
	}
	return &m
}

// timeouts are the waiting times that hold for a model at a provider, the most particular first: the model's at the
// provider, the model's anywhere, the provider's.
func (b builder) timeouts(m *catalog.Model, p config.Provider) []config.Timeouts {
	var list []config.Timeouts
	for _, models := range [][]config.Model{p.Models, b.config.Models} {
		for _, one := range models {
			if one.Name == m.Name {
				list = append(list, one.Timeouts)
			}
		}
	}
	return append(list, p.Timeouts)
}

// firstToken is how long a model's first token may take: by what is set for it, or by the kind of model.
func (b builder) firstToken(m *catalog.Model, p config.Provider) time.Duration {
	reasons := m.Abilities.Has(llm.Reasoning)
	list := b.timeouts(m, p)
	for i, t := range append(list, b.config.Timeouts) {
		general := i >= len(list)-1 // not for this model alone: it may know better of those that think
		switch {
		case reasons && t.FirstTokenReasoning > 0:
			return t.FirstTokenReasoning
		case t.FirstToken > 0 && (!reasons || !general):
			return t.FirstToken
		}
	}
	return b.config.Timeouts.FirstToken
}

// waits are the other waiting times for a model at a provider; what is set for all is the gateway's matter.
func (b builder) waits(m *catalog.Model, p config.Provider) provider.Waits {
	w := provider.Waits{Headers: b.config.Timeouts.Headers}
	list := b.timeouts(m, p)
	slices.Reverse(list) // so that the most particular has the last word
	for _, t := range list {
		w.Connect, w.Headers = cmp.Or(t.Connect, w.Connect), cmp.Or(t.Headers, w.Headers)
		w.Idle, w.Total = cmp.Or(t.Idle, w.Idle), cmp.Or(t.Total, w.Total)
	}
	return w
}

// pricedInFile reports whether the configuration file prices a model at a provider, or wherever it is offered.
func pricedInFile(c config.Config, providerName, model string) bool {
	priced := func(m config.Model) bool { return m.Name == model && (m.InputPerMtok != nil || m.OutputPerMtok != nil) }
	return slices.ContainsFunc(c.Models, priced) || slices.ContainsFunc(c.Providers, func(p config.Provider) bool {
		return p.Name == providerName && slices.ContainsFunc(p.Models, priced)
	})
}

// overrides turns the models of the file into facts of the catalog.
func overrides(c config.Config) catalog.Overrides {
	var list catalog.Overrides
	for _, m := range c.Models {
		list = append(list, override("", m))
	}
	for _, p := range c.Providers {
		for _, m := range p.Models {
			list = append(list, override(p.Name, m))
		}
	}
	return list
}

func override(providerName string, m config.Model) catalog.Override {
	o := catalog.Override{
		Model: m.Name, Provider: providerName, Upstream: m.Upstream, Aliases: m.Aliases,
		Context: m.Context, MaxOutput: m.MaxOutput, Quality: m.Quality,
		Input: rate(m.InputPerMtok), Output: rate(m.OutputPerMtok),
		CacheRead: rate(m.CacheReadPerMtok), CacheWrite: rate(m.CacheWritePerMtok), CacheWriteLong: rate(m.CacheWrite1hPerMtok),
		AudioInput: rate(m.AudioInputPerMtok), AudioOutput: rate(m.AudioOutputPerMtok),
	}
	switch m.Kind {
	case "chat":
		o.Op = llm.Chat
	case "embedding":
		o.Op = llm.Embed
	case "moderation":
		o.Op = llm.Moderate
	case "completion":
		o.Op = llm.Complete
	}
	if m.Dimensions > 0 {
		o.Dimensions = []int64{m.Dimensions}
	}
	if m.PerRequest != nil {
		amount := money.Amount(money.PerMillion(*m.PerRequest)) // both count nano-dollars
		o.PerRequest = &amount
	}
	if len(m.Abilities) > 0 {
		var set llm.Abilities
		for _, name := range m.Abilities {
			one, err := llm.ParseAbility(name)
			if err == nil { // config has refused unknown names
				set |= one
			}
		}
		o.Abilities = &set
	}
	return o
}

func rate(dollars *float64) *money.Rate {
	if dollars == nil {
		return nil
	}
	r := money.PerMillion(*dollars)
	return &r
}

// snapshot is the router's view of the fleet.
func (f *fleet) snapshot() *route.Snapshot { return f.routes }

// egressOptions say where calls may go: public addresses, what the operator allows, and what configuration names.
func (f *fleet) egressOptions(c config.Config) egress.Options {
	o := egress.Options{Connect: c.Timeouts.Connect, AllowHosts: f.hosts}
	for _, text := range c.AllowPrivateUpstreams {
		if prefix, err := netip.ParsePrefix(text); err == nil { // config has refused bad ones
			o.AllowPrivate = append(o.AllowPrivate, prefix)
		}
	}
	return o
}
