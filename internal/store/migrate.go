package store

import (
	"context"
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strconv"
	"strings"
)

// ErrNewerSchema is returned when a newer version of the program has changed the database.
var ErrNewerSchema = errors.New("the database belongs to a newer version of fairlead")

//go:embed migrations/*.sql
var migrationFiles embed.FS

// migration is one numbered step of the schema.
type migration struct {
	number     int
	name       string
	statements []statement
}

// statement is one statement of a migration; only names the dialect it is for, empty for both.
type statement struct {
	text string
	only Dialect
}

// migrateLock is the key of the advisory lock that one migrating replica holds.
const migrateLock = 0x666169726c656164

// migrate applies what is missing. Each migration is one transaction that also records its number: a process killed
// At any point leaves the schema before or after a migration, never within one.
func (db *DB) migrate(ctx context.Context, steps []migration) error {
	done, err := db.applied(ctx)
	if err != nil {
		return err
	}
	latest := steps[len(steps)-1].number
	for number := range done {
		if number > latest {
			return fmt.Errorf("open store: schema %d, this program knows up to %d; start that newer version, or restore a backup made before it: %w", number, latest, ErrNewerSchema)
		}
	}
	for _, step := range steps {
		if done[step.number] {
			continue
		}
		if err := db.apply(ctx, step); err != nil {
			return fmt.Errorf("migrate to %s: %w", step.name, err)
		}
	}
	return nil
}

// applied returns the numbers of the migrations that the database has; none when it is new.
func (db *DB) applied(ctx context.Context) (map[int]bool, error) {
	done := map[int]bool{}
	if err := db.InTx(ctx, func(tx *sql.Tx) error {
		clear(done)
		if err := db.lockSchema(ctx, tx); err != nil {
			return err
		}
		const table = `create table if not exists migrations (number bigint primary key, name text not null, applied_at bigint not null)`
		if _, err := tx.ExecContext(ctx, table); err != nil {
			return err
		}
		numbers, err := Column[int](ctx, tx, `select number from migrations`)
		for _, number := range numbers {
			done[number] = true
		}
		return err
	}); err != nil {
		return nil, fmt.Errorf("read the schema's version: %w", err)
	}
	return done, nil
}

// apply runs one migration, unless another replica did in the meantime.
func (db *DB) apply(ctx context.Context, step migration) error {
	return db.InTx(ctx, func(tx *sql.Tx) error {
		if err := db.lockSchema(ctx, tx); err != nil {
			return err
		}
		const record = `insert into migrations (number, name, applied_at) values ($1, $2, $3) on conflict do nothing`
		res, err := tx.ExecContext(ctx, record, step.number, step.name, db.now().UnixMilli())
		if err != nil {
			return err
		}
		if n, err := res.RowsAffected(); err != nil || n == 0 {
			return err
		}
		for _, s := range step.statements {
			if s.only != "" && s.only != db.dialect {
				continue
			}
			if _, err := tx.ExecContext(ctx, db.dialect.translate(s.text)); err != nil {
				return fmt.Errorf("%w in: %s", err, s.text)
			}
		}
		return nil
	})
}

// lockSchema makes other replicas wait until this transaction ends. A SQLite transaction that writes does so anyway.
func (db *DB) lockSchema(ctx context.Context, tx *sql.Tx) error {
	if db.dialect != Postgres {
		return nil
	}
	_, err := tx.ExecContext(ctx, `select pg_advisory_xact_lock($1)`, migrateLock)
	return err
}

// translate adapts a statement of a migration. Migrations are written for PostgreSQL; SQLite compares text byte by
// byte anyway, has another name for bytes, and keeps a table marked as narrow inside its primary key.
func (d Dialect) translate(text string) string {
	if d == SQLite {
		return strings.NewReplacer(` collate "C"`, "", " bytea", " blob", "/* narrow */", "without rowid").Replace(text)
	}
	return text
}

// embedded returns the migrations inside the program, in order. They are part of the binary, so a bad one is a defect.
func embedded() []migration {
	steps, err := readMigrations(migrationFiles)
	if err != nil {
		panic(err)
	}
	return steps
}

func readMigrations(files fs.FS) ([]migration, error) {
	names, err := fs.Glob(files, "migrations/*.sql") // sorted
	if err != nil {
		return nil, err
	}
	steps := make([]migration, 0, len(names))
	for _, name := range names {
		text, err := fs.ReadFile(files, name)
		if err != nil {
			return nil, err
		}
		base := strings.TrimSuffix(path.Base(name), ".sql")
		digits, _, _ := strings.Cut(base, "_")
		number, err := strconv.Atoi(digits)
		if err != nil || (len(steps) > 0 && number <= steps[len(steps)-1].number) {
			return nil, fmt.Errorf("migration %s: the name must begin with a number of its own", base)
		}
		steps = append(steps, migration{number: number, name: base, statements: split(string(text))})
	}
	return steps, nil
}

// split cuts a file into statements, which end with a semicolon at the end of a line that is not between two $$. A line
// "-- only: postgres" (or sqlite) before a statement restricts it to that dialect; other comments are dropped.
func split(text string) []statement {
	var out []statement
	var current statement
	var lines []string
	quoted := false
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, " \t\r\n")
		if comment, ok := strings.CutPrefix(strings.TrimSpace(line), "--"); ok {
			if only, ok := strings.CutPrefix(strings.TrimSpace(comment), "only: "); ok {
				current.only = Dialect(only)
			}
			continue
		}
		if line == "" {
			continue
		}
		if strings.Count(line, "$$")%2 == 1 {
			quoted = !quoted
		}
		if quoted {
			lines = append(lines, line)
			continue
		}
		last, ends := strings.CutSuffix(line, ";")
		lines = append(lines, last)
		if ends {
			current.text = strings.Join(lines, "\n")
			out, current, lines = append(out, current), statement{}, nil
		}
	}
	return out
}

// Column runs a query in a transaction and returns its only column.
func Column[T any](ctx context.Context, tx *sql.Tx, q string, args ...any) ([]T, error) {
	rows, err := tx.QueryContext(ctx, q, args...)
	if err != nil {
		return nil, err
	}
	return ScanColumn[T](rows)
}

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
