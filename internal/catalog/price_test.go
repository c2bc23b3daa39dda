package catalog

import (
	"math"
	"testing"

	"pgregory.net/rapid"

	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/money"
)

func drawRate(t *rapid.T, name string) money.Rate {
	return money.Rate(rapid.Int64Range(0, int64(1000*money.Dollar)).Draw(t, name))
}

func drawOptional(t *rapid.T, name string) *money.Rate {
	if rapid.Bool().Draw(t, name+" known") {
		r := drawRate(t, name)
		return &r
	}
	return nil
}

func drawPrice(t *rapid.T) *Price {
	p := &Price{
		Input: drawRate(t, "input"), Output: drawRate(t, "output"),
		CacheRead: drawOptional(t, "cache read"), CacheWrite: drawOptional(t, "cache write"),
		PerRequest: money.Amount(rapid.Int64Range(0, int64(money.Dollar)).Draw(t, "fee")),
		Source:     "list", AsOf: "2026-01-01",
	}
	above := int64(0)
	for range rapid.IntRange(0, 3).Draw(t, "tiers") {
		above += rapid.Int64Range(1, 300_000).Draw(t, "step")
		p.Tiers = append(p.Tiers, Tier{
			Above: above, Input: drawRate(t, "tier input"), Output: drawRate(t, "tier output"),
			CacheRead: drawOptional(t, "tier cache read"), CacheWrite: drawOptional(t, "tier cache write"),
		})
	}
	return p
}

func drawUsage(t *rapid.T, most int64) llm.Usage {
	tokens := rapid.Int64Range(0, most)
	return llm.Usage{
		Input: tokens.Draw(t, "input tokens"), CacheRead: tokens.Draw(t, "read tokens"),
		CacheWrite: tokens.Draw(t, "write tokens"), Output: tokens.Draw(t, "output tokens"),
	}
}

func TestCostRisesWithTokens(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		p := drawPrice(t)
		p.Tiers = nil // random tiers may be cheaper than the base price; TestPricesArePlausible checks the real tiers
		u := drawUsage(t, 1_000_000)
		more := u
		add := rapid.Int64Range(1, 1_000_000).Draw(t, "more")
		switch rapid.IntRange(0, 3).Draw(t, "class") {
		case 0:
			more.Input += add
		case 1:
			more.CacheRead += add
		case 2:
			more.CacheWrite += add
		default:
			more.Output += add
		}
		if p.Cost(more) < p.Cost(u) {
			t.Fatalf("%+v costs %v, %+v costs %v", u, p.Cost(u), more, p.Cost(more))
		}
	})
}

func TestCachedTokensDefaultToInputRate(t *testing.T) {
	t.Parallel()
	p := &Price{Input: money.PerMillion(2), Output: money.PerMillion(8)}
	if got, want := p.Cost(llm.Usage{CacheRead: 10, CacheWrite: 5}), p.Cost(llm.Usage{Input: 15}); got != want {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestInvalidUsageNeverLowersCost(t *testing.T) {
	t.Parallel()
	extremes := []int64{math.MinInt64, -1, 0, 1, math.MaxInt64/2 + 1, math.MaxInt64}
	for _, p := range []*Price{
		{Input: money.PerMillion(1000), Output: money.PerMillion(1000)},
		{Input: money.Rate(math.MaxInt64), Output: money.Rate(math.MaxInt64), PerRequest: money.Max},
		{Input: money.PerMillion(0.01), Output: money.PerMillion(0.04), Tiers: []Tier{{Above: 200_000, Input: money.PerMillion(1), Output: money.PerMillion(2)}}},
	} {
		for _, input := range extremes {
			for _, other := range extremes {
				u := llm.Usage{Input: input, CacheRead: other, CacheWrite: other, Output: other}
				bill := p.Bill(u)
				if bill.Total < 0 || bill.Total != p.Cost(u) {
					t.Errorf("%+v: bill %v, cost %v", u, bill.Total, p.Cost(u))
				}
				if p.Cost(u) < p.Cost(llm.Usage{Input: min(input, 0)}) {
					t.Errorf("%+v lowers the cost", u)
				}
			}
		}
	}
}
