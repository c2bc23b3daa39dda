package gateway

import (
	"testing"
	"time"

	"fairlead/internal/catalog"
	"fairlead/internal/llm"
	"fairlead/internal/money"
	"fairlead/internal/provider"
	"fairlead/internal/requestlog"
	"fairlead/internal/route"
)

// billed is an exchange with one target whose price has everything.
func billed(req llm.Request) (*exchange, *provider.Target) {
	long, sound, spoken := money.PerMillion(4), money.PerMillion(20), money.PerMillion(40)
	until := time.Date(2027, 1, 1, 0, 0, 0, 0, time.UTC)
	price := &catalog.Price{
		Input: money.PerMillion(2), Output: money.PerMillion(8), CacheWriteLong: &long, AudioInput: &sound, AudioOutput: &spoken, Source: "test",
		Services: []catalog.Service{{Name: "flex", Factor: 500}, {Name: "priority", Factor: 2000}},
	}
	price = price.Followed(&catalog.Price{Input: money.PerMillion(100), Output: money.PerMillion(100), Source: "later"}, until)
	t := &provider.Target{Provider: "p", Model: &catalog.Model{Name: "m", Op: llm.Chat, MaxOutput: 1000}, Upstream: "m", Price: price}
	x := &exchange{
		op: llm.Chat, start: until.Add(-time.Second), req: &req, entry: &requestlog.Entry{Model: "m", BaselineModel: "m"},
		snap: route.NewSnapshot(nil, []*provider.Provider{{Name: "p", Targets: []*provider.Target{t}}}, nil),
	}
	return x, t
}

func TestBillPricesWhatWasServedWhenItWasAsked(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		asked, served string
		want          money.Amount
		card          string
	}{
		"neither":               {"", "", 2_000_000, "price until 2026-12-31"},
		"asked for":             {"flex", "", 1_000_000, "price until 2026-12-31, flex"},
		"served something else": {"priority", "default", 2_000_000, "price until 2026-12-31"},
		"served":                {"", "priority", 4_000_000, "price until 2026-12-31, priority"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			x, target := billed(llm.Request{ServiceTier: tc.asked})
			x.bill(target, llm.Usage{Input: 1000, ServiceTier: tc.served})
			if *x.entry.Cost != tc.want || x.entry.Bill.Card != tc.card || *x.entry.BaselineCost != tc.want {
				t.Errorf("%v by %q, baseline %v; want %v by %q", *x.entry.Cost, x.entry.Bill.Card, *x.entry.BaselineCost, tc.want, tc.card)
			}
			if x.entry.Usage.ServiceTier != tc.served {
				t.Errorf("the entry says that %q was served", x.entry.Usage.ServiceTier)
			}
		})
	}
}

func TestHoldCoversTheDearestWayToUseATarget(t *testing.T) {
	t.Parallel()
	for name, req := range map[string]llm.Request{
		"text":            {Body: make([]byte, 4000), MaxOutput: 100},
		"urgent":          {Body: make([]byte, 4000), MaxOutput: 100, ServiceTier: "priority"},
		"flex is refused": {Body: make([]byte, 4000), MaxOutput: 100, ServiceTier: "flex"},
		"sound":           {Body: make([]byte, 4000), MaxOutput: 100, Needs: llm.AudioIn | llm.AudioOut},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			x, target := billed(req)
			x.decision = &route.Decision{Plan: []*provider.Target{target}}
			held := x.dearest()
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
					x.bill(target, u)
					if *x.entry.Cost > held {
						t.Errorf("%+v costs %v, held were %v", u, *x.entry.Cost, held)
					}
				}
			}
		})
	}
}

func TestWhatIsBeyondAWindowNeedNotHaveBeenRead(t *testing.T) {
	t.Parallel()
	req := &llm.Request{ASCIIBytes: 1_000_000, NonASCIIBytes: 24_000}
	for want, m := range map[int64]catalog.Model{
		8000: {Context: 200_000},
		4096: {Context: 4096},
		2048: {Context: 4096, MaxInput: 2048},
		512:  {},
	} {
		if got := leastPrompt(req, &m); got != want {
			t.Errorf("%d tokens at least, want %d", got, want)
		}
	}
}
