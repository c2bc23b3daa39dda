package sqldb

import (
	"database/sql"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"fairlead.dev/internal/store/pgtest"
)

func TestMain(m *testing.M) { os.Exit(pgtest.Main(m)) }

func openTest(t *testing.T, dsn, dir string) *DB {
	t.Helper()
	db, err := Open(t.Context(), dsn, dir, Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	return db
}

func TestWriteAheadFileIsTruncated(t *testing.T) {
	t.Parallel()
	const limit = 1 << 20
	db := openTest(t, "sqlite", t.TempDir())
	db.walLimit, db.timeout = limit, 20*time.Millisecond
	db.walNext.Store(limit)
	walSize := func() int64 {
		t.Helper()
		info, err := os.Stat(db.path + "-wal")
		if err != nil {
			t.Fatal(err)
		}
		return info.Size()
	}
	write := func(name string) {
		t.Helper()
		if err := db.InTx(t.Context(), func(tx *sql.Tx) error {
			_, err := tx.ExecContext(t.Context(), `insert into settings (name, value) values ($1, $2)`, name, strings.Repeat("x", 2*limit))
			return err
		}); err != nil {
			t.Fatal(err)
		}
	}

	// A reader that keeps its transaction open prevents every checkpoint, but does not block writers.
	reader, err := db.read.BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	var n int
	if err := reader.QueryRowContext(t.Context(), `select count(*) from requests`).Scan(&n); err != nil {
		t.Fatal(err)
	}
	write("first")
	if walSize() < limit {
		t.Fatal("the write-ahead file is small although a reader prevents checkpoints")
	}
	if err := reader.Rollback(); err != nil {
		t.Fatal(err)
	}

	write("second")

	if size := walSize(); size > limit {
		t.Errorf("write-ahead file has %d bytes, want at most %d", size, limit)
	}
}

func TestDatabaseIsPrivate(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "data")
	openTest(t, "sqlite", dir)
	for name, want := range map[string]os.FileMode{dir: 0o700 | os.ModeDir, filepath.Join(dir, "fairlead.db"): 0o600, filepath.Join(dir, "fairlead.db-wal"): 0o600} {
		info, err := os.Stat(name)
		if err != nil || info.Mode() != want {
			t.Errorf("%s: mode %v, %v; want %v", name, info.Mode(), err, want)
		}
	}
}

func TestOpenErrorHidesPassword(t *testing.T) {
	t.Parallel()
	for _, dsn := range []string{"mysql://user:secret@host/db", "postgres://user:secret@host:port/db"} {
		_, err := Open(t.Context(), dsn, t.TempDir(), Options{})
		if err == nil || strings.Contains(err.Error(), "secret") {
			t.Errorf("Open: %v, want an error without the password", err)
		}
	}
}
