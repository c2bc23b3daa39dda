package store_test

import (
	"context"
	"database/sql"
	"fmt"
	"sync"
	"testing"
	"time"

	"fairlead/internal/store/pgtest"
	"fairlead/internal/vault"
)

func TestListenHearsChangesOfOtherProcesses(t *testing.T) {
	t.Parallel()
	dsn := pgtest.Start(t)
	writer, reader := open(t, dsn), open(t, dsn)
	heard := make(chan struct{}, 100)
	ctx, cancel := context.WithCancel(t.Context())
	var listening sync.WaitGroup
	listening.Go(func() { reader.Listen(ctx, func() { heard <- struct{}{} }) })
	defer listening.Wait()
	defer cancel()
	expect := func(what string) {
		t.Helper()
		select {
		case <-heard:
		case <-time.After(20 * time.Second):
			t.Fatalf("nothing heard: %s", what)
		}
	}
	made := 0
	change := func() {
		t.Helper()
		made++
		if err := writer.SaveCredential(t.Context(), vault.Credential{ID: fmt.Sprint("cred_", made), Sealed: []byte("sealed"), Provider: "openai", CreatedAt: time.Now()}); err != nil {
			t.Fatal(err)
		}
	}
	expect("that it listens")
	change()
	expect("a change")
	breakOff(t, dsn)
	expect("that it listens again, because something may have been missed")
	change()
	expect("a change after the connection broke")
}

func TestSQLiteHasNobodyToTell(t *testing.T) {
	t.Parallel()
	openSQLite(t).Listen(t.Context(), func() { t.Error("heard something") })
}

// breakOff ends the connection that listens.
func breakOff(t *testing.T, dsn string) {
	t.Helper()
	db, err := sql.Open("pgx", dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	const q = `select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and query like 'listen%'`
	if _, err := db.ExecContext(t.Context(), q); err != nil {
		t.Fatal(err)
	}
}
