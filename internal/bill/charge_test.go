package bill

import (
	"testing"
	"time"

	"fairlead.dev/internal/catalog"
	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/money"
	"fairlead.dev/internal/provider"
)

// priced returns terms with one target that has a price for every billing class.
func priced(req llm.Request) (Terms, *provider.Target) {
	long, audio, spoken := money.PerMillion(4), money.PerMillion(20), money.PerMillion(40)
	until := time.Date(2027, 1, 1, 0, 0, 0, 0, time.UTC)
	price := &catalog.Price{
		Input: money.PerMillion(2), Output: money.PerMillion(8), CacheWriteLong: &long, AudioInput: &audio, AudioOutput: &spoken, Source: "test",
		Services: []catalog.Service{{Name: "flex", Factor: 500}, {Name: "priority", Factor: 2000}},
	}
	price = price.FollowedBy(&catalog.Price{Input: money.PerMillion(100), Output: money.PerMillion(100), Source: "later"}, until)
	t := &provider.Target{Provider: "p", Model: &catalog.Model{Name: "m", Op: llm.Chat, MaxOutput: 1000}, Upstream: "m", Price: price}
	req.Op = llm.Chat
	return Terms{Request: &req, At: until.Add(-time.Second)}, t
}

func TestChargeUsesTheServedTierAndThePriceOfTheRequestTime(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		requested, served string
		want              money.Amount
		card              string
	}{
		"neither":             {"", "", 2_000_000, "price until 2026-12-31"},
		"requested":           {"flex", "", 1_000_000, "price until 2026-12-31, flex"},
		"another tier served": {"priority", "default", 2_000_000, "price until 2026-12-31"},
		"served":              {"", "priority", 4_000_000, "price until 2026-12-31, priority"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			terms, target := priced(llm.Request{ResponseOptions: llm.ResponseOptions{ServiceTier: tc.requested}})
			c := terms.Charge(target, llm.Usage{Input: 1000, ServiceTier: tc.served}, 0, Spent{}, Baseline{Model: "m", Price: target.Price})
			if *c.Attempt != tc.want || c.Bill.Total != tc.want || c.Bill.Card != tc.card || c.Baseline.Total != tc.want {
				t.Errorf("%v by %q, baseline %v; want %v by %q", c.Bill.Total, c.Bill.Card, c.Baseline.Total, tc.want, tc.card)
			}
			if c.Usage.ServiceTier != tc.served {
				t.Errorf("the usage has tier %q, want %q", c.Usage.ServiceTier, tc.served)
			}
		})
	}
}

func TestMaxCostCoversTheMostExpensiveUseOfATarget(t *testing.T) {
	t.Parallel()
	for name, req := range map[string]llm.Request{
		"text":             {Payload: llm.Payload{Body: make([]byte, 4000)}, ResponseOptions: llm.ResponseOptions{MaxOutput: 100}},
		"priority":         {Payload: llm.Payload{Body: make([]byte, 4000)}, ResponseOptions: llm.ResponseOptions{MaxOutput: 100, ServiceTier: "priority"}},
		"flex is rejected": {Payload: llm.Payload{Body: make([]byte, 4000)}, ResponseOptions: llm.ResponseOptions{MaxOutput: 100, ServiceTier: "flex"}},
		"audio":            {Payload: llm.Payload{Body: make([]byte, 4000)}, ResponseOptions: llm.ResponseOptions{MaxOutput: 100}, Needs: llm.AudioIn | llm.AudioOut},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			terms, target := priced(req)
			held := terms.MaxCost([]*provider.Target{target})
			for _, u := range []llm.Usage{
				{Input: 1000, Output: 100},
				{CacheWrite: 1000, Output: 100},
				{CacheWrite: 1000, CacheWriteLong: 1000, Output: 100},
				{Input: 1000, AudioInput: 1000, Output: 100, AudioOutput: 100},
			} {
				if u.AudioInput > 0 && req.Needs == 0 {
					continue
				}
				for _, served := range []string{"", req.ServiceTier} {
					u.ServiceTier = served
					if c := terms.Charge(target, u, 0, Spent{}, Baseline{}); *c.Attempt > held {
						t.Errorf("%+v costs %v, %v is held", u, *c.Attempt, held)
					}
				}
			}
		})
	}
}

func TestMinPromptIsLimitedByTheContextWindow(t *testing.T) {
	t.Parallel()
	req := &llm.Request{PromptSize: llm.PromptSize{ASCIIBytes: 1_000_000, NonASCIIBytes: 24_000}}
	for want, m := range map[int64]catalog.Model{
		8000: {Context: 200_000},
		4096: {Context: 4096},
		2048: {Context: 4096, MaxInput: 2048},
		512:  {},
	} {
		if got := minPrompt(req, &m); got != want {
			t.Errorf("the minimum is %d tokens, want %d", got, want)
		}
	}
}

func TestLongMarksNeedAKnownPrice(t *testing.T) {
	t.Parallel()
	read, write, long := money.PerMillion(0.3), money.PerMillion(3.75), money.PerMillion(6)
	price := catalog.Price{Input: money.PerMillion(3), Output: money.PerMillion(15), CacheRead: &read, CacheWrite: &write}
	one := &provider.Target{Vendor: "openrouter", Model: &catalog.Model{Name: "claude-sonnet-4-5"}, Price: &price, Traits: provider.Traits{EndMark: true}}
	if r := CacheRules(one); !r.EndMark || r.BreakEven <= 0.27 || r.BreakEven >= 0.28 || r.BreakEvenLong != 0 {
		t.Errorf("without a price for an hour: %+v", r)
	}
	price.CacheWriteLong = &long
	if r := CacheRules(one); r.BreakEvenLong <= 1.1 || r.BreakEvenLong >= 1.2 {
		t.Errorf("with a price for an hour: %+v", r)
	}
}

func TestHoldCoversTheSearches(t *testing.T) {
	t.Parallel()
	fee := func(terms Terms, target *provider.Target, f *catalog.SearchFee) Terms {
		price := *target.Price.At(terms.At)
		price.Search = f
		target.Price = &price
		terms.Held = new(terms.MaxCost([]*provider.Target{target}))
		return terms
	}
	each := &catalog.SearchFee{Rate: new(catalog.SearchRate(10 * money.Dollar))}
	for name, tc := range map[string]struct {
		req      llm.Request
		fee      *catalog.SearchFee
		searches int64        // searches that the provider reports
		want     money.Amount // fee that is charged
		counted  int64
	}{
		"as many as allowed":     {llm.Request{Needs: llm.WebSearch, ResponseOptions: llm.ResponseOptions{MaxSearches: 3}}, each, 3, 30_000_000, 3},
		"without a limit":        {llm.Request{Needs: llm.WebSearch}, each, defaultSearches, defaultSearches * 10_000_000, defaultSearches},
		"unknown fee":            {llm.Request{Needs: llm.WebSearch}, nil, 4, 0, 4},
		"in every request":       {llm.Request{}, &catalog.SearchFee{Rate: each.Rate, Always: true}, 0, 10_000_000, 1},
		"no search":              {llm.Request{Needs: llm.WebSearch}, each, 0, 0, 0},
		"more than the provider": {llm.Request{Needs: llm.WebSearch, ResponseOptions: llm.ResponseOptions{MaxSearches: 1 << 60}}, each, 2, 20_000_000, 2},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tc.req.MaxOutput = 100
			tc.req.Body = make([]byte, 40)
			terms, target := priced(tc.req)
			terms = fee(terms, target, tc.fee)
			without := terms.Charge(target, llm.Usage{Input: 10, Output: 1}, 0, Spent{}, Baseline{})
			if tc.fee != nil && tc.fee.Always {
				*without.Attempt -= 10_000_000
			}
			c := terms.Charge(target, llm.Usage{Input: 10, Output: 1, Searches: tc.searches}, 0, Spent{}, Baseline{Model: "m", Price: &catalog.Price{}})
			if got := c.Attempt.Sub(*without.Attempt); got != tc.want || c.Flag != "" {
				t.Errorf("the fee is %v with flag %q, want %v", got, c.Flag, tc.want)
			}
			if c.Usage.Searches != tc.counted {
				t.Errorf("%d searches, want %d", c.Usage.Searches, tc.counted)
			}
			if c.Baseline.Total != tc.want { // for a baseline with an unknown fee, the fee of the target is used
				t.Errorf("the baseline costs %v, want %v", c.Baseline.Total, tc.want)
			}
		})
	}
	terms, target := priced(llm.Request{Needs: llm.WebSearch, ResponseOptions: llm.ResponseOptions{MaxSearches: 1, MaxOutput: 1}, Payload: llm.Payload{Body: make([]byte, 4)}})
	terms = fee(terms, target, each)
	if c := terms.Charge(target, llm.Usage{Input: 1, Output: 1, Searches: 5000}, 0, Spent{}, Baseline{}); *c.Attempt != *terms.Held || c.Flag == "" {
		t.Errorf("searches above the limit cost %v, %v is held", *c.Attempt, *terms.Held)
	}
}
