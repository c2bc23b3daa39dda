package providerset

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"fairlead.dev/internal/catalog"
	"fairlead.dev/internal/config"
	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/money"
	"fairlead.dev/internal/provider"
	"fairlead.dev/internal/provider/compatible"
	"fairlead.dev/internal/simulator"
)

func TestDisabledProvidersKeepTheirState(t *testing.T) {
	t.Parallel()
	c := config.Default()
	c.Providers = []config.Provider{
		{Name: "house", BaseURL: "http://house.example/v1", APIKeys: []string{"sk-house-0123456789"}, Models: []config.Model{{Name: "one"}}},
		{Name: "closed", BaseURL: "http://closed.example/v1", Disabled: true, Models: []config.Model{{Name: "one"}}},
	}
	local, ok := compatible.Find("ollama")
	if !ok {
		t.Fatal("Find(ollama) = false")
	}
	environment := map[string]string{"MISTRAL_API_KEY": "sk-mistral-0123456789"}
	f, err := Builder{
		Config: c, Env: func(name string) string { return environment[name] }, Disabled: []string{"house", "mistral", local.Name},
		Local: []LocalServer{{vendor: local.Vendor(), models: []string{"llama"}}}, Simulator: simulator.NewSimulator(simulator.Options{}), Book: &catalog.PriceHistory{},
	}.Assemble()
	if err != nil {
		t.Fatal(err)
	}

	got := map[string][3]string{}
	for _, p := range f.Off {
		s := f.State(p)
		hint := ""
		if len(s.Credentials) > 0 {
			hint = s.Credentials[0].Hint
		}
		got[s.Name] = [3]string{s.Source, s.BaseURL, hint}
		if s.Enabled || s.Title == "" || len(s.Targets) > 0 {
			t.Errorf("state of a disabled provider is %+v, want a title and no targets", s)
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
	if len(f.Providers) != 1 || f.Providers[0].Name != simulator.Provider || len(f.hosts) != 0 {
		t.Errorf("providers in use %v, hosts %v; want only the simulator", f.Providers, f.hosts)
	}
	if !f.Has("house") || !f.Has(local.Name) || f.Has("nobody") {
		t.Errorf("Has(house) = %t, Has(%s) = %t, Has(nobody) = %t; want true, true, false",
			f.Has("house"), local.Name, f.Has(local.Name), f.Has("nobody"))
	}
}

func TestShortCredentialsOfTheEnvironmentAreRejected(t *testing.T) {
	t.Parallel()
	c := config.Default()
	environment := map[string]string{"MISTRAL_API_KEY": "1234567", "OPENAI_API_KEY": "EMPTY", "GROQ_API_KEY": "12345678"}
	_, err := Builder{
		Config: c, Env: func(name string) string { return environment[name] },
		Simulator: simulator.NewSimulator(simulator.Options{}), Book: &catalog.PriceHistory{},
	}.Assemble()
	if err == nil || !strings.Contains(err.Error(), "MISTRAL_API_KEY holds a credential with fewer than 8") || !strings.Contains(err.Error(), "OPENAI_API_KEY") || strings.Contains(err.Error(), "GROQ") {
		t.Errorf("Assemble: %v, want errors for MISTRAL_API_KEY and OPENAI_API_KEY", err)
	}
	if strings.Contains(fmt.Sprint(err), "1234567") {
		t.Errorf("the error contains the credential: %v", err)
	}
}

func TestManualPricesApplyUnlessTheFileSetsOne(t *testing.T) {
	t.Parallel()
	c := config.Default()
	c.Detect, c.Simulator = false, "on"
	cheap := 0.1
	c.Providers = []config.Provider{{Name: "house", BaseURL: "http://house.example/v1", Models: []config.Model{
		{Name: "one"}, {Name: "two", InputPerMtok: &cheap, OutputPerMtok: &cheap},
	}}}
	simulated := simulator.NewSimulator(simulator.Options{})
	imitation := simulated.Models()[0].Name
	set := &catalog.Price{Input: money.PerMillion(5), Output: money.PerMillion(7), Source: catalog.OverrideSource}
	book := &catalog.PriceHistory{Listings: []catalog.Listing{
		{Provider: "house", Model: "one", Price: set},
		{Provider: "house", Model: "two", Price: set},
		{Provider: simulator.Provider, Model: imitation, Price: set},
		{Provider: "nobody", Model: "none", Price: set},
	}}
	f, err := Builder{Config: c, Env: func(string) string { return "" }, Simulator: simulated, Book: book}.Assemble()
	if err != nil {
		t.Fatal(err)
	}

	byHand := map[string]bool{"house/one": true, simulator.Provider + "/" + imitation: true}
	for _, target := range f.Snapshot().Targets() {
		if id := target.ID(); byHand[id] != (target.Price != nil && target.Price.Input == money.PerMillion(5)) || byHand[id] != f.Priced[id] {
			t.Errorf("%s: price %+v, priced = %t; want the manual price %t", id, target.Price, f.Priced[id], byHand[id])
		}
	}
	if !PricedInFile(c, "house", "two") {
		t.Error("PricedInFile = false for a model with a price in the file")
	}
	if PricedInFile(c, "house", "one") || PricedInFile(c, "nobody", "two") {
		t.Error("PricedInFile = true for a model without a price in the file")
	}
}

func TestMostSpecificTimeoutApplies(t *testing.T) {
	t.Parallel()
	c := config.Default()
	c.Timeouts.Headers = 20 * time.Second
	c.Models = []config.Model{{Name: "one", Timeouts: config.Timeouts{Idle: 3 * time.Second, FirstToken: 4 * time.Second}}}
	house := config.Provider{
		Name: "house", Timeouts: config.Timeouts{Connect: time.Second, Idle: 9 * time.Second, FirstToken: 8 * time.Second},
		Models: []config.Model{{Name: "one", Timeouts: config.Timeouts{FirstToken: 2 * time.Second, Total: time.Minute}}},
	}
	b := Builder{Config: c}
	one, two := &catalog.Model{Name: "one"}, &catalog.Model{Name: "two"}
	thinking := &catalog.Model{Name: "two", Abilities: llm.Reasoning}
	for name, test := range map[string]struct {
		model      *catalog.Model
		provider   config.Provider
		firstToken time.Duration
		waits      provider.Waits
	}{
		"a model at its provider":          {one, house, 2 * time.Second, provider.Waits{Connect: time.Second, Headers: 20 * time.Second, Idle: 3 * time.Second, Total: time.Minute}},
		"the model elsewhere":              {one, config.Provider{}, 4 * time.Second, provider.Waits{Headers: 20 * time.Second, Idle: 3 * time.Second}},
		"another model":                    {two, house, 8 * time.Second, provider.Waits{Connect: time.Second, Headers: 20 * time.Second, Idle: 9 * time.Second}},
		"another reasoning model":          {thinking, house, time.Minute, provider.Waits{Connect: time.Second, Headers: 20 * time.Second, Idle: 9 * time.Second}},
		"no timeout set":                   {two, config.Provider{}, 10 * time.Second, provider.Waits{Headers: 20 * time.Second}},
		"no timeout set, reasoning model":  {thinking, config.Provider{}, time.Minute, provider.Waits{Headers: 20 * time.Second}},
		"a reasoning model with a timeout": {&catalog.Model{Name: "one", Abilities: llm.Reasoning}, house, 2 * time.Second, provider.Waits{Connect: time.Second, Headers: 20 * time.Second, Idle: 3 * time.Second, Total: time.Minute}},
	} {
		if diff := cmp.Diff(test.waits, b.waits(test.model, test.provider)); diff != "" || b.firstToken(test.model, test.provider) != test.firstToken {
			t.Errorf("%s: first token %s, want %s; %s", name, b.firstToken(test.model, test.provider), test.firstToken, diff)
		}
	}
}
