package app

import (
	"context"
	"errors"
	"math/rand/v2"
	"reflect"
	"time"

	"fairlead.dev/internal/catalog/bundle"
	"fairlead.dev/internal/catalogfile"
	"fairlead.dev/internal/config"
)

// catalogLook is the interval at which keepCatalogFile checks whether the catalog file must be read.
const catalogLook = time.Second

// keepCatalogFile reads the configured catalog file at startup, periodically and when its configuration changes, until ctx is
// cancelled. If a file is rejected, the error is logged and the active catalog is kept.
func (a *App) keepCatalogFile(ctx context.Context) {
	var last config.CatalogFile
	var next time.Time
	tick := time.NewTicker(catalogLook)
	defer tick.Stop()
	for {
		c := a.loaded().Config
		if source := c.Catalog.File; source.Source != "" && (!reflect.DeepEqual(source, last) || !time.Now().Before(next)) {
			last = source
			wait := source.Refresh
			if err := a.refreshCatalog(ctx, c, time.Now()); err != nil {
				a.report("refresh catalog file", err)
				wait = min(wait, refreshAgain)
			}
			next = time.Now().Add(time.Duration(float64(wait) * (0.9 + 0.2*rand.Float64()))) // the random factor makes replicas read at different times
		} else if source.Source == "" {
			last = config.CatalogFile{}
			a.catalogFailing.Store(false)
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// refreshCatalog reads the catalog file and applies it if it is valid.
func (a *App) refreshCatalog(ctx context.Context, c config.Config, now time.Time) error {
	b, err := catalogfile.Update(ctx, a.egress, c, "fairlead/"+a.version, now)
	if errors.Is(err, catalogfile.ErrUnchanged) {
		err = nil
	}
	if a.catalogFailing.Store(err != nil); err != nil || b == nil {
		return err
	}
	a.log.InfoContext(ctx, "catalog file applied", "created", b.Created.UTC(), "version", b.Catalog.Version(), "models", len(b.Catalog.Models()), "sha256", bundle.Sum(b.Text))
	return a.rebuild(ctx)
}
