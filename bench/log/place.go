//go:build unix

package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"os"

	"github.com/jackc/pgx/v5/pgconn"
	_ "github.com/jackc/pgx/v5/stdlib" // the driver "pgx"

	"fairlead.dev/internal/store/pgtest"
)

// place is the location of the measured database, with a function that removes it.
type place struct {
	dsn    string
	dir    string
	remove func() error
}

func (o options) place(ctx context.Context) (place, error) {
	switch {
	case o.store == "sqlite" && o.keep != "":
		return place{dsn: "sqlite", dir: o.keep, remove: keep}, nil
	case o.store == "sqlite":
		dir, err := os.MkdirTemp("", "fairlead-bench-log-")
		return place{"sqlite", dir, func() error { return os.RemoveAll(dir) }}, err
	case o.store == "postgres" && o.keep != "":
		return keptDatabase(ctx, o.keep)
	case o.store == "postgres":
		dsn, drop, err := pgtest.Database(ctx)
		if err != nil {
			return place{}, fmt.Errorf("start PostgreSQL: %w", err)
		}
		return place{dsn: dsn, remove: drop}, nil
	}
	return place{}, fmt.Errorf("unknown store %q; use sqlite or postgres", o.store)
}

func keep() error { return nil }

// keptDatabase returns the database with the given name on the server named in the environment. It creates the database
// if necessary.
func keptDatabase(ctx context.Context, name string) (place, error) {
	address, err := url.Parse(os.Getenv(pgtest.Variable))
	if err != nil || address.Host == "" {
		return place{}, fmt.Errorf("-keep requires a server in %s", pgtest.Variable)
	}
	err = execute(ctx, address.String(), `create database "`+name+`"`)
	if e, ok := errors.AsType[*pgconn.PgError](err); ok && e.Code == "42P04" { // the database exists
		err = nil
	}
	address.Path = "/" + name
	return place{dsn: address.String(), remove: keep}, err
}

// settle runs the maintenance that PostgreSQL otherwise runs within minutes after a table has grown.
func (p place) settle(ctx context.Context) error {
	if p.dsn == "sqlite" {
		return nil
	}
	return execute(ctx, p.dsn, `vacuum analyze`)
}

func execute(ctx context.Context, dsn, q string) (err error) {
	db, err := sql.Open("pgx", dsn)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	if _, err := db.ExecContext(ctx, q); err != nil {
		return fmt.Errorf("%s: %w", q, err)
	}
	return nil
}
