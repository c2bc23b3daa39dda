package providerset

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"

	"fairlead.dev/internal/account"
	adminproviders "fairlead.dev/internal/admin/providers"
	"fairlead.dev/internal/catalog"
	"fairlead.dev/internal/config"
	"fairlead.dev/internal/egress"
	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/provider"
	"fairlead.dev/internal/simulator"
	"fairlead.dev/internal/spelling"
	"fairlead.dev/internal/vault"
	"fairlead.dev/internal/wire/fault"
)

// section converts a stored provider to a configuration file section.
func section(c provider.Connected) config.Provider {
	return config.Provider{Name: c.Name, Vendor: c.Vendor, Format: c.Format, BaseURL: c.BaseURL, Options: c.Options}
}

// fromStore builds a stored provider. It also returns the address if the address may be private: an address that the operator set in
// the environment, or the loopback address that an owner allowed in the dashboard.
func (b Builder) fromStore(f *Set, c provider.Connected) (built *provider.Provider, trusted string) {
	p := section(c)
	v := vendor(p)
	f.sections[c.Name] = p
	address, _ := v.Address(b.Env)
	s := b.settings(c.Name, cmp.Or(c.BaseURL, address))
	s.Options = b.options(v, c.Options)
	own := c.BaseURL == "" || c.BaseURL == address
	if own && c.Name == v.Name && b.Config.Detect {
		s.Credentials = b.fromVariables(f, c.Name, v)
	}
	s.Credentials = append(s.Credentials, b.Vault[c.Name]...)
	var offers []catalog.Offer
	if !v.Local { // a local server offers the models that are installed on it
		offers = f.Catalog.Offers(c.Name)
		if v.Name != c.Name {
			offers = append(offers, f.Catalog.Offers(v.Name)...)
		}
	}
	s.Targets = b.withListed(f, c.Name, b.targets(f, c.Name, offers, p), p)
	for _, t := range s.Targets {
		if t.Price == nil && (c.Free || v.Local) {
			t.Price = &catalog.Price{Source: "local"}
		}
	}
	if own && !v.Local {
		trusted = address
	}
	if c.Allowed != "" && c.Allowed == egress.Loopback(c.BaseURL) {
		trusted = c.BaseURL
	}
	return v.New(s), trusted
}

// Connector connects, changes and disconnects stored providers. It implements the Connector of the admin API.
type Connector struct {
	Loader *Loader
	Lists  ListStore // store of the providers' model lists; may be nil
	Config func() config.Config
	Set    func() *Set                     // returns the active set
	Apply  func(ctx context.Context) error // activates changes to the stored providers
	Now    func() time.Time
}

// Vendors implements the Connector of the admin API.
func (c *Connector) Vendors() []adminproviders.Vendor { return Gallery(c.Set().Catalog) }

// Connect implements the Connector of the admin API.
func (c *Connector) Connect(ctx context.Context, in adminproviders.Connection, accountID string) (adminproviders.ConnectResult, error) {
	p, key, err := c.validate(ctx, in)
	if err != nil {
		return adminproviders.ConnectResult{}, err
	}
	p.CreatedBy, p.CreatedAt = accountID, c.Now().UTC().Truncate(time.Millisecond)
	result := adminproviders.ConnectResult{Name: p.Name}
	if in.Test {
		if result.Probe, result.Found, err = c.try(ctx, p, key); err != nil {
			return adminproviders.ConnectResult{}, err
		}
	}
	if err := c.store(ctx, p, key, accountID); err != nil {
		return adminproviders.ConnectResult{}, err
	}
	if result.Probe != nil && len(result.Probe.Models) > 0 {
		c.Loader.Listed.put(p.Name, result.Probe, servesList(c.build(p), false), c.Now())
		if c.Lists != nil && !result.Probe.Partial {
			if err := c.Lists.SaveModelList(ctx, p.Name, boundedNames(result.Probe.Models), true, c.Now()); err != nil {
				return adminproviders.ConnectResult{}, err
			}
		}
	}
	return result, c.Apply(ctx)
}

// store stores a new provider with its key. The provider is enabled, even if an earlier provider with this name was disabled.
func (c *Connector) store(ctx context.Context, p provider.Connected, key, accountID string) error {
	err := c.Loader.Connected.AddProvider(ctx, p)
	if errors.Is(err, provider.ErrConnected) {
		return &llm.Error{Kind: llm.Conflict, Message: fmt.Sprintf("A provider named %q exists. Choose another name.", p.Name), Param: "name", Err: err}
	}
	if err != nil {
		return err
	}
	if key != "" {
		if _, err := c.Loader.Vault.Add(ctx, p.Name, key, accountID); err != nil {
			return errors.Join(err, c.Loader.Connected.DeleteProvider(ctx, p.Name))
		}
	}
	return c.Loader.SetEnabled(ctx, p.Name, true)
}

// Change implements the Connector of the admin API.
func (c *Connector) Change(ctx context.Context, name string, change adminproviders.ConnectionChange, accountID string) error {
	stored, err := c.find(ctx, name)
	if err != nil {
		return err
	}
	next := stored
	if change.BaseURL != nil {
		next.BaseURL = strings.TrimRight(strings.TrimSpace(*change.BaseURL), "/")
	}
	if change.Options != nil {
		next.Options = change.Options
	}
	if change.Free != nil {
		next.Free = *change.Free
	}
	if err := c.checkSettings(ctx, next); err != nil {
		return err
	}
	key := ""
	if change.Key != nil {
		if key, err = checkKey(*change.Key); err != nil {
			return err
		}
	}
	keys, err := c.storedKeys(ctx, name)
	if err != nil {
		return err
	}
	if key == "" && len(keys) > 0 && c.hostOf(stored) != c.hostOf(next) {
		return &llm.Error{Kind: llm.InvalidRequest, Message: "Enter a key for the new address: a stored key is sent only to the host that it was entered for.", Param: "key"}
	}
	if key != "" {
		if err := c.removeKeys(ctx, name); err != nil { // remove the old keys before the update, so that they are never sent to a new address
			return err
		}
	}
	if err := c.Loader.Connected.UpdateProvider(ctx, next); err != nil {
		return notConnected(err)
	}
	if key != "" {
		if _, err := c.Loader.Vault.Add(ctx, name, key, accountID); err != nil {
			return err
		}
	}
	return c.Apply(ctx)
}

// Disconnect implements the Connector of the admin API.
func (c *Connector) Disconnect(ctx context.Context, name string) error {
	if err := c.Manageable(name); err != nil {
		return err
	}
	if err := c.Loader.Connected.DeleteProvider(ctx, name); err != nil {
		return notConnected(err)
	}
	if err := c.Loader.SetEnabled(ctx, name, true); err != nil { // a later provider with this name must be enabled
		return err
	}
	return c.Apply(ctx)
}

// SetKey stores a key of a provider. It deletes the other stored keys of the provider unless add is true.
func (c *Connector) SetKey(ctx context.Context, name, key string, add bool) (vault.Credential, error) {
	if !c.Set().Has(name) {
		return vault.Credential{}, account.ErrNotFound
	}
	key, err := checkKey(key)
	if err != nil {
		return vault.Credential{}, err
	}
	if !add {
		if err := c.removeKeys(ctx, name); err != nil {
			return vault.Credential{}, err
		}
	}
	added, err := c.Loader.Vault.Add(ctx, name, key, "")
	if err != nil {
		return vault.Credential{}, err
	}
	return added, c.Apply(ctx)
}

// Manageable returns an error unless the provider exists and the dashboard manages it.
func (c *Connector) Manageable(name string) error {
	f := c.Set()
	switch f.Sources[name] {
	case "":
		return account.ErrNotFound
	case fromDashboard:
		return nil
	case fromFile:
		return llm.Errorf(llm.Conflict, "Provider %q is managed in the configuration file. Change it there.", name)
	case fromEnvironment:
		return llm.Errorf(llm.Conflict, "Provider %q is managed by the environment variable %s. Change it there.", name, f.variable(name))
	}
	return llm.Errorf(llm.Conflict, "Provider %q was detected automatically. It cannot be changed here.", name)
}

// variable returns the environment variable that configures a provider.
func (f *Set) variable(name string) string {
	for _, p := range slices.Concat(f.Providers, f.Off) {
		for _, c := range p.Credentials {
			if variable, ok := strings.CutPrefix(c.Source, "env "); ok && p.Name == name {
				return variable
			}
		}
	}
	return ""
}

// find returns a stored provider that the dashboard manages.
func (c *Connector) find(ctx context.Context, name string) (provider.Connected, error) {
	if err := c.Manageable(name); err != nil {
		return provider.Connected{}, err
	}
	all, err := c.Loader.Connected.ConnectedProviders(ctx)
	if err != nil {
		return provider.Connected{}, err
	}
	i := slices.IndexFunc(all, func(p provider.Connected) bool { return p.Name == name })
	if i < 0 { // the vendor was detected through its stored credentials
		return provider.Connected{}, llm.Errorf(llm.Conflict, "Provider %q has no stored settings. Remove it and connect it again.", name)
	}
	return all[i], nil
}

func notConnected(err error) error {
	if errors.Is(err, provider.ErrNotConnected) {
		return account.ErrNotFound
	}
	return err
}

func (c *Connector) storedKeys(ctx context.Context, name string) ([]vault.Credential, error) {
	all, err := c.Loader.Vault.Credentials(ctx)
	return slices.DeleteFunc(all, func(one vault.Credential) bool { return one.Provider != name }), err
}

func (c *Connector) removeKeys(ctx context.Context, name string) error {
	keys, err := c.storedKeys(ctx, name)
	if err != nil {
		return err
	}
	for _, key := range keys {
		if err := c.Loader.Vault.Remove(ctx, name, key.ID); err != nil {
			return err
		}
	}
	return nil
}

// hostOf returns the scheme, host and port that calls to a provider are sent to.
func (c *Connector) hostOf(p provider.Connected) string {
	address := c.build(p).BaseURL
	u, err := url.Parse(address)
	if err != nil {
		return address
	}
	return u.Scheme + "://" + provider.HostPort(u)
}

// build builds a provider without its stored credentials and without the models in the provider's own list.
func (c *Connector) build(p provider.Connected) *provider.Provider {
	built, _ := Builder{Config: c.Config(), Env: c.Loader.Env}.fromStore(c.blank(), p)
	return built
}

// blank returns a set that has the active catalog and no providers.
func (c *Connector) blank() *Set {
	return &Set{Catalog: c.Set().Catalog, Sources: map[string]string{}, Priced: map[string]bool{}, sections: map[string]config.Provider{}, catalog: map[string]int{}}
}

// validate checks the input of Connect and returns the provider to store and its key.
func (c *Connector) validate(ctx context.Context, in adminproviders.Connection) (p provider.Connected, key string, err error) {
	p = provider.Connected{
		Name: cmp.Or(in.Name, in.Vendor), Vendor: in.Vendor, BaseURL: strings.TrimRight(in.BaseURL, "/"), Options: maps.Clone(in.Options), Free: in.Free,
	}
	if p.Vendor == CustomVendor {
		p.Name, p.Vendor, p.Format = in.Name, "", in.Format
	}
	if in.AllowLoopback {
		if p.Allowed = egress.Loopback(p.BaseURL); p.Allowed == "" {
			return p, "", invalid("base_url", "Only an address on this machine can be allowed here: localhost, 127.0.0.1 or [::1].")
		}
	}
	if err := c.checkName(p); err != nil {
		return p, "", err
	}
	if err := c.checkSettings(ctx, p); err != nil {
		return p, "", err
	}
	v, known := findVendor(p.Vendor)
	if strings.TrimSpace(in.Key) == "" {
		if known && !v.Local {
			return p, "", invalid("key", "Enter an API key for %s.", v.Title)
		}
		return p, "", nil // the server needs no authentication
	}
	key, err = checkKey(in.Key)
	return p, key, err
}

func checkKey(key string) (string, error) {
	key, err := vault.CheckSecret(key)
	if e, ok := errors.AsType[*llm.Error](err); ok {
		again := *e
		again.Param = "key"
		return "", &again
	}
	return key, err
}

func (c *Connector) checkName(p provider.Connected) error {
	f := c.Set()
	_, vendorName := findVendor(p.Name)
	switch {
	case p.Name == "":
		return invalid("name", "Enter a name for the provider.")
	case !config.ValidName(p.Name):
		return invalid("name", "Use at most 64 lower-case letters, digits, dots, dashes and underscores.")
	case p.Name == simulator.Provider || p.Name == CustomVendor || vendorName && p.Name != p.Vendor:
		return invalid("name", "The name %s is reserved. Choose another name.", p.Name)
	case !f.Has(p.Name):
		return nil
	case f.Sources[p.Name] == fromDashboard:
		return &llm.Error{Kind: llm.Conflict, Message: fmt.Sprintf("A provider named %q exists. Choose another name, or add a key to it.", p.Name), Param: "name"}
	}
	return c.Manageable(p.Name)
}

// optionValue matches valid option values. They become part of an address.
var optionValue = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$`)

// checkSettings checks vendor, format, options and address.
func (c *Connector) checkSettings(ctx context.Context, p provider.Connected) error {
	if _, known := findVendor(p.Vendor); !known && p.Vendor != "" {
		e := invalid("vendor", "Unknown vendor %q.", p.Vendor)
		if near := spelling.Closest(p.Vendor, VendorNames()); near != "" {
			e.Message += fmt.Sprintf(" Did you mean %q?", near)
		}
		return e
	}
	if p.Format != "" && (plain[p.Format] == nil || p.Vendor != "") {
		return invalid("format", "Invalid format %q. Use chat, responses, messages, gemini or converse for a provider without a vendor, and omit the format for a provider with a vendor.", p.Format)
	}
	fields := gallery[p.Vendor].fields
	for name, value := range p.Options {
		switch {
		case !slices.ContainsFunc(fields, func(f adminproviders.VendorField) bool { return f.Name == name }):
			return invalid("options."+name, "The option %s can be set only in the configuration file.", name)
		case !optionValue.MatchString(value):
			return invalid("options."+name, "Use letters, digits, dots, dashes and underscores.")
		}
	}
	for _, field := range fields {
		if field.Required && p.Options[field.Name] == "" && p.BaseURL == "" {
			return invalid("options."+field.Name, "Enter the %s, such as %s.", strings.ToLower(field.Label), field.Example)
		}
	}
	if p.BaseURL != "" {
		return c.client(p).CheckURL(ctx, p.BaseURL)
	}
	v, known := findVendor(p.Vendor)
	if !known || v.Local || gallery[p.Vendor].base != "" && MissingAddress(section(p), c.Loader.Env) != "" {
		return invalid("base_url", "Enter the base URL.")
	}
	return nil
}

// client returns the client for the address of a provider. On this machine, it calls only the address that an owner allowed for this
// provider, not the addresses of other providers.
func (c *Connector) client(p provider.Connected) *egress.Client {
	if egress.Loopback(p.BaseURL) == "" {
		return c.Loader.Client()
	}
	return c.Loader.Client().WithHosts(p.Allowed)
}

// try makes a test call to a provider that is not stored yet. It returns an error if the call fails.
func (c *Connector) try(ctx context.Context, p provider.Connected, key string) (*adminproviders.ProbeResult, []adminproviders.FoundModel, error) {
	b, err := c.Loader.builder(ctx, c.Config())
	if err != nil {
		return nil, nil, err
	}
	b.Vault = Credentials{}
	if key != "" {
		b.Vault[p.Name] = []provider.Credential{{ID: p.Name, Secret: key, Source: provider.Dashboard}}
	}
	candidate, _ := b.fromStore(c.blank(), p)
	candidate.Credentials = b.Vault[p.Name] // test the entered key, not a key from the environment
	client := c.client(p)
	defer client.Close()
	probe := Probe(ctx, client, candidate)
	if !probe.OK && !probe.Untested {
		return nil, nil, testError(candidate, probe)
	}
	b.Listed = map[string][]string{p.Name: boundedNames(probe.Models)}
	set := c.blank()
	candidate, _ = b.fromStore(set, p)
	return &probe, found(set, candidate, boundedNames(probe.Models)), nil
}

// testError returns the error for a failed test call. Its parameter names the field to correct.
func testError(p *provider.Provider, probe adminproviders.ProbeResult) *llm.Error {
	e := &llm.Error{Kind: llm.InvalidRequest, Param: "base_url", Err: probe.Cause}
	switch {
	case probe.Status == 401 || probe.Status == 403:
		e.Param, e.Message = "key", fmt.Sprintf("%s rejected the key (status %d): %s", p.Title, probe.Status, strings.TrimPrefix(probe.Error, fault.CredentialPrefix))
	case probe.Status > 0:
		e.Message = fmt.Sprintf("The test call to %s failed with status %d: %s", p.BaseURL, probe.Status, probe.Error)
	default:
		e.Message = fmt.Sprintf("The test call to %s failed: %s", p.BaseURL, probe.Error)
	}
	return e.With("test_failed", true)
}

// found returns the listed models with their prices, priced models first. If the provider lists no models, it returns the catalog models.
func found(f *Set, p *provider.Provider, listed []string) []adminproviders.FoundModel {
	var list []adminproviders.FoundModel
	for _, name := range listed {
		one := adminproviders.FoundModel{Name: name}
		if i := slices.IndexFunc(p.Targets, f.matches(name)); i >= 0 {
			one.Price = p.Targets[i].Price
		}
		list = append(list, one)
	}
	if len(listed) == 0 {
		for _, t := range p.Targets {
			list = append(list, adminproviders.FoundModel{Name: t.Model.Name, Price: t.Price})
		}
	}
	slices.SortStableFunc(list, func(a, b adminproviders.FoundModel) int {
		unpriced := func(m adminproviders.FoundModel) int {
			if m.Price == nil {
				return 1
			}
			return 0
		}
		return cmp.Or(cmp.Compare(unpriced(a), unpriced(b)), strings.Compare(a.Name, b.Name))
	})
	return list
}

func invalid(param, format string, args ...any) *llm.Error {
	return &llm.Error{Kind: llm.InvalidRequest, Message: fmt.Sprintf(format, args...), Param: param}
}
