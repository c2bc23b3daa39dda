package sqldb

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// BackupSQLite writes a consistent copy of the database in dataDir to a new file and verifies the copy. Other processes can use the
// database meanwhile.
func BackupSQLite(ctx context.Context, dataDir, path string) (err error) {
	source := filepath.Join(dataDir, "fairlead.db")
	if _, err := os.Stat(source); err != nil {
		return fmt.Errorf("find the database: %w", err)
	}
	if _, err := os.Lstat(path); err == nil {
		return fmt.Errorf("write backup: %s: %w", path, os.ErrExist)
	}
	part, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".*") // only the owner can read the file
	if err != nil {
		return err
	}
	defer func() {
		_ = part.Close()
		_ = os.Remove(part.Name()) // fails after the rename
	}()
	db, err := sql.Open("sqlite", sqliteDSN(source, "deferred", []string{busyTimeout}))
	if err != nil {
		return fmt.Errorf("open database: %w", err)
	}
	_, err = db.ExecContext(ctx, `vacuum into $1`, part.Name())
	if err = errors.Join(err, db.Close()); err != nil {
		return fmt.Errorf("copy database: %w", err)
	}
	if err := VerifySQLite(ctx, part.Name()); err != nil {
		return err
	}
	if err := part.Sync(); err != nil {
		return fmt.Errorf("write backup: %w", err)
	}
	return os.Rename(part.Name(), path)
}

// VerifySQLite returns an error unless the file is an intact database of the gateway. It does not change the file.
func VerifySQLite(ctx context.Context, path string) error {
	if _, err := os.Stat(path); err != nil {
		return err
	}
	db, err := sql.Open("sqlite", sqliteDSN(path, "deferred", nil)+"&mode=ro&immutable=1")
	if err != nil {
		return fmt.Errorf("open %s: %w", path, err)
	}
	defer func() { _ = db.Close() }() // the error is ignored, because the file was only read
	var state, mark string
	err = db.QueryRowContext(ctx, `pragma integrity_check(1)`).Scan(&state)
	if err == nil && state != "ok" {
		err = errors.New(state)
	}
	if err != nil {
		return fmt.Errorf("%s is damaged: %w", path, err)
	}
	if err := db.QueryRowContext(ctx, `select value from settings where name = 'master_key_mark'`).Scan(&mark); err != nil {
		return fmt.Errorf("%s is not a database of fairlead: %w", path, err)
	}
	return nil
}
