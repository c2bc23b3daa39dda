package stores

import (
	"context"
	"database/sql"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"fairlead.dev/internal/spool"
	"fairlead.dev/internal/store"
	"fairlead.dev/test/faults/scenario"
	"fairlead.dev/test/harness"
)

// powerCut is fault case F09: the writes and syncs of a running gateway are recorded at the system call boundary and replayed up to
// random points. Each unsynced write is applied, lost or torn, and each created or removed name is applied or lost. Device
// failures on synced data and reordering inside a file system's journal are not covered.
func powerCut(t *testing.T, size scenario.Size) string {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	draw := rand.New(rand.NewPCG(seed, 1))
	var figures []string
	for _, strict := range []bool{false, true} {
		figures = append(figures, cutPower(t, size, strict, draw))
	}
	return fmt.Sprintf("%s; seed %d", strings.Join(figures, "; "), seed)
}

func cutPower(t *testing.T, size scenario.Size, strict bool, draw *rand.Rand) string {
	t.Helper()
	url := harness.Serve(t, scenario.Paced(size.Of(5, 20)))
	g := harness.Start(t, harness.Options{Config: harness.Config(t, []harness.Provider{{
		Name: "alpha", BaseURL: url + "/v1", Models: []harness.Model{harness.Chat("plain", 0.4, 1.6, 0.5)},
	}}, fmt.Sprintf("spool: {strict: %t}", strict))})
	k, reader := g.NewKey(t), g.Key(t, "--scopes", "read")
	scenario.Settled(t, g, reader)
	trace := filepath.Join(t.TempDir(), "trace")
	end := attachStrace(t, g, "-ff", "-ttt", "-T", "-y", "-xx", "-s", "16777216", "-o", trace,
		"-e", "trace=openat,write,writev,pwrite64,pwritev,fsync,fdatasync,ftruncate,unlink,unlinkat,rename,renameat,renameat2")
	base := filepath.Join(t.TempDir(), "base")
	if err := os.CopyFS(base, os.DirFS(g.DataDir)); err != nil {
		t.Fatal(err)
	}

	began := time.Now()
	l := &scenario.Load{Gateway: g, Client: scenario.Client(t), Key: k.Text}
	ctx, stop := context.WithCancel(t.Context())
	l.Start(ctx, size.Of(20, 40), size.Of(2, 10))
	time.Sleep(time.Duration(size.Of(2, 20)) * time.Second) // power cuts are simulated at random points of this time
	backup := liveBackup(t, g)
	stop()
	l.Running.Wait()
	finished := time.Now()
	end()
	g.Kill(t)

	checkSums(t, "a live backup", backup)
	rec := readRecording(t, trace, g.DataDir)
	points, oldest := size.Of(2, 100), time.Duration(0)
	for range points {
		at := began.Add(time.Duration(draw.Int64N(int64(finished.Sub(began)))))
		oldest = max(oldest, checkCut(t, rec, base, at, l.Seen, strict, draw))
	}
	mode := "default"
	if strict {
		mode = "strict"
	}
	return fmt.Sprintf("%s: %d writes and %d syncs cut at %d moments, oldest loss %s", mode, rec.writes, rec.syncs, points, oldest.Round(time.Millisecond))
}

// liveBackup copies the database of a running gateway, like a backup of an operator.
func liveBackup(t *testing.T, g *harness.Gateway) string {
	t.Helper()
	db := openSQLite(t, filepath.Join(g.DataDir, "fairlead.db"))
	path := filepath.Join(t.TempDir(), "backup.db")
	if _, err := db.ExecContext(t.Context(), `vacuum into '`+path+`'`); err != nil {
		t.Fatalf("back up: %v", err)
	}
	return path
}

func openSQLite(t *testing.T, path string) *sql.DB {
	t.Helper()
	db, err := sql.Open("sqlite", "file:"+path+"?_pragma=busy_timeout(30000)")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	return db
}

// checkSums checks the integrity of a database, and that its entries add up to its ledger.
func checkSums(t *testing.T, what, path string) {
	t.Helper()
	db := openSQLite(t, path)
	defer func() { _ = db.Close() }()
	var integrity string
	if err := db.QueryRowContext(t.Context(), `pragma integrity_check`).Scan(&integrity); err != nil || integrity != "ok" {
		t.Errorf("%s: integrity_check returned %q (%v), want ok", what, integrity, err)
	}
	var entries, ledger int64
	if err := db.QueryRowContext(t.Context(), `select (select coalesce(sum(cost), 0) from requests), (select coalesce(sum(amount), 0) from ledger)`).Scan(&entries, &ledger); err != nil || entries != ledger {
		t.Errorf("%s: entries sum to %d and the ledger to %d (%v), want the same", what, entries, ledger, err)
	}
}

// checkCut opens the state after a power cut at a point in time, delivers the spool, and compares the result with the
// responses that clients had received by then. It returns the age of the oldest response whose entry is lost.
func checkCut(t *testing.T, rec *recording, base string, at time.Time, seen []scenario.Transcript, strict bool, draw *rand.Rand) time.Duration {
	t.Helper()
	dir, err := os.MkdirTemp("", "cut")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = os.RemoveAll(dir) }()
	rec.cut(t, base, dir, at, draw)
	path := filepath.Join(dir, "fairlead.db")
	checkSums(t, "after a power cut", path)
	deliver(t, dir)
	checkSums(t, "after a power cut and delivery", path)

	logged := map[string]int{}
	db := openSQLite(t, path)
	defer func() { _ = db.Close() }()
	rows, err := db.QueryContext(t.Context(), `select id from requests`)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		var id string
		if err := rows.Scan(&id); err != nil {
			t.Fatal(err)
		}
		logged[id]++
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	allowed, oldest := time.Second, time.Duration(0)
	if strict {
		allowed = 0
	}
	for _, s := range seen {
		if age := at.Sub(s.Ended); s.Complete && age >= 0 && logged[s.ID] == 0 {
			if oldest = max(oldest, age); age > allowed {
				t.Errorf("the entry of %s is lost, although its response was sent %s before the power cut (strict %t)", s.ID, age, strict)
			}
		}
	}
	return oldest
}

// deliver processes a data directory like a starting gateway.
func deliver(t *testing.T, dir string) {
	t.Helper()
	db, err := store.Open(t.Context(), "sqlite", dir, store.Options{})
	if err != nil {
		t.Fatalf("open the database after a power cut: %v", err)
	}
	defer func() { _ = db.Close() }()
	queue, err := spool.Open(filepath.Join(dir, "spool"), spool.Options{})
	if err != nil {
		t.Fatalf("open the spool after a power cut: %v", err)
	}
	ctx, stop := context.WithTimeout(t.Context(), time.Minute)
	defer stop()
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = queue.Run(ctx, db.Log, spool.RunOptions{}) // Run returns when ctx is done
	}()
	if err := queue.Flush(ctx); err != nil {
		t.Errorf("deliver after a power cut: %v", err)
	}
	if n := queue.Stats().Rejected; n > 0 {
		t.Errorf("the database rejected %d entries, want 0", n)
	}
	stop()
	<-ended
	if err := queue.Close(); err != nil {
		t.Error(err)
	}
}
