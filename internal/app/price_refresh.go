package app

import (
	"cmp"
	"context"
	"os"
	"time"

	"fairlead.dev/internal/catalog/importer"
	"fairlead.dev/internal/config"
	"fairlead.dev/internal/pricebook"
)

const (
	// refreshLook is the interval at which keepPrices checks whether the price list must be refreshed.
	refreshLook = time.Minute
	// refreshAgain is the time after which a failed refresh of the price list is repeated. If the refresh interval is
	// shorter, it applies instead.
	refreshAgain = 15 * time.Minute
)

// watchPrices reloads the prices when the file with the imported prices changes, for example through a command or a refresh.
func (a *App) watchPrices(ctx context.Context) {
	book := pricebook.Of(a.loaded().Config)
	err := os.MkdirAll(book.Dir, 0o700)
	if err == nil {
		err = config.WatchFile(ctx, book.Path(), pricebook.LargestList, func() { a.reload(ctx, "prices changed") })
	}
	a.report("watch prices", err)
}

// keepPrices imports the price list periodically until ctx is cancelled.
func (a *App) keepPrices(ctx context.Context) {
	var tried time.Time
	tick := time.NewTicker(refreshLook)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		c := a.loaded().Config
		if c.Catalog.Refresh <= 0 || time.Since(tried) < min(refreshAgain, c.Catalog.Refresh) {
			continue
		}
		tried = time.Now()
		a.report("refresh prices", a.refreshPrices(ctx, c, tried))
	}
}

// refreshPrices imports the price list if the last import is old enough. Implausible price changes are logged and rejected.
// The other changes are written to the price file, from which watchPrices loads them.
func (a *App) refreshPrices(ctx context.Context, c config.Config, now time.Time) error {
	book, err := pricebook.Of(c).Read()
	if err != nil || now.Sub(book.Checked) < c.Catalog.Refresh {
		return err
	}
	text, err := pricebook.FetchList(ctx, a.egress, cmp.Or(c.Catalog.URL, importer.Address), "fairlead/"+a.version)
	if err != nil {
		return err
	}
	rows, err := importer.Read(text)
	if err != nil {
		return err
	}
	diff, err := pricebook.Of(c).ImportRows(ctx, rows, importer.Options{At: now})
	if err != nil {
		return err
	}
	for _, change := range diff.Changes {
		if change.State == importer.Rejected {
			a.log.Warn("price rejected", "provider", change.Provider, "model", change.Model, "reason", change.Reason, "source", importer.Source)
		}
	}
	a.log.Info("prices refreshed", "source", importer.Source, "new", diff.Count(importer.New), "changed", diff.Count(importer.Changed),
		"rejected", diff.Count(importer.Rejected), "unchanged", diff.Unchanged)
	return nil
}
