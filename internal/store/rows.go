package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// inserter writes many rows into one table, several with each statement.
type inserter struct {
	table   string
	columns []string
	suffix  string // what comes after the values
}

// rowsPerStatement saves PostgreSQL round trips. SQLite has none, and prepares short statements faster.
func (d dialect) rowsPerStatement() int {
	if d == dialectSQLite {
		return 1
	}
	return 1000
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
	return in.each(ctx, tx, d, rows, func(ctx context.Context, stmt *sql.Stmt, args []any) error {
		_, err := stmt.ExecContext(ctx, args...)
		return err
	})
}

// insertFresh writes the rows that are not there yet, and returns the ids of those, which are in the column named id.
func (in inserter) insertFresh(ctx context.Context, tx *sql.Tx, d dialect, rows [][]any) ([]string, error) {
	in.suffix = "on conflict do nothing"
	if d.rowsPerStatement() == 1 {
		return in.insertCounting(ctx, tx, d, rows)
	}
	in.suffix += " returning id"
	var all []string
	err := in.each(ctx, tx, d, rows, func(ctx context.Context, stmt *sql.Stmt, args []any) error {
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

// insertCounting is insertFresh one row at a time: counting is quicker than reading a result for each row.
func (in inserter) insertCounting(ctx context.Context, tx *sql.Tx, d dialect, rows [][]any) ([]string, error) {
	id := slices.Index(in.columns, "id")
	all := make([]string, 0, len(rows))
	err := in.each(ctx, tx, d, rows, func(ctx context.Context, stmt *sql.Stmt, args []any) error {
		res, err := stmt.ExecContext(ctx, args...)
		if err != nil {
			return err
		}
		n, err := res.RowsAffected()
		if n > 0 {
			all = append(all, args[id].(string))
		}
		return err
	})
	return all, err
}

// each calls fn with a prepared statement and the arguments of each group of rows.
func (in inserter) each(ctx context.Context, tx *sql.Tx, d dialect, rows [][]any, fn func(context.Context, *sql.Stmt, []any) error) error {
	for len(rows) > 0 {
		n := min(d.rowsPerStatement(), len(rows))
		if err := in.prepared(ctx, tx, d, n, &rows, fn); err != nil {
			return fmt.Errorf("insert into %s: %w", in.table, err)
		}
	}
	return nil
}

// prepared consumes as many whole groups of n rows as there are.
func (in inserter) prepared(ctx context.Context, tx *sql.Tx, d dialect, n int, rows *[][]any, fn func(context.Context, *sql.Stmt, []any) error) (err error) {
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
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := fn(d.brief(ctx), stmt, args); err != nil {
			return err
		}
	}
	return nil
}

// brief is the context of a statement that writes a row or a few. For each that can end SQLite's driver starts a goroutine,
// which costs as much as the row; between two rows is early enough to stop.
func (d dialect) brief(ctx context.Context) context.Context {
	if d == dialectSQLite {
		return context.WithoutCancel(ctx)
	}
	return ctx
}
