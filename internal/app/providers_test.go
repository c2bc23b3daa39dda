package app

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"fairlead/internal/config"
	"fairlead/internal/mockprovider"
	"fairlead/internal/money"
	"fairlead/internal/provider/compatible"
)

func TestSwitchedOffProvidersKeepWhatIsKnownOfThem(t *testing.T) {
	t.Parallel()
	c := config.Default()
	c.Providers = []config.Provider{
		{Name: "house", BaseURL: "http://house.example/v1", APIKeys: []string{"sk-house-0123456789"}, Models: []config.Model{{Name: "one"}}},
		{Name: "closed", BaseURL: "http://closed.example/v1", Disabled: true, Models: []config.Model{{Name: "one"}}},
	}
	local, ok := compatible.Find("ollama")
	if !ok {
		t.Fatal("no vendor ollama")
	}
	environment := map[string]string{"MISTRAL_API_KEY": "sk-mistral-0123456789"}
	f, err := builder{
		config: c, env: func(name string) string { return environment[name] }, disabled: []string{"house", "mistral", local.Name},
		local: []localServer{{vendor: local, models: []string{"llama"}}}, simulator: mockprovider.NewSimulator(mockprovider.Options{}),
	}.assemble()
	if err != nil {
		t.Fatal(err)
	}

	got := map[string][3]string{}
	for _, p := range f.off {
		s := f.state(p)
		hint := ""
		if len(s.Credentials) > 0 {
			hint = s.Credentials[0].Hint
		}
		got[s.Name] = [3]string{s.Source, s.BaseURL, hint}
		if s.Enabled || s.Title == "" || len(s.Targets) > 0 {
			t.Errorf("%+v", s)
		}
	}
	mistral, _ := compatible.Find("mistral")
	want := map[string][3]string{
		"house": {"file", "http://house.example/v1", "…6789"}, "closed": {"file", "http://closed.example/v1", ""},
		"mistral": {"env", mistral.BaseURL, "…6789"}, local.Name: {"detected", local.BaseURL, ""},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if len(f.providers) != 1 || f.providers[0].Name != mockprovider.Provider || len(f.hosts) != 0 {
		t.Errorf("in use are %v, reachable %v", f.providers, f.hosts)
	}
	if !f.has("house") || !f.has(local.Name) || f.has("nobody") {
		t.Error("a provider that is switched off is not known")
	}
}

func TestPricesSetByHandGoBeforeTheFile(t *testing.T) {
	t.Parallel()
	c := config.Default()
	c.Detect, c.Simulator = false, "on"
	cheap := 0.1
	c.Providers = []config.Provider{{Name: "house", BaseURL: "http://house.example/v1", Models: []config.Model{
		{Name: "one", InputPerMtok: &cheap, OutputPerMtok: &cheap}, {Name: "two", InputPerMtok: &cheap, OutputPerMtok: &cheap},
	}}}
	simulator := mockprovider.NewSimulator(mockprovider.Options{})
	imitation := mockprovider.Provider + "/" + simulator.Models()[0].Name
	read := 2 * money.Dollar
	set := &setPrice{Input: 5 * money.Dollar, Output: 7 * money.Dollar, CacheRead: &read, PerRequest: 3, Source: "override", AsOf: "2026-11-15"}
	f, err := builder{
		config: c, env: func(string) string { return "" }, simulator: simulator, prices: prices{"house/one": set, imitation: set, "house/none": set},
	}.assemble()
	if err != nil {
		t.Fatal(err)
	}

	for _, target := range f.snapshot().Targets() {
		set := target.ID() == "house/one" || target.ID() == imitation
		if price := target.Price; set != (price.Input == money.PerMillion(5)) || set != (price.AsOf == "2026-11-15") || set != f.priced[target.ID()] {
			t.Errorf("%s: %+v", target.ID(), price)
		}
	}
	if diff := cmp.Diff(set, newSetPrice(set.price())); diff != "" {
		t.Errorf("it is not read as it was kept: %s", diff)
	}
}
