package app

import (
	"context"
	"encoding/json"
	"fmt"

	"fairlead/internal/account"
	"fairlead/internal/catalog"
	"fairlead/internal/money"
)

// pricesSetting keeps the prices that were set in the dashboard.
const pricesSetting = "prices"

// prices are those set in the dashboard, by target.
type prices map[string]*setPrice

// setPrice is a price card as it is kept: dollars as texts, rates per million tokens.
type setPrice struct {
	Input      money.Amount  `json:"input"`
	Output     money.Amount  `json:"output"`
	CacheRead  *money.Amount `json:"cache_read,omitempty"`
	CacheWrite *money.Amount `json:"cache_write,omitempty"`
	PerRequest money.Amount  `json:"per_request"`
	Source     string        `json:"source"`
	AsOf       string        `json:"as_of"`
}

func newSetPrice(p *catalog.Price) *setPrice {
	return &setPrice{
		Input: money.Amount(p.Input), Output: money.Amount(p.Output), CacheRead: (*money.Amount)(p.CacheRead),
		CacheWrite: (*money.Amount)(p.CacheWrite), PerRequest: p.PerRequest, Source: p.Source, AsOf: p.AsOf,
	}
}

func (p *setPrice) price() *catalog.Price {
	return &catalog.Price{
		Input: money.Rate(p.Input), Output: money.Rate(p.Output), CacheRead: (*money.Rate)(p.CacheRead),
		CacheWrite: (*money.Rate)(p.CacheWrite), PerRequest: p.PerRequest, Source: p.Source, AsOf: p.AsOf,
	}
}

// setPrices reads the prices that were set in the dashboard.
func (a *App) setPrices(ctx context.Context) (prices, error) {
	text, err := a.db.Setting(ctx, pricesSetting)
	if err != nil || text == "" {
		return nil, err
	}
	var set prices
	if err := json.Unmarshal([]byte(text), &set); err != nil {
		return nil, fmt.Errorf("read the prices that were set: %w", err)
	}
	return set, nil
}

// SetPrice prices a target by hand and keeps that over restarts; nil goes back to what catalog and configuration say.
func (b bridge) SetPrice(ctx context.Context, providerName, model string, price *catalog.Price) error {
	b.app.pricing.Lock()
	defer b.app.pricing.Unlock()
	p, ok := b.app.gateway.Targets().Provider(providerName)
	if !ok {
		return account.ErrNotFound
	}
	t, ok := p.Target(model)
	if !ok {
		return account.ErrNotFound
	}
	set, err := b.app.setPrices(ctx)
	if err != nil {
		return err
	}
	switch {
	case price == nil && set[t.ID()] == nil:
		return account.ErrNotFound
	case price == nil:
		delete(set, t.ID())
	case set == nil:
		set = prices{t.ID(): newSetPrice(price)}
	default:
		set[t.ID()] = newSetPrice(price)
	}
	text, err := json.Marshal(set)
	if err != nil {
		return err
	}
	if err := b.app.db.SetSetting(ctx, pricesSetting, string(text)); err != nil {
		return err
	}
	return b.app.rebuild(ctx)
}
