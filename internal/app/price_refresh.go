package app

import (
	"context"
	"os"
	"slices"
	"time"

	"fairlead.dev/internal/account"
	"fairlead.dev/internal/admin/providers"
	"fairlead.dev/internal/catalog"
	"fairlead.dev/internal/catalog/importer"
	"fairlead.dev/internal/config"
	"fairlead.dev/internal/pricebook"
	"fairlead.dev/internal/provider"
)

const (
	// refreshLook is the interval at which keepPrices checks whether the price list must be refreshed.
	refreshLook = time.Minute
	// refreshEvery is the interval at which published lists are read.
	refreshEvery = 24 * time.Hour
	// refreshAgain is the time after which a failed refresh of the price list is repeated.
	refreshAgain = 15 * time.Minute
	// refreshSetting is the name of the setting that stores the answer given in the dashboard: daily or off.
	refreshSetting = "catalog_refresh"
)

// watchPrices reloads the prices when the file with the imported prices changes, for example through a command or a refresh.
func (a *App) watchPrices(ctx context.Context) {
	book := pricebook.Of(a.loaded().Config)
	err := os.MkdirAll(book.Dir, 0o700)
	if err == nil {
		config.WatchFile(ctx, book.Path(), pricebook.LargestList, func() { a.reload(ctx, "prices changed") })
	}
	a.report("watch prices", err)
}

// keepPrices imports the price list periodically until ctx is cancelled.
func (a *App) keepPrices(ctx context.Context) {
	var failed time.Time
	tick := time.NewTicker(refreshLook)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		if time.Since(failed) < refreshAgain {
			continue
		}
		c := a.loaded().Config
		refresh, err := a.refreshChoice(ctx, c)
		if err == nil {
			c.Catalog.Refresh = refresh
			err = a.refreshPrices(ctx, c, time.Now())
		}
		if err != nil {
			failed = time.Now()
		}
		a.report("refresh prices", err)
	}
}

// refreshChoice returns the configured refresh, or else the answer given in the dashboard; empty without an answer.
func (a *App) refreshChoice(ctx context.Context, c config.Config) (string, error) {
	if c.Catalog.Refresh != "" {
		return c.Catalog.Refresh, nil
	}
	return a.db.Setting(ctx, refreshSetting)
}

// refreshPrices imports the lists if the last import is old enough or the file has changed since. Prices that change by a large factor wait
// for the decision of an owner. The other changes are written to the price file, from which watchPrices loads them.
func (a *App) refreshPrices(ctx context.Context, c config.Config, now time.Time) error {
	if c.Catalog.Refresh == "" || c.Catalog.Refresh == "off" {
		return nil
	}
	book, err := pricebook.Of(c).Read()
	if err != nil {
		return err
	}
	rows, err := a.readLists(ctx, c.Catalog, book.Checked, now)
	if err != nil || rows == nil {
		return err
	}
	seen := a.loader.Listed.Seen()
	offered := func(id string) bool {
		return slices.ContainsFunc(seen, func(m provider.ListedModel) bool { return m.Model == id && !m.Gone() })
	}
	diff, err := pricebook.Of(c).ImportRows(ctx, rows, importer.Options{At: now, Offered: offered})
	if err != nil {
		return err
	}
	for i := range diff.Changes {
		if change := &diff.Changes[i]; change.State == importer.Rejected {
			a.log.Warn("price rejected", "provider", change.Provider, "model", change.Model, "reason", change.Reason, "pending", change.Pending)
		}
	}
	a.log.Info("prices refreshed", "source", c.Catalog.Refresh, "new", diff.Count(importer.New), "changed", diff.Count(importer.Changed),
		"rejected", diff.Count(importer.Rejected), "unchanged", diff.Unchanged)
	return nil
}

// readLists reads the file, or the published lists if they are due. It returns nil if nothing needs to be read.
func (a *App) readLists(ctx context.Context, c config.Catalog, checked, now time.Time) ([]importer.Row, error) {
	if c.Refresh != "daily" {
		if info, err := os.Stat(c.Refresh); err != nil || !info.ModTime().After(checked) {
			return nil, err
		}
		text, err := os.ReadFile(c.Refresh)
		if err != nil {
			return nil, err
		}
		return importer.Read(text)
	}
	if now.Sub(checked) < refreshEvery {
		return nil, nil
	}
	addresses := []string{importer.Address, importer.OpenRouter}
	if c.URL != "" {
		addresses = []string{c.URL}
	}
	var lists [][]importer.Row
	for _, address := range addresses {
		text, err := pricebook.FetchList(ctx, a.egress, address, "fairlead/"+a.version)
		if err != nil {
			return nil, err
		}
		rows, err := importer.Read(text)
		if err != nil {
			return nil, err
		}
		lists = append(lists, rows)
	}
	return importer.Join(lists...), nil
}

// Refresh returns how prices are refreshed, and the price changes that wait for a decision.
func (b adminBackend) Refresh(ctx context.Context) (providers.RefreshState, error) {
	c := b.app.loaded().Config
	choice, err := b.app.refreshChoice(ctx, c)
	if err != nil {
		return providers.RefreshState{}, err
	}
	book, err := pricebook.Of(c).Read()
	if err != nil {
		return providers.RefreshState{}, err
	}
	s := providers.RefreshState{Refresh: choice, InFile: c.Catalog.Refresh != "", Checked: book.Checked}
	for _, p := range book.Pending {
		if !p.Declined {
			s.Pending = append(s.Pending, p)
		}
	}
	return s, nil
}

// SetRefresh stores whether prices are refreshed daily.
func (b adminBackend) SetRefresh(ctx context.Context, daily bool) error {
	return b.app.db.SetSetting(ctx, refreshSetting, map[bool]string{true: "daily", false: "off"}[daily])
}

// DecidePrice accepts or declines a pending price.
func (b adminBackend) DecidePrice(ctx context.Context, providerName, model string, accept bool) error {
	err := pricebook.Of(b.app.loaded().Config).Update(ctx, func(book *catalog.PriceHistory, known *catalog.Catalog) error {
		if !book.Decide(known, providerName, model, accept, time.Now()) {
			return account.ErrNotFound
		}
		return nil
	})
	if err != nil {
		return err
	}
	return b.app.rebuild(ctx)
}
