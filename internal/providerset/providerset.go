// Package providerset builds the providers of an instance from configuration, environment, stored providers, stored
// credentials and local servers.
package providerset

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

	adminproviders "fairlead.dev/internal/admin/providers"
	"fairlead.dev/internal/catalog"
	"fairlead.dev/internal/config"
	"fairlead.dev/internal/egress"
	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/money"
	"fairlead.dev/internal/policy"
	"fairlead.dev/internal/provider"
	"fairlead.dev/internal/provider/compatible"
	"fairlead.dev/internal/redact"
	"fairlead.dev/internal/route"
	"fairlead.dev/internal/simulator"
	"fairlead.dev/internal/wire/openai"
)

// Set holds the providers of the instance and the catalog from which they were built.
type Set struct {
	Catalog   *catalog.Catalog
	Providers []*provider.Provider
	Off       []*provider.Provider       // providers that are configured but disabled
	Sources   map[string]string          // source of each provider: file, dashboard, env, detected or simulator
	Priced    map[string]bool            // targets whose price was set in the dashboard
	sections  map[string]config.Provider // configuration by provider, from the file or created for a stored provider
	hosts     []string                   // configured or detected hosts, which may have private addresses
	Routes    *route.Snapshot
	Policies  *policy.Set    // policies of the instance
	catalog   map[string]int // number of catalog models by provider, whether or not its account offers them
	rejected  []error        // unusable credentials in the environment
}

// Provider sources.
const (
	fromFile        = "file"
	fromEnvironment = "env"
	fromDashboard   = "dashboard"
)

// Credentials holds the stored credentials by provider.
type Credentials map[string][]provider.Credential

// Assemble builds the providers from the configuration file, the store, the environment, loopback servers and the
// simulator, in this order. A provider whose name is already taken is skipped.
func (b Builder) Assemble() (*Set, error) {
	base, err := catalog.Default()
	if err != nil {
		return nil, fmt.Errorf("read the catalog: %w", err)
	}
	priced := base.With(b.Book.Overrides(base))
	var overrides catalog.Overrides // overrides for the models in the file
	for _, m := range b.Config.Models {
		overrides = append(overrides, override("", m))
	}
	for _, p := range b.Config.Providers {
		for _, m := range p.Models {
			one := override(p.Name, m)
			one.Vendor = cmp.Or(p.Vendor, p.Name)
			overrides = append(overrides, one)
		}
	}
	f := &Set{Catalog: priced.With(overrides), Sources: map[string]string{}, Priced: map[string]bool{}, sections: map[string]config.Provider{}, catalog: map[string]int{}}
	f.allow(b.Config.Catalog.URL)
	for _, p := range b.Config.Providers {
		if p.Disabled {
			b.Disabled = append(b.Disabled, p.Name)
		}
		b.add(f, b.fromFile(f, p), fromFile, p.BaseURL)
	}
	for _, p := range b.Connected {
		if !f.Has(p.Name) {
			built, address := b.fromStore(f, p)
			b.add(f, built, fromDashboard, address)
		}
	}
	if b.Config.Detect {
		b.detectEnvironment(f)
		b.addLocal(f)
	}
	if b.Config.Simulator == "on" || (b.Config.Simulator == "auto" && len(f.Providers) == 0) {
		b.add(f, b.simulated(), "simulator", "")
	}
	if err := errors.Join(f.rejected...); err != nil {
		return nil, err
	}
	f.Routes = route.NewSnapshot(f.Catalog, f.Providers, nil)
	f.Routes.LeaveUnpriced(f.unpriced(b.Offered))
	return f, nil
}

// Builder holds the inputs of a provider set.
type Builder struct {
	Config    config.Config
	Version   string
	Env       func(string) string
	Connected []provider.Connected // stored providers
	Vault     Credentials
	Disabled  []string // names of the providers disabled in the dashboard or the file
	Local     []LocalServer
	Listed    map[string][]string // listed models for which requests are served, by provider
	Offered   map[string][]string // complete model lists by provider, which exclude other catalog models
	Simulator *simulator.Simulator
	Fetch     *http.Client          // client for the token services of vendors
	Book      *catalog.PriceHistory // imported and manually set prices
}

// add adds a provider to the set and allows calls to its configured address. A disabled provider is only
// added to Off.
func (b Builder) add(f *Set, p *provider.Provider, source, address string) {
	f.Sources[p.Name] = source
	setTags(p)
	p.Concurrent = cmp.Or(p.Concurrent, max(1, b.Config.Limits.Concurrent*3/4))
	if slices.Contains(b.Disabled, p.Name) {
		f.Off = append(f.Off, p)
		return
	}
	for _, t := range p.Targets {
		set := b.Book.Find(t.Provider, t.Model.Name)
		if set != nil && set.Manual() && !PricedInFile(b.Config, t.Provider, t.Model.Name) {
			t.Price, f.Priced[t.ID()] = set.Price, true // includes models without a catalog price, such as local and simulated models
		}
	}
	f.Providers = append(f.Providers, p)
	f.allow(address)
}

// Has reports whether a provider is configured.
func (f *Set) Has(name string) bool { return f.Sources[name] != "" }

// allow permits calls to a configured address, including a private one.
func (f *Set) allow(baseURL string) {
	u, err := url.Parse(baseURL)
	if err != nil || u.Host == "" {
		return
	}
	f.hosts = append(f.hosts, provider.HostPort(u))
}

// vendor returns the vendor of a provider in the configuration file. If the vendor is unknown or does not use the configured format, it
// returns a plain vendor with the configured format.
func vendor(p config.Provider) provider.Vendor {
	if v, ok := findVendor(cmp.Or(p.Vendor, p.Name)); ok && (p.Format == "" || p.Format == v.Format) {
		return v
	}
	return plain[cmp.Or(p.Format, openai.Name)](p.Name, p.Name)
}

func (b Builder) fromFile(f *Set, p config.Provider) *provider.Provider {
	v := vendor(p)
	f.sections[p.Name] = p
	var secrets []provider.Credential
	for i, key := range p.APIKeys {
		if key != "" {
			secrets = append(secrets, provider.Credential{ID: fmt.Sprintf("%s#%d", p.Name, i+1), Secret: key, Source: fromFile})
		}
	}
	address, _ := v.Address(b.Env) // if the vendor has no default address, config requires base_url
	if len(p.APIKeys) == 0 && (p.BaseURL == "" || p.BaseURL == address) {
		secrets = b.fromVariables(f, p.Name, v) // the vendor's default key is sent only to the vendor's own address
	}
	offers := f.Catalog.Offers(p.Name)
	if withCatalog(p) {
		offers = append(offers, f.Catalog.Offers(v.Name)...)
	} else {
		offers = slices.DeleteFunc(offers, func(o catalog.Offer) bool {
			set := b.Book.Find(p.Name, o.Model) // keep a model with a manually set price, even if the file does not list it
			return !slices.ContainsFunc(p.Models, func(m config.Model) bool { return m.Name == o.Model }) && (set == nil || !set.Manual())
		})
	}
	s := b.settings(p.Name, cmp.Or(p.BaseURL, address))
	s.Headers, s.Collects, s.Options = p.Headers, p.Collects, b.options(v, p.Options)
	s.Credentials = slices.Concat(secrets, b.Vault[p.Name])
	ownAddress := p.BaseURL == "" || p.BaseURL == address || p.Options["auth"] == "identity"
	if len(s.Credentials) == 0 && v.Identity != "" && ownAddress {
		s.Credentials = []provider.Credential{{ID: p.Name + "#1", Secret: provider.Identity, Source: v.Identity}}
	}
	s.Targets = b.withListed(f, p.Name, b.targets(f, p.Name, offers, p), p)
	built := v.New(s)
	built.Concurrent = p.Concurrent
	return built
}

// withCatalog reports whether the provider offers its vendor's catalog models. By default, this is the case only if the file lists no
// models.
func withCatalog(p config.Provider) bool {
	if p.Catalog == nil {
		return len(p.Models) == 0
	}
	return *p.Catalog
}

func (b Builder) settings(name, baseURL string) provider.Settings {
	return provider.Settings{
		Name: name, BaseURL: baseURL, UserAgent: "fairlead/" + b.Version,
		MaxLine: int(b.Config.Limits.EventLine), MaxResponse: int64(b.Config.Limits.Answer), Fetch: b.Fetch,
		Metadata: egress.NewMetadata,
	}
}

// options returns the vendor-specific options. Values in the file take precedence over values from the environment.
func (b Builder) options(v provider.Vendor, ofFile map[string]string) map[string]string {
	all := map[string]string{}
	if v.Options != nil {
		maps.Copy(all, v.Options(b.Env))
	}
	maps.Copy(all, ofFile)
	return all
}

// detectEnvironment adds the vendors whose default variables are set or whose credentials are stored.
func (b Builder) detectEnvironment(f *Set) {
	for _, v := range vendors() {
		secrets := append(b.fromVariables(f, v.Name, v), b.Vault[v.Name]...)
		address, known := v.Address(b.Env)
		if len(secrets) == 0 || !known || f.Has(v.Name) {
			continue
		}
		s := b.settings(v.Name, address)
		s.Credentials, s.Options = secrets, b.options(v, nil)
		s.Targets = b.withListed(f, v.Name, b.targets(f, v.Name, f.Catalog.Offers(v.Name), config.Provider{}), config.Provider{})
		source := fromEnvironment
		if secrets[0].Source == provider.Dashboard {
			source = fromDashboard // the credentials come from the store, not from the environment
		}
		b.add(f, v.New(s), source, address)
	}
}

// fromVariables reads a vendor's credential from the first of its default variables that is set. It rejects a
// credential that is too short.
func (b Builder) fromVariables(f *Set, name string, v provider.Vendor) []provider.Credential {
	secret, variable := v.Key(b.Env)
	if secret = strings.TrimSpace(secret); secret == "" {
		return nil
	}
	if len(secret) < redact.MinCredential {
		f.rejected = append(f.rejected, fmt.Errorf("%s holds a credential with fewer than %d characters, which is too short to be redacted reliably in responses and logs: set the provider's real key, or unset the variable", variable, redact.MinCredential))
		return nil
	}
	return []provider.Credential{{ID: name + "#1", Secret: secret, Source: "env " + variable}}
}

// addLocal adds the model servers found on loopback addresses. Their models are free.
func (b Builder) addLocal(f *Set) {
	for _, found := range b.Local {
		if f.Has(found.vendor.Name) {
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

// simulated returns the simulator, which needs no network and costs nothing.
func (b Builder) simulated() *provider.Provider {
	models := b.Simulator.Models()
	var targets []*provider.Target
	for i, o := range b.Simulator.Offers() {
		targets = append(targets, &provider.Target{
			Provider: simulator.Provider, Vendor: simulator.Provider, Model: &models[i], Upstream: o.Upstream, Price: o.Price,
			FirstToken: b.firstToken(&models[i], config.Provider{}), Waits: b.waits(&models[i], config.Provider{}), Simulated: true,
		})
	}
	s := b.settings(simulator.Provider, "http://simulator.invalid/v1")
	s.Targets = targets
	p := compatible.Plain(simulator.Provider, "Simulator").New(s)
	p.Simulated = true
	p.Transport = simulator.Transport(b.Simulator)
	return p
}

// targets builds the targets for a provider's offers.
func (b Builder) targets(f *Set, name string, offers []catalog.Offer, p config.Provider) []*provider.Target {
	var list []*provider.Target
	seen := map[string]bool{}
	for _, o := range offers {
		model := f.Catalog.At(o)
		if model == nil {
			model = localModel(f.Catalog, o.Model)
		}
		if seen[model.Name] {
			continue
		}
		seen[model.Name] = true
		list = append(list, &provider.Target{
			Provider: name, Vendor: cmp.Or(p.Vendor, name), Model: model, Upstream: o.Upstream,
			Price:      o.Price.WithSearchFee(cmp.Or(p.Vendor, name), model.Name),
			Efforts:    catalog.EffortsFor(cmp.Or(p.Vendor, name), model.Name),
			FirstToken: b.firstToken(model, p), Waits: b.waits(model, p), Retention: provider.Retention{ZeroRetention: p.ZeroRetention}, Tags: p.Tags,
			Traits: provider.Traits{ResponsesOnly: o.Needs == catalog.NeedsResponses},
		})
	}
	return list
}

// chatLists holds the vendors whose list contains only chat models. It does not show which other models an account may use.
var chatLists = []string{"fireworks", "openrouter"}

// onlyOffered removes catalog models that are not in the list of the provider's account. It keeps models with settings of the operator. A
// list without any known model uses other names, so it removes nothing.
func (b Builder) onlyOffered(f *Set, name string, targets []*provider.Target, p config.Provider) []*provider.Target {
	listed := map[*provider.Target]bool{}
	for _, model := range b.Offered[name] {
		matches := f.matches(model)
		for _, t := range targets {
			if matches(t) {
				listed[t] = true
			}
		}
	}
	if len(listed) == 0 {
		return targets
	}
	chatOnly := slices.Contains(chatLists, cmp.Or(p.Vendor, name))
	return slices.DeleteFunc(targets, func(t *provider.Target) bool {
		set := b.Book.Find(name, t.Model.Name)
		configured := slices.ContainsFunc(p.Models, func(m config.Model) bool { return m.Name == t.Model.Name })
		return !listed[t] && !configured && (set == nil || !set.Manual()) && (!chatOnly || t.Model.Op == llm.Chat)
	})
}

// withListed limits the targets to those that the provider's account offers, and adds models that the provider lists but that are neither
// in the catalog nor in the configuration. Their price is unknown.
func (b Builder) withListed(f *Set, name string, targets []*provider.Target, p config.Provider) []*provider.Target {
	f.catalog[name] = len(targets)
	targets = b.onlyOffered(f, name, targets, p)
	var offers []catalog.Offer
	for _, model := range b.Listed[name] {
		if !slices.ContainsFunc(targets, f.matches(model)) {
			offers = append(offers, catalog.Offer{Model: model, Provider: name, Upstream: model})
		}
	}
	for _, t := range b.targets(f, name, offers, p) {
		t.Listed = true
		targets = append(targets, t)
	}
	return targets
}

// localModel returns the description of a model on a local server: the catalog model with a similar name, or a default with common
// abilities.
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

// timeouts returns the timeouts that apply to a model at a provider, most specific first: those of the model at the provider, those of the
// model, and those of the provider.
func (b Builder) timeouts(m *catalog.Model, p config.Provider) []config.Timeouts {
	var list []config.Timeouts
	for _, models := range [][]config.Model{p.Models, b.Config.Models} {
		for _, one := range models {
			if one.Name == m.Name {
				list = append(list, one.Timeouts)
			}
		}
	}
	return append(list, p.Timeouts)
}

// firstToken returns the first-token timeout of a model: the configured one, or the default for the kind of model.
func (b Builder) firstToken(m *catalog.Model, p config.Provider) time.Duration {
	reasons := m.Abilities.Has(llm.Reasoning)
	list := b.timeouts(m, p)
	for i, t := range append(list, b.Config.Timeouts) {
		general := i >= len(list)-1 // provider and instance settings do not shorten the timeout of reasoning models
		switch {
		case reasons && t.FirstTokenReasoning > 0:
			return t.FirstTokenReasoning
		case t.FirstToken > 0 && (!reasons || !general):
			return t.FirstToken
		}
	}
	return b.Config.Timeouts.FirstToken
}

// waits returns the timeouts of a model at a provider, except the first-token timeout. A timeout of 0 selects the gateway's
// timeout.
func (b Builder) waits(m *catalog.Model, p config.Provider) provider.Waits {
	w := provider.Waits{Headers: b.Config.Timeouts.Headers}
	list := b.timeouts(m, p)
	slices.Reverse(list) // the most specific setting is applied last
	for _, t := range list {
		w.Connect, w.Headers = cmp.Or(t.Connect, w.Connect), cmp.Or(t.Headers, w.Headers)
		w.Idle, w.Total = cmp.Or(t.Idle, w.Idle), cmp.Or(t.Total, w.Total)
	}
	return w
}

// PricedInFile reports whether the configuration file sets the price of a model at the provider or at every provider.
func PricedInFile(c config.Config, providerName, model string) bool {
	priced := func(m config.Model) bool { return m.Name == model && (m.InputPerMtok != nil || m.OutputPerMtok != nil) }
	return slices.ContainsFunc(c.Models, priced) || slices.ContainsFunc(c.Providers, func(p config.Provider) bool {
		return p.Name == providerName && slices.ContainsFunc(p.Models, priced)
	})
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
	case "speech":
		o.Op = llm.Speech
	case "transcription":
		o.Op = llm.Transcribe
	case "image":
		o.Op = llm.GenerateImages
	case "rerank":
		o.Op = llm.Rerank
	case "realtime":
		o.Op = llm.Realtime
	}
	if m.Dimensions > 0 {
		o.Dimensions = []int64{m.Dimensions}
	}
	if m.PerRequest != nil {
		amount := money.Amount(money.PerMillion(*m.PerRequest)) // PerMillion converts dollars to nano-dollars, the unit of an Amount
		o.PerRequest = &amount
	}
	if m.Per1kSearches != nil {
		o.Search = new(catalog.SearchRate(money.Amount(money.PerMillion(*m.Per1kSearches))))
	}
	if len(m.Abilities) > 0 {
		var set llm.Abilities
		for _, name := range m.Abilities {
			one, err := llm.ParseAbility(name)
			if err == nil { // config rejects unknown names
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

// Snapshot returns the router's view of the set.
func (f *Set) Snapshot() *route.Snapshot { return f.Routes }

// EgressOptions returns the permitted addresses: public addresses, those that the operator allows, and those in the
// configuration.
func (f *Set) EgressOptions(c config.Config) egress.Options {
	o := egress.Options{Connect: c.Timeouts.Connect, AllowHosts: f.hosts}
	for _, text := range c.AllowPrivateUpstreams {
		if prefix, err := netip.ParsePrefix(text); err == nil { // config rejects invalid prefixes
			o.AllowPrivate = append(o.AllowPrivate, prefix)
		}
	}
	return o
}

// State returns the state of a provider, enabled or not, without its targets.
func (f *Set) State(p *provider.Provider) adminproviders.ProviderState {
	one := adminproviders.ProviderState{Name: p.Name, Title: p.Title, BaseURL: p.BaseURL, Source: f.Sources[p.Name], ManagedBy: adminproviders.ManagedByEnvironment, Simulated: p.Simulated, CatalogModels: f.catalog[p.Name]}
	switch one.Source {
	case fromFile:
		one.ManagedBy = adminproviders.ManagedByFile
	case fromDashboard:
		one.ManagedBy = adminproviders.ManagedByDashboard
	}
	for _, c := range p.Credentials {
		one.Credentials = append(one.Credentials, adminproviders.CredentialState{ID: c.ID, Hint: c.Hint(), Source: c.Source})
	}
	return one
}
