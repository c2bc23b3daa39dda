package store

import (
	"context"
	"database/sql/driver"
	"errors"
	"io"
	"net"
	"net/url"
	"slices"

	"github.com/jackc/pgx/v5/pgconn"
	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"
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
	return HasState(err, "57P01", "57P02", "57P03", "53300") // shutting down, crashed, starting up, too many connections
}

// Away reports whether writing failed for a reason of the database's own, such as being gone, full or busy: what was to be
// written is not to blame.
func Away(err error) bool {
	if Unreachable(err) || IsRetryable(err) {
		return true
	}
	if e, ok := errors.AsType[*pgconn.PgError](err); ok {
		class := e.Code[:min(2, len(e.Code))] // connections, resources, an operator, the system, a read-only server
		return slices.Contains([]string{"08", "53", "57", "58"}, class) || e.Code == "25006"
	}
	e, ok := errors.AsType[*sqlite.Error](err)
	return ok && slices.Contains([]int{sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY, sqlite3.SQLITE_NOMEM}, e.Code()&0xff)
}

// Redact is a database address without its password.
func Redact(dsn string) string {
	u, err := url.Parse(dsn)
	if err != nil {
		return "postgres"
	}
	return u.Redacted()
}
