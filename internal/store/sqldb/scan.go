package sqldb

import (
	"context"
	"database/sql"
	"errors"
	"time"
)

// Scanner is a *sql.Row, or the current row of *sql.Rows.
type Scanner interface{ Scan(dest ...any) error }

// Column runs a query in a transaction and returns its only column.
func Column[T any](ctx context.Context, tx *sql.Tx, q string, args ...any) ([]T, error) {
	rows, err := tx.QueryContext(ctx, q, args...)
	if err != nil {
		return nil, err
	}
	return ScanColumn[T](rows)
}

// ScanColumn reads and closes rows that have one column.
func ScanColumn[T any](rows *sql.Rows) (out []T, err error) {
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		var v T
		if err := rows.Scan(&v); err != nil {
			return nil, err
		}
		out = append(out, v)
	}
	return out, rows.Err()
}

// Collect reads and closes the rows of a query. If the query found none, the result is empty, not nil.
func Collect[T any](rows *sql.Rows, err error, scan func(Scanner) (T, error)) (all []T, _ error) {
	all = []T{}
	if IsNotFound(err) {
		return all, nil
	}
	if err != nil {
		return nil, err
	}
	err = Each(rows, nil, func(row Scanner) error {
		v, err := scan(row)
		all = append(all, v)
		return err
	})
	if err != nil && !IsNotFound(err) {
		return nil, err
	}
	return all, nil
}

// Each calls fn for each row of a query and closes the rows. It stops at the first error.
func Each(rows *sql.Rows, err error, fn func(Scanner) error) error {
	if err != nil {
		return err
	}
	defer func() { _ = rows.Close() }() // rows.Err reports the read error
	for rows.Next() {
		if err := fn(rows); err != nil {
			return err
		}
	}
	return rows.Err()
}

// Args converts values to statement arguments.
func Args[T any](values []T) []any {
	out := make([]any, len(values))
	for i, v := range values {
		out[i] = v
	}
	return out
}

// Flag returns the stored form of a boolean: 1 for true.
func Flag(b bool) int {
	if b {
		return 1
	}
	return 0
}

// Millis returns the stored form of a time: Unix milliseconds, 0 for the zero time.
func Millis(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMilli()
}

// FromMillis is the inverse of Millis. Times are in UTC.
func FromMillis(ms int64) time.Time {
	if ms == 0 {
		return time.Time{}
	}
	return time.UnixMilli(ms).UTC()
}
