package app

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"fairlead.dev/internal/config"
	"fairlead.dev/internal/store"
	"fairlead.dev/internal/vault"
)

// storageParts holds the data directory and the database.
type storageParts struct {
	unlock    func() error
	master    []byte // master key of the instance
	db        *store.DB
	storeName string // path of the SQLite file, or address of the database without its password
	storeNew  bool
}

// lock reserves the data directory for this process and reads the master key.
func (s *storageParts) lock(c config.Config) (err error) {
	if err := os.MkdirAll(c.DataDir, 0o700); err != nil {
		return fmt.Errorf("create data directory: %w", err)
	}
	if s.unlock, err = store.Lock(c.DataDir); err != nil {
		return err
	}
	s.master, err = vault.LoadOrCreateMasterKey(c.DataDir, c.MasterKey)
	return err
}

// openStore opens the database.
func (s *storageParts) openStore(ctx context.Context, c config.Config) (err error) {
	s.storeName = store.Redact(c.Store)
	if c.Store == "sqlite" {
		s.storeName = filepath.Join(c.DataDir, "fairlead.db")
		_, err := os.Stat(s.storeName)
		s.storeNew = errors.Is(err, os.ErrNotExist)
	}
	s.db, err = store.Open(ctx, c.Store, c.DataDir, store.Options{})
	return err
}

// retryWhileUnreachable repeats a startup step while the database is unreachable. A process that is running but not ready is
// easier to operate than one that exits.
func (p *processParts) retryWhileUnreachable(ctx context.Context, step func() error) error {
	for wait := 100 * time.Millisecond; ; wait = min(2*wait, 2*time.Second) {
		err := step()
		if err == nil || p.loaded().Config.Store == "sqlite" || !store.Unreachable(err) {
			return err
		}
		p.log.WarnContext(ctx, "database unavailable, retrying", "error", err.Error())
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(wait):
		}
	}
}
