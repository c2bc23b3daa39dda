package store

import (
	"context"
	"database/sql/driver"
	"errors"
	"io"
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
	for _, broken := range []error{context.DeadlineExceeded, io.EOF, io.ErrUnexpectedEOF, driver.ErrBadConn, net.ErrClosed} {
		if errors.Is(err, broken) {
			return true
		}
	}
	if pgconn.SafeToRetry(err) { // the connection broke before anything was sent
		return true
	}
	return hasState(err, "57P01", "57P02", "57P03", "53300") // shutting down, crashed, starting up, too many connections
}

// Redact is a database address without its password.
func Redact(dsn string) string {
	u, err := url.Parse(dsn)
	if err != nil {
		return "postgres"
	}
	return u.Redacted()
}
