package providerset

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"fairlead.dev/internal/catalog"
	"fairlead.dev/internal/config"
	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/money"
	"fairlead.dev/internal/provider"
	"fairlead.dev/internal/route"
	"fairlead.dev/internal/simulator"
)

// newSet returns a set with OpenAI from the environment and a provider that has only its own list.
func newSet(t *testing.T, listed map[string][]string, book *catalog.PriceHistory) *Set {
	t.Helper()
	c := config.Default()
	c.Simulator = "off"
	c.Providers = []config.Provider{
		{Name: "house", BaseURL: "http://house.example/v1"},
		{Name: "few", Vendor: "openai", APIKeys: []string{"sk-0123456789"}, Models: []config.Model{{Name: "gpt-4.1"}}},
	}
	environment := map[string]string{"OPENAI_API_KEY": "sk-0123456789"}
	f, err := Builder{
		Config: c, Env: func(name string) string { return environment[name] }, Listed: listed,
		Simulator: simulator.NewSimulator(simulator.Options{}), Book: book,
	}.Assemble()
	if err != nil {
		t.Fatal(err)
	}
	return f
}

var monday = time.Date(2026, 11, 16, 9, 0, 0, 0, time.UTC)

func sighting(providerName, model string, days int) provider.ListedModel {
	return provider.ListedModel{Provider: providerName, Model: model, FirstSeen: monday.AddDate(0, 0, days), LastSeen: monday.AddDate(0, 0, 9)}
}

func TestNewModelsAreListedOnlyByTheProvider(t *testing.T) {
	t.Parallel()
	gone := sighting("openai", "gpt-98", 0)
	gone.Missed = 2
	seen := []provider.ListedModel{
		sighting("few", "gpt-4.1", 0), sighting("few", "gpt-4.1-mini", 0), sighting("few", "gpt-99", 1),
		sighting("house", "house-7b:free", 2), sighting("house", "house-embed", 2), sighting("openai", "gpt-4.1", 0), sighting("openai", "gpt-4.1-2025-04-14", 3),
		gone, sighting("openai", "gpt-99", 4), sighting("removed", "other", 5),
	}
	f := newSet(t, map[string][]string{"house": {"house-7b:free", "house-embed"}}, &catalog.PriceHistory{})

	list := f.NewModels(seen)

	var got []string
	for _, m := range list {
		callable := map[bool]string{true: ", callable"}[m.Callable]
		got = append(got, m.FirstSeen.Format(time.DateOnly)+" "+m.Provider+"/"+m.Model+" "+string(m.Op)+callable)
	}
	want := []string{
		"2026-11-20 openai/gpt-99 " + string(llm.Chat), "2026-11-18 house/house-7b:free " + string(llm.Chat) + ", callable",
		"2026-11-18 house/house-embed " + string(llm.Embed) + ", callable", "2026-11-17 few/gpt-99 " + string(llm.Chat),
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Fatal(diff)
	}
}

// The section that is shown for a new model sets its price and keeps the catalog models. It is rejected until a price
// is entered.
func TestConfigurationOfANewModelIsUsable(t *testing.T) {
	t.Parallel()
	f := newSet(t, nil, &catalog.PriceHistory{})
	list := f.NewModels([]provider.ListedModel{sighting("openai", "gpt-99", 0), sighting("house", "7b:free", 0), sighting("few", "gpt-99", 0)})
	if len(list) != 3 {
		t.Fatalf("new models %+v, want 3", list)
	}
	for _, m := range list {
		path := filepath.Join(t.TempDir(), "fairlead.yaml")
		load := func(text string) (*config.Loaded, error) {
			if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			return config.Load(config.Options{Path: path, Env: []string{"HOME=" + t.TempDir()}})
		}
		base := strings.ReplaceAll(m.Config, "  - name: house\n", "  - name: house\n    base_url: http://house.example/v1\n")
		base = strings.ReplaceAll(base, "  - name: few\n", "  - name: few\n    vendor: openai\n")
		if _, err := load(base); err == nil || !strings.Contains(err.Error(), "input_per_mtok") {
			t.Errorf("load without a price: %v, want an error for input_per_mtok\n%s", err, base)
		}
		loaded, err := load(strings.ReplaceAll(base, "PRICE", "1.5"))
		if err != nil {
			t.Fatalf("load with a price: %v\n%s", err, base)
		}
		one := loaded.Config.Providers[0]
		if one.Name != m.Provider || one.Models[0].Name != m.Model || withCatalog(one) != (m.Provider == "openai") {
			t.Errorf("provider %+v, want %s with model %s", one, m.Provider, m.Model)
		}
	}
	book := &catalog.PriceHistory{}
	book.Set(f.Catalog, catalog.Listing{Provider: "openai", Model: "gpt-99", Price: &catalog.Price{Input: 1, Output: 2, Source: catalog.OverrideSource}}, monday)
	priced := newSet(t, nil, book)
	if left := priced.NewModels([]provider.ListedModel{sighting("openai", "gpt-99", 0)}); len(left) != 0 {
		t.Errorf("a model with a price is listed as new: %+v", left)
	}
	for _, name := range []string{"openai", "few"} { // few has its own list of models
		book.Set(f.Catalog, catalog.Listing{Provider: name, Model: "gpt-100", Price: &catalog.Price{Input: 1, Output: 2, Source: catalog.OverrideSource}}, monday)
	}
	if targets := newSet(t, nil, book).Routes.Named("gpt-100"); len(targets) != 2 {
		t.Errorf("targets of gpt-100 are %+v, want two", targets)
	}
	if targets := priced.Routes.Named("gpt-99"); len(targets) != 1 || targets[0].Price == nil || targets[0].NamedOnly() {
		t.Errorf("targets of gpt-99 are %+v, want one with a price", targets)
	}
}

func TestUnlistedTargetsAreReportedOnlyIfListedBefore(t *testing.T) {
	t.Parallel()
	f := newSet(t, nil, &catalog.PriceHistory{})
	gone := func(model string, missed int64) provider.ListedModel {
		m := sighting("openai", model, 0)
		m.Missed = missed
		return m
	}
	got := f.Unlisted([]provider.ListedModel{
		gone("gpt-4.1", 2), gone("gpt-4.1-mini", 1), gone("gpt-4.1-nano", 3), sighting("openai", "gpt-4.1-nano-2025-04-14", 0), gone("gpt-98", 5),
	})
	want := map[string]time.Time{"openai/gpt-4.1": monday.AddDate(0, 0, 9)} // a model that was never listed is not included
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// A model that an account lists is usable on its first day if it has a price. Without one, the pool names it.
func TestUnknownModelOfAnAccountIsInThePoolOrNamed(t *testing.T) {
	t.Parallel()
	book := &catalog.PriceHistory{Version: 1}
	assemble := func() *Set {
		c := config.Default()
		c.Simulator = "off"
		f, err := Builder{
			Config: c, Env: func(name string) string { return map[string]string{"OPENAI_API_KEY": "sk-0123456789"}[name] }, Book: book,
			Offered:   map[string][]string{"openai": {"gpt-6-luna", "gpt-6-luna-2026-09-01", "gpt-99-sol", "gpt-99-audio-preview", "text-embedding-99"}},
			Simulator: simulator.NewSimulator(simulator.Options{}),
		}.Assemble()
		if err != nil {
			t.Fatal(err)
		}
		return f
	}
	pool := assemble().Routes.Pool()
	if diff := cmp.Diff([]route.Left{{Model: "gpt-99-sol", Reason: "unpriced: add a price"}}, pool.Left); diff != "" {
		t.Error(diff)
	}

	book.Listings = []catalog.Listing{{
		Provider: "openai", Model: "gpt-99-sol", Upstream: "gpt-99-sol", Op: llm.Chat, Context: 400_000, MaxOutput: 100_000, Abilities: new(catalog.Common | llm.Reasoning),
		Price: &catalog.Price{Input: money.PerMillion(8), Output: money.PerMillion(40), Source: "models.dev", AsOf: "2026-11-19"},
	}}
	if pool = assemble().Routes.Pool(); !slices.Contains(pool.Models, "gpt-99-sol") {
		t.Errorf("pool %+v", pool)
	}
}
