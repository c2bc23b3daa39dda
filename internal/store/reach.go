package store

import (
	"context"
	"errors"
	"net"
	"net/url"

	"github.com/jackc/pgx/v5/pgconn"
)

// Unreachable reports whether opening failed because the database is not there or not up yet: waiting may help.
func Unreachable(err error) bool {
	if _, ok := errors.AsType[*pgconn.ConnectError](err); ok {
		return true
	}
	if _, ok := errors.AsType[net.Error](err); ok {
		return true
	}
	return hasState(err, "57P03", "53300") || errors.Is(err, context.DeadlineExceeded) // starting up, too many connections
}

// Redact is a database address without its password.
func Redact(dsn string) string {
	u, err := url.Parse(dsn)
	if err != nil {
		return "postgres"
	}
	return u.Redacted()
}
