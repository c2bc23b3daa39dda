package store

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// ErrLocked is returned when another server uses the data directory.
var ErrLocked = errors.New("another fairlead server uses this data directory")

// Lock locks the data directory for one server and returns a function that releases the lock. The operating system
// releases the lock when the process ends. Commands that can run while a server is running do not lock the directory.
func Lock(dataDir string) (release func() error, err error) {
	if err := os.MkdirAll(dataDir, 0o700); err != nil {
		return nil, fmt.Errorf("create data directory: %w", err)
	}
	path := filepath.Join(dataDir, "fairlead.lock")
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open lock file: %w", err)
	}
	if err := lockFile(f); err != nil {
		_ = f.Close()
		return nil, fmt.Errorf("lock %s: %w (%w)", path, ErrLocked, err)
	}
	return func() error { return errors.Join(unlockFile(f), f.Close()) }, nil
}
