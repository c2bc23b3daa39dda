package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
)

// inserter writes many rows into one table, several with each statement.
type inserter struct {
	table   string
	columns []string
	suffix  string // what comes after the values: on conflict, returning
}

// rowsPerStatement saves PostgreSQL round trips. SQLite has none, and prepares short statements faster.
func (d dialect) rowsPerStatement() int {
	if d == dialectSQLite {
		return 1
	}
	return 200
}

func (in inserter) text(rows int) string {
	var b strings.Builder
	fmt.Fprintf(&b, "insert into %s (%s) values ", in.table, strings.Join(in.columns, ","))
	for i := range rows {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString("(" + list(1+i*len(in.columns), len(in.columns)) + ")")
	}
	b.WriteString(" " + in.suffix)
	return b.String()
}

// insert writes the rows.
func (in inserter) insert(ctx context.Context, tx *sql.Tx, d dialect, rows [][]any) error {
	return in.each(ctx, tx, d, rows, func(stmt *sql.Stmt, args []any) error {
		_, err := stmt.ExecContext(ctx, args...)
		return err
	})
}

// insertReturning writes the rows and collects the texts that the statements return.
func (in inserter) insertReturning(ctx context.Context, tx *sql.Tx, d dialect, rows [][]any) ([]string, error) {
	var all []string
	err := in.each(ctx, tx, d, rows, func(stmt *sql.Stmt, args []any) error {
		result, err := stmt.QueryContext(ctx, args...)
		if err != nil {
			return err
		}
		texts, err := scanColumn[string](result)
		all = append(all, texts...)
		return err
	})
	return all, err
}

// each calls fn with a prepared statement and the arguments of each group of rows.
func (in inserter) each(ctx context.Context, tx *sql.Tx, d dialect, rows [][]any, fn func(*sql.Stmt, []any) error) error {
	for len(rows) > 0 {
		n := min(d.rowsPerStatement(), len(rows))
		if err := in.prepared(ctx, tx, n, &rows, fn); err != nil {
			return fmt.Errorf("insert into %s: %w", in.table, err)
		}
	}
	return nil
}

// prepared consumes as many whole groups of n rows as there are.
func (in inserter) prepared(ctx context.Context, tx *sql.Tx, n int, rows *[][]any, fn func(*sql.Stmt, []any) error) (err error) {
	stmt, err := tx.PrepareContext(ctx, in.text(n))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, stmt.Close()) }()
	args := make([]any, 0, n*len(in.columns))
	for len(*rows) >= n {
		args = args[:0]
		for _, row := range (*rows)[:n] {
			args = append(args, row...)
		}
		*rows = (*rows)[n:]
		if err := fn(stmt, args); err != nil {
			return err
		}
	}
	return nil
}
