package sqldb

import (
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"

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

func TestFailedMigrationChangesNothing(t *testing.T) {
	t.Parallel()
	pgtest.EachDialect(t, func(t *testing.T, dsn, dir string) {
		db := connectTo(t, dsn, dir)
		steps := migrations(db.dialect)
		broken := append(slices.Clone(steps), migration{9999, "9999_broken", "create table extra (name text);\nselect * from the_process_was_killed;"})
		if err := db.migrate(t.Context(), broken); err == nil {
			t.Fatal("a migration with an invalid statement succeeded")
		}
		done, err := db.applied(t.Context())
		if err != nil || len(done) != len(steps) {
			t.Errorf("%d migrations recorded, %v; want %d", len(done), err, len(steps))
		}
		if _, err := db.Exec(t.Context(), `select name from extra`); err == nil {
			t.Error("the table of the failed migration exists")
		}
		if err := db.migrate(t.Context(), steps); err != nil {
			t.Error(err)
		}
	})
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
		if err != nil || len(done) != len(migrations(Postgres)) {
			t.Errorf("%d migrations recorded, %v; want %d", len(done), err, len(migrations(Postgres)))
		}
	})
}

func TestOpenRejectsOtherSchemas(t *testing.T) {
	t.Parallel()
	pgtest.EachDialect(t, func(t *testing.T, dsn, dir string) {
		db := connectTo(t, dsn, dir)
		if err := db.migrate(t.Context(), migrations(db.dialect)); err != nil {
			t.Fatal(err)
		}
		for _, test := range []struct {
			change string
			want   error
		}{
			{`insert into migrations (number, name, applied_at) values (9999, 'future', 0)`, ErrNewerSchema},
			{`update migrations set name = '0001_start' where number = 1`, ErrDevelopmentSchema},
		} {
			if _, err := db.Exec(t.Context(), test.change); err != nil {
				t.Fatal(err)
			}
			if _, err := Open(t.Context(), dsn, dir, Options{}); !errors.Is(err, test.want) {
				t.Errorf("Open after %q: %v, want %v", test.change, err, test.want)
			}
		}
	})
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
