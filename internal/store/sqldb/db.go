// Package sqldb is the SQL layer that all parts of the store use. It opens SQLite or PostgreSQL, migrates the schema,
// runs statements and transactions, and builds statements. Statement text is the same for both databases: $1
// placeholders, times as bigint Unix milliseconds, money as bigint nano-dollars, JSON as text.
package sqldb

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"
)

// DB is an open database. It is safe for concurrent use.
type DB struct {
	dialect Dialect
	write   *sql.DB
	read    *sql.DB
	path    string // SQLite file; empty for PostgreSQL
	clock   func() time.Time
	timeout time.Duration

	connConfig  *pgx.ConnConfig // for connections outside the pool; nil for SQLite
	readTimeout atomic.Int64    // maximum time without data from PostgreSQL, in nanoseconds

	preparing sync.Mutex
	prepared  sync.Map // prepared SQLite statements by text

	walLimit int64        // minimum size at which SQLite's write-ahead file is truncated
	walNext  atomic.Int64 // minimum size at which truncation is attempted next
}

// Options adjusts how a database is opened. The zero value is suitable for a server.
type Options struct {
	Now              func() time.Time // clock for retention and roll-ups; time.Now when nil
	StatementTimeout time.Duration    // timeout of reads for user requests; 5 s when zero
	Connections      int              // maximum number of read connections; 8 when zero
}

// Dialect is the kind of database.
type Dialect string

// Supported dialects.
const (
	SQLite   Dialect = "sqlite"
	Postgres Dialect = "postgres"
)

// Open opens the database named by dsn ("sqlite" for a file in dataDir, or a postgres:// URL) and migrates its schema.
// It returns ErrNewerSchema when a newer version of the program has migrated it, and ErrDevelopmentSchema when a version before the first
// release has made it.
func Open(ctx context.Context, dsn, dataDir string, o Options) (*DB, error) {
	db, err := Connect(dsn, dataDir, o)
	if err != nil {
		return nil, err
	}
	db.readTimeout.Store(int64(migrateReadTimeout))
	if err := db.migrate(ctx, migrations(db.dialect)); err != nil {
		return nil, errors.Join(err, db.Close())
	}
	db.readTimeout.Store(int64(usualReadTimeout))
	return db, nil
}

// Connect opens the database without reading or changing its schema.
func Connect(dsn, dataDir string, o Options) (*DB, error) {
	db := &DB{clock: o.Now, timeout: o.StatementTimeout}
	if db.clock == nil {
		db.clock = time.Now
	}
	if db.timeout == 0 {
		db.timeout = 5 * time.Second
	}
	if o.Connections == 0 {
		o.Connections = 8
	}
	switch {
	case dsn == "sqlite":
		return db, db.openSQLite(dataDir, o.Connections)
	case strings.HasPrefix(dsn, "postgres://"), strings.HasPrefix(dsn, "postgresql://"):
		return db, db.openPostgres(dsn, o.Connections)
	}
	return nil, errors.New(`open store: the address is neither "sqlite" nor a postgres:// URL`)
}

// Close closes all connections.
func (db *DB) Close() error {
	if db.read == db.write {
		return db.write.Close()
	}
	return errors.Join(db.read.Close(), db.write.Close())
}

// Ping reports whether the database responds.
func (db *DB) Ping(ctx context.Context) error {
	var one int
	if err := db.QueryRow(ctx, `select 1`).Scan(&one); err != nil {
		return fmt.Errorf("ping database: %w", err)
	}
	return nil
}

// Dialect returns the kind of database.
func (db *DB) Dialect() Dialect { return db.dialect }

// Now returns the time of the configured clock.
func (db *DB) Now() time.Time { return db.clock() }

// Timeout returns the timeout of reads for user requests.
func (db *DB) Timeout() time.Duration { return db.timeout }

// Size returns the size of the database on disk, in bytes.
func (db *DB) Size(ctx context.Context) (int64, error) {
	var n int64
	if db.dialect == Postgres {
		err := db.QueryRow(ctx, `select pg_database_size(current_database())`).Scan(&n)
		return n, err
	}
	for _, suffix := range []string{"", "-wal", "-shm"} {
		info, err := os.Stat(db.path + suffix)
		if err == nil {
			n += info.Size()
		}
	}
	return n, nil
}

// Query runs a statement that only reads.
func (db *DB) Query(ctx context.Context, q string, args ...any) (*sql.Rows, error) {
	return db.read.QueryContext(ctx, q, args...)
}

// QueryRow runs a read-only statement that returns at most one row.
func (db *DB) QueryRow(ctx context.Context, q string, args ...any) *sql.Row {
	return db.read.QueryRowContext(ctx, q, args...)
}

// Strings runs a read-only statement with one column and returns the values of the column.
func (db *DB) Strings(ctx context.Context, q string, args []any) ([]string, error) {
	rows, err := db.Query(ctx, q, args...)
	if err != nil {
		return nil, err
	}
	return ScanColumn[string](rows)
}

// Exec runs one statement that writes.
func (db *DB) Exec(ctx context.Context, q string, args ...any) (sql.Result, error) {
	res, err := db.write.ExecContext(ctx, q, args...)
	for attempt := 1; err != nil && attempt < txAttempts && IsRetryable(err); attempt++ {
		res, err = db.write.ExecContext(ctx, q, args...)
	}
	return res, err
}

const txAttempts = 4

// InTx runs fn in a write transaction and commits it when fn returns nil. If the database aborts the transaction
// because of a conflict, InTx runs fn again, so fn must not change anything except the database.
func (db *DB) InTx(ctx context.Context, fn func(*sql.Tx) error) error {
	err := db.tryTx(ctx, fn)
	for attempt := 1; err != nil && attempt < txAttempts && IsRetryable(err); attempt++ {
		err = db.tryTx(ctx, fn)
	}
	if err == nil {
		db.limitWAL(ctx)
	}
	return err
}

func (db *DB) tryTx(ctx context.Context, fn func(*sql.Tx) error) error {
	tx, err := db.write.BeginTx(ctx, nil)
	if err != nil {
		return fmt.Errorf("begin: %w", err)
	}
	defer func() { _ = tx.Rollback() }() // Rollback has no effect after the commit
	if err := fn(tx); err != nil {
		return err
	}
	if err := tx.Commit(); err != nil {
		return fmt.Errorf("commit: %w", err)
	}
	return nil
}

// DeleteBatch is the number of rows InBatches deletes per transaction. It is small so that writers never wait long.
const DeleteBatch = 500

// InBatches repeats fn, each time in its own transaction, until fn handles fewer than DeleteBatch rows. It returns the
// total number of rows.
func (db *DB) InBatches(ctx context.Context, fn func(*sql.Tx) (int, error)) (int64, error) {
	var total int64
	for {
		var n int
		err := db.InTx(ctx, func(tx *sql.Tx) (err error) {
			n, err = fn(tx)
			return err
		})
		if err != nil {
			return total, err
		}
		total += int64(n)
		if n < DeleteBatch {
			return total, nil
		}
	}
}

// InSnapshot runs fn in a read-only transaction whose statements all see the same data.
func (db *DB) InSnapshot(ctx context.Context, fn func(*sql.Tx) error) error {
	tx, err := db.read.BeginTx(ctx, &sql.TxOptions{Isolation: sql.LevelRepeatableRead, ReadOnly: true})
	if err != nil {
		return fmt.Errorf("begin: %w", err)
	}
	defer func() { _ = tx.Rollback() }() // the error is ignored: the transaction is read-only
	return fn(tx)
}

// Bounded returns a context with the timeout of reads for user requests.
func (db *DB) Bounded(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(ctx, db.timeout)
}

// IsRetryable reports whether the database aborted a statement because of a conflict with another one. The statement
// changed nothing and may succeed when it is repeated.
func IsRetryable(err error) bool {
	if e, ok := errors.AsType[*sqlite.Error](err); ok {
		return e.Code()&0xff == sqlite3.SQLITE_BUSY || e.Code()&0xff == sqlite3.SQLITE_LOCKED
	}
	return HasState(err, "40001", "40P01")
}

// IsUnique reports whether a statement violated a unique constraint.
func IsUnique(err error) bool {
	if e, ok := errors.AsType[*sqlite.Error](err); ok {
		return e.Code() == sqlite3.SQLITE_CONSTRAINT_UNIQUE || e.Code() == sqlite3.SQLITE_CONSTRAINT_PRIMARYKEY
	}
	return HasState(err, "23505")
}

// IsNotFound reports whether a query found no row. PostgreSQL rejects some arguments as invalid text (22021), which no
// row can contain.
func IsNotFound(err error) bool {
	return errors.Is(err, sql.ErrNoRows) || HasState(err, "22021")
}
