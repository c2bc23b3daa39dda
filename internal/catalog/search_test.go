package catalog

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/money"
)

func TestSearchesAreChargedExactly(t *testing.T) {
	t.Parallel()
	fee := func(perThousand money.Amount) *SearchFee { return &SearchFee{Rate: new(SearchRate(perThousand))} }
	once := fee(35 * money.Dollar)
	once.Once = true
	for name, tc := range map[string]struct {
		fee      *SearchFee
		searches int64
		want     []Row
		total    money.Amount
		excluded []string
	}{
		"none":             {fee(10 * money.Dollar), 0, nil, 0, nil},
		"each":             {fee(10 * money.Dollar), 3, []Row{{WebSearch, 3, SearchRate(10 * money.Dollar), 30_000_000}}, 30_000_000, nil},
		"fraction of cent": {fee(2_500_000_000), 1, []Row{{WebSearch, 1, SearchRate(2_500_000_000), 2_500_000}}, 2_500_000, nil},
		"once per request": {once, 7, []Row{{WebSearch, 1, *once.Rate, 35_000_000}}, 35_000_000, nil},
		"free":             {fee(0), 7, nil, 0, nil},
		"unknown":          {nil, 1, nil, 0, []string{WebSearch}},
		"unknown rate":     {&SearchFee{Always: true}, 1, nil, 0, []string{WebSearch}},
		"unknown, unused":  {nil, 0, nil, 0, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			u := llm.Usage{Searches: tc.searches, ServiceTier: "flex"} // a service tier does not change the fee
			p := Price{Search: tc.fee, Services: []Service{{"flex", 500}}}
			b := p.Bill(u)
			rows := []Row(nil)
			for _, row := range b.Rows {
				if row.Class == WebSearch {
					rows = append(rows, row)
				}
			}
			if diff := cmp.Diff(tc.want, rows); diff != "" {
				t.Error(diff)
			}
			if diff := cmp.Diff(tc.excluded, b.Excluded); diff != "" {
				t.Error(diff)
			}
			if b.Total != tc.total || p.Cost(u) != tc.total {
				t.Errorf("the bill is %v and the cost %v, want %v", b.Total, p.Cost(u), tc.total)
			}
		})
	}
}

func TestSearchFeesOfTheTables(t *testing.T) {
	t.Parallel()
	c, err := Default()
	if err != nil {
		t.Fatal(err)
	}
	for target, want := range map[[2]string]string{
		{"openai", "gpt-5.4"}:                 "10",
		{"openai", "gpt-4.1"}:                 "unknown",
		{"openai", "gpt-4o-search-preview"}:   "unknown, every request",
		{"anthropic", "claude-sonnet-4-5"}:    "10",
		{"gemini", "gemini-2.5-pro"}:          "35, once",
		{"gemini", "gemini-3-pro-preview"}:    "14",
		{"perplexity", "sonar"}:               "0",
		{"perplexity", "sonar-deep-research"}: "unknown",
		{"openrouter", "claude-sonnet-4-5"}:   "unknown",
	} {
		o, ok := c.Offer(target[0], target[1])
		if !ok || o.Price == nil {
			t.Errorf("%v has no price", target)
			continue
		}
		got := "unknown"
		if fee := o.Price.Search; fee != nil {
			if fee.Rate != nil {
				got = SearchPrice(*fee.Rate).String()
			}
			if fee.Once {
				got += ", once"
			}
			if fee.Always {
				got += ", every request"
			}
		}
		if got != want {
			t.Errorf("the fee of %v is %s, want %s", target, got, want)
		}
	}
}

func TestSearchFeeOfAnOverride(t *testing.T) {
	t.Parallel()
	c, err := Default()
	if err != nil {
		t.Fatal(err)
	}
	set := SearchRate(5 * money.Dollar)
	changed := c.With(Overrides{
		{Model: "gpt-5.4", Provider: "openai", Search: &set},
		{Model: "gpt-5.4-mini", Provider: "openai", Input: rate(1), Output: rate(2)},
	})
	for model, want := range map[string]money.Amount{"gpt-5.4": 5 * money.Dollar, "gpt-5.4-mini": 10 * money.Dollar} {
		o, ok := changed.Offer("openai", model)
		if !ok || o.Price == nil || o.Price.Search == nil || SearchPrice(*o.Price.Search.Rate) != want {
			t.Errorf("the price of %s is %+v, want a fee of %v", model, o.Price, want)
		}
	}
}

func TestFormerPriceHasTheSearchFee(t *testing.T) {
	t.Parallel()
	old := &Price{Input: *rate(1), Output: *rate(1), Source: "old"}
	next := &Price{Input: *rate(2), Output: *rate(2), Source: "new", Search: &SearchFee{Rate: new(SearchRate(10 * money.Dollar))}}
	p := old.FollowedBy(next, day("2026-06-01"))
	if got := p.At(day("2026-05-01")); got.Input != *rate(1) || got.Cost(llm.Usage{Searches: 1}) != 10_000_000 {
		t.Errorf("the former price is %+v", got)
	}
}
