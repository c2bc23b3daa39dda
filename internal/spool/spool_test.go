package spool

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/money"
	"fairlead.dev/internal/requestlog"
	"fairlead.dev/internal/route"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// database is a writer that stores entries by id and, like the real writers, ignores an entry that it already has.
type database struct {
	mu      sync.Mutex
	entries map[string]requestlog.Entry
	order   []string
	writes  int
	fail    func(batch []requestlog.Entry) error
}

func newDatabase() *database { return &database{entries: map[string]requestlog.Entry{}} }

func (d *database) WriteEntries(_ context.Context, batch []requestlog.Entry) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.writes++
	if d.fail != nil {
		if err := d.fail(batch); err != nil {
			return err
		}
	}
	for _, e := range batch {
		if _, known := d.entries[e.ID]; known {
			continue
		}
		d.entries[e.ID] = e
		d.order = append(d.order, e.ID)
	}
	return nil
}

func (d *database) set(fail func(batch []requestlog.Entry) error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.fail = fail
}

func (d *database) ids() []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Clone(d.order)
}

func entry(id string) *requestlog.Entry {
	cost := money.Amount(1234)
	return &requestlog.Entry{
		ID: id, Owner: requestlog.Owner{WorkspaceID: "ws_1", KeyID: "key_1", KeyName: "ci"},
		Timing:    requestlog.Timing{Time: time.Date(2026, 11, 3, 10, 0, 0, 0, time.UTC), Latency: 120 * time.Millisecond},
		Call:      requestlog.Call{Endpoint: "chat/completions", Format: "chat", Requested: "auto"},
		Routing:   requestlog.Routing{Model: "m", Provider: "p", Attempts: []requestlog.Attempt{{Target: requestlog.Target{Provider: "p", Model: "m"}}}},
		Result:    requestlog.Result{Outcome: requestlog.OK, Status: 200},
		Charge:    requestlog.Charge{Cost: &cost, Usage: llm.Usage{Input: 10, Output: 5}},
		BodyState: requestlog.BodyStored,
		Body:      requestlog.Body{Request: []byte(`{"model":"auto"}`), Response: []byte("data: \xff\x00\n" + id), Streamed: true, Folded: true},
	}
}

func open(t *testing.T, fs FS, o Options) *Spool {
	t.Helper()
	o.FS = fs
	s, err := Open("", o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func mustRecord(t *testing.T, s *Spool, id string) {
	t.Helper()
	must(t, s.Begin(entry(id)))
	must(t, s.End(entry(id)))
}

// drain delivers everything and stops.
func drain(t *testing.T, s *Spool, db *database) {
	t.Helper()
	stop := running(t, s, db, RunOptions{})
	defer stop()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	must(t, s.Flush(ctx))
}

// running runs delivery until the returned function is called.
func running(t *testing.T, s *Spool, w requestlog.Writer, o RunOptions) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	done := make(chan error, 1)
	go func() { done <- s.Run(ctx, w, o) }()
	return func() {
		cancel()
		if err := <-done; !errors.Is(err, context.Canceled) {
			t.Errorf("Run: %v, want context.Canceled", err)
		}
	}
}

func wantUnavailable(t *testing.T, err error) {
	t.Helper()
	e, ok := errors.AsType[*llm.Error](err)
	if !ok || e.Kind != llm.LedgerUnavailable || e.RetryAfter <= 0 {
		t.Fatalf("error %v, want LedgerUnavailable with RetryAfter", err)
	}
}

func TestEntriesArriveWholeAndInOrder(t *testing.T) {
	t.Parallel()
	s, err := Open(t.TempDir(), Options{SegmentSize: 4 << 10})
	must(t, err)
	db := newDatabase()
	var want []string
	for i := range 100 {
		id := fmt.Sprintf("req_%03d", i)
		mustRecord(t, s, id)
		want = append(want, id)
	}
	if st := s.Stats(); st.Entries != 100 || st.Bytes == 0 || st.Oldest < 0 || st.Open != 0 {
		t.Errorf("stats before delivery: %+v", st)
	}
	drain(t, s, db)
	if diff := cmp.Diff(want, db.ids()); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(*entry("req_042"), db.entries["req_042"]); diff != "" {
		t.Error(diff)
	}
	if st := s.Stats(); st.Entries != 0 || st.Bytes != 0 || st.Oldest != 0 {
		t.Errorf("stats after delivery: %+v", st)
	}
	must(t, s.Close())
	wantUnavailable(t, s.Begin(entry("req_x")))
	wantUnavailable(t, s.End(entry("req_x")))
}

func TestManyCallersShareWrites(t *testing.T) {
	t.Parallel()
	s := open(t, newMemFS(), Options{SegmentSize: 16 << 10})
	db := newDatabase()
	stop := running(t, s, db, RunOptions{Batch: 7, Linger: time.Millisecond})
	var wg sync.WaitGroup
	for g := range 16 {
		wg.Go(func() {
			for i := range 50 {
				id := fmt.Sprintf("req_%d_%d", g, i)
				if err := errors.Join(s.Begin(entry(id)), s.End(entry(id))); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	must(t, s.Flush(t.Context()))
	stop()
	if n := len(db.ids()); n != 800 {
		t.Errorf("%d entries delivered, want 800", n)
	}
}

// TestSteadyStreamIsWrittenInLargeBatches writes entries one after the other. Each batch waits for its full time, even if entries
// arrived while the previous batch was written.
func TestSteadyStreamIsWrittenInLargeBatches(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, db := open(t, newMemFS(), Options{}), newDatabase()
		db.fail = func([]requestlog.Entry) error {
			time.Sleep(20 * time.Millisecond)
			return nil
		}
		stop := running(t, s, db, RunOptions{Linger: 200 * time.Millisecond})
		for i := range 1000 { // the loop takes ten seconds
			mustRecord(t, s, fmt.Sprintf("req_%d", i))
			time.Sleep(10 * time.Millisecond)
		}
		time.Sleep(time.Second)
		if n := len(db.ids()); n != 1000 || db.writes > 60 {
			t.Errorf("%d entries in %d writes, want 1000 in at most 60", n, db.writes)
		}
		stop()
		must(t, s.Close())
	})
}

// TestFullBatchIsWrittenImmediately queues more bytes than fit in one batch.
func TestFullBatchIsWrittenImmediately(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, db := open(t, newMemFS(), Options{}), newDatabase()
		for i := range 20 {
			e := entry(fmt.Sprintf("req_%d", i))
			e.Body.Request = bytes.Repeat([]byte("x"), 1<<20)
			must(t, errors.Join(s.Begin(e), s.End(e)))
		}
		stop := running(t, s, db, RunOptions{Linger: time.Minute})
		time.Sleep(time.Second)
		if n := len(db.ids()); n != 20 || db.writes < 3 {
			t.Errorf("%d of 20 entries in %d writes within a second, want 20 in at least 3", n, db.writes)
		}
		stop()
		must(t, s.Close())
	})
}

func TestUnfinishedRequestsAreDeliveredOnceAsInterrupted(t *testing.T) {
	t.Parallel()
	fs, db := newMemFS(), newDatabase()
	s := open(t, fs, Options{})
	mustRecord(t, s, "req_done")
	must(t, s.Begin(entry("req_cut")))

	open(t, fs.kill(), Options{}) // the next process dies before it delivers anything
	second := fs.kill()
	repeated := second.kill()
	drain(t, open(t, second, Options{}), db)
	drain(t, open(t, repeated, Options{}), db) // a process without the saved position delivers them again
	if st := open(t, second.kill(), Options{}).Stats(); st.Entries != 0 {
		t.Errorf("%d entries remain after delivery, want 0", st.Entries)
	}

	if diff := cmp.Diff([]string{"req_cut", "req_done"}, db.ids()); diff != "" {
		t.Error(diff)
	}
	got := db.entries["req_cut"]
	if got.Outcome != requestlog.Interrupted || got.KeyID != "key_1" || got.Requested != "auto" || got.Cost != nil || got.Error == nil {
		t.Errorf("interrupted entry: %+v", got)
	}
}

func TestLimitRejectsBeginsAndReservesSpaceForEnds(t *testing.T) {
	t.Parallel()
	s := open(t, newMemFS(), Options{Limit: 64 << 10})
	db := newDatabase()
	var begun []string
	for i := range 1000 {
		id := fmt.Sprintf("req_%03d", i)
		if err := s.Begin(entry(id)); err != nil {
			wantUnavailable(t, err)
			wantUnavailable(t, s.Ready())
			break
		}
		begun = append(begun, id)
	}
	if len(begun) < 10 || len(begun) == 1000 {
		t.Fatalf("%d requests begun, want 10 to 999", len(begun))
	}
	for _, id := range begun {
		e := entry(id)
		e.Body.Response = bytes.Repeat([]byte("x"), 20<<10)
		must(t, s.End(e)) // End succeeds regardless of the size of the bodies
	}
	if st := s.Stats(); st.Disk > 64<<10 {
		t.Errorf("%d bytes on disk, want at most the limit", st.Disk)
	}
	drain(t, s, db)
	if len(db.ids()) != len(begun) {
		t.Errorf("%d of %d admitted requests delivered", len(db.ids()), len(begun))
	}
	if got := db.entries[begun[len(begun)-1]]; got.BodyState != requestlog.BodyTooLarge || got.Body.Response != nil {
		t.Errorf("body state %s with %d bytes, want too_large without a body", got.BodyState, len(got.Body.Response))
	}
	must(t, s.Ready())
	must(t, s.Begin(entry("req_after")))
}

// Workspaces that have used their whole share of the queue leave space for a workspace that has nothing queued.
func TestWorkspaceCannotFillTheQueue(t *testing.T) {
	t.Parallel()
	for _, heavy := range []int{1, 3} {
		s, db := open(t, newMemFS(), Options{Limit: 4 << 20}), newDatabase()
		record := func(workspace string, i int) error {
			e := entry(fmt.Sprintf("req_%s_%d", workspace, i))
			e.WorkspaceID, e.Body.Request = workspace, bytes.Repeat([]byte("x"), 8<<10)
			if err := s.Begin(e); err != nil {
				return err
			}
			return s.End(e)
		}
		for h := range heavy {
			var err error
			for i := 0; err == nil; i++ {
				err = record(fmt.Sprintf("ws_heavy_%d", h), i)
			}
			wantUnavailable(t, err)
		}
		wantUnavailable(t, s.Ready()) // all workspaces with queued entries have used their share
		must(t, record("ws_other", 1))
		must(t, s.Ready())
		if s.Stats().Bytes < 2<<20 {
			t.Errorf("%d workspaces: rejected with %d bytes queued, want at least 2 MiB", heavy, s.Stats().Bytes)
		}

		drain(t, s, db)
		must(t, record("ws_heavy_0", -1))
		drain(t, s, db)
		if len(s.space.queued) != 0 {
			t.Errorf("bytes queued by workspace after delivery: %v, want none", s.space.queued)
		}
	}
}

func TestSettleWaitsForRecordedEntries(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, db := open(t, newMemFS(), Options{}), newDatabase()
		defer running(t, s, db, RunOptions{})()
		const limit = 300 * time.Millisecond
		settle := func() time.Duration {
			began := time.Now()
			s.Settle(t.Context(), limit)
			return time.Since(began)
		}
		synctest.Wait()
		if took := settle(); took != 0 {
			t.Errorf("Settle took %s with an empty queue, want 0", took)
		}
		for i := range 3 { // queued before delivery begins, and while it waits for a larger batch
			mustRecord(t, s, fmt.Sprintf("req_%d", i))
			if took := settle(); took != 0 || len(db.ids()) != i+1 {
				t.Errorf("Settle took %s, %d of %d entries delivered; want 0 and all", took, len(db.ids()), i+1)
			}
		}

		hang := make(chan struct{})
		db.set(func([]requestlog.Entry) error {
			<-hang
			return errors.New("database is unavailable")
		})
		mustRecord(t, s, "req_late")
		if took := settle(); took != limit {
			t.Errorf("Settle took %s while the database hangs, want %s", took, limit)
		}
		close(hang)
		synctest.Wait()
		if took := settle(); took != 0 {
			t.Errorf("Settle took %s while the database fails, want 0", took)
		}
		db.set(nil)
		time.Sleep(time.Minute) // wait for delivery to be retried
		if len(db.ids()) != 4 {
			t.Errorf("delivered %v, want 4 entries", db.ids())
		}
	})
}

func TestAnotherProcessCountsUndeliveredEntries(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s, err := Open(filepath.Join(dir, "spool"), Options{})
	must(t, err)
	t.Cleanup(func() { _ = s.Close() })
	waiting := func(dir string) int64 {
		n, err := CountUndelivered(filepath.Join(dir, "spool"))
		must(t, err)
		return n
	}
	got := []int64{waiting(t.TempDir()), waiting(dir)}
	mustRecord(t, s, "req_1")
	mustRecord(t, s, "req_2")
	must(t, s.Begin(entry("req_running"))) // a running request is not counted
	got = append(got, waiting(dir))
	drain(t, s, newDatabase())
	must(t, s.Begin(entry("req_running_2")))
	got = append(got, waiting(dir))
	if diff := cmp.Diff([]int64{0, 0, 2, 0}, got); diff != "" {
		t.Error(diff)
	}
}

func TestLongStreamDoesNotKeepDeliveredSegments(t *testing.T) {
	t.Parallel()
	fs, db := newMemFS(), newDatabase()
	s := open(t, fs, Options{SegmentSize: 4 << 10})
	must(t, s.Begin(entry("req_long")))
	for i := range 200 {
		mustRecord(t, s, fmt.Sprintf("req_%03d", i))
		if i%20 == 0 {
			drain(t, s, db)
		}
	}
	drain(t, s, db)
	if n := fs.segments(); n > 2 {
		t.Errorf("%d segments kept for one open request, want at most 2", n)
	}
	killed := fs.kill()
	must(t, s.End(entry("req_long")))
	drain(t, s, db)
	if db.entries["req_long"].Outcome != requestlog.OK {
		t.Errorf("entry of the long stream: %+v, want outcome ok", db.entries["req_long"])
	}

	other := newDatabase()
	drain(t, open(t, killed, Options{}), other)
	if other.entries["req_long"].Outcome != requestlog.Interrupted {
		t.Errorf("entry of a long stream in a killed process: %+v, want outcome interrupted", other.entries["req_long"])
	}
}

func TestDeliveredTextIsRemovedFromDisk(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		fs, db := newMemFS(), newDatabase()
		s := open(t, fs, Options{})
		stop := running(t, s, db, RunOptions{})
		mustRecord(t, s, "req_1")
		must(t, s.Begin(entry("req_open")))
		time.Sleep(30 * time.Second)
		if fs.segments() != 1 || len(db.ids()) != 1 {
			t.Errorf("%d segments, %d delivered after 30 s; want 1 and 1", fs.segments(), len(db.ids()))
		}
		time.Sleep(2 * time.Minute)
		_, data := fs.segment()
		if bytes.Contains(data, []byte("data: ")) {
			t.Error("a delivered response is still on disk")
		}
		must(t, s.End(entry("req_open")))
		stop()
		must(t, s.Close())
	})
}

func TestPendingReturnsUndeliveredEntries(t *testing.T) {
	t.Parallel()
	fs, db := newMemFS(), newDatabase()
	s := open(t, fs, Options{SegmentSize: 4 << 10})
	mustRecord(t, s, "req_1")
	drain(t, s, db)
	var want []string
	for i := 2; i < 40; i++ {
		id := fmt.Sprintf("req_%d", i)
		mustRecord(t, s, id)
		want = append(want, id)
	}
	must(t, s.Begin(entry("req_open")))
	next := open(t, fs.kill(), Options{})
	var got []string
	must(t, next.Pending(func(e *requestlog.Entry) {
		if *e.Cost != 1234 {
			t.Errorf("cost %s, want 1234", e.Cost)
		}
		got = append(got, e.ID)
	}))
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if st := next.Stats(); st.Entries != int64(len(want))+1 {
		t.Errorf("%d entries in the backlog, want %d and the interrupted one", st.Entries, len(want))
	}
}

func TestDecisionThatCannotBeEncodedDoesNotLoseTheEntry(t *testing.T) {
	t.Parallel()
	s, db := open(t, newMemFS(), Options{}), newDatabase()
	e := entry("req_1")
	e.Decision = &route.Decision{Candidates: []route.Candidate{{Quality: math.NaN()}}}
	must(t, s.End(e))
	drain(t, s, db)
	if got := db.entries["req_1"]; got.Decision != nil || len(got.Warnings) != 1 || got.Status != 200 {
		t.Errorf("entry %+v, want it without a decision and with one warning", got)
	}
}
