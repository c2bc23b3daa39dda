package sqldb

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
)

// walLimit is the minimum size of the write-ahead file at which a commit truncates it. It is far below the 256 MiB that the file may reach,
// because another transaction may be written before the size is checked.
const walLimit = 64 << 20

// busyTimeout is the time that a statement waits while another process writes.
const busyTimeout = "busy_timeout(30000)"

// openSQLite opens fairlead.db in the directory with one write connection and several read connections. Writers in this
// process queue for the write connection; busy_timeout waits for writers in other processes. A transaction takes the
// write lock when it begins, so it cannot fail halfway because of another writer.
func (db *DB) openSQLite(dataDir string, readers int) error {
	if err := os.MkdirAll(dataDir, 0o700); err != nil {
		return fmt.Errorf("create data directory: %w", err)
	}
	db.dialect, db.path = SQLite, filepath.Join(dataDir, "fairlead.db")
	// Only the owner can read the file. SQLite gives its other files the same mode.
	f, err := os.OpenFile(db.path, os.O_CREATE|os.O_RDWR, 0o600)
	if err == nil {
		err = f.Close()
	}
	if err != nil {
		return fmt.Errorf("create database: %w", err)
	}
	db.walLimit = walLimit
	db.walNext.Store(walLimit)
	// The order matters: auto_vacuum must be set before the first page is written. secure_delete overwrites deleted text, and Shrink
	// returns the freed pages to the file system. With synchronous(full), a commit is on disk when it returns. This is required, because
	// the spool deletes a batch once it is stored here. Entries are written in batches, so syncs are rare. A batch writes about 1,000
	// pages, and the next batch rewrites many of them. A checkpoint is therefore made only every 12,000 pages, which is still below
	// walLimit. Keys grow with time, so writes touch only the ends of tables and indexes. The write cache is therefore small: 16, 4 and 2
	// MiB give the same write throughput.
	pragmas := []string{
		busyTimeout, "auto_vacuum(incremental)", "journal_mode(wal)", "synchronous(full)",
		"foreign_keys(1)", "secure_delete(1)", "journal_size_limit(67108864)", "wal_autocheckpoint(12000)", "cache_size(-2048)", "temp_store(memory)",
	}
	if db.write, err = sql.Open("sqlite", sqliteDSN(db.path, "immediate", pragmas)); err != nil {
		return fmt.Errorf("open database: %w", err)
	}
	db.write.SetMaxOpenConns(1)
	pragmas = []string{busyTimeout, "query_only(1)", "cache_size(-16384)", "temp_store(memory)"}
	if db.read, err = sql.Open("sqlite", sqliteDSN(db.path, "deferred", pragmas)); err != nil {
		return fmt.Errorf("open database: %w", err)
	}
	db.read.SetMaxOpenConns(readers)
	db.read.SetMaxIdleConns(readers)
	return nil
}

func sqliteDSN(path, lock string, pragmas []string) string {
	q := url.Values{"_pragma": pragmas, "_txlock": {lock}}
	return "file:" + (&url.URL{Path: path}).EscapedPath() + "?" + q.Encode()
}

// limitWAL truncates the write-ahead file if readers prevented the automatic checkpoints from doing so. The gateway's readers end
// within the statement timeout. A reader in another process may take longer, and then each attempt to truncate delays a write by
// that timeout. After a failed attempt, the next one is made when the file has grown by a quarter of the limit.
func (db *DB) limitWAL(ctx context.Context) {
	if db.dialect != SQLite {
		return
	}
	info, err := os.Stat(db.path + "-wal")
	if err != nil || info.Size() < db.walNext.Load() {
		return
	}
	if err := db.checkpoint(ctx); err != nil {
		db.walNext.Store(info.Size() + db.walLimit/4) // ignore the error, because the transaction is committed
		return
	}
	db.walNext.Store(db.walLimit)
}

// checkpoint moves the content of the write-ahead file into the database and truncates the file, so that neither contains deleted
// text. It fails when a reader needs the file for longer than the statement timeout.
func (db *DB) checkpoint(ctx context.Context) (err error) {
	conn, err := db.write.Conn(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, conn.Close()) }()
	if _, err := conn.ExecContext(ctx, fmt.Sprintf("pragma busy_timeout(%d)", db.timeout.Milliseconds())); err != nil {
		return err
	}
	defer func() {
		_, errReset := conn.ExecContext(context.WithoutCancel(ctx), "pragma "+busyTimeout)
		err = errors.Join(err, errReset)
	}()
	var busy, pages, moved int
	if err := conn.QueryRowContext(ctx, `pragma wal_checkpoint(truncate)`).Scan(&busy, &pages, &moved); err != nil {
		return fmt.Errorf("truncate write-ahead log: %w", err)
	}
	if busy != 0 {
		return errors.New("truncate write-ahead log: in use by a reader")
	}
	return nil
}

// vacuumPages is the number of pages freed per statement. It is limited so that writers never wait long.
const vacuumPages = 2000

// Shrink returns the pages of deleted rows to the file system and removes their text from the write-ahead file. It does
// nothing for PostgreSQL, which reuses pages itself.
func (db *DB) Shrink(ctx context.Context) error {
	if db.dialect != SQLite {
		return nil
	}
	for free := vacuumPages; free >= vacuumPages; {
		if err := db.vacuum(ctx); err != nil {
			return fmt.Errorf("shrink database: %w", err)
		}
		if err := db.QueryRow(ctx, `pragma freelist_count`).Scan(&free); err != nil {
			return fmt.Errorf("shrink database: %w", err)
		}
	}
	return db.checkpoint(ctx)
}

// vacuum frees up to vacuumPages pages. The statement frees one page per row read from its result.
func (db *DB) vacuum(ctx context.Context) error {
	rows, err := db.write.QueryContext(ctx, fmt.Sprintf("pragma incremental_vacuum(%d)", vacuumPages))
	if err != nil {
		return err
	}
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		continue
	}
	return rows.Err()
}
