package catalog

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"fairlead.dev/internal/llm"
)

func offerNamed(t *testing.T, c *Catalog, target string) Offer {
	t.Helper()
	provider, model, _ := strings.Cut(target, "/")
	o, ok := c.Offer(provider, model)
	if !ok {
		t.Fatalf("the catalog has no %s", target)
	}
	return o
}

// rewritten returns the history after encoding and decoding it.
func rewritten(t *testing.T, b *PriceHistory) *PriceHistory {
	t.Helper()
	text, err := b.Encode()
	if err != nil {
		t.Fatal(err)
	}
	again, err := ReadPriceHistory(text)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(b, again); diff != "" {
		t.Errorf("the history changes in a round trip:\n%s", diff)
	}
	return again
}

func emptyBook(t *testing.T) *PriceHistory {
	t.Helper()
	b, err := ReadPriceHistory(nil)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestPriceHistorySetsAndRemoves(t *testing.T) {
	t.Parallel()
	tables := defaults(t)
	own := offerNamed(t, tables, "openai/gpt-4.1").Price
	b := emptyBook(t)
	first, second := day("2026-11-01"), day("2026-11-10")
	b.Set(tables, Listing{Provider: "openai", Model: "gpt-4.1", Price: &Price{Input: *rate(1), Output: *rate(4), Source: OverrideSource}}, first)
	b = rewritten(t, b)
	c := tables.With(b.Overrides(tables))
	p := offerNamed(t, c, "openai/gpt-4.1").Price
	if p.At(first).Input != *rate(1) || p.At(first.Add(-1)).Input != own.Input || p.Source != OverrideSource {
		t.Errorf("set: %+v", p)
	}
	if c.Version() == tables.Version() {
		t.Errorf("Version = %s after a price change, want another than before", c.Version())
	}
	for i, want := range []bool{true, false} {
		if got := b.Remove("openai", "gpt-4.1", second); got != want {
			t.Errorf("Remove, call %d: got %t, want %t", i+1, got, want)
		}
	}
	b = rewritten(t, b)
	c = tables.With(b.Overrides(tables))
	p = offerNamed(t, c, "openai/gpt-4.1").Price
	if p.At(second).Input != own.Input || p.At(first).Input != *rate(1) || p.At(first.Add(-1)).Input != own.Input || p.Source != own.Source {
		t.Errorf("after removal: %+v", p)
	}
	b.Set(c, Listing{Provider: "openai", Model: "gpt-4.1", Price: &Price{Input: *rate(3), Output: *rate(4), Source: OverrideSource}}, day("2026-11-12"))
	if got := len(b.Listings[0].Price.Periods); got != 3 || len(b.Listings) != 1 {
		t.Errorf("%d former prices in %d listings", got, len(b.Listings))
	}
}

func TestPriceHistoryAddsModels(t *testing.T) {
	t.Parallel()
	tables := defaults(t)
	b := emptyBook(t)
	abilities := llm.Tools
	at := day("2026-11-01")
	l := Listing{
		Provider: "openai", Model: "gpt-9", Upstream: "gpt-9-2027", Needs: "responses", Op: llm.Chat, Context: 1000, MaxOutput: 100, Abilities: &abilities,
		Price: &Price{Input: *rate(1), Output: *rate(2), Source: "models.dev", AsOf: "2026-11-01"},
	}
	b.Set(tables, l, at)
	c := tables.With(rewritten(t, b).Overrides(tables))
	m, ok := c.Model("gpt-9")
	if !ok || m.Context != 1000 || m.Abilities != llm.Tools {
		t.Errorf("got %+v", m)
	}
	if o := offerNamed(t, c, "openai/gpt-9"); o.Upstream != "gpt-9-2027" || o.Needs != "responses" || o.Price.Input != *rate(1) {
		t.Errorf("got %+v", o)
	}
	b.Set(c, Listing{Provider: "openai", Model: "gpt-9", Price: &Price{Input: *rate(2), Output: *rate(2), Source: "models.dev", AsOf: "2026-11-02"}}, day("2026-11-02"))
	if got := b.Find("openai", "gpt-9"); got.Upstream != "gpt-9-2027" || got.Context != 1000 || len(got.Price.Periods) != 1 {
		t.Errorf("a new price dropped facts: %+v", got)
	}
	b.Remove("openai", "gpt-9", day("2026-11-03"))
	c = tables.With(b.Overrides(tables))
	if _, ok := c.Offer("openai", "gpt-9"); ok {
		t.Error("a model of the history is offered without a price")
	}
	b.Set(c, Listing{Provider: "openai", Model: "gpt-9", Price: &Price{Input: *rate(5), Output: *rate(2), Source: OverrideSource}}, day("2026-11-05"))
	periods := b.Find("openai", "gpt-9").Price.Periods
	if len(periods) != 2 || periods[1].Price.Input != *rate(2) {
		t.Errorf("the history of a price that was set again: %+v", periods)
	}
}

func TestImportDoesNotMakeOfferCallable(t *testing.T) {
	t.Parallel()
	tables := defaults(t)
	b := emptyBook(t)
	b.Set(tables, Listing{Provider: "openai", Model: "gpt-5-pro", Price: &Price{Input: *rate(1), Output: *rate(2), Source: "litellm", AsOf: "2026-11-01"}}, day("2026-11-01"))
	if o := offerNamed(t, tables.With(b.Overrides(tables)), "openai/gpt-5-pro"); o.Needs != "responses" || o.Price.Source != "litellm" {
		t.Errorf("got %+v", o)
	}
}

func TestNewerTableSupersedesImport(t *testing.T) {
	t.Parallel()
	tables := defaults(t)
	own := offerNamed(t, tables, "openai/gpt-6-sol").Price
	for source, overtaken := range map[string]bool{"models.dev": true, OverrideSource: false} {
		b := emptyBook(t)
		b.Set(tables, Listing{Provider: "openai", Model: "gpt-6-sol", Price: &Price{Input: *rate(1), Output: *rate(2), Source: source, AsOf: "2026-01-01"}}, day("2026-01-01"))
		got := offerNamed(t, tables.With(b.Overrides(tables)), "openai/gpt-6-sol").Price
		if (got.Input == own.Input) != overtaken {
			t.Errorf("%s: input rate %v, superseded %t, want %t", source, got.Input, got.Input == own.Input, overtaken)
		}
	}
}

func TestInvalidPriceHistoryIsRejected(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		`{`:             "unexpected end",
		`{"version":2}`: "unsupported version",
		`{"version":1,"listings":[{"provider":"p"}]}`:                                                                           "missing provider or model",
		`{"version":1,"listings":[{"provider":"p","model":"m","price":{"input":-1}}]}`:                                          "negative rate",
		`{"version":1,"listings":[{"provider":"p","model":"m","price":{"services":[{"name":"x","factor":0}]}}]}`:                "factor",
		`{"version":1,"listings":[{"provider":"p","model":"m","former":[{"price":{"output":-1}}]}]}`:                            "negative rate",
		`{"version":1,"listings":[{"provider":"p","model":"m","price":{"periods":[{"price":{"tiers":[{"cache_read":-1}]}}]}}]}`: "negative rate",
	} {
		if _, err := ReadPriceHistory([]byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want an error with %q", text, err, want)
		}
	}
}

func TestManualPriceAppliesToLaterOffers(t *testing.T) {
	t.Parallel()
	c := defaults(t).With(Overrides{
		{Model: "house-model", Input: rate(1), Output: rate(2), CacheWriteLong: rate(3), AudioInput: rate(4)},
		{Model: "house-model", Provider: "mine", Upstream: "m"},
		{Model: "house-model", Provider: "other", Input: rate(9)},
		{Model: "house-model", Provider: "expensive", Input: rate(7), Output: rate(8)},
	})
	for provider, want := range map[string]*Price{
		"mine":      {Input: *rate(1), Output: *rate(2), CacheWriteLong: rate(3), AudioInput: rate(4), Source: OverrideSource},
		"other":     {Input: *rate(9), Output: *rate(2), Source: OverrideSource},
		"expensive": {Input: *rate(7), Output: *rate(8), Source: OverrideSource},
	} {
		if diff := cmp.Diff(want, offerOf(t, c, provider, "house-model").Price); diff != "" {
			t.Errorf("%s: %s", provider, diff)
		}
	}
}

func TestSingleRateAppliesInPromotions(t *testing.T) {
	t.Parallel()
	c := defaults(t).With(Overrides{{Model: "gemini-3.8-flash", Provider: "gemini", CacheRead: rate(0.01)}})
	p := offerOf(t, c, "gemini", "gemini-3.8-flash").Price
	now, later := p.At(day("2026-11-15")), p.At(day("2027-02-01"))
	if *now.CacheRead != *rate(0.01) || now.Input != *rate(0.75) || *later.CacheRead != *rate(0.01) || later.Input != *rate(1.5) {
		t.Errorf("now %+v, later %+v", now, later)
	}
	known := offerNamed(t, defaults(t), "gemini/gemini-3.8-flash").Price
	if *known.Periods[0].Price.CacheRead == *rate(0.01) {
		t.Error("the shared price was changed")
	}
}

func FuzzReadPriceHistory(f *testing.F) {
	f.Add([]byte(`{"version":1,"listings":[{"provider":"p","model":"m","price":{"input":1,"output":2,"source":"x","periods":[{"until":"2026-01-01T00:00:00Z","price":{"source":"y"}}]}}]}`))
	tables, err := Default()
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		b, err := ReadPriceHistory(text)
		if err != nil {
			return
		}
		c := tables.With(b.Overrides(tables))
		for _, l := range b.Listings {
			if o, ok := c.Offer(l.Provider, l.Model); ok && o.Price != nil && o.Price.At(day("2026-11-15")).Cost(llm.Usage{Input: 10}) < 0 {
				t.Errorf("%+v has a negative cost", o)
			}
		}
	})
}
