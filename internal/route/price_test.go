package route

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"fairlead.dev/internal/catalog"
	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/money"
	"fairlead.dev/internal/provider"
)

// The precomputed rates apply only to prompts below every tier.
func TestCardMatchesPrice(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 11, 2, 9, 0, 0, 0, time.UTC)
	rapid.Check(t, func(t *rapid.T) {
		rate := rapid.Custom(func(t *rapid.T) money.Rate {
			return money.Rate(rapid.Int64Range(0, 90*int64(money.Dollar)).Draw(t, "rate"))
		})
		price := &catalog.Price{Input: rate.Draw(t, "in"), Output: rate.Draw(t, "out"), PerRequest: money.Amount(rapid.IntRange(0, 1000).Draw(t, "fee"))}
		if rapid.Bool().Draw(t, "cached") {
			price.CacheRead = new(rate.Draw(t, "read"))
		}
		for range rapid.IntRange(0, 2).Draw(t, "tiers") {
			price.Tiers = append(price.Tiers, catalog.Tier{Above: rapid.Int64Range(0, 1000).Draw(t, "above"), Input: rate.Draw(t, "in"), Output: rate.Draw(t, "out")})
		}
		if rapid.Bool().Draw(t, "by the hour") {
			price.Hours = []catalog.Hours{{Name: "day", Factor: 700, Windows: []catalog.Window{{First: time.Sunday, Last: time.Saturday, Start: 0, End: 24 * 60}}}}
		}
		card := newCurrentPrice(&provider.Target{Price: price}, at)
		count := rapid.Int64Range(0, 1000)
		u := llm.Usage{Input: count.Draw(t, "input"), CacheRead: count.Draw(t, "read"), CacheWrite: count.Draw(t, "write"), Output: count.Draw(t, "output")}
		if got, want := card.ratesFor(u.Prompt()).Cost(&u), price.At(at).Bill(u).Total; got != want {
			t.Fatalf("cost by card %s, want %s", got, want)
		}
	})
}
