package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"
)

// walLimit is the size of the write-ahead file from which a commit empties it. It is far below the 256 MiB that
// the file may ever have, because one transaction more may be written before it is noticed.
const walLimit = 64 << 20

// busyTimeout is how long a statement waits for another process that writes.
const busyTimeout = "busy_timeout(30000)"

// openSQLite opens fairlead.db in the directory: one connection that writes, and several that read. Within the
// process writers queue for that connection; another process's write is waited for by busy_timeout. A transaction
// takes the write lock when it begins, so none fails half-way because somebody else wrote in between.
func (db *DB) openSQLite(dataDir string, readers int) error {
	if err := os.MkdirAll(dataDir, 0o700); err != nil {
		return fmt.Errorf("make the data directory: %w", err)
	}
	db.dialect, db.path = SQLite, filepath.Join(dataDir, "fairlead.db")
	if err := createPrivate(db.path); err != nil {
		return fmt.Errorf("create the database: %w", err)
	}
	db.walLimit = walLimit
	db.walNext.Store(walLimit)
	var err error
	if db.write, err = sql.Open("sqlite", sqliteDSN(db.path, "immediate", writerPragmas)); err != nil {
		return fmt.Errorf("open the database: %w", err)
	}
	db.write.SetMaxOpenConns(1)
	if db.read, err = sql.Open("sqlite", sqliteDSN(db.path, "deferred", readerPragmas)); err != nil {
		return fmt.Errorf("open the database: %w", err)
	}
	db.read.SetMaxOpenConns(readers)
	db.read.SetMaxIdleConns(readers)
	return nil
}

// createPrivate makes the file readable by its owner alone; SQLite gives its companions the same mode.
func createPrivate(path string) error {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return err
	}
	return f.Close()
}

// The order matters: auto_vacuum must come before the first page is written. Deleted text is overwritten
// (secure_delete), and its pages are given back by Expire. A commit is on disk when it returns (synchronous full):
// the spool forgets a batch once it is stored here, and batches make the syncs few. Checkpoints wait for twelve thousand
// pages, which is less than walLimit: a batch changes about a thousand, and many of them again and again. Keys grow with time, so writing touches
// the ends of its tables and indexes only, and needs no large cache: with 16, 4 and 2 MiB as many entries are written for a CPU
// second. A page in it takes twice its size, because the allocator under SQLite hands out powers of two.
var (
	writerPragmas = []string{
		busyTimeout, "auto_vacuum(incremental)", "journal_mode(wal)", "synchronous(full)",
		"foreign_keys(1)", "secure_delete(1)", "journal_size_limit(67108864)", "wal_autocheckpoint(12000)", "cache_size(-2048)", "temp_store(memory)",
	}
	readerPragmas = []string{busyTimeout, "query_only(1)", "cache_size(-16384)", "temp_store(memory)"}
)

func sqliteDSN(path, lock string, pragmas []string) string {
	q := url.Values{"_pragma": pragmas, "_txlock": {lock}}
	return "file:" + (&url.URL{Path: path}).EscapedPath() + "?" + q.Encode()
}

// boundWAL empties the write-ahead file when readers kept the usual checkpoints from doing so. Our readers end within
// the statement time-out; a foreign one that stays longer costs that time once for every quarter of the limit.
func (db *DB) boundWAL(ctx context.Context) {
	if db.dialect != SQLite {
		return
	}
	info, err := os.Stat(db.path + "-wal")
	if err != nil || info.Size() < db.walNext.Load() {
		return
	}
	if err := db.checkpoint(ctx); err != nil {
		db.walNext.Store(info.Size() + db.walLimit/4) // the transaction is done all the same
		return
	}
	db.walNext.Store(db.walLimit)
}

// checkpoint moves the write-ahead file's content into the database and empties it, so that deleted text is in
// neither. It fails when a reader needs the file for longer than the statement time-out.
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
		return fmt.Errorf("empty the write-ahead file: %w", err)
	}
	if busy != 0 {
		return errors.New("empty the write-ahead file: a reader needs it")
	}
	return nil
}

func isBusy(err error) bool {
	e, ok := errors.AsType[*sqlite.Error](err)
	return ok && (e.Code()&0xff == sqlite3.SQLITE_BUSY || e.Code()&0xff == sqlite3.SQLITE_LOCKED)
}

func isSQLiteUnique(err error) bool {
	e, ok := errors.AsType[*sqlite.Error](err)
	return ok && (e.Code() == sqlite3.SQLITE_CONSTRAINT_UNIQUE || e.Code() == sqlite3.SQLITE_CONSTRAINT_PRIMARYKEY)
}

// vacuumPages is how many pages are given back at a time, so that writers never wait long.
const vacuumPages = 2000

// Shrink gives the pages of deleted rows back to the file system and takes their text out of the write-ahead file.
// PostgreSQL does that by itself.
func (db *DB) Shrink(ctx context.Context) error {
	if db.dialect != SQLite {
		return nil
	}
	for free := vacuumPages; free >= vacuumPages; {
		if err := db.vacuum(ctx); err != nil {
			return fmt.Errorf("shrink the database: %w", err)
		}
		if err := db.QueryRow(ctx, `pragma freelist_count`).Scan(&free); err != nil {
			return fmt.Errorf("shrink the database: %w", err)
		}
	}
	return db.checkpoint(ctx)
}

// vacuum gives back some pages. The statement frees one for each row that is read of its result.
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
