package sqldb

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

// Errors of databases that this program cannot use.
var (
	ErrNewerSchema       = errors.New("the database was migrated by a newer version of fairlead")
	ErrDevelopmentSchema = errors.New("made by a development version older than the first release")
)

// files holds the numbered migrations of each dialect.
//
//go:embed migrations
var files embed.FS

// migration is one numbered change of the schema.
type migration struct {
	number     int
	name       string
	statements string
}

// migrateLock is the key of the advisory lock that the migrating replica holds.
const migrateLock = 0x666169726c656164

// migrate applies the missing migrations. Each one is a transaction that also records its number, so a killed process
// never leaves a migration half applied.
func (db *DB) migrate(ctx context.Context, steps []migration) error {
	done, err := db.applied(ctx)
	if err != nil {
		return err
	}
	if name, ok := done[1]; ok && name != steps[0].name {
		if db.dialect == SQLite {
			return fmt.Errorf("open store: this data directory was %w; move it away and start again: %s", ErrDevelopmentSchema, path.Dir(db.path))
		}
		return fmt.Errorf("open store: this database was %w; use an empty database: %s", ErrDevelopmentSchema, db.connConfig.Database)
	}
	latest := steps[len(steps)-1].number
	for number := range done {
		if number > latest {
			return fmt.Errorf("open store: %w: schema version %d, this program supports up to %d; start the newer version or restore a backup made before the upgrade", ErrNewerSchema, number, latest)
		}
	}
	for _, step := range steps {
		if _, ok := done[step.number]; ok {
			continue
		}
		if err := db.apply(ctx, step); err != nil {
			return fmt.Errorf("migrate to %s: %w", step.name, err)
		}
	}
	return nil
}

// applied returns the names of the applied migrations by number. It is empty for a new database.
func (db *DB) applied(ctx context.Context) (map[int]string, error) {
	done := map[int]string{}
	if err := db.InTx(ctx, func(tx *sql.Tx) error {
		clear(done)
		if err := db.lockSchema(ctx, tx); err != nil {
			return err
		}
		const table = `create table if not exists migrations (number bigint primary key, name text not null, applied_at bigint not null)`
		if _, err := tx.ExecContext(ctx, table); err != nil {
			return err
		}
		rows, err := tx.QueryContext(ctx, `select number, name from migrations`)
		return Each(rows, err, func(row Scanner) error {
			var number int
			var name string
			err := row.Scan(&number, &name)
			done[number] = name
			return err
		})
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
		_, err = tx.ExecContext(ctx, step.statements)
		return err
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

// migrations returns the migrations of a dialect in order. It panics if one is invalid, because they are part of the binary.
func migrations(dialect Dialect) []migration {
	names, err := fs.Glob(files, path.Join("migrations", string(dialect), "*.sql")) // Glob returns the names sorted
	if err != nil {
		panic(err)
	}
	steps := make([]migration, len(names))
	for i, name := range names {
		text, err := files.ReadFile(name)
		if err != nil {
			panic(err)
		}
		base := strings.TrimSuffix(path.Base(name), ".sql")
		digits, _, _ := strings.Cut(base, "_")
		number, err := strconv.Atoi(digits)
		if err != nil {
			panic(fmt.Sprintf("migration %s: the name must begin with a number", name))
		}
		steps[i] = migration{number, base, string(text)}
	}
	return steps
}
