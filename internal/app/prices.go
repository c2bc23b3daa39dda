package app

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"fairlead/internal/catalog"
	"fairlead/internal/catalog/importer"
	"fairlead/internal/config"
	"fairlead/internal/egress"
	"fairlead/internal/store"
)

const (
	// largestList bounds a price list and the book made of it.
	largestList = 64 << 20
	// fetchTime bounds how long a price list may take to come.
	fetchTime = 2 * time.Minute
	// bookPatience is how long another process that writes the book is waited for.
	bookPatience = 5 * time.Second
	// refreshLook is how often the server looks whether a refresh is due.
	refreshLook = time.Minute
	// refreshAgain is how long a refresh that did not work waits at least.
	refreshAgain = 15 * time.Minute
)

// priceBook is the file of prices that were imported or set by hand. It has a directory of its own, so that whoever
// watches it hears of nothing else.
type priceBook struct{ dir string }

func bookOf(c config.Config) priceBook { return priceBook{filepath.Join(c.DataDir, "prices")} }

func (b priceBook) path() string { return filepath.Join(b.dir, "prices.json") }

// read returns the book, an empty one when there is none yet.
func (b priceBook) read() (*catalog.PriceHistory, error) {
	f, err := os.Open(b.path())
	if errors.Is(err, fs.ErrNotExist) {
		return catalog.ReadPriceHistory(nil)
	}
	if err != nil {
		return nil, fmt.Errorf("open the price book: %w", err)
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, largestList))
	if err != nil {
		return nil, fmt.Errorf("read the price book: %w", err)
	}
	book, err := catalog.ReadPriceHistory(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w; mend it, or delete it to go on with the prices of this program", b.path(), err)
	}
	return book, nil
}

// update changes the book under a lock, so that a command and a server do not lose each other's prices. The catalog that
// change is given has the book applied. The file is replaced in one step.
func (b priceBook) update(ctx context.Context, change func(*catalog.PriceHistory, *catalog.Catalog) error) error {
	release, err := b.lock(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = release() }() // the process lets go of it in any case
	book, err := b.read()
	if err != nil {
		return err
	}
	known, err := withBook(book)
	if err != nil {
		return err
	}
	if err := change(book, known); err != nil {
		return err
	}
	text, err := book.Encode()
	if err != nil {
		return err
	}
	return replaceFile(b.path(), text)
}

func (b priceBook) lock(ctx context.Context) (release func() error, err error) {
	ctx, cancel := context.WithTimeout(ctx, bookPatience)
	defer cancel()
	for {
		release, err = store.Lock(b.dir)
		if !errors.Is(err, store.ErrLocked) {
			return release, err
		}
		select {
		case <-ctx.Done():
			return nil, fmt.Errorf("wait for the price book, which another process is writing: %w", ctx.Err())
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// replaceFile writes a file so that a reader, and whoever starts after a power cut, sees the old one or the new one.
func replaceFile(path string, text []byte) (err error) {
	f, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".*") // mode 0600
	if err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	defer func() {
		if err != nil {
			_ = os.Remove(f.Name())
			err = fmt.Errorf("write %s: %w", path, err)
		}
	}()
	_, err = f.Write(text)
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	return os.Rename(f.Name(), path)
}

// withBook is the catalog of this program with the prices of the book.
func withBook(book *catalog.PriceHistory) (*catalog.Catalog, error) {
	tables, err := catalog.Default()
	if err != nil {
		return nil, fmt.Errorf("read the catalog: %w", err)
	}
	return tables.With(book.Overrides(tables)), nil
}

// fetchList reads a price list from the network.
func fetchList(ctx context.Context, client *egress.Client, address, userAgent string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, fetchTime)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return nil, fmt.Errorf("fetch the price list: %w", err)
	}
	req.Header.Set("User-Agent", userAgent)
	resp, err := client.Do(req)
	if err != nil {
		return nil, fmt.Errorf("fetch the price list: %w", err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("fetch the price list: %s answered %s", address, resp.Status)
	}
	text, err := io.ReadAll(egress.Limit(resp.Body, largestList))
	if err != nil {
		return nil, fmt.Errorf("fetch the price list: %w", err)
	}
	return text, nil
}

// watchPrices takes up what a command or a refresh has put into the book.
func (a *App) watchPrices(ctx context.Context) {
	book := bookOf(a.loaded().Config)
	err := os.MkdirAll(book.dir, 0o700)
	if err == nil {
		err = config.WatchUpTo(ctx, book.path(), largestList, func() { a.reload(ctx, "the prices changed") })
	}
	a.report("watch prices", err)
}

// keepPrices reads the operator's price list as often as the configuration says, until ctx ends.
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

// refreshPrices imports the list if the last time is long enough ago. Prices that jump are refused and logged; the server
// takes up the others because it watches the book.
func (a *App) refreshPrices(ctx context.Context, c config.Config, now time.Time) error {
	book, err := bookOf(c).read()
	if err != nil || now.Sub(book.Checked) < c.Catalog.Refresh {
		return err
	}
	text, err := fetchList(ctx, a.egress, listAddress(c.Catalog), "fairlead/"+a.version)
	if err != nil {
		return err
	}
	rows, err := importer.Read(c.Catalog.From, text)
	if err != nil {
		return err
	}
	diff, err := bookOf(c).importRows(ctx, c.Catalog.From, rows, importer.Options{At: now})
	if err != nil {
		return err
	}
	for _, change := range diff.Changes {
		if change.State == importer.Refused {
			a.log.Warn("price refused", "provider", change.Provider, "model", change.Model, "reason", change.Reason, "source", diff.Source)
		}
	}
	a.log.Info("prices refreshed", "source", diff.Source, "new", diff.Count(importer.New), "changed", diff.Count(importer.Changed),
		"refused", diff.Count(importer.Refused), "unchanged", diff.Unchanged)
	return nil
}

func listAddress(c config.Catalog) string {
	if c.URL != "" {
		return c.URL
	}
	return importer.Address(c.From)
}

// importRows compares rows with the book and stores what is accepted.
func (b priceBook) importRows(ctx context.Context, source string, rows []importer.Row, o importer.Options) (importer.Diff, error) {
	var diff importer.Diff
	err := b.update(ctx, func(book *catalog.PriceHistory, known *catalog.Catalog) error {
		diff = importer.Compare(source, rows, known, o)
		diff.Apply(book, known, o.At)
		book.Checked = o.At
		return nil
	})
	return diff, err
}
