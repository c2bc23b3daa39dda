package sqldb

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"

	"fairlead.dev/internal/store/migrations"
)

// ErrNewerSchema is returned when a newer version of the program has migrated the database.
var ErrNewerSchema = errors.New("the database was migrated by a newer version of fairlead")

// migration is one numbered change of the schema.
type migration struct {
	number     int
	name       string
	statements []statement
}

// statement is one statement of a migration. only is the dialect it applies to; empty for both.
type statement struct {
	text string
	only Dialect
}

// migrateLock is the key of the advisory lock that the migrating replica holds.
const migrateLock = 0x666169726c656164

// Migrate applies the missing migrations up to the given number; 0 for all.
func (db *DB) Migrate(ctx context.Context, through int) error {
	return db.migrate(ctx, slices.DeleteFunc(embedded(), func(m migration) bool { return through > 0 && m.number > through }))
}

// migrate applies the missing migrations. Each one is a transaction that also records its number, so a killed process
// never leaves a migration half applied.
func (db *DB) migrate(ctx context.Context, steps []migration) error {
	done, err := db.applied(ctx)
	if err != nil {
		return err
	}
	latest := steps[len(steps)-1].number
	for number := range done {
		if number > latest {
			return fmt.Errorf("open store: %w: schema version %d, this program supports up to %d; start the newer version or restore a backup made before the upgrade", ErrNewerSchema, number, latest)
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

// applied returns the numbers of the applied migrations. It is empty for a new database.
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
		return nil, fmt.Errorf("read schema version: %w", err)
	}
	return done, nil
}

// apply runs one migration unless another replica has already applied it.
func (db *DB) apply(ctx context.Context, step migration) error {
	return db.InTx(ctx, func(tx *sql.Tx) error {
		if err := db.lockSchema(ctx, tx); err != nil {
			return err
		}
		const record = `insert into migrations (number, name, applied_at) values ($1, $2, $3) on conflict do nothing`
		res, err := tx.ExecContext(ctx, record, step.number, step.name, db.clock().UnixMilli())
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
			text := s.text
			if db.dialect == SQLite {
				// Migrations are written for PostgreSQL. SQLite compares text byte by byte by default, has blob instead of
				// bytea, and stores a table marked as narrow inside its primary key.
				text = strings.NewReplacer(` collate "C"`, "", " bytea", " blob", "/* narrow */", "without rowid").Replace(text)
			}
			if _, err := tx.ExecContext(ctx, text); err != nil {
				return fmt.Errorf("%w in: %s", err, s.text)
			}
		}
		return nil
	})
}

// lockSchema makes other replicas wait until this transaction ends. In SQLite, every write transaction makes other writers wait.
func (db *DB) lockSchema(ctx context.Context, tx *sql.Tx) error {
	if db.dialect != Postgres {
		return nil
	}
	_, err := tx.ExecContext(ctx, `select pg_advisory_xact_lock($1)`, migrateLock)
	return err
}

// embedded returns the migrations of this program in order. It panics if one is invalid, because they are part of the
// binary.
func embedded() []migration {
	steps, err := readMigrations(migrations.Files)
	if err != nil {
		panic(err)
	}
	return steps
}

func readMigrations(files fs.FS) ([]migration, error) {
	names, err := fs.Glob(files, "*.sql") // Glob returns the names sorted
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
			return nil, fmt.Errorf("migration %s: the name must begin with a unique, increasing number", base)
		}
		steps = append(steps, migration{number: number, name: base, statements: split(string(text))})
	}
	return steps, nil
}

// split splits a file into statements. A statement ends with a semicolon at the end of a line outside a $$ quotation. A
// line "-- only: postgres" (or sqlite) before a statement restricts it to that dialect. Other comments are ignored.
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
