package instance

import (
	"context"
	"errors"
	"time"

	"fairlead.dev/internal/catalog"
	"fairlead.dev/internal/catalog/importer"
	"fairlead.dev/internal/pricebook"
)

// ErrNoPrice is returned if no price was imported or set by hand for a target.
var ErrNoPrice = errors.New("no price was imported or set by hand for this target")

// Prices returns the catalog with imported prices and prices set by hand, but without prices from the configuration file.
func (i *Instance) Prices() (*catalog.Catalog, error) {
	prices := pricebook.Of(i.Config)
	book, err := prices.Read()
	if err != nil {
		return nil, err
	}
	return prices.Catalog(book)
}

// ImportPrices compares a price list with the current prices. Unless dryRun is set, it stores the accepted changes. A running
// server applies them without a restart.
func (i *Instance) ImportPrices(ctx context.Context, rows []importer.Row, o importer.Options, dryRun bool) (importer.Diff, error) {
	if !dryRun {
		return pricebook.Of(i.Config).ImportRows(ctx, rows, o)
	}
	current, err := i.Prices()
	if err != nil {
		return importer.Diff{}, err
	}
	return importer.Compare(rows, current, o), nil
}

// SetPrice stores a price that is valid from the given time on.
func (i *Instance) SetPrice(ctx context.Context, l catalog.Listing, from time.Time) error {
	return pricebook.Of(i.Config).Update(ctx, func(book *catalog.PriceHistory, known *catalog.Catalog) error {
		book.Set(known, l, from)
		return nil
	})
}

// RemovePrice removes an imported price or a price set by hand, so that the built-in price applies. It returns ErrNoPrice if
// there is none.
func (i *Instance) RemovePrice(ctx context.Context, provider, model string, from time.Time) error {
	return pricebook.Of(i.Config).Update(ctx, func(book *catalog.PriceHistory, _ *catalog.Catalog) error {
		if !book.Remove(provider, model, from) {
			return ErrNoPrice
		}
		return nil
	})
}
