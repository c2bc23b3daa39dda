package store_test

import (
	"fmt"
	"os"
	"testing"

	"go.uber.org/goleak"

	"fairlead.dev/internal/store"
	"fairlead.dev/internal/store/pgtest"
	"fairlead.dev/internal/store/storetest"
)

func TestMain(m *testing.M) {
	code := pgtest.Main(m)
	if err := goleak.Find(); err != nil && code == 0 {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

func openSQLite(t testing.TB) *store.DB {
	t.Helper()
	return open(t, "sqlite")
}

func openPostgres(t testing.TB) *store.DB {
	t.Helper()
	return open(t, pgtest.Start(t))
}

func open(t testing.TB, dsn string) *store.DB {
	t.Helper()
	db, err := store.Open(t.Context(), dsn, t.TempDir(), storetest.Options())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	return db
}

func TestSQLite(t *testing.T) {
	t.Parallel()
	storetest.Run(t, openSQLite)
}

func TestPostgres(t *testing.T) {
	t.Parallel()
	storetest.Run(t, openPostgres)
}
