package sqldb

import (
	"context"
	"errors"
	"net"
	"slices"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgconn/ctxwatch"
	"github.com/jackc/pgx/v5/stdlib"
)

const (
	connectTime        = 5 * time.Second
	usualReadTimeout   = 45 * time.Second // longer than any caller's timeout
	migrateReadTimeout = 10 * time.Minute // a migration may scan a whole table before the database responds
)

// openPostgres prepares the pool. The first statement opens the first connection.
func (db *DB) openPostgres(dsn string, connections int) error {
	config, err := pgx.ParseConfig(dsn)
	if err != nil {
		return errors.New("open store: invalid PostgreSQL URL") // the cause would contain the password
	}
	if config.ConnectTimeout == 0 {
		config.ConnectTimeout = connectTime
	}
	db.connConfig = config.Copy()
	db.readTimeout.Store(int64(usualReadTimeout))
	config.DialFunc = db.dial
	// When a read times out, it is also cancelled on the server.
	config.BuildContextWatcherHandler = func(c *pgconn.PgConn) ctxwatch.Handler {
		return &pgconn.CancelRequestContextWatcherHandler{Conn: c, DeadlineDelay: time.Second}
	}
	pool := stdlib.OpenDB(*config)
	pool.SetMaxOpenConns(connections + 4) // capacity for writes in addition to reads
	pool.SetMaxIdleConns(connections)
	pool.SetConnMaxIdleTime(time.Minute)
	db.dialect, db.write, db.read = Postgres, pool, pool
	return nil
}

// dial connects with keep-alive probes, which detect a lost server within seconds, and with a read timeout, which
// detects a server that accepts statements but never responds. No statement waits forever, even if the caller sets no
// timeout.
func (db *DB) dial(ctx context.Context, network, address string) (net.Conn, error) {
	dialer := net.Dialer{KeepAliveConfig: net.KeepAliveConfig{Enable: true, Idle: 5 * time.Second, Interval: 2 * time.Second, Count: 3}}
	conn, err := dialer.DialContext(ctx, network, address)
	if err != nil {
		return nil, err
	}
	return &timeoutConn{Conn: conn, readTimeout: func() time.Duration { return time.Duration(db.readTimeout.Load()) }}, nil
}

// timeoutConn is a connection whose reads fail after readTimeout, or at an earlier deadline. The driver reads only
// while it waits for a response.
type timeoutConn struct {
	net.Conn
	readTimeout func() time.Duration

	mu       sync.Mutex
	deadline time.Time
}

// Read implements net.Conn. It fails when readTimeout or the deadline has passed.
func (c *timeoutConn) Read(b []byte) (int, error) {
	c.mu.Lock()
	until := time.Now().Add(c.readTimeout())
	if !c.deadline.IsZero() && c.deadline.Before(until) {
		until = c.deadline
	}
	err := c.Conn.SetReadDeadline(until)
	c.mu.Unlock()
	if err != nil {
		return 0, err
	}
	return c.Conn.Read(b)
}

// SetDeadline implements net.Conn.
func (c *timeoutConn) SetDeadline(t time.Time) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.deadline = t
	return c.Conn.SetDeadline(t)
}

// SetReadDeadline implements net.Conn.
func (c *timeoutConn) SetReadDeadline(t time.Time) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.deadline = t
	return c.Conn.SetReadDeadline(t)
}

// HasState reports whether err is a PostgreSQL error with one of the SQLSTATE codes.
func HasState(err error, states ...string) bool {
	e, ok := errors.AsType[*pgconn.PgError](err)
	return ok && slices.Contains(states, e.Code)
}
