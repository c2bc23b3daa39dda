// Package catalogfile manages the catalog file that replaces the built-in models and prices. It fetches the file,
// accepts it only if it is signed or pinned, newer and plausible, and stores it in the data directory.
package catalogfile

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	"fairlead.dev/internal/catalog/bundle"
	"fairlead.dev/internal/config"
	"fairlead.dev/internal/config/file"
	"fairlead.dev/internal/egress"
)

const (
	// SignatureSuffix is appended to the address of a catalog file to get the address of its signature.
	SignatureSuffix = ".sig"

	maxSignature = 4 << 10
	fetchTime    = time.Minute
	maxAhead     = 24 * time.Hour // maximum time by which the date of a file may be in the future
)

// ErrOlder is returned for a catalog file that is not newer than the active catalog.
var ErrOlder = errors.New("not newer than the active catalog")

// ErrUnchanged is returned for the catalog file that is already active.
var ErrUnchanged = errors.New("already active")

// signed is a catalog file with its signature. The signature is empty for a file that is only pinned by its hash.
type signed struct {
	text      []byte
	signature string
}

// Active returns the stored catalog file if the configuration trusts it and it is newer than the built-in catalog.
// Otherwise it returns the built-in catalog. A pinned file may be older.
func Active(c config.Config) (*bundle.Bundle, error) {
	embedded, err := bundle.Embedded()
	if err != nil || c.Catalog.File.Source == "" {
		return embedded, err
	}
	text, err := file.Read(path(c), bundle.MaxSize+maxSignature)
	if err != nil {
		return embedded, nil //nolint:nilerr // the error is ignored: Update fetches a missing or unreadable file again
	}
	signature, rest, _ := strings.Cut(string(text), "\n")
	stored := signed{text: []byte(rest), signature: signature}
	b, err := stored.open(c.Catalog.File)
	if err != nil || c.Catalog.File.SHA256 == "" && !b.Created.After(embedded.Created) {
		return embedded, nil //nolint:nilerr // the error is ignored: the file is not trusted, or not newer than the built-in catalog
	}
	return b, nil
}

// open verifies and parses the file.
func (s signed) open(c config.CatalogFile) (*bundle.Bundle, error) {
	if len(c.PublicKeys) == 0 && c.SHA256 == "" {
		return nil, fmt.Errorf("%w: no public key and no SHA-256 is configured", bundle.ErrSignature)
	}
	if len(c.PublicKeys) > 0 {
		if err := bundle.Verify(s.text, s.signature, c.PublicKeys); err != nil {
			return nil, err
		}
	}
	if sum := bundle.Sum(s.text); c.SHA256 != "" && !strings.EqualFold(sum, c.SHA256) {
		return nil, fmt.Errorf("%w: the SHA-256 of the file is %s", bundle.ErrSum, sum)
	}
	return bundle.Parse(s.text)
}

// Update reads the catalog file from its source and stores it if it is acceptable. It returns the new catalog, or
// ErrUnchanged if the file is already active. On error, the active catalog stays active.
func Update(ctx context.Context, client *egress.Client, c config.Config, userAgent string, now time.Time) (*bundle.Bundle, error) {
	active, err := Active(c)
	if err != nil {
		return nil, err
	}
	next, err := read(ctx, client, c.Catalog.File, userAgent)
	if err != nil {
		return nil, fmt.Errorf("read the catalog file: %w", err)
	}
	b, err := next.accept(c.Catalog.File, active, now)
	if err != nil {
		return nil, fmt.Errorf("check the catalog file: %w", err)
	}
	if err := os.MkdirAll(filepath.Dir(path(c)), 0o700); err != nil {
		return b, fmt.Errorf("store the catalog file: %w", err)
	}
	return b, file.Replace(path(c), append([]byte(next.signature+"\n"), next.text...))
}

// Check validates a file on disk and its signature in the same way as Update. It stores nothing.
func Check(path string, c config.CatalogFile, active *bundle.Bundle, now time.Time) (b *bundle.Bundle, err error) {
	var s signed
	if s.text, err = file.Read(path, bundle.MaxSize); err != nil {
		return nil, err
	}
	if len(c.PublicKeys) > 0 {
		signature, err := file.Read(path+SignatureSuffix, maxSignature)
		if err != nil {
			return nil, err
		}
		s.signature = string(signature)
	}
	if b, err = s.accept(c, active, now); errors.Is(err, ErrUnchanged) {
		return active, nil
	}
	return b, err
}

// accept checks the file against the active catalog.
func (s signed) accept(c config.CatalogFile, active *bundle.Bundle, now time.Time) (*bundle.Bundle, error) {
	b, err := s.open(c)
	if err != nil {
		return nil, err
	}
	switch {
	case string(b.Text) == string(active.Text):
		return nil, ErrUnchanged
	case b.Created.After(now.Add(maxAhead)):
		return nil, fmt.Errorf("the file is dated %s, in the future", b.Created.UTC().Format(time.RFC3339))
	case c.SHA256 == "" && !b.Created.After(active.Created):
		return nil, fmt.Errorf("%w: the file is dated %s, the active catalog %s", ErrOlder, b.Created.UTC().Format(time.RFC3339), active.Created.UTC().Format(time.RFC3339))
	}
	return b, bundle.CheckChange(active.Catalog, b.Catalog, c.MaxPriceFactor)
}

// read reads the file and its signature from an https URL or a path.
func read(ctx context.Context, client *egress.Client, c config.CatalogFile, userAgent string) (s signed, err error) {
	get := func(address string, limit int64) ([]byte, error) {
		if filepath.IsAbs(address) {
			return file.Read(address, limit)
		}
		return fetch(ctx, client, address, limit, userAgent)
	}
	if s.text, err = get(c.Source, bundle.MaxSize); err != nil || len(c.PublicKeys) == 0 {
		return s, err
	}
	signature, err := get(signatureAddress(c.Source), maxSignature)
	s.signature = strings.TrimSpace(string(signature))
	return s, err
}

// signatureAddress returns the address of the signature. The suffix follows the path, before the query of a URL.
func signatureAddress(source string) string {
	address, query, found := strings.Cut(source, "?")
	if filepath.IsAbs(source) || !found {
		return source + SignatureSuffix
	}
	return address + SignatureSuffix + "?" + query
}

func fetch(ctx context.Context, client *egress.Client, address string, limit int64, userAgent string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, fetchTime)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return nil, err
	}
	req.Header.Set("User-Agent", userAgent)
	resp, err := client.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%s returned %s; redirects are not followed", address, resp.Status)
	}
	text, err := io.ReadAll(io.LimitReader(resp.Body, limit+1))
	if err == nil && int64(len(text)) > limit {
		err = fmt.Errorf("%s has more than %d bytes", address, limit)
	}
	return text, err
}

// path returns the path of the stored file. The first line of the file is the signature, so that the catalog and its signature are
// replaced together.
func path(c config.Config) string { return filepath.Join(c.DataDir, "catalog", "catalog.txt") }
