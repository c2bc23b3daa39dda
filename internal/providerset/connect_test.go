package providerset

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"fairlead.dev/internal/account"
	adminproviders "fairlead.dev/internal/admin/providers"
	"fairlead.dev/internal/config"
	"fairlead.dev/internal/egress"
	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/provider"
	"fairlead.dev/internal/simulator"
	"fairlead.dev/internal/vault"
)

// memoryStore is an in-memory ConnectedStore, vault.Store and Settings.
type memoryStore struct {
	mu        sync.Mutex
	providers []provider.Connected
	sealed    []vault.Credential
	settings  map[string]string
	changes   int64
}

func (s *memoryStore) Revisions(context.Context) (map[string]int64, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return map[string]int64{"providers": s.changes}, nil
}

func (s *memoryStore) ConnectedProviders(context.Context) ([]provider.Connected, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.providers), nil
}

func (s *memoryStore) AddProvider(_ context.Context, p provider.Connected) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if slices.ContainsFunc(s.providers, func(one provider.Connected) bool { return one.Name == p.Name }) {
		return provider.ErrConnected
	}
	s.providers, s.changes = append(s.providers, p), s.changes+1
	return nil
}

func (s *memoryStore) UpdateProvider(_ context.Context, p provider.Connected) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	i := slices.IndexFunc(s.providers, func(one provider.Connected) bool { return one.Name == p.Name })
	if i < 0 {
		return provider.ErrNotConnected
	}
	s.providers[i], s.changes = p, s.changes+1
	return nil
}

func (s *memoryStore) DeleteProvider(_ context.Context, name string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.providers = slices.DeleteFunc(s.providers, func(one provider.Connected) bool { return one.Name == name })
	s.sealed = slices.DeleteFunc(s.sealed, func(one vault.Credential) bool { return one.Provider == name })
	s.changes++
	return nil
}

func (s *memoryStore) SaveCredential(_ context.Context, c vault.Credential) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sealed, s.changes = append(s.sealed, c), s.changes+1
	return nil
}

func (s *memoryStore) Credentials(context.Context) ([]vault.Credential, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.sealed), nil
}

func (s *memoryStore) ReplaceCredential(context.Context, vault.Credential) error {
	return errors.New("not used")
}

func (s *memoryStore) DeleteCredential(_ context.Context, name, id string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sealed = slices.DeleteFunc(s.sealed, func(one vault.Credential) bool { return one.Provider == name && one.ID == id })
	s.changes++
	return nil
}

func (s *memoryStore) Setting(_ context.Context, name string) (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.settings[name], nil
}

func (s *memoryStore) SetSetting(_ context.Context, name, value string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.settings[name] = value
	return nil
}

// connection is a connector with an active set, and an upstream that lists two models for one key.
type connection struct {
	*Connector
	store    *memoryStore
	upstream *httptest.Server
	active   *Set
}

const goodKey = "sk-good-0123456789abcd"

func newConnection(t *testing.T, environment map[string]string, sections ...config.Provider) *connection {
	t.Helper()
	c := config.Default()
	c.DataDir, c.Providers = t.TempDir(), sections
	one := &connection{store: &memoryStore{settings: map[string]string{}}}
	one.upstream = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer "+goodKey {
			w.WriteHeader(http.StatusUnauthorized)
			_, _ = w.Write([]byte(`{"error":{"message":"Incorrect API key provided"}}`))
			return
		}
		_, _ = w.Write([]byte(`{"data":[{"id":"gpt-4.1-mini"},{"id":"house-model"}]}`))
	}))
	t.Cleanup(one.upstream.Close)
	client := egress.New(egress.Options{AllowPrivate: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}})
	t.Cleanup(client.Close)
	sealer, err := vault.New(one.store, []byte("0123456789abcdef0123456789abcdef"), nil)
	if err != nil {
		t.Fatal(err)
	}
	loader := &Loader{
		Settings: one.store, Connected: one.store, Vault: sealer, Env: func(name string) string { return environment[name] },
		Simulator: simulator.NewSimulator(simulator.Options{}),
		Client:    func() *egress.Client { return client }, Report: func(task string, err error) { t.Errorf("%s: %v", task, err) },
	}
	apply := func(ctx context.Context) error {
		set, err := loader.Load(ctx, c)
		one.active = set
		return err
	}
	if err := apply(t.Context()); err != nil {
		t.Fatal(err)
	}
	one.Connector = &Connector{
		Loader: loader, Config: func() config.Config { return c }, Set: func() *Set { return one.active }, Apply: apply, Now: time.Now,
	}
	return one
}

func (c *connection) provider(t *testing.T, name string) *provider.Provider {
	t.Helper()
	i := slices.IndexFunc(c.active.Providers, func(p *provider.Provider) bool { return p.Name == name })
	if i < 0 {
		t.Fatalf("no provider %s among %v", name, c.active.Sources)
	}
	return c.active.Providers[i]
}

// wantError checks the kind and the parameter of an error.
func wantError(t *testing.T, what string, err error, kind llm.Kind, param string) {
	t.Helper()
	if e := llm.AsError(err); err == nil || e.Kind != kind || e.Param != param {
		t.Errorf("%s: got %v, want %s of %q", what, err, kind, param)
	}
}

func TestConnectedProviderServesWithoutRestart(t *testing.T) {
	t.Parallel()
	c := newConnection(t, nil)
	if !c.provider(t, simulator.Provider).Simulated {
		t.Fatal("an instance without providers does not use the simulator")
	}

	result, err := c.Connect(t.Context(), adminproviders.Connection{Vendor: "openai", BaseURL: c.upstream.URL + "/v1/", Key: goodKey + "\n", Test: true}, "acc_1")
	if err != nil {
		t.Fatal(err)
	}

	if !result.Probe.OK || len(result.Found) != 2 || result.Found[0].Name != "gpt-4.1-mini" || result.Found[0].Price == nil || result.Found[1].Price != nil {
		t.Errorf("result %+v, want a successful probe and two models, the first with a price", result)
	}
	p := c.provider(t, "openai")
	if _, priced := p.Target("gpt-4.1-mini"); !priced || len(p.Credentials) != 1 || p.Credentials[0].Secret != goodKey || c.active.Sources["openai"] != "dashboard" {
		t.Errorf("provider %+v from %s, want the model, one key and the source dashboard", p, c.active.Sources["openai"])
	}
	if len(c.active.Providers) != 1 || c.active.State(p).ManagedBy != adminproviders.ManagedByDashboard {
		t.Errorf("providers %v, want only the connected one", c.active.Sources)
	}
	if len(c.active.hosts) != 0 {
		t.Errorf("an entered address is exempt from the address guard: %v", c.active.hosts)
	}
	if strings.Contains(string(c.store.sealed[0].Sealed), goodKey) {
		t.Error("the key is stored in plain text")
	}
}

func TestModelsOfACustomEndpointAreDiscovered(t *testing.T) {
	t.Parallel()
	c := newConnection(t, nil)
	in := adminproviders.Connection{Vendor: CustomVendor, Name: "house", BaseURL: c.upstream.URL + "/v1", Key: goodKey, Free: true, Test: true}
	if _, err := c.Connect(t.Context(), in, ""); err != nil {
		t.Fatal(err)
	}
	target, ok := c.provider(t, "house").Target("house-model")
	if !ok || target.Price == nil || target.Price.Input != 0 || target.NamedOnly() {
		t.Fatalf("target %+v, want a price of 0", target)
	}
	in.Name, in.Free = "priceless", false
	if _, err := c.Connect(t.Context(), in, ""); err != nil {
		t.Fatal(err)
	}
	if target, ok = c.provider(t, "priceless").Target("house-model"); !ok || target.Price != nil || !target.NamedOnly() {
		t.Errorf("target %+v, want no price", target)
	}
}

func TestOwnerAllowsOneLoopbackAddressForOneProvider(t *testing.T) {
	t.Parallel()
	c := newConnection(t, nil)
	public := egress.New(egress.Options{})
	t.Cleanup(public.Close)
	c.Loader.Client = func() *egress.Client { return public }
	in := adminproviders.Connection{Vendor: "ollama", BaseURL: c.upstream.URL + "/v1", Key: goodKey, Test: true}
	_, err := c.Connect(t.Context(), in, "")
	wantError(t, "without permission", err, llm.InvalidRequest, "base_url")
	elsewhere := in
	elsewhere.BaseURL, elsewhere.AllowLoopback = "http://10.0.0.1:11434/v1", true
	_, err = c.Connect(t.Context(), elsewhere, "")
	wantError(t, "permission for another machine", err, llm.InvalidRequest, "base_url")

	in.AllowLoopback = true
	if _, err := c.Connect(t.Context(), in, ""); err != nil {
		t.Fatal(err)
	}
	allowed := strings.TrimPrefix(c.upstream.URL, "http://")
	if !slices.Equal(c.active.hosts, []string{allowed}) {
		t.Errorf("hosts %v, want only %s", c.active.hosts, allowed)
	}
	public.Update(c.active.EgressOptions(c.Config()))
	if probe := Probe(t.Context(), public, c.provider(t, "ollama")); !probe.OK {
		t.Errorf("call of the connected provider: %+v", probe)
	}
	in.Name, in.AllowLoopback = "second", false
	_, err = c.Connect(t.Context(), in, "")
	wantError(t, "another provider", err, llm.InvalidRequest, "base_url")
	for address, valid := range map[string]bool{"http://127.0.0.1:1/v1": false, c.upstream.URL + "/other": true} {
		key := goodKey
		if err := c.Change(t.Context(), "ollama", adminproviders.ConnectionChange{BaseURL: &address, Key: &key}, ""); (err == nil) != valid {
			t.Errorf("change to %s: %v, want valid %v", address, err, valid)
		}
	}
}

func TestFailedTestStoresNothing(t *testing.T) {
	t.Parallel()
	c := newConnection(t, nil)
	const wrong = "sk-wrong-0123456789abcd"
	_, err := c.Connect(t.Context(), adminproviders.Connection{Vendor: "openai", BaseURL: c.upstream.URL + "/v1", Key: wrong, Test: true}, "")
	wantError(t, "a wrong key", err, llm.InvalidRequest, "key")
	if strings.Contains(err.Error(), wrong) || !strings.Contains(err.Error(), "Incorrect API key") {
		t.Errorf("error %q, want the provider's message without the key", err)
	}
	c.upstream.Close()
	_, err = c.Connect(t.Context(), adminproviders.Connection{Vendor: "openai", BaseURL: c.upstream.URL + "/v1", Key: goodKey, Test: true}, "")
	wantError(t, "an unreachable host", err, llm.InvalidRequest, "base_url")
	if c.store.changes != 0 {
		t.Errorf("%d changes stored, want 0: %+v", c.store.changes, c.store.providers)
	}
	if _, err := c.Connect(t.Context(), adminproviders.Connection{Vendor: "openai", Key: goodKey}, ""); err != nil || len(c.store.providers) != 1 {
		t.Errorf("Connect without a test: %v, %d providers; want no error and 1", err, len(c.store.providers))
	}
}

func TestInvalidConnectionsAreRejected(t *testing.T) {
	t.Parallel()
	c := newConnection(t, map[string]string{"MISTRAL_API_KEY": "sk-mistral-0123456789"}, config.Provider{Name: "filed", BaseURL: "https://filed.example/v1"})
	for name, test := range map[string]struct {
		in    adminproviders.Connection
		kind  llm.Kind
		param string
	}{
		"unknown vendor":               {adminproviders.Connection{Vendor: "opena", Key: goodKey}, llm.InvalidRequest, "vendor"},
		"no key":                       {adminproviders.Connection{Vendor: "openai"}, llm.InvalidRequest, "key"},
		"short key":                    {adminproviders.Connection{Vendor: "openai", Key: "abc"}, llm.InvalidRequest, "key"},
		"name of another vendor":       {adminproviders.Connection{Vendor: "openai", Name: "groq", Key: goodKey}, llm.InvalidRequest, "name"},
		"name in upper case":           {adminproviders.Connection{Vendor: "openai", Name: "Open AI", Key: goodKey}, llm.InvalidRequest, "name"},
		"custom without a name":        {adminproviders.Connection{Vendor: CustomVendor, BaseURL: "https://house.example/v1"}, llm.InvalidRequest, "name"},
		"custom without a URL":         {adminproviders.Connection{Vendor: CustomVendor, Name: "house"}, llm.InvalidRequest, "base_url"},
		"reserved name":                {adminproviders.Connection{Vendor: CustomVendor, Name: simulator.Provider, BaseURL: "https://house.example/v1"}, llm.InvalidRequest, "name"},
		"private address":              {adminproviders.Connection{Vendor: "openai", BaseURL: "https://10.0.0.1/v1", Key: goodKey}, llm.InvalidRequest, "base_url"},
		"metadata service":             {adminproviders.Connection{Vendor: CustomVendor, Name: "house", BaseURL: "http://169.254.169.254/latest"}, llm.InvalidRequest, "base_url"},
		"unencrypted address":          {adminproviders.Connection{Vendor: "openai", BaseURL: "http://8.8.8.8/v1", Key: goodKey}, llm.InvalidRequest, "base_url"},
		"format of a known vendor":     {adminproviders.Connection{Vendor: CustomVendor, Name: "house", Format: "morse", BaseURL: "https://8.8.8.8/v1"}, llm.InvalidRequest, "format"},
		"region missing":               {adminproviders.Connection{Vendor: "bedrock", Key: goodKey}, llm.InvalidRequest, "options.region"},
		"region with a path":           {adminproviders.Connection{Vendor: "bedrock", Key: goodKey, Options: map[string]string{"region": "x.evil.example/"}}, llm.InvalidRequest, "options.region"},
		"identity of the machine":      {adminproviders.Connection{Vendor: "bedrock", Key: goodKey, Options: map[string]string{"region": "eu-central-1", "role_arn": "arn"}}, llm.InvalidRequest, "options.role_arn"},
		"azure without a URL":          {adminproviders.Connection{Vendor: "azure", Key: goodKey}, llm.InvalidRequest, "base_url"},
		"local without a URL":          {adminproviders.Connection{Vendor: "ollama"}, llm.InvalidRequest, "base_url"},
		"name used in the file":        {adminproviders.Connection{Vendor: CustomVendor, Name: "filed", BaseURL: "https://8.8.8.8/v1"}, llm.Conflict, ""},
		"name used in the environment": {adminproviders.Connection{Vendor: "mistral", Key: goodKey}, llm.Conflict, ""},
	} {
		_, err := c.Connect(t.Context(), test.in, "")
		wantError(t, name, err, test.kind, test.param)
	}
	if c.store.changes != 0 {
		t.Errorf("%d changes stored, want 0: %+v", c.store.changes, c.store.providers)
	}
}

func TestFileAndEnvironmentAreReadOnly(t *testing.T) {
	t.Parallel()
	c := newConnection(t, map[string]string{"MISTRAL_API_KEY": "sk-mistral-0123456789"}, config.Provider{Name: "filed", BaseURL: "https://filed.example/v1"})
	for name, want := range map[string]string{
		"filed": "managed in the configuration file", "mistral": "managed by the environment variable MISTRAL_API_KEY",
	} {
		for _, err := range []error{c.Disconnect(t.Context(), name), c.Change(t.Context(), name, adminproviders.ConnectionChange{}, "")} {
			if wantError(t, name, err, llm.Conflict, ""); err != nil && !strings.Contains(err.Error(), want) {
				t.Errorf("%s: error %q, want one that contains %q", name, err, want)
			}
		}
	}
	if err := c.Disconnect(t.Context(), "unknown"); !errors.Is(err, account.ErrNotFound) {
		t.Errorf("Disconnect of an unknown provider: %v, want ErrNotFound", err)
	}
}

func TestSectionOfTheFileTakesPrecedenceOverAStoredProvider(t *testing.T) {
	t.Parallel()
	c := newConnection(t, nil)
	if _, err := c.Connect(t.Context(), adminproviders.Connection{Vendor: "openai", Name: "house", BaseURL: c.upstream.URL + "/v1", Key: goodKey}, ""); err != nil {
		t.Fatal(err)
	}
	next := c.Config()
	next.Providers = []config.Provider{{Name: "house", BaseURL: "https://filed.example/v1"}}
	set, err := c.Loader.Load(t.Context(), next)
	if err != nil {
		t.Fatal(err)
	}
	if set.Sources["house"] != "file" || set.Providers[0].BaseURL != "https://filed.example/v1" {
		t.Errorf("sources %v, base URL %s; want the section of the file", set.Sources, set.Providers[0].BaseURL)
	}
}

func TestStoredKeyIsNotSentToAnotherHost(t *testing.T) {
	t.Parallel()
	c := newConnection(t, nil)
	if _, err := c.Connect(t.Context(), adminproviders.Connection{Vendor: "openai", BaseURL: c.upstream.URL + "/v1", Key: goodKey}, ""); err != nil {
		t.Fatal(err)
	}
	elsewhere, path, key := "https://8.8.8.8/v1", c.upstream.URL+"/other/v1", "sk-next-0123456789wxyz"
	wantError(t, "another host", c.Change(t.Context(), "openai", adminproviders.ConnectionChange{BaseURL: &elsewhere}, ""), llm.InvalidRequest, "key")
	if got := c.provider(t, "openai").BaseURL; strings.Contains(got, "8.8.8.8") {
		t.Fatalf("the base URL changed to %s", got)
	}
	if err := c.Change(t.Context(), "openai", adminproviders.ConnectionChange{BaseURL: &path}, ""); err != nil || c.provider(t, "openai").Credentials[0].Secret != goodKey {
		t.Errorf("another path of the host: %v, key %q; want no error and the stored key", err, c.provider(t, "openai").Credentials[0].Secret)
	}
	if err := c.Change(t.Context(), "openai", adminproviders.ConnectionChange{BaseURL: &elsewhere, Key: &key}, ""); err != nil {
		t.Fatal(err)
	}
	p := c.provider(t, "openai")
	if p.BaseURL != elsewhere || len(p.Credentials) != 1 || p.Credentials[0].Secret != key {
		t.Errorf("base URL %s with %d credentials, want the new URL and the new key only", p.BaseURL, len(p.Credentials))
	}
}

func TestChangesOfOtherReplicasAreLoaded(t *testing.T) {
	if testing.Short() {
		t.Skip("long computation: tested without the race detector")
	}
	t.Parallel()
	c := newConnection(t, nil)
	other := &Loader{
		Settings: c.store, Connected: c.store, Vault: c.Loader.Vault, Env: c.Loader.Env, Simulator: c.Loader.Simulator,
		Client: c.Loader.Client, Report: c.Loader.Report,
	}
	load := func() *Set {
		t.Helper()
		set, err := other.Load(t.Context(), c.Config())
		if err != nil {
			t.Fatal(err)
		}
		return set
	}
	changed := func() bool {
		t.Helper()
		yes, err := other.Changed(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return yes
	}
	if load(); changed() {
		t.Error("Changed = true after a load")
	}
	if _, err := c.Connect(t.Context(), adminproviders.Connection{Vendor: "openai", Key: goodKey}, ""); err != nil || !changed() {
		t.Fatalf("Connect: %v, or Changed = false after a new provider", err)
	}
	if set := load(); !set.Has("openai") || changed() {
		t.Errorf("loaded sources %v, want openai and no further change", set.Sources)
	}
	if _, err := c.SetKey(t.Context(), "openai", "sk-next-0123456789wxyz", true); err != nil || !changed() {
		t.Fatalf("SetKey: %v, or Changed = false after a new key", err)
	}
	if set := load(); len(set.Providers[0].Credentials) != 2 {
		t.Errorf("credentials %+v, want two", set.Providers[0].Credentials)
	}
	if _, err := c.SetKey(t.Context(), "openai", goodKey, false); err != nil || len(load().Providers[0].Credentials) != 1 {
		t.Errorf("SetKey: %v, or the key did not replace the others", err)
	}
	if err := c.Disconnect(t.Context(), "openai"); err != nil || !changed() || load().Has("openai") {
		t.Errorf("Disconnect: %v, or the deletion was not loaded", err)
	}
	if len(c.store.sealed) != 0 {
		t.Error("the keys of the deleted provider are still stored")
	}
}
