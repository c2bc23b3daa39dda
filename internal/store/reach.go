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

	"fairlead.dev/internal/store/sqldb"
)

// Unreachable reports whether opening failed because the database cannot be reached or is still starting. A retry may
// succeed.
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
	if pgconn.SafeToRetry(err) { // the connection broke before the statement was sent
		return true
	}
	return sqldb.HasState(err, "57P01", "57P02", "57P03", "53300") // shutting down, crashed, starting up, too many connections
}

// Unavailable reports whether writing failed because the database is unreachable, full, busy or broken, not because of
// the data.
func Unavailable(err error) bool {
	if Unreachable(err) || sqldb.IsRetryable(err) {
		return true
	}
	if e, ok := errors.AsType[*pgconn.PgError](err); ok {
		// Classes: 08 connection exception, 53 insufficient resources, 57 operator intervention, 58 system error. 25006: read-only server.
		// 42: a table or a permission is missing, which is never caused by the data.
		class := e.Code[:min(2, len(e.Code))]
		return slices.Contains([]string{"08", "42", "53", "57", "58"}, class) || e.Code == "25006"
	}
	e, ok := errors.AsType[*sqlite.Error](err)
	return ok && slices.Contains([]int{sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY, sqlite3.SQLITE_NOMEM, sqlite3.SQLITE_PERM, sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB}, e.Code()&0xff)
}

// Redact returns a database URL without its password.
func Redact(dsn string) string {
	u, err := url.Parse(dsn)
	if err != nil {
		return "postgres"
	}
	return u.Redacted()
}
