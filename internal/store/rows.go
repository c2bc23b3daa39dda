package store

import (
	"context"
	"database/sql"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5/pgtype"
)

// Field is a column that rows are written to, with its type in PostgreSQL.
type Field struct{ name, kind string }

func TextFields(names ...string) []Field   { return fieldsOf("text", names) }
func NumberFields(names ...string) []Field { return fieldsOf("bigint", names) }
func RealFields(names ...string) []Field   { return fieldsOf("double precision", names) }
func BytesFields(names ...string) []Field  { return fieldsOf("bytea", names) }

func fieldsOf(kind string, names []string) []Field {
	out := make([]Field, len(names))
	for i, name := range names {
		out[i] = Field{name, kind}
	}
	return out
}

func names(fields []Field) []string {
	out := make([]string, len(fields))
	for i, f := range fields {
		out[i] = f.name
	}
	return out
}

// Inserter writes many rows into one table, several with each statement. Its statements are put together once.
type Inserter struct {
	table  string
	fields []Field
	one    string // statement for a row in SQLite
	many   string // … for sqliteRows of them
	arrays string // statement for any number of rows in PostgreSQL
}

// NewInserter makes an inserter; suffix is what comes after the values.
func NewInserter(table string, fields []Field, suffix string) *Inserter {
	into := " into " + table + " (" + strings.Join(names(fields), ",") + ") "
	return &Inserter{table, fields, rowsText(into, len(fields), 1, suffix), rowsText(into, len(fields), sqliteRows, suffix), arraysText(into, fields, suffix)}
}

const (
	// sqliteRows are written by one statement: its cursors stay open from one row to the next.
	sqliteRows = 20
	// postgresRows and postgresBytes are what one statement takes at most. A column is one array, which has to fit into memory
	// there several times over.
	postgresRows  = 1000
	postgresBytes = 16 << 20
)

// Insert writes the rows and returns how many that were: an inserter may leave out those that are there.
func (db *DB) Insert(ctx context.Context, tx *sql.Tx, in *Inserter, rows [][]any) (written int64, err error) {
	var args []any // of one statement after the other
	for len(rows) > 0 {
		n := in.group(db.dialect, rows)
		args = in.args(db.dialect, args[:0], rows[:n])
		res, err := db.insertGroup(ctx, tx, in.text(db.dialect, n), args)
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

// group is how many of the rows go into the next statement.
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

// length is about how many bytes a row has.
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

// text is the statement for so many rows.
func (in *Inserter) text(d Dialect, rows int) string {
	switch {
	case d == Postgres:
		return in.arrays
	case rows == 1:
		return in.one
	}
	return in.many
}

// Args appends the arguments of the statement for some rows.
func (in *Inserter) args(d Dialect, to []any, rows [][]any) []any {
	if d == Postgres {
		return columnsOf(rows, len(in.fields))
	}
	for _, row := range rows {
		to = append(to, row...)
	}
	return to
}

func (db *DB) insertGroup(ctx context.Context, tx *sql.Tx, q string, args []any) (sql.Result, error) {
	if db.dialect == Postgres {
		return tx.ExecContext(ctx, q, args...)
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	// For each statement that can end, SQLite's driver starts a goroutine; between two statements is early enough to stop.
	ctx = context.WithoutCancel(ctx)
	if stmt, ok := db.prepared.Load(q); ok {
		return tx.StmtContext(ctx, stmt.(*sql.Stmt)).ExecContext(ctx, args...) //nolint:sqlclosecheck // it is closed with the database
	}
	return tx.ExecContext(ctx, q, args...)
}

// prepare makes the statements of a batch ready once for SQLite, where that takes longer than a row. It is done before a
// transaction has the only connection. PostgreSQL's driver does so by itself.
func (db *DB) prepare(ctx context.Context) error {
	if db.dialect != SQLite {
		return nil
	}
	db.preparing.Lock()
	defer db.preparing.Unlock()
	for _, q := range batchTexts {
		if _, ok := db.prepared.Load(q); ok {
			continue
		}
		stmt, err := db.write.PrepareContext(ctx, q)
		if err != nil {
			return fmt.Errorf("prepare to write: %w", err)
		}
		db.prepared.Store(q, stmt)
	}
	return nil
}

// batchTexts are the statements of a batch in SQLite.
var batchTexts = textsOfBatch()

func textsOfBatch() []string {
	var all []string
	for _, in := range []*Inserter{insertPlaced, insertPacks, insertPackedBodies, insertTags, insertLedger, insertRollups[minutes], insertRollups[hours], insertRollups[days]} {
		all = append(all, in.one, in.many)
	}
	for _, u := range []unit{minutes, hours, days} {
		all = append(all, u.selecting())
	}
	return all
}

// QueryPrepared reads with a statement that SQLite has ready.
func (db *DB) QueryPrepared(ctx context.Context, tx *sql.Tx, q string, args []any) (*sql.Rows, error) {
	if stmt, ok := db.prepared.Load(q); ok {
		ctx = context.WithoutCancel(ctx)                                        // as in insertGroup
		return tx.StmtContext(ctx, stmt.(*sql.Stmt)).QueryContext(ctx, args...) //nolint:sqlclosecheck // it is closed with the database
	}
	return tx.QueryContext(ctx, q, args...)
}

// rowsText is a statement for SQLite, which takes the rows one after the other. A row that it refuses ends the transaction, so
// what the statement did before need not be undone, and nothing is kept for that.
func rowsText(into string, fields, rows int, suffix string) string {
	row := "(" + strings.TrimSuffix(strings.Repeat("?,", fields), ",") + ")"
	return "insert or fail" + into + "values " + strings.TrimSuffix(strings.Repeat(row+",", rows), ",") + " " + suffix
}

// arraysText is a statement for PostgreSQL, which takes one array for each column: its text does not depend on the number of
// rows, so that the server plans it once for a connection.
func arraysText(into string, fields []Field, suffix string) string {
	marks := make([]string, len(fields))
	for i, f := range fields {
		marks[i] = fmt.Sprintf("$%d::%s[]", i+1, f.kind)
	}
	return "insert" + into + "select * from unnest(" + strings.Join(marks, ",") + ") " + suffix
}

// arrayOf is one column of rows, as an array that pgx writes without a copy.
type arrayOf struct {
	rows  [][]any
	place int
}

var _ pgtype.ArrayGetter = arrayOf{}

func columnsOf(rows [][]any, n int) []any {
	out := make([]any, n)
	for i := range out {
		out[i] = arrayOf{rows, i}
	}
	return out
}

// Dimensions says how long the array is.
func (a arrayOf) Dimensions() []pgtype.ArrayDimension {
	return []pgtype.ArrayDimension{{Length: int32(len(a.rows)), LowerBound: 1}}
}

// Index returns an element.
func (a arrayOf) Index(i int) any { return a.rows[i][a.place] }

// IndexType returns a value of the elements' type.
func (a arrayOf) IndexType() any { return a.rows[0][a.place] }
