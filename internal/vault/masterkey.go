package vault

import (
	"context"
	"crypto/hkdf"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
)

const (
	minMasterKey = 32
	// MasterKeyFile is the name of the file in the data directory that contains the master key.
	MasterKeyFile = "master.key"
)

var errShortKey = fmt.Errorf("the master key has fewer than %d characters; set a longer one, for example from: openssl rand -hex 32", minMasterKey)

// LoadOrCreateMasterKey returns the configured master key. Without one it returns the key in the data directory, which it creates
// if necessary. It rejects keys that are too short.
func LoadOrCreateMasterKey(dataDir, configured string) ([]byte, error) {
	if configured != "" {
		if len(configured) < minMasterKey {
			return nil, fmt.Errorf("read the configured master key: %w", errShortKey)
		}
		return []byte(configured), nil
	}
	path := filepath.Join(dataDir, MasterKeyFile)
	key, err := readMasterKey(path)
	if !errors.Is(err, fs.ErrNotExist) {
		return key, err
	}
	if err := createMasterKey(path); err != nil {
		return nil, fmt.Errorf("create the master key: %w", err)
	}
	return readMasterKey(path) // if two processes create a key, both use the first one
}

// ErrOtherKey is returned when the database was created with another master key.
var ErrOtherKey = errors.New("the database was created with another master key, so its API keys and credentials cannot be used")

// Settings stores settings in the database.
type Settings interface {
	// KeepSetting stores value unless the setting already has a value. It returns the stored value.
	KeepSetting(ctx context.Context, name, value string) (string, error)
}

// Confirm returns ErrOtherKey if the database was created with another master key. The database stores a one-way fingerprint of
// the key.
func Confirm(ctx context.Context, s Settings, masterKey []byte) error {
	mark, err := hkdf.Key(sha256.New, masterKey, nil, "fairlead/vault/mark", 16)
	if err != nil {
		return fmt.Errorf("derive the fingerprint of the master key: %w", err)
	}
	text := hex.EncodeToString(mark)
	kept, err := s.KeepSetting(ctx, "master_key_mark", text)
	if err != nil {
		return fmt.Errorf("compare the master key with the database: %w", err)
	}
	if kept != text {
		return ErrOtherKey
	}
	return nil
}

func readMasterKey(path string) ([]byte, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, fmt.Errorf("read the master key: %w", err)
	}
	if runtime.GOOS != "windows" && info.Mode().Perm()&0o077 != 0 {
		return nil, fmt.Errorf("read the master key: other users can read %s; run: chmod 600 %s", path, path)
	}
	key, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read the master key: %w", err)
	}
	if len(key) < minMasterKey {
		return nil, fmt.Errorf("read the master key: %s has %d bytes, want at least %d; restore it from a backup", path, len(key), minMasterKey)
	}
	return key, nil
}

// createMasterKey writes a new key to a temporary file and hard-links it to path. This way no process reads a partial key, and a
// key that another process has just created is not replaced.
func createMasterKey(path string) (err error) {
	dir := filepath.Dir(path)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	file, err := os.CreateTemp(dir, MasterKeyFile+".*") // CreateTemp sets mode 0600
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.Remove(file.Name())) }()
	key := make([]byte, minMasterKey)
	_, _ = rand.Read(key) // never fails: crypto/rand crashes the process instead
	if _, err := file.Write(key); err != nil {
		return errors.Join(err, file.Close())
	}
	if err := file.Sync(); err != nil {
		return errors.Join(err, file.Close())
	}
	if err := file.Close(); err != nil {
		return err
	}
	if err := os.Link(file.Name(), path); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	if runtime.GOOS == "windows" { // directories cannot be synced on Windows
		return nil
	}
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close()) // makes the new directory entry durable
}
