// Package pricebook stores imported prices and prices set by hand in a file.
package pricebook

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

	"fairlead.dev/internal/catalog"
	"fairlead.dev/internal/catalog/importer"
	"fairlead.dev/internal/config"
	"fairlead.dev/internal/egress"
	"fairlead.dev/internal/store"
)

const (
	// LargestList is the maximum size of a price list and of the price file in bytes.
	LargestList = 64 << 20
	// fetchTime is the timeout for fetching a price list.
	fetchTime = 2 * time.Minute
	// lockTimeout limits the wait for another process that is writing the price file.
	lockTimeout = 5 * time.Second
)

// Book is the file with prices that were imported or set by hand. The file has its own directory, so that watching the directory
// reports only changes to this file.
type Book struct{ Dir string }

// Of returns the price book in the data directory of the configuration.
func Of(c config.Config) Book { return Book{Dir: filepath.Join(c.DataDir, "prices")} }

// Path returns the path of the price file.
func (b Book) Path() string { return filepath.Join(b.Dir, "prices.json") }

// Read returns the prices in the file, or none if the file does not exist.
func (b Book) Read() (*catalog.PriceHistory, error) {
	f, err := os.Open(b.Path())
	if errors.Is(err, fs.ErrNotExist) {
		return catalog.ReadPriceHistory(nil)
	}
	if err != nil {
		return nil, fmt.Errorf("open the price book: %w", err)
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, LargestList))
	if err != nil {
		return nil, fmt.Errorf("read the price book: %w", err)
	}
	book, err := catalog.ReadPriceHistory(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w; fix the file, or delete it to use the built-in prices", b.Path(), err)
	}
	return book, nil
}

// Update changes the prices while holding a file lock, so that concurrent processes do not overwrite each other's changes. The
// catalog passed to change includes the prices in the file. The file is replaced atomically.
func (b Book) Update(ctx context.Context, change func(*catalog.PriceHistory, *catalog.Catalog) error) error {
	release, err := b.lock(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = release() }() // if the call fails, the lock is released when the process exits
	book, err := b.Read()
	if err != nil {
		return err
	}
	known, err := b.Catalog(book)
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
	return config.ReplaceFile(b.Path(), text)
}

func (b Book) lock(ctx context.Context) (release func() error, err error) {
	ctx, cancel := context.WithTimeout(ctx, lockTimeout)
	defer cancel()
	for {
		release, err = store.Lock(b.Dir)
		if !errors.Is(err, store.ErrLocked) {
			return release, err
		}
		select {
		case <-ctx.Done():
			return nil, fmt.Errorf("wait for another process that is writing the price book: %w", ctx.Err())
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// Catalog returns the built-in catalog with the given prices applied.
func (b Book) Catalog(book *catalog.PriceHistory) (*catalog.Catalog, error) {
	tables, err := catalog.Default()
	if err != nil {
		return nil, fmt.Errorf("read the catalog: %w", err)
	}
	return tables.With(book.Overrides(tables)), nil
}

// FetchList downloads a price list.
func FetchList(ctx context.Context, client *egress.Client, address, userAgent string) ([]byte, error) {
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
		return nil, fmt.Errorf("fetch the price list: %s returned %s", address, resp.Status)
	}
	text, err := io.ReadAll(egress.Limit(resp.Body, LargestList))
	if err != nil {
		return nil, fmt.Errorf("fetch the price list: %w", err)
	}
	return text, nil
}

// ImportRows compares rows with the current prices and stores the accepted changes.
func (b Book) ImportRows(ctx context.Context, rows []importer.Row, o importer.Options) (importer.Diff, error) {
	var diff importer.Diff
	err := b.Update(ctx, func(book *catalog.PriceHistory, known *catalog.Catalog) error {
		diff = importer.Compare(rows, known, o)
		diff.Apply(book, known, o.At)
		book.Checked = o.At
		return nil
	})
	return diff, err
}
