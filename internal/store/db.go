// Package store keeps everything that must outlast the process in SQLite or PostgreSQL: entries with their bodies,
// the ledger, roll-ups, accounts, workspaces, keys, policies, ratings and settings. It owns the SQL and the migrations. The text of a
// statement is the same for both databases: $1 placeholders, times as bigint unix milliseconds, money as bigint
// nano-dollars, JSON as text. What is stored, and who may see it, is decided by the packages whose interfaces it implements.
package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
)

// DB is an open database. It is safe for concurrent use.
type DB struct {
	dialect Dialect
	write   *sql.DB
	read    *sql.DB
	path    string // of the SQLite file; empty for PostgreSQL
	now     func() time.Time
	timeout time.Duration
	codec   *Codec
	buffers sync.Pool // of *room

	connection *pgx.ConnConfig // for a connection apart from the pool; nil for SQLite
	silence    atomic.Int64    // nanoseconds that PostgreSQL may take to say anything
	days       *partitionCache
	retention  atomic.Pointer[retentionBounds] // nil until Retain is called

	preparing sync.Mutex
	prepared  sync.Map // statements that SQLite has ready, by their text

	walLimit int64        // Size from which SQLite's write-ahead file is emptied
	walNext  atomic.Int64 // Size at which that is tried next
}

// Options adjusts how a database is opened. The zero value is right for a server.
type Options struct {
	Now              func() time.Time // clock for retention and roll-ups; time.Now when nil
	StatementTimeout time.Duration    // bound on every read made for a person; 5 s when zero
	Connections      int              // most connections that read at a time; 8 when zero
}

type Dialect string

const (
	SQLite   Dialect = "sqlite"
	Postgres Dialect = "postgres"
)

// Open opens the database that dsn names ("sqlite" for a file in dataDir, or a postgres:// address) and brings its
// schema up to date. A schema that is newer than this program is refused with ErrNewerSchema.
func Open(ctx context.Context, dsn, dataDir string, o Options) (*DB, error) {
	db, err := connect(dsn, dataDir, o)
	if err != nil {
		return nil, err
	}
	db.silence.Store(int64(migrateSilence))
	if err := db.migrate(ctx, embedded()); err != nil {
		return nil, errors.Join(err, db.Close())
	}
	db.silence.Store(int64(usualSilence))
	return db, nil
}

// Reach says why the database that dsn names does not answer; nil when it does. Its schema stays as it is.
func Reach(ctx context.Context, dsn, dataDir string) error {
	db, err := connect(dsn, dataDir, Options{Connections: 1})
	if err != nil {
		return err
	}
	return errors.Join(db.Ping(ctx), db.Close())
}

// connect opens the database as it is, without looking at its schema.
func connect(dsn, dataDir string, o Options) (*DB, error) {
	db := &DB{now: o.Now, timeout: o.StatementTimeout, codec: NewCodec(), days: newPartitionCache(), buffers: sync.Pool{New: func() any { return &batchBuffers{} }}}
	if db.now == nil {
		db.now = time.Now
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
	return nil, errors.New(`open store: neither "sqlite" nor an address that begins with postgres://`)
}

// Close ends all connections.
func (db *DB) Close() error {
	if db.read == db.write {
		return db.write.Close()
	}
	return errors.Join(db.read.Close(), db.write.Close())
}

// Ping reports whether the database answers.
func (db *DB) Ping(ctx context.Context) error {
	var one int
	if err := db.QueryRow(ctx, `select 1`).Scan(&one); err != nil {
		return fmt.Errorf("reach the database: %w", err)
	}
	return nil
}

// Query runs a statement that only reads.
func (db *DB) Query(ctx context.Context, q string, args ...any) (*sql.Rows, error) {
	return db.read.QueryContext(ctx, q, args...)
}

// QueryRow runs a statement that only reads and gives at most one row.
func (db *DB) QueryRow(ctx context.Context, q string, args ...any) *sql.Row {
	return db.read.QueryRowContext(ctx, q, args...)
}

// Exec runs one statement that changes something.
func (db *DB) Exec(ctx context.Context, q string, args ...any) (sql.Result, error) {
	res, err := db.write.ExecContext(ctx, q, args...)
	for attempt := 1; err != nil && attempt < txAttempts && IsRetryable(err); attempt++ {
		res, err = db.write.ExecContext(ctx, q, args...)
	}
	return res, err
}

const txAttempts = 4

// InTx runs fn in a transaction that writes, and commits it when fn returns nil. It runs fn again when the database
// broke the transaction off for another one's sake, so fn must not change anything but the database.
func (db *DB) InTx(ctx context.Context, fn func(*sql.Tx) error) error {
	err := db.tryTx(ctx, fn)
	for attempt := 1; err != nil && attempt < txAttempts && IsRetryable(err); attempt++ {
		err = db.tryTx(ctx, fn)
	}
	if err == nil {
		db.boundWAL(ctx)
	}
	return err
}

func (db *DB) tryTx(ctx context.Context, fn func(*sql.Tx) error) error {
	tx, err := db.write.BeginTx(ctx, nil)
	if err != nil {
		return fmt.Errorf("begin: %w", err)
	}
	defer func() { _ = tx.Rollback() }() // does nothing once committed
	if err := fn(tx); err != nil {
		return err
	}
	if err := tx.Commit(); err != nil {
		return fmt.Errorf("commit: %w", err)
	}
	return nil
}

// InSnapshot runs fn in a transaction that only reads, and in which nothing changes between two statements.
func (db *DB) InSnapshot(ctx context.Context, fn func(*sql.Tx) error) error {
	tx, err := db.read.BeginTx(ctx, &sql.TxOptions{Isolation: sql.LevelRepeatableRead, ReadOnly: true})
	if err != nil {
		return fmt.Errorf("begin: %w", err)
	}
	defer func() { _ = tx.Rollback() }() // nothing was changed
	return fn(tx)
}

// Bounded limits how long a read made for a person may take.
func (db *DB) Bounded(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(ctx, db.timeout)
}

// IsRetryable reports whether the database gave up a statement for another one's sake: it changed nothing, and may
// succeed when repeated.
func IsRetryable(err error) bool { return isBusy(err) || isSerialization(err) }

// IsUnique reports whether a statement would have broken a unique constraint.
func IsUnique(err error) bool { return isSQLiteUnique(err) || isPostgresUnique(err) }

// Placeholders returns "$from, $from+1, …" with n placeholders.
func Placeholders(from, n int) string {
	var b strings.Builder
	for i := range n {
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, "$%d", from+i)
	}
	return b.String()
}

// Millis is a time as stored: unix milliseconds, 0 for the zero time.
func Millis(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMilli()
}

// FromMillis reverses millis. Times are in UTC.
func FromMillis(ms int64) time.Time {
	if ms == 0 {
		return time.Time{}
	}
	return time.UnixMilli(ms).UTC()
}
