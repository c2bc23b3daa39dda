package catalog

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/money"
)

func rate(dollars float64) *money.Rate {
	r := money.PerMillion(dollars)
	return &r
}

func offerOf(t *testing.T, c *Catalog, provider, model string) Offer {
	t.Helper()
	for _, o := range c.Offers(provider) {
		if o.Model == model {
			return o
		}
	}
	t.Fatalf("%s does not offer %s", provider, model)
	return Offer{}
}

func TestOverrideAddsModelAndOffer(t *testing.T) {
	t.Parallel()
	quality := 0.7
	c := defaults(t).With(Overrides{{
		Model: "my-model", Provider: "mine", Upstream: "my-model-2026", Aliases: []string{"mm"},
		Input: rate(0.4), Output: rate(1.6), Context: 128000, Quality: &quality,
	}})
	m, ok := c.Model("mm")
	if !ok {
		t.Fatal("the alias was not found")
	}
	want := &Model{
		Name: "my-model", Op: llm.Chat, Context: 128000, Abilities: Common, Assumed: true, Quality: 0.7, QualitySource: "override",
		Aliases: []string{"mm"},
	}
	if diff := cmp.Diff(want, m); diff != "" {
		t.Error(diff)
	}
	wantOffer := Offer{Model: "my-model", Provider: "mine", Upstream: "my-model-2026", Price: &Price{Input: *rate(0.4), Output: *rate(1.6), Source: "override"}}
	if diff := cmp.Diff(wantOffer, offerOf(t, c, "mine", "my-model")); diff != "" {
		t.Error(diff)
	}
	if got := c.ListPrice("my-model"); got == nil || got.Input != *rate(0.4) {
		t.Errorf("list price %+v", got)
	}
}

func TestEmbeddingOverrideNeedsNoOutputRate(t *testing.T) {
	t.Parallel()
	c := defaults(t).With(Overrides{{
		Model: "my-embed", Provider: "mine", Op: llm.Embed, Input: rate(0.02), Dimensions: []int64{1536},
	}})
	m, _ := c.Model("my-embed")
	if m.Op != llm.Embed || m.Abilities != 0 || m.Dimensions[0] != 1536 {
		t.Errorf("got %+v", m)
	}
	o := offerOf(t, c, "mine", "my-embed")
	if o.Upstream != "my-embed" || o.Price == nil || o.Price.Input != *rate(0.02) {
		t.Errorf("got %+v", o)
	}
}

func TestOverridePrice(t *testing.T) {
	t.Parallel()
	base := defaults(t)
	fee := money.Dollar / 100
	for name, tc := range map[string]struct {
		o    Override
		want *Price // expected price of gpt-5.5 at openai, which has a cache rate and a tier
	}{
		"a new price drops tiers and cache rates": {
			Override{Model: "gpt-5.5", Provider: "openai", Input: rate(4), Output: rate(20)},
			&Price{Input: *rate(4), Output: *rate(20), Source: "override"},
		},
		"one rate keeps the other": {
			Override{Model: "gpt-5.5", Provider: "openai", Input: rate(4), CacheRead: rate(1)},
			&Price{Input: *rate(4), Output: *rate(30), CacheRead: rate(1), Source: "override"},
		},
		"an explicit zero is free": {
			Override{Model: "gpt-5.5", Provider: "openai", Input: rate(0), Output: rate(0)},
			&Price{Source: "override"},
		},
		"a fee alone keeps the card": {
			Override{Model: "gpt-5.5", Provider: "openai", PerRequest: &fee},
			&Price{
				Input: *rate(5), Output: *rate(30), CacheRead: rate(0.5), PerRequest: fee, Source: "override",
				Tiers:    []Tier{{Above: 272000, Input: *rate(10), Output: *rate(45), CacheRead: rate(1)}},
				Services: []Service{{"batch", 500}, {"flex", 500}, {"priority", 2000}, {"fast", 2500}},
			},
		},
		"everywhere includes openai": {
			Override{Model: "gpt-5.5", Input: rate(4), Output: rate(20)},
			&Price{Input: *rate(4), Output: *rate(20), Source: "override"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := base.With(Overrides{tc.o})
			got := *offerOf(t, c, "openai", "gpt-5.5").Price
			got.Search = nil // TestSearchFeeOfAnOverride checks the fee
			if diff := cmp.Diff(tc.want, &got); diff != "" {
				t.Error(diff)
			}
		})
	}
	if got := offerOf(t, base, "openai", "gpt-5.5").Price.Input; got != *rate(5) {
		t.Errorf("the base catalog changed: input is %v, want %v", got, *rate(5))
	}
}

func TestOverrideAffectsOneProvider(t *testing.T) {
	t.Parallel()
	base := defaults(t)
	c := base.With(Overrides{{Model: "gpt-5.5", Provider: "openai", Input: rate(4), Output: rate(20), Upstream: "gpt-5.5-eu"}})
	if diff := cmp.Diff(offerOf(t, base, "openrouter", "gpt-5.5"), offerOf(t, c, "openrouter", "gpt-5.5")); diff != "" {
		t.Error(diff)
	}
	if got := offerOf(t, c, "openai", "gpt-5.5").Upstream; got != "gpt-5.5-eu" {
		t.Errorf("Upstream = %s, want gpt-5.5-eu", got)
	}
	everywhere := base.With(Overrides{{Model: "gpt-5.5", Input: rate(4), Output: rate(20)}})
	if got := offerOf(t, everywhere, "openrouter", "gpt-5.5").Price.Source; got != "override" {
		t.Errorf("source of the price at openrouter is %s, want override", got)
	}
}

func TestIncompletePriceIsIgnored(t *testing.T) {
	t.Parallel()
	c := defaults(t).With(Overrides{{Model: "my-model", Provider: "mine", Input: rate(1)}})
	if got := offerOf(t, c, "mine", "my-model").Price; got != nil {
		t.Errorf("an offer without an output rate has the output price %v, want no price", got.Output)
	}
}

func TestOverrideOfDatedNameInheritsFacts(t *testing.T) {
	t.Parallel()
	c := defaults(t).With(Overrides{{Model: "gpt-4.1-2025-04-14", Provider: "mine"}})
	m, _ := c.Model("gpt-4.1-2025-04-14")
	kin, _ := c.Model("gpt-4.1")
	if m == kin || m.Context != kin.Context || m.Quality != kin.Quality || m.Abilities != kin.Abilities {
		t.Errorf("got %+v", m)
	}
}

func TestOverrideMakesOfferCallable(t *testing.T) {
	t.Parallel()
	c := defaults(t).With(Overrides{{Model: "gpt-5-codex", Provider: "openai"}})
	if o := offerOf(t, c, "openai", "gpt-5-codex"); o.Price == nil || o.Upstream != "gpt-5-codex" {
		t.Errorf("got %+v", o)
	}
}

func TestOverrideFacts(t *testing.T) {
	t.Parallel()
	abilities := llm.Tools
	c := defaults(t).With(Overrides{
		{Model: "gpt-4.1", Context: 1000, MaxOutput: 10, Abilities: &abilities},
		{Model: "gpt-4.1", Context: 2000},
	})
	m, _ := c.Model("gpt-4.1")
	if m.Context != 2000 || m.MaxOutput != 10 || m.Abilities != llm.Tools || m.Vendor != "OpenAI" {
		t.Errorf("got %+v", m)
	}
}
