package models

import (
	"time"

	"fairlead.dev/internal/catalog"
	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/money"
)

// modelView is the JSON form of a model. Its JSON fields have the same names as in the admin API.
type modelView struct {
	Name       string       `json:"name"`
	Vendor     string       `json:"vendor"`
	Kind       llm.Op       `json:"kind"`
	Context    *int64       `json:"context"`
	MaxOutput  *int64       `json:"max_output"`
	Abilities  []string     `json:"abilities"`
	Quality    *float64     `json:"quality"`
	Dimensions []int64      `json:"dimensions"`
	Aliases    []string     `json:"aliases"`
	Deprecated bool         `json:"deprecated"`
	Targets    []targetView `json:"targets"`
}

type targetView struct {
	Provider   string     `json:"provider"`
	Upstream   string     `json:"upstream"`
	Configured bool       `json:"configured"`
	Price      *priceView `json:"price"`
}

// priceView is the JSON form of a price, with its current rates.
type priceView struct {
	rateView

	PerRequest money.Amount      `json:"per_request_usd"`
	Search     *money.Amount     `json:"per_1k_searches_usd,omitempty"`
	Card       string            `json:"card"`
	Tiers      []tierView        `json:"tiers,omitempty"`
	Services   []catalog.Service `json:"services,omitempty"`
	Hours      []catalog.Hours   `json:"hours,omitempty"`
	History    []periodView      `json:"history,omitempty"`
	Source     string            `json:"source"`
	AsOf       string            `json:"as_of"`
}

type rateView struct {
	Input          money.Amount  `json:"input_per_mtok_usd"`
	Output         money.Amount  `json:"output_per_mtok_usd"`
	CacheRead      *money.Amount `json:"cache_read_per_mtok_usd"`
	CacheWrite     *money.Amount `json:"cache_write_per_mtok_usd"`
	CacheWriteLong *money.Amount `json:"cache_write_1h_per_mtok_usd,omitempty"`
	AudioInput     *money.Amount `json:"audio_input_per_mtok_usd,omitempty"`
	AudioOutput    *money.Amount `json:"audio_output_per_mtok_usd,omitempty"`
}

type tierView struct {
	Above int64 `json:"above_tokens"`
	rateView
}

type periodView struct {
	Name  string    `json:"name,omitempty"`
	From  time.Time `json:"from,omitzero"`
	Until time.Time `json:"until,omitzero"`
	rateView

	Source string `json:"source"`
	AsOf   string `json:"as_of,omitempty"`
}

func viewModel(m *offered, now time.Time) modelView {
	v := modelView{
		Name: m.model.Name, Vendor: m.model.Vendor, Kind: m.model.Op, Context: known(m.model.Context), MaxOutput: known(m.model.MaxOutput),
		Abilities: m.model.Abilities.Names(), Quality: known(m.model.Quality), Dimensions: m.model.Dimensions, Aliases: m.model.Aliases,
		Deprecated: m.model.Deprecated,
	}
	for _, t := range m.targets {
		v.Targets = append(v.Targets, targetView{t.provider, t.upstream, t.here, viewPrice(t.price, now)})
	}
	return v
}

func viewPrice(p *catalog.Price, now time.Time) *priceView {
	if p == nil {
		return nil
	}
	card := p.At(now)
	v := &priceView{
		rateView: viewRates(card.Base()), PerRequest: card.PerRequest, Card: card.Bill(llm.Usage{}).Card,
		Services: card.Services, Hours: p.During(now).Hours, Source: card.Source, AsOf: card.AsOf,
	}
	if card.Search != nil && card.Search.Rate != nil {
		v.Search = new(catalog.SearchPrice(*card.Search.Rate))
	}
	for _, t := range card.Tiers {
		v.Tiers = append(v.Tiers, tierView{t.Above, viewRates(t)})
	}
	if len(p.Periods) == 0 {
		return v
	}
	for _, one := range p.History() {
		v.History = append(v.History, periodView{
			Name: one.Name, From: one.From, Until: one.Until, rateView: viewRates(one.Price.Base()), Source: one.Price.Source, AsOf: one.Price.AsOf,
		})
	}
	return v
}

func viewRates(t catalog.Tier) rateView {
	return rateView{
		Input: money.Amount(t.Input), Output: money.Amount(t.Output), CacheRead: rateAmount(t.CacheRead), CacheWrite: rateAmount(t.CacheWrite),
		CacheWriteLong: rateAmount(t.CacheWriteLong), AudioInput: rateAmount(t.AudioInput), AudioOutput: rateAmount(t.AudioOutput),
	}
}

// rateAmount converts a rate to dollars per million tokens. Both types are in nano-dollars, so the number does not change.
func rateAmount(r *money.Rate) *money.Amount {
	if r == nil {
		return nil
	}
	return new(money.Amount(*r))
}

// known returns a pointer to n, or nil if n is zero or negative, which means unknown.
func known[T int64 | float64](n T) *T {
	if n <= 0 {
		return nil
	}
	return &n
}
