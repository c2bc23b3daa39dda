package sqldb

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"fairlead.dev/internal/store/pgtest"
)

// TestOneReplicaLeadsUntilItDies ends the session of the elected replica, as a crash would, and expects another replica
// to be elected.
func TestOneReplicaLeadsUntilItDies(t *testing.T) {
	t.Parallel()
	dsn := pgtest.Start(t)
	var leading atomic.Int64
	elected := make(chan int, 16)
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan struct{})
	for i := range 3 {
		db := connectTo(t, dsn, "")
		go func() {
			db.Lead(ctx, func(ctx context.Context) {
				leading.Add(1)
				elected <- i
				<-ctx.Done()
				leading.Add(-1)
			})
			ended <- struct{}{}
		}()
	}
	await := func() int {
		t.Helper()
		select {
		case i := <-elected:
			return i
		case <-time.After(20 * time.Second):
			t.Fatal("no replica was elected within 20 s")
			return 0
		}
	}
	await()
	const kill = `select count(pg_terminate_backend(pid)) from pg_locks where locktype = 'advisory' and granted and objid = $1 and classid = 0
		and database = (select oid from pg_database where datname = current_database())`
	var killed int
	if err := connectTo(t, dsn, "").QueryRow(t.Context(), kill, leadLock).Scan(&killed); err != nil || killed != 1 {
		t.Fatalf("%d leader connections ended, %v; want 1", killed, err)
	}
	await()
	for deadline := time.Now().Add(20 * time.Second); leading.Load() != 1; { // the previous leader detects the lost connection within a second
		if time.Now().After(deadline) {
			t.Fatalf("%d replicas are leaders, want 1", leading.Load())
		}
		time.Sleep(10 * time.Millisecond) // poll, because the server is another process
	}
	stop()
	for range 3 {
		<-ended
	}
	if leading.Load() != 0 {
		t.Errorf("%d replicas are leaders after the end, want 0", leading.Load())
	}
}
