package store

import (
	"errors"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgconn/ctxwatch"
	"github.com/jackc/pgx/v5/stdlib"
)

// openPostgres prepares the pool. Nothing is dialled until the first statement.
func (db *DB) openPostgres(dsn string, connections int) error {
	config, err := pgx.ParseConfig(dsn)
	if err != nil {
		return errors.New("open store: the PostgreSQL address cannot be read") // the cause would repeat the password
	}
	if config.ConnectTimeout == 0 {
		config.ConnectTimeout = 5 * time.Second
	}
	db.connection = config.Copy()
	// A read that runs out of time is ended on the server too, instead of going on there for nobody.
	config.BuildContextWatcherHandler = func(c *pgconn.PgConn) ctxwatch.Handler {
		return &pgconn.CancelRequestContextWatcherHandler{Conn: c, DeadlineDelay: time.Second}
	}
	pool := stdlib.OpenDB(*config)
	pool.SetMaxOpenConns(connections + 4) // reads leave room for writes
	pool.SetMaxIdleConns(connections)
	pool.SetConnMaxIdleTime(time.Minute)
	db.dialect, db.write, db.read = dialectPostgres, pool, pool
	return nil
}

func isSerialization(err error) bool { return hasState(err, "40001", "40P01") }

func isPostgresUnique(err error) bool { return hasState(err, "23505") }

func hasState(err error, states ...string) bool {
	e, ok := errors.AsType[*pgconn.PgError](err)
	return ok && slices.Contains(states, e.Code)
}
