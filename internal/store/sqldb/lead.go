package sqldb

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
)

const (
	leadLock  = 0x6c656164      // key of the advisory lock that the elected replica holds
	leadPause = 2 * time.Second // pause between election attempts
	leadPing  = time.Second     // interval of checks that the lock is still held
	leadTime  = 3 * time.Second // timeout of an attempt or a check
	// leadIdleTimeout ends the session of a frozen replica, so that PostgreSQL releases its lock and another replica is
	// elected.
	leadIdleTimeout = "set idle_session_timeout = '10s'"
)

// Lead runs work on one replica at a time: the replica that holds an advisory lock in PostgreSQL. When that replica stops, freezes or loses
// its connection, the context of its work is cancelled and another replica takes over. Two replicas may overlap briefly, so work must be
// safe to repeat. With SQLite, the process leads immediately. Lead returns when ctx is done.
func (db *DB) Lead(ctx context.Context, work func(ctx context.Context)) {
	if db.dialect != Postgres {
		work(ctx)
		return
	}
	for ctx.Err() == nil {
		_ = db.term(ctx, work) // not elected, or the term has ended; the next attempt may succeed
		select {
		case <-ctx.Done():
		case <-time.After(leadPause):
		}
	}
}

var errNotElected = errors.New("another replica is the leader")

// term is one period of leadership. It lasts from acquiring the lock until the connection that holds the lock breaks.
func (db *DB) term(ctx context.Context, work func(ctx context.Context)) error {
	conn, err := db.elect(ctx)
	if err != nil {
		return err
	}
	defer closeSoon(ctx, conn)
	working, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		work(working)
	}()
	err = guard(ctx, conn, done)
	cancel()
	<-done // wait for the work to end before the lock is released
	return err
}

// elect returns a connection that holds the lock.
func (db *DB) elect(ctx context.Context) (_ *pgx.Conn, err error) {
	opening, cancel := context.WithTimeout(ctx, leadTime)
	defer cancel()
	conn, err := pgx.ConnectConfig(opening, db.connConfig.Copy())
	if err != nil {
		return nil, fmt.Errorf("acquire leadership: %w", err)
	}
	defer func() {
		if err != nil {
			closeSoon(ctx, conn)
		}
	}()
	var elected bool
	if err := conn.QueryRow(opening, `select pg_try_advisory_lock($1)`, leadLock).Scan(&elected); err != nil {
		return nil, fmt.Errorf("acquire leadership: %w", err)
	}
	if !elected {
		return nil, errNotElected
	}
	_, _ = conn.Exec(opening, leadIdleTimeout) // the error is ignored: older servers without the setting detect a broken connection
	return conn, nil
}

// guard returns when the connection breaks, the work ends or ctx is done.
func guard(ctx context.Context, conn *pgx.Conn, done <-chan struct{}) error {
	tick := time.NewTicker(leadPing)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-done:
			return nil
		case <-tick.C:
		}
		checking, cancel := context.WithTimeout(ctx, leadTime)
		err := conn.Ping(checking)
		cancel()
		if err != nil {
			return fmt.Errorf("hold leadership: %w", err)
		}
	}
}

// closeSoon closes a connection that may be broken.
func closeSoon(ctx context.Context, conn *pgx.Conn) {
	closing, cancel := context.WithTimeout(context.WithoutCancel(ctx), leadTime)
	defer cancel()
	_ = conn.Close(closing) // the connection may be broken
}
