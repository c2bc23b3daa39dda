package catalog

import (
	"math"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/money"
)

func day(text string) time.Time {
	t, err := time.Parse(time.DateOnly, text)
	if err != nil {
		panic(err)
	}
	return t
}

// full returns a price with every field set.
func full() *Price {
	return &Price{
		Input: *rate(10), Output: *rate(50), CacheRead: rate(1), CacheWrite: rate(12.5), CacheWriteLong: rate(20), AudioInput: rate(32), AudioOutput: rate(64),
		PerRequest: money.Dollar / 100, Source: "vendor page", AsOf: "2026-10-08",
		Tiers:    []Tier{{Above: 200_000, Input: *rate(20), Output: *rate(75), CacheRead: rate(2), CacheWrite: rate(25), CacheWriteLong: rate(40)}},
		Services: []Service{{"flex", 500}, {"priority", 2000}},
	}
}

func TestCardDependsOnPromptAndServiceTier(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		usage  llm.Usage
		card   string
		amount money.Amount // expected price without the fee
	}{
		"short":                            {llm.Usage{Input: 1000}, "base", 10_000_000},
		"long":                             {llm.Usage{Input: 300_000}, ">200k", 6_000_000_000},
		"long because of cached input":     {llm.Usage{Input: 1000, CacheRead: 200_000}, ">200k", 20_000_000 + 400_000_000},
		"flex":                             {llm.Usage{Input: 1000, ServiceTier: "flex"}, "flex", 5_000_000},
		"long at priority":                 {llm.Usage{Input: 300_000, ServiceTier: "priority"}, ">200k, priority", 12_000_000_000},
		"one-hour cache write at priority": {llm.Usage{CacheWrite: 1000, CacheWriteLong: 1000, ServiceTier: "priority"}, "priority", 40_000_000},
		"names of the standard tier":       {llm.Usage{Input: 1000, ServiceTier: "default"}, "base", 10_000_000},
		"more names of the standard tier":  {llm.Usage{Input: 1000, ServiceTier: "on_demand"}, "base", 10_000_000},
		"unknown tier":                     {llm.Usage{Input: 1000, ServiceTier: "scale"}, "base, unknown service tier scale", 10_000_000},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := full()
			bill := p.Bill(tc.usage)
			if got := bill.Total - p.PerRequest; got != tc.amount || bill.Card != tc.card || p.Cost(tc.usage) != bill.Total {
				t.Errorf("%v by card %q (cost %v), want %v by %q", got, bill.Card, p.Cost(tc.usage), tc.amount, tc.card)
			}
		})
	}
}

// Counts of token parts never change the total number of tokens, no usage has a negative cost, and the rows sum to the cost.
func TestPartsNeverExceedTheirWhole(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		count := rapid.OneOf(rapid.Int64Range(-10, 1_000_000), rapid.SampledFrom([]int64{math.MinInt64, math.MaxInt64, math.MaxInt64 / 2}))
		u := llm.Usage{
			Input: count.Draw(t, "input"), AudioInput: count.Draw(t, "audio in"), CacheWrite: count.Draw(t, "write"), CacheWriteLong: count.Draw(t, "long"),
			Output: count.Draw(t, "output"), AudioOutput: count.Draw(t, "audio out"), CacheRead: count.Draw(t, "read"),
			ServiceTier: rapid.SampledFrom([]string{"", "flex", "priority", "x"}).Draw(t, "tier"),
		}
		p := full()
		if rapid.Bool().Draw(t, "other price") {
			p = drawPrice(t)
		}
		bill := p.Bill(u)
		tokens := map[string]int64{}
		var sum money.Amount
		for _, row := range bill.Rows {
			if row.Amount < 0 {
				t.Fatalf("%s costs %v", row.Class, row.Amount)
			}
			tokens[row.Class] += row.Tokens
			sum = sum.Add(row.Amount)
		}
		for whole, parts := range map[int64][2]string{u.Input: {"input", "input_audio"}, u.CacheWrite: {"cache_write", "cache_write_1h"}, u.Output: {"output", "output_audio"}} {
			if got := tokens[parts[0]] + tokens[parts[1]]; got != whole {
				t.Fatalf("%v sum to %d, not %d", parts, got, whole)
			}
		}
		if bill.Total != p.Cost(u) || bill.Total != sum {
			t.Fatalf("bill %v, cost %v, rows sum to %v", bill.Total, p.Cost(u), sum)
		}
	})
}

func TestAtSelectsPeriodAndHours(t *testing.T) {
	t.Parallel()
	p := &Price{
		Input: *rate(4), Output: *rate(8), CacheRead: rate(1), Tiers: []Tier{{Above: 10, Input: *rate(6), Output: *rate(12)}}, Source: "x",
		Hours: []Hours{{"off-peak", 500, []Window{{time.Monday, time.Friday, 10 * 60, 24 * 60}, {time.Saturday, time.Sunday, 0, 24 * 60}}}},
		Periods: []Period{
			{Until: day("2026-05-01"), Price: Price{Input: *rate(7), Output: *rate(9), Source: "old"}},
			{Name: "promotion", From: day("2026-06-01"), Until: day("2026-07-01"), Price: Price{Input: *rate(1), Output: *rate(2), Source: "page"}},
		},
	}
	for at, want := range map[string]struct {
		input float64
		card  string
	}{
		"2026-04-30T23:59:59Z":      {7, "price until 2026-04-30"},
		"2026-05-01T00:00:00Z":      {4, "base"}, // 2026-05-01 is a Friday
		"2026-05-01T09:59:59Z":      {4, "base"},
		"2026-05-01T10:00:00Z":      {2, "off-peak"},
		"2026-05-02T03:00:00Z":      {2, "off-peak"}, // 2026-05-02 is a Saturday
		"2026-05-03T23:59:59Z":      {2, "off-peak"},
		"2026-05-04T00:00:00Z":      {4, "base"}, // 2026-05-04 is a Monday
		"2026-05-04T02:00:00+02:00": {4, "base"},
		"2026-05-31T23:30:00-03:00": {1, "promotion until 2026-06-30"}, // the time in UTC is in June
		"2026-06-30T23:59:59Z":      {1, "promotion until 2026-06-30"},
		"2026-07-01T00:00:00Z":      {4, "base"},
	} {
		moment, err := time.Parse(time.RFC3339, at)
		if err != nil {
			t.Fatal(err)
		}
		card := p.At(moment)
		if got := card.Bill(llm.Usage{}).Card; card.Input != *rate(want.input) || got != want.card {
			t.Errorf("at %s: $%g by card %q, want $%g by %q", at, card.Input.Dollars(), got, want.input, want.card)
		}
	}
	cheap := p.At(day("2026-05-02"))
	if *cheap.CacheRead != *rate(0.5) || cheap.Tiers[0].Output != *rate(6) || p.Tiers[0].Output != *rate(12) {
		t.Errorf("the off-peak factor is missing in a rate of %+v, or changed the price itself", cheap)
	}
	plain := full()
	if plain.At(day("2026-05-02")) != plain {
		t.Error("At copied a price without periods and hours")
	}
}

func TestWindowWrapsAroundTheWeek(t *testing.T) {
	t.Parallel()
	w := Window{First: time.Saturday, Last: time.Monday}
	for d := time.Sunday; d <= time.Saturday; d++ {
		if got, want := w.covers(d), d == time.Saturday || d == time.Sunday || d == time.Monday; got != want {
			t.Errorf("%s: covered = %t, want %t", d, got, want)
		}
	}
}

func TestFollowedByKeepsHistory(t *testing.T) {
	t.Parallel()
	first := &Price{Input: *rate(1), Output: *rate(1), Source: "a", Periods: []Period{{Name: "promotion", Until: day("2026-06-01"), Price: Price{Input: *rate(0.5), Source: "p"}}}}
	second := first.FollowedBy(&Price{Input: *rate(2), Output: *rate(2), Source: "b"}, day("2026-03-01"))
	third := second.FollowedBy(&Price{Input: *rate(3), Output: *rate(3), Source: "c"}, day("2026-09-01"))
	for at, want := range map[string]string{"2026-01-01": "p", "2026-02-28": "p", "2026-03-01": "b", "2026-05-01": "b", "2026-08-31": "b", "2026-09-01": "c"} {
		if got := third.At(day(at)).Source; got != want {
			t.Errorf("on %s the price of %q applies, want %q", at, got, want)
		}
	}
	var sources []string
	for _, one := range third.History() {
		sources = append(sources, one.Price.Source)
	}
	if diff := cmp.Diff([]string{"p", "a", "b", "c"}, sources); diff != "" {
		t.Error(diff)
	}
	if len(first.Periods) != 1 || !first.Periods[0].Until.Equal(day("2026-06-01")) {
		t.Errorf("FollowedBy changed the periods of the first price: %+v", first.Periods)
	}
}

func TestUnusedPlannedPriceIsDropped(t *testing.T) {
	t.Parallel()
	now, then := day("2026-11-15"), day("2027-01-01")
	p := &Price{Input: *rate(1), Source: "a"}
	planned := p.FollowedBy(&Price{Input: *rate(2), Source: "b"}, then)
	if planned.At(now).Source != "a" || planned.At(then).Source != "b" {
		t.Errorf("price now from %q, later from %q, want a, b", planned.At(now).Source, planned.At(then).Source)
	}
	instead := planned.FollowedBy(&Price{Input: *rate(3), Source: "c"}, now)
	if got := instead.At(now).Source; got != "c" || len(instead.Periods) != 1 || instead.At(then).Source != "c" {
		t.Errorf("%s applies, history %+v", got, instead.Periods)
	}
}

func TestHistoryIsBounded(t *testing.T) {
	t.Parallel()
	p := &Price{Source: "a"}
	at := day("2026-01-01")
	for range 3 * maxPeriods {
		at = at.Add(time.Hour)
		p = p.FollowedBy(&Price{Source: "a"}, at)
	}
	if len(p.Periods) != maxPeriods {
		t.Errorf("got %d periods, want %d", len(p.Periods), maxPeriods)
	}
}

// The expected values are from the vendors' pricing pages.
func TestKnownCards(t *testing.T) {
	t.Parallel()
	c := defaults(t)
	peak, weekend := time.Date(2026, 11, 16, 7, 0, 0, 0, time.UTC), time.Date(2026, 11, 15, 7, 0, 0, 0, time.UTC)
	million := llm.Usage{Input: 100_000, Output: 100_000}
	for name, tc := range map[string]struct {
		target      string
		at          time.Time
		usage       llm.Usage
		thousandths money.Amount // thousandths of a dollar; 0 if only the card matters
		card        string
	}{
		"DeepSeek at its peak":             {"deepseek/deepseek-v4-pro", peak, million, 528, "base"},
		"DeepSeek at the weekend":          {"deepseek/deepseek-v4-pro", weekend, million, 264, "off-peak"},
		"DeepSeek before the peak prices":  {"deepseek/deepseek-v4-pro", day("2026-08-15"), million, 0, "price until 2026-08-15"},
		"Gemini Flash in its promotion":    {"gemini/gemini-3.8-flash", day("2026-12-31"), million, 450, "promotion until 2026-12-31"},
		"Gemini Flash after it":            {"gemini/gemini-3.8-flash", day("2027-01-01"), million, 900, "base"},
		"GPT-5.6 Sol in its promotion":     {"openai/gpt-5.6-sol", day("2026-11-21"), million, 2400, "promotion until 2026-11-21"},
		"the same with flex":               {"openai/gpt-5.6-sol", day("2026-11-21"), llm.Usage{Input: 100_000, Output: 100_000, ServiceTier: "flex"}, 1200, "promotion until 2026-11-21, flex"},
		"the same, long":                   {"openai/gpt-5.6-sol", day("2026-11-21"), llm.Usage{Input: 300_000}, 2400, "promotion until 2026-11-21, >272k"},
		"GPT-5.6 Sol after it":             {"openai/gpt-5.6-sol", day("2026-11-22"), million, 3500, "base"},
		"Claude keeps a cache for an hour": {"anthropic/claude-sonnet-4-5", peak, llm.Usage{CacheWrite: 100_000, CacheWriteLong: 100_000}, 600, "base"},
		"Claude cache above the tier":      {"anthropic/claude-sonnet-4-5", peak, llm.Usage{Input: 200_000, CacheWrite: 100_000, CacheWriteLong: 100_000}, 2400, ">200k"},
		"Claude with the fast tier":        {"anthropic/claude-opus-5-5", peak, llm.Usage{Input: 100_000, ServiceTier: "fast"}, 800, "fast"},
		"audio":                            {"openai/gpt-audio", peak, llm.Usage{Input: 100_000, AudioInput: 100_000, Output: 100_000, AudioOutput: 100_000}, 9600, "base"},
		"Gemini has an audio rate":         {"gemini/gemini-2.5-flash", peak, llm.Usage{Input: 100_000, AudioInput: 50_000}, 65, "base"},
		"a search has a fee":               {"perplexity/sonar", peak, llm.Usage{Input: 100_000}, 105, "base"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := offerNamed(t, c, tc.target)
			bill := o.Price.At(tc.at).Bill(tc.usage)
			if tc.thousandths > 0 && bill.Total != tc.thousandths*money.Dollar/1000 || bill.Card != tc.card {
				t.Errorf("$%s by card %q, want %d thousandths by %q", bill.Total, bill.Card, tc.thousandths, tc.card)
			}
		})
	}
}
