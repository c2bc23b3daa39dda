package store

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
	connectTime    = 5 * time.Second
	usualSilence   = 45 * time.Second // longer than any statement is given by its caller
	migrateSilence = 10 * time.Minute // a migration may read a whole table before it says a word
)

// openPostgres prepares the pool. Nothing is dialled until the first statement.
func (db *DB) openPostgres(dsn string, connections int) error {
	config, err := pgx.ParseConfig(dsn)
	if err != nil {
		return errors.New("open store: the PostgreSQL address cannot be read") // the cause would repeat the password
	}
	if config.ConnectTimeout == 0 {
		config.ConnectTimeout = connectTime
	}
	db.connection = config.Copy()
	db.silence.Store(int64(usualSilence))
	config.DialFunc = db.dial
	// A read that runs out of time is ended on the server too, instead of going on there for nobody.
	config.BuildContextWatcherHandler = func(c *pgconn.PgConn) ctxwatch.Handler {
		return &pgconn.CancelRequestContextWatcherHandler{Conn: c, DeadlineDelay: time.Second}
	}
	pool := stdlib.OpenDB(*config)
	pool.SetMaxOpenConns(connections + 4) // reads leave room for writes
	pool.SetMaxIdleConns(connections)
	pool.SetConnMaxIdleTime(time.Minute)
	db.dialect, db.write, db.read = Postgres, pool, pool
	return nil
}

// dial connects so that a server which is gone is noticed within seconds, and one which accepts everything and answers
// nothing is given up: no statement waits for ever, also where its caller set no limit.
func (db *DB) dial(ctx context.Context, network, address string) (net.Conn, error) {
	dialer := net.Dialer{KeepAliveConfig: net.KeepAliveConfig{Enable: true, Idle: 5 * time.Second, Interval: 2 * time.Second, Count: 3}}
	conn, err := dialer.DialContext(ctx, network, address)
	if err != nil {
		return nil, err
	}
	return &impatient{Conn: conn, silence: func() time.Duration { return time.Duration(db.silence.Load()) }}, nil
}

// impatient is a connection whose reads end after a silence, and earlier where a deadline says so. It is read only while an
// answer is awaited.
type impatient struct {
	net.Conn
	silence func() time.Duration

	mu       sync.Mutex
	deadline time.Time
}

// Read waits no longer than the silence or the deadline allows.
func (c *impatient) Read(b []byte) (int, error) {
	c.mu.Lock()
	until := time.Now().Add(c.silence())
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

// SetDeadline sets the deadline of reading and writing.
func (c *impatient) SetDeadline(t time.Time) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.deadline = t
	return c.Conn.SetDeadline(t)
}

// SetReadDeadline sets the deadline of reading.
func (c *impatient) SetReadDeadline(t time.Time) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.deadline = t
	return c.Conn.SetReadDeadline(t)
}

func isSerialization(err error) bool { return HasState(err, "40001", "40P01") }

func isPostgresUnique(err error) bool { return HasState(err, "23505") }

func HasState(err error, states ...string) bool {
	e, ok := errors.AsType[*pgconn.PgError](err)
	return ok && slices.Contains(states, e.Code)
}
