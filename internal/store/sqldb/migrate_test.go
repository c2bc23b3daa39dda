package sqldb

import (
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"fairlead.dev/internal/store/pgtest"
)

func connectTo(t *testing.T, dsn, dir string) *DB {
	t.Helper()
	db, err := Connect(dsn, dir, Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	return db
}

// schema lists tables and indexes.
func schema(t *testing.T, db *DB) []string {
	t.Helper()
	q := `select name from sqlite_master where name not like 'sqlite_%' and sql is not null order by name`
	if db.dialect == Postgres {
		q = `select relname from pg_class where relnamespace = 'public'::regnamespace and relkind in ('r', 'i') and relname not like '%_pkey' and relname not like '%_key' order by relname`
	}
	rows, err := db.Query(t.Context(), q)
	if err != nil {
		t.Fatal(err)
	}
	names, err := ScanColumn[string](rows)
	if err != nil {
		t.Fatal(err)
	}
	return names
}

func TestMigrationKilledAtAnyStatementIsCompletedLater(t *testing.T) {
	t.Parallel()
	pgtest.EachDialect(t, func(t *testing.T, dsn, dir string) {
		db := connectTo(t, dsn, dir)
		steps := embedded()
		for i, step := range steps {
			for at := range len(step.statements) + 1 {
				broken := slices.Clone(steps)
				broken[i].statements = slices.Insert(slices.Clone(step.statements), at, statement{text: "select * from the_process_was_killed"})
				if err := db.migrate(t.Context(), broken); err == nil {
					t.Fatalf("%s succeeded although statement %d failed", step.name, at)
				}
				if done, err := db.applied(t.Context()); err != nil || len(done) != i {
					t.Fatalf("%d migrations recorded after %s failed, %v; want %d", len(done), step.name, err, i)
				}
			}
			if err := db.migrate(t.Context(), steps[:i+1]); err != nil {
				t.Fatal(err)
			}
		}
		whole := connectTo(t, fresh(t, dsn), t.TempDir())
		if err := whole.migrate(t.Context(), steps); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(schema(t, whole), schema(t, db)); diff != "" {
			t.Errorf("the schema differs from one migrated without interruption: %s", diff)
		}
	})
}

// fresh returns the DSN of another empty database of the same kind.
func fresh(t *testing.T, dsn string) string {
	t.Helper()
	if dsn == "sqlite" {
		return dsn
	}
	return pgtest.Start(t)
}

func TestReplicasMigrateOnce(t *testing.T) {
	t.Parallel()
	pgtest.EachDialect(t, func(t *testing.T, dsn, dir string) {
		var wg sync.WaitGroup
		failures := make([]error, 3)
		for i := range failures {
			wg.Go(func() {
				db, err := Open(t.Context(), dsn, dir, Options{})
				if err == nil {
					err = db.Close()
				}
				failures[i] = err
			})
		}
		wg.Wait()
		if err := errors.Join(failures...); err != nil {
			t.Fatal(err)
		}
		done, err := connectTo(t, dsn, dir).applied(t.Context())
		if err != nil || len(done) != len(embedded()) {
			t.Errorf("%d migrations recorded, %v; want %d", len(done), err, len(embedded()))
		}
	})
}

func TestOpenRejectsNewerSchema(t *testing.T) {
	t.Parallel()
	pgtest.EachDialect(t, func(t *testing.T, dsn, dir string) {
		db, err := Open(t.Context(), dsn, dir, Options{})
		if err != nil {
			t.Fatal(err)
		}
		_, err = db.Exec(t.Context(), `insert into migrations (number, name, applied_at) values (9999, 'future', 0)`)
		if err := errors.Join(err, db.Close()); err != nil {
			t.Fatal(err)
		}

		_, err = Open(t.Context(), dsn, dir, Options{})

		if !errors.Is(err, ErrNewerSchema) {
			t.Errorf("Open: %v, want ErrNewerSchema", err)
		}
	})
}

func TestSplitAssignsStatementsToDialects(t *testing.T) {
	t.Parallel()
	got := split("-- words; more\ncreate table a (\n  b text -- kept\n);\n\n-- only: postgres\ndrop table a;\nselect 1;\n")
	want := []statement{{text: "create table a (\n  b text -- kept\n)"}, {text: "drop table a", only: Postgres}, {text: "select 1"}}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(statement{})); diff != "" {
		t.Error(diff)
	}
}

func TestMigrationsNeedUniqueNumbers(t *testing.T) {
	t.Parallel()
	for _, names := range [][]string{{"0001_a.sql", "0001_b.sql"}, {"first.sql"}} {
		files := fstest.MapFS{}
		for _, name := range names {
			files[name] = &fstest.MapFile{Data: []byte("select 1;")}
		}
		if _, err := readMigrations(files); err == nil {
			t.Errorf("readMigrations accepted %v", names)
		}
	}
}

func TestRevisionsCountChanges(t *testing.T) {
	t.Parallel()
	pgtest.EachDialect(t, func(t *testing.T, dsn, dir string) {
		db, err := Open(t.Context(), dsn, dir, Options{})
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = db.Close() }()
		for i := range 3 {
			err := db.InTx(t.Context(), func(tx *sql.Tx) error {
				if _, err := NextRevision(t.Context(), tx, "keys"); err != nil || i == 1 {
					return errors.Join(err, fmt.Errorf("roll back change %d", i))
				}
				return nil
			})
			if (err != nil) != (i == 1) {
				t.Fatal(err)
			}
		}
		got, err := db.Revisions(t.Context())
		if diff := cmp.Diff(map[string]int64{"keys": 2}, got); err != nil || diff != "" {
			t.Error(err, diff)
		}
	})
}
