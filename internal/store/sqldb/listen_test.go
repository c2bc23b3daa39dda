package sqldb

import (
	"context"
	"database/sql"
	"sync"
	"testing"
	"time"

	"fairlead.dev/internal/store/pgtest"
)

func TestListenReportsChangesOfOtherProcesses(t *testing.T) {
	t.Parallel()
	dsn := pgtest.Start(t)
	writer, reader := openTest(t, dsn, ""), openTest(t, dsn, "")
	notified := make(chan struct{}, 100)
	ctx, cancel := context.WithCancel(t.Context())
	var listening sync.WaitGroup
	listening.Go(func() { reader.Listen(ctx, func() { notified <- struct{}{} }) })
	defer listening.Wait()
	defer cancel()
	expect := func(what string) {
		t.Helper()
		select {
		case <-notified:
		case <-time.After(20 * time.Second):
			t.Fatalf("no notification after %s", what)
		}
	}
	change := func() {
		t.Helper()
		if err := writer.InTx(t.Context(), func(tx *sql.Tx) error {
			_, err := NextRevision(t.Context(), tx, "credentials")
			return err
		}); err != nil {
			t.Fatal(err)
		}
	}
	expect("listening started")
	change()
	expect("a change")
	disconnect(t, dsn)
	expect("listening started again")
	change()
	expect("a change after the connection broke")
}

// disconnect ends the listening connection.
func disconnect(t *testing.T, dsn string) {
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
