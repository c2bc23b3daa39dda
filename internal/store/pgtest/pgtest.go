//go:build unix

// Package pgtest provides a PostgreSQL server for tests: the server given by the environment variable
// FAIRLEAD_TEST_POSTGRES, or one that is started for the test process.
package pgtest

import (
	"context"
	"crypto/rand"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	_ "github.com/jackc/pgx/v5/stdlib" // registers the driver "pgx"
)

// Variable is the name of the environment variable with the URL of a server on which databases may be created.
const Variable = "FAIRLEAD_TEST_POSTGRES"

var errMissing = errors.New("no PostgreSQL server is installed and " + Variable + " is not set")

// shared starts the server of this process when the first test needs it.
var shared = sync.OnceValues(func() (*server, error) {
	if dsn := os.Getenv(Variable); dsn != "" {
		return &server{dsn: dsn, stop: func() {}}, nil
	}
	return start()
})

// server is a running PostgreSQL server.
type server struct {
	dsn  string
	stop func()
}

// Main runs the tests of a package and stops the server that they may have started. Call it from TestMain.
func Main(m *testing.M) int {
	defer func() {
		if os.Getenv(Variable) == "" && started.Load() {
			if s, err := shared(); err == nil {
				s.stop()
			}
		}
	}()
	return m.Run()
}

// Start returns the URL of an empty database that is dropped at the end of the test. Without a server, the test fails
// in CI and is skipped elsewhere.
func Start(t testing.TB) string {
	t.Helper()
	started.Store(true)
	s, err := shared()
	if errors.Is(err, errMissing) && os.Getenv("CI") != "true" {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	dsn, drop, err := s.database(context.WithoutCancel(t.Context()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := drop(); err != nil {
			t.Fatal(err)
		}
	})
	return dsn
}

// EachDialect runs a test with an empty SQLite database and with an empty PostgreSQL database. The test receives the
// database's DSN and a directory.
func EachDialect(t *testing.T, run func(t *testing.T, dsn, dir string)) {
	t.Helper()
	t.Run("sqlite", func(t *testing.T) {
		t.Parallel()
		run(t, "sqlite", t.TempDir())
	})
	t.Run("postgres", func(t *testing.T) {
		t.Parallel()
		run(t, Start(t), t.TempDir())
	})
}

// Database returns the URL of an empty database for a program that is not a test. end drops the database, and stops the
// server if this package started it.
func Database(ctx context.Context) (dsn string, end func() error, err error) {
	s, err := shared()
	if err != nil {
		return "", nil, err
	}
	dsn, drop, err := s.database(context.WithoutCancel(ctx))
	if err != nil {
		s.stop()
		return "", nil, err
	}
	return dsn, func() error {
		err := drop()
		s.stop()
		return err
	}, nil
}

// database creates an empty database; drop removes it.
func (s *server) database(ctx context.Context) (dsn string, drop func() error, err error) {
	address, err := url.Parse(s.dsn)
	if err != nil {
		return "", nil, fmt.Errorf("parse %s: %w", Variable, err)
	}
	name := "test_" + strings.ToLower(rand.Text())
	if err := s.run(ctx, `create database `+name); err != nil {
		return "", nil, err
	}
	address.Path = "/" + name
	return address.String(), func() error { return s.run(ctx, `drop database `+name+` with (force)`) }, nil
}

// run executes one statement on the server's default database.
func (s *server) run(ctx context.Context, q string) error {
	db, err := sql.Open("pgx", s.dsn)
	if err != nil {
		return err
	}
	defer func() { _ = db.Close() }()
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	if _, err := db.ExecContext(ctx, q); err != nil {
		return fmt.Errorf("%s: %w", q, err)
	}
	return nil
}
