package providerset

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"fairlead/internal/catalog"
	"fairlead/internal/config"
	"fairlead/internal/provider"
	"fairlead/internal/simulator"
)

func TestModelListsAreBounded(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	var l ModelLists
	many := []string{"b", "", "a", "a", "line\nbreak", strings.Repeat("x", maxModelID+1)}
	if !l.set("house", many, now) || !slices.Equal(l.get()["house"], []string{"a", "b"}) {
		t.Errorf("got %q", l.get()["house"])
	}
	if l.set("house", []string{"b", "a"}, now) {
		t.Error("the same list in another order is a change")
	}
	for i := range 2 * maxListed {
		many = append(many, fmt.Sprintf("model-%d", i))
	}
	if l.set("house", many, now); len(l.get()["house"]) != maxListed {
		t.Errorf("%d names are kept", len(l.get()["house"]))
	}
	if l.due("house", now.Add(listEvery-1)) || !l.due("house", now.Add(listEvery)) || !l.due("other", now) {
		t.Error("a list is read at the wrong time")
	}
}

// A list is read for a provider without known models, and for every provider where models without a price are allowed.
func TestReadsList(t *testing.T) {
	t.Parallel()
	known := []*provider.Target{{}}
	listed := []*provider.Target{{Listed: true}}
	for name, tc := range map[string]struct {
		p        provider.Provider
		unpriced bool
		want     bool
	}{
		"no models":             {provider.Provider{ModelsPath: "/models"}, false, true},
		"only listed ones":      {provider.Provider{ModelsPath: "/models", Targets: listed}, false, true},
		"models":                {provider.Provider{ModelsPath: "/models", Targets: known}, false, false},
		"models, unpriced":      {provider.Provider{ModelsPath: "/models", Targets: known}, true, true},
		"no address for a list": {provider.Provider{}, true, false},
		"simulated":             {provider.Provider{ModelsPath: "/models", Simulated: true}, true, false},
	} {
		if got := readsList(&tc.p, tc.unpriced); got != tc.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

func TestListedModelsJoinThoseOfTheConfiguration(t *testing.T) {
	t.Parallel()
	c := config.Default()
	c.Detect, c.Simulator = false, "off"
	price := 0.1
	c.Providers = []config.Provider{{Name: "house", BaseURL: "http://house.example/v1", Models: []config.Model{
		{Name: "one", Upstream: "one-2026", InputPerMtok: &price, OutputPerMtok: &price},
	}}}
	c.Providers = append(c.Providers, config.Provider{Name: "openai", APIKeys: []string{"sk-0123456789"}})
	b := Builder{
		Config: c, Env: func(string) string { return "" },
		Listed:    map[string][]string{"house": {"one-2026", "two"}, "openai": {"gpt-4.1", "gpt-4.1-2025-04-14", "gpt-99"}, "other": {"three"}},
		Simulator: simulator.NewSimulator(simulator.Options{}), Book: &catalog.PriceHistory{},
	}
	f, err := b.Assemble()
	if err != nil {
		t.Fatal(err)
	}
	targets := f.Providers[0].Targets
	if len(targets) != 2 || targets[0].Listed || targets[1].Model.Name != "two" || !targets[1].NamedOnly() {
		t.Errorf("targets: %+v", targets)
	}
	for _, target := range f.Providers[1].Targets {
		if target.Listed != (target.Model.Name == "gpt-99") {
			t.Errorf("%s: listed is %v", target.ID(), target.Listed)
		}
	}
	if dated := f.Routes.Named("gpt-4.1-2025-04-14"); len(dated) != 1 || dated[0].Price == nil {
		t.Errorf("a dated name lost its price: %+v", dated)
	}
}

func TestProvidersWithoutModelsAreReported(t *testing.T) {
	t.Parallel()
	c := config.Default()
	c.Detect, c.Simulator = false, "off"
	c.Providers = []config.Provider{
		{Name: "house", BaseURL: "http://house.example/v1"},
		{Name: "known", BaseURL: "http://known.example/v1", Models: []config.Model{{Name: "one"}}},
	}
	f, err := Builder{
		Config: c, Env: func(string) string { return "" },
		Simulator: simulator.NewSimulator(simulator.Options{}), Book: &catalog.PriceHistory{},
	}.Assemble()
	if err != nil {
		t.Fatal(err)
	}
	warnings := f.WithoutModels()
	if len(warnings) != 1 || !strings.Contains(warnings[0], `"house"`) || !strings.Contains(warnings[0], "http://house.example/v1/models") {
		t.Errorf("warnings: %q", warnings)
	}
}
