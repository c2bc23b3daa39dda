package catalog

import (
	"strings"
	"testing"

	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/money"
)

// apart lists offers whose price differs from the median price of their model by more than a factor of five, with the
// reason.
var apart = map[string]string{
	"cerebras/gemma-4-31b-it":         "sells speed, at several times the price of others",
	"azure/llama-3.1-70b-instruct":    "the list price of 2024, not reduced",
	"azure/llama-3.1-8b-instruct":     "the list price of 2024, never lowered",
	"deepinfra/llama-3.2-3b-instruct": "the host is that cheap with small models",
	"azure/mistral-nemo":              "the vendor's list price, which hosts of the open weights undercut",
	"mistral/mistral-nemo":            "the vendor's list price, which hosts of the open weights undercut",
	"alibaba/qwen2.5-72b-instruct":    "the vendor asks far more than hosts of its open weights",
	"alibaba/qwen2.5-7b-instruct":     "the vendor asks far more than hosts of its open weights",
	"together/qwen2.5-7b-instruct":    "priced by size class, whatever others ask",
	"alibaba/qwen3-30b-a3b":           "the vendor asks far more than hosts of its open weights",
	"alibaba/qwen3.7-flash":           "one catalogue only; the router resells a cheaper host",
}

func TestProviderPricesAreSimilar(t *testing.T) {
	t.Parallel()
	c := defaults(t)
	middle := map[string]int64{}
	for _, m := range c.Models() {
		middle[m.Name] = middlePrice(c, m.Name)
	}
	seen := map[string]bool{}
	for _, o := range c.offers {
		if o.Price == nil || o.Price.Source == localSource {
			continue
		}
		name := o.Provider + "/" + o.Model
		own, usual := typicalCost(o.Price), middle[o.Model]
		far := own != usual && (own >= 5*usual || usual >= 5*own)
		if far && apart[name] == "" {
			t.Errorf("%s costs %d, the median offer of the model %d: an error, or an exception for the list", name, own, usual)
		}
		seen[name] = far
	}
	for name := range apart {
		if !seen[name] {
			t.Errorf("%s is in the list but is not far from others", name)
		}
	}
}

// middlePrice returns the median of the providers' prices.
func middlePrice(c *Catalog, model string) int64 {
	var others []Offer
	for _, o := range c.offers {
		if o.Model == model && o.Price != nil && o.Price.Source != localSource {
			others = append(others, o)
		}
	}
	if len(others) == 0 {
		return 0
	}
	// Without a home provider, the list price is the median.
	p := index(map[string]*Model{model: {Name: model}}, others, "v").ListPrice(model)
	return typicalCost(p)
}

func TestEveryCardOfAPriceIsPlausible(t *testing.T) {
	t.Parallel()
	c := defaults(t)
	for _, o := range c.offers {
		if o.Price == nil {
			continue
		}
		for _, period := range o.Price.History() {
			card := period.Price
			plausibleCard(t, o.Model+" at "+o.Provider, c.models[o.Model], &card)
		}
	}
}

func plausibleCard(t *testing.T, name string, m *Model, p *Price) {
	t.Helper()
	check := func(ok bool, rule string) {
		if !ok {
			t.Errorf("%s: %s", name, rule)
		}
	}
	atLeast := func(r *money.Rate, least money.Rate) bool { return r == nil || *r >= least }
	check(p.CacheWriteLong == nil || p.CacheWrite != nil, "a one-hour rate needs a cache write rate")
	check(atLeast(p.CacheWriteLong, rateOr(p.CacheWrite, 0)), "one-hour writes cost at least as much as short ones")
	check(p.CacheWriteLong == nil || *p.CacheWriteLong <= 4*p.Input, "one-hour writes cost at most four times the input")
	check(atLeast(p.AudioInput, p.Input) && atLeast(p.AudioOutput, p.Output), "audio costs at least as much as text")
	check(p.AudioInput == nil || m.Abilities.Has(llm.AudioIn), "only models with audio input have an audio rate")
	check(p.PerRequest >= 0 && p.PerRequest <= money.Dollar/10, "a fee per request is plausible")
	below := p.Base()
	for _, tier := range p.Tiers {
		check(tier.Above > below.Above && tier.Input > below.Input && tier.Output >= below.Output, "tiers rise")
		check(atLeast(tier.CacheRead, rateOr(below.CacheRead, 0)), "cached input costs more in a higher tier")
		check((tier.CacheWriteLong == nil) == (p.CacheWriteLong == nil), "all tiers have the one-hour rate, or none does")
		below = tier
	}
	names := map[string]bool{}
	for _, s := range p.Services {
		check(!names[s.Name] && !isStandardTier(s.Name), "service tiers have unique names")
		check(s.Factor != 1000 && s.Factor >= 250 && s.Factor <= 6000, "a service tier costs a quarter to six times")
		check(s.Name != "flex" || s.Factor < 1000, "flex is cheaper")
		check(s.Name != "priority" || s.Factor > 1000, "priority costs more")
		names[s.Name] = true
	}
	for _, h := range p.Hours {
		check(h.Factor < 1000, "the list price is that of the most expensive hours")
	}
}

// A floating alias may point to another model with another price later.
func TestAliasesAreNeverPriced(t *testing.T) {
	t.Parallel()
	c := defaults(t)
	oneVersionOnly := map[string]bool{ // the vendor's name for this exact version
		"claude-3-5-haiku": true, "claude-3-7-sonnet": true, "gpt-5-chat": true, "gpt-5.1-chat": true, "gpt-5.2-chat": true, "gpt-5.3-chat": true,
	}
	for _, o := range c.offers {
		if c.models[o.Model].Op == llm.Moderate {
			continue // for moderation models, the alias is the usual name, and all versions cost the same
		}
		if strings.HasSuffix(o.Upstream, "latest") && !oneVersionOnly[o.Model] && o.Price != nil {
			t.Errorf("%s at %s is priced under the alias %s", o.Model, o.Provider, o.Upstream)
		}
	}
}
