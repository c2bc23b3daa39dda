package app

import (
	"context"
	"errors"
	"time"

	"fairlead/internal/account"
	"fairlead/internal/catalog"
	"fairlead/internal/catalog/importer"
	"fairlead/internal/llm"
	"fairlead/internal/pricebook"
	"fairlead/internal/providerset"
)

// ErrNoPrice says that no price was set by hand or imported that could be taken back.
var ErrNoPrice = errors.New("no price of this target was imported or set by hand")

// Prices is the catalog with the imported prices and those set by hand, without what the configuration file says.
func (i *Instance) Prices() (*catalog.Catalog, error) {
	book, err := pricebook.Of(i.Config).Read()
	if err != nil {
		return nil, err
	}
	return pricebook.Catalog(book)
}

// ImportPrices compares a price list with the prices that hold, and stores what is accepted unless it is a dry run. A
// running server takes it up by itself.
func (i *Instance) ImportPrices(ctx context.Context, source string, rows []importer.Row, o importer.Options, dryRun bool) (importer.Diff, error) {
	if !dryRun {
		return pricebook.Of(i.Config).ImportRows(ctx, source, rows, o)
	}
	known, err := i.Prices()
	if err != nil {
		return importer.Diff{}, err
	}
	return importer.Compare(source, rows, known, o), nil
}

// SetPrice stores a price that somebody sets by hand, from a moment on.
func (i *Instance) SetPrice(ctx context.Context, l catalog.Listing, from time.Time) error {
	return pricebook.Of(i.Config).Update(ctx, func(book *catalog.PriceHistory, known *catalog.Catalog) error {
		book.Set(known, l, from)
		return nil
	})
}

// RemovePrice takes back a price that was imported or set by hand: the program's own holds again. ErrNoPrice when there
// is none.
func (i *Instance) RemovePrice(ctx context.Context, provider, model string, from time.Time) error {
	return pricebook.Of(i.Config).Update(ctx, func(book *catalog.PriceHistory, _ *catalog.Catalog) error {
		if !book.Remove(provider, model, from) {
			return ErrNoPrice
		}
		return nil
	})
}

// FetchList reads a price list from the network, under the rules that calls to providers obey.
func (f *Fleet) FetchList(ctx context.Context, address, version string) ([]byte, error) {
	return pricebook.FetchList(ctx, f.egress, address, "fairlead/"+version)
}

// SetPrice prices a target by hand; nil goes back to what catalog and configuration say.
func (b bridge) SetPrice(ctx context.Context, providerName, model string, price *catalog.Price) error {
	p, ok := b.app.gateway.Targets().Provider(providerName)
	if !ok {
		return account.ErrNotFound
	}
	t, ok := p.Target(model)
	if !ok {
		return account.ErrNotFound
	}
	c, now := b.app.loaded().Config, time.Now()
	if providerset.PricedInFile(c, providerName, model) {
		return llm.Errorf(llm.Conflict, "The configuration file sets the price of %s at %s. Change it there.", model, providerName)
	}
	err := pricebook.Of(c).Update(ctx, func(book *catalog.PriceHistory, known *catalog.Catalog) error {
		if price != nil {
			book.Set(known, catalog.Listing{Provider: providerName, Model: model, Upstream: t.Upstream, Op: t.Model.Op, Price: price}, now)
			return nil
		}
		if set := book.Find(providerName, model); set == nil || !set.Manual() || !book.Remove(providerName, model, now) {
			return account.ErrNotFound
		}
		return nil
	})
	if err != nil {
		return err
	}
	return b.app.rebuild(ctx)
}
