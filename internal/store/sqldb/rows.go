package sqldb

import (
	"context"
	"database/sql"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5/pgtype"
)

// Field is a column that an Inserter writes, with its PostgreSQL type.
type Field struct{ Name, Kind string }

// TextFields declares text columns.
func TextFields(names ...string) []Field { return fieldsOf("text", names) }

// NumberFields declares integer columns.
func NumberFields(names ...string) []Field { return fieldsOf("bigint", names) }

// RealFields declares floating-point columns.
func RealFields(names ...string) []Field { return fieldsOf("double precision", names) }

// BytesFields declares binary columns.
func BytesFields(names ...string) []Field { return fieldsOf("bytea", names) }

func fieldsOf(kind string, names []string) []Field {
	out := make([]Field, len(names))
	for i, name := range names {
		out[i] = Field{name, kind}
	}
	return out
}

// FieldNames returns the column names.
func FieldNames(fields []Field) []string {
	out := make([]string, len(fields))
	for i, f := range fields {
		out[i] = f.Name
	}
	return out
}

// KeepExisting is an Inserter suffix that leaves existing rows unchanged.
const KeepExisting = "on conflict do nothing"

// Inserter writes many rows into one table, several per statement.
type Inserter struct {
	table  string
	fields []Field
	one    string // SQLite statement for one row
	many   string // SQLite statement for sqliteRows rows
	arrays string // PostgreSQL statement for any number of rows
}

// NewInserter builds the statements once. suffix follows the values.
func NewInserter(table string, fields []Field, suffix string) *Inserter {
	into := " into " + table + " (" + strings.Join(FieldNames(fields), ",") + ") "
	// The PostgreSQL statement has one array parameter per column. Its text does not depend on the number of rows, so the server
	// plans the statement once per connection.
	marks := make([]string, len(fields))
	for i, f := range fields {
		marks[i] = fmt.Sprintf("$%d::%s[]", i+1, f.Kind)
	}
	arrays := "insert" + into + "select * from unnest(" + strings.Join(marks, ",") + ") " + suffix
	return &Inserter{table, fields, rowsText(into, len(fields), 1, suffix), rowsText(into, len(fields), sqliteRows, suffix), arrays}
}

const (
	// sqliteRows is the number of rows per SQLite statement. Several rows are faster, because cursors stay open from
	// one row to the next.
	sqliteRows = 20
	// postgresRows and postgresBytes limit one PostgreSQL statement. Each column is one array, which the server holds
	// in memory several times.
	postgresRows  = 1000
	postgresBytes = 16 << 20
)

// Insert writes the rows and returns the number of rows written. KeepExisting skips existing rows.
func (db *DB) Insert(ctx context.Context, tx *sql.Tx, in *Inserter, rows [][]any) (written int64, err error) {
	var args []any // reused by each statement
	for len(rows) > 0 {
		n := in.group(db.dialect, rows)
		q := in.many
		if n == 1 {
			q = in.one
		}
		if db.dialect == Postgres {
			q, args = in.arrays, columnsOf(rows[:n], len(in.fields))
		} else {
			args = args[:0]
			for _, row := range rows[:n] {
				args = append(args, row...)
			}
		}
		res, err := db.insertGroup(ctx, tx, q, args)
		if err != nil {
			return written, fmt.Errorf("insert into %s: %w", in.table, err)
		}
		affected, err := res.RowsAffected()
		if err != nil {
			return written, err
		}
		written += affected
		rows = rows[n:]
	}
	return written, nil
}

// group returns the number of rows that the next statement writes.
func (in *Inserter) group(d Dialect, rows [][]any) int {
	if d == SQLite {
		if len(rows) < sqliteRows {
			return 1
		}
		return sqliteRows
	}
	size := 0
	for n, row := range rows[:min(len(rows), postgresRows)] {
		if size += length(row); size > postgresBytes && n > 0 {
			return n
		}
	}
	return min(len(rows), postgresRows)
}

// length returns the approximate size of a row in bytes.
func length(row []any) int {
	n := 0
	for _, value := range row {
		switch v := value.(type) {
		case string:
			n += len(v)
		case []byte:
			n += len(v)
		}
	}
	return n
}

func (db *DB) insertGroup(ctx context.Context, tx *sql.Tx, q string, args []any) (sql.Result, error) {
	if db.dialect == Postgres {
		return tx.ExecContext(ctx, q, args...)
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	// The SQLite driver starts a goroutine for each cancellable statement. Cancelling between statements is sufficient.
	ctx = context.WithoutCancel(ctx)
	if stmt, ok := db.prepared.Load(q); ok {
		return tx.StmtContext(ctx, stmt.(*sql.Stmt)).ExecContext(ctx, args...) //nolint:sqlclosecheck // the statement is closed with the database
	}
	return tx.ExecContext(ctx, q, args...)
}

// Prepare prepares statements once for SQLite, where preparing takes longer than writing a row. It must be called
// before a transaction holds the only write connection. The PostgreSQL driver prepares statements itself.
func (db *DB) Prepare(ctx context.Context, statements []string) error {
	if db.dialect != SQLite {
		return nil
	}
	db.preparing.Lock()
	defer db.preparing.Unlock()
	for _, q := range statements {
		if _, ok := db.prepared.Load(q); ok {
			continue
		}
		stmt, err := db.write.PrepareContext(ctx, q)
		if err != nil {
			return fmt.Errorf("prepare statement: %w", err)
		}
		db.prepared.Store(q, stmt)
	}
	return nil
}

// Statements returns the SQLite statements of the inserter, for Prepare.
func (in *Inserter) Statements() []string { return []string{in.one, in.many} }

// InsertReturning inserts rows into PostgreSQL and returns the given column of the rows that did not exist before.
func (db *DB) InsertReturning(ctx context.Context, tx *sql.Tx, in *Inserter, rows [][]any, column string) (values []string, err error) {
	q := in.arrays + " returning " + column
	for len(rows) > 0 {
		n := in.group(db.dialect, rows)
		some, err := Column[string](ctx, tx, q, columnsOf(rows[:n], len(in.fields))...)
		if err != nil {
			return nil, fmt.Errorf("insert into %s: %w", in.table, err)
		}
		values, rows = append(values, some...), rows[n:]
	}
	return values, nil
}

// QueryPrepared runs a query. It uses the prepared statement if there is one.
func (db *DB) QueryPrepared(ctx context.Context, tx *sql.Tx, q string, args []any) (*sql.Rows, error) {
	if stmt, ok := db.prepared.Load(q); ok {
		ctx = context.WithoutCancel(ctx)                                        // statements are not cancelled, for the reason given in insertGroup
		return tx.StmtContext(ctx, stmt.(*sql.Stmt)).QueryContext(ctx, args...) //nolint:sqlclosecheck // the statement is closed with the database
	}
	return tx.QueryContext(ctx, q, args...)
}

// rowsText builds a SQLite statement. A rejected row aborts the transaction anyway, so "or fail" saves SQLite from
// recording how to undo the statement.
func rowsText(into string, fields, rows int, suffix string) string {
	row := "(" + strings.TrimSuffix(strings.Repeat("?,", fields), ",") + ")"
	return "insert or fail" + into + "values " + strings.TrimSuffix(strings.Repeat(row+",", rows), ",") + " " + suffix
}

// columnArray presents one column of rows as an array that pgx encodes without a copy.
type columnArray struct {
	rows   [][]any
	column int
}

func columnsOf(rows [][]any, n int) []any {
	out := make([]any, n)
	for i := range out {
		out[i] = columnArray{rows, i}
	}
	return out
}

// Dimensions implements pgtype.ArrayGetter.
func (a columnArray) Dimensions() []pgtype.ArrayDimension {
	return []pgtype.ArrayDimension{{Length: int32(len(a.rows)), LowerBound: 1}}
}

// Index implements pgtype.ArrayGetter.
func (a columnArray) Index(i int) any { return a.rows[i][a.column] }

// IndexType implements pgtype.ArrayGetter.
func (a columnArray) IndexType() any { return a.rows[0][a.column] }
