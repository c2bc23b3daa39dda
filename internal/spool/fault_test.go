package spool

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"fairlead.dev/internal/requestlog"
)

// small returns a short entry, so that the tests have few offsets to try.
func small(id string) *requestlog.Entry {
	return &requestlog.Entry{ID: id, Body: requestlog.Body{Request: []byte("?"), Response: []byte("!")}}
}

// Every truncated segment opens without an error and loses no record before the end. The same holds for a truncated segment
// followed by zeros, which a power cut can leave in a file that had grown.
func TestSegmentTruncatedAtEveryByteIsReadable(t *testing.T) {
	t.Parallel()
	fs := newMemFS()
	s := open(t, fs, Options{})
	type mark struct {
		size int
		ids  []string // requests that must be found, interrupted or whole, once the segment has this size
	}
	var marks []mark
	var ids []string
	for i := range 3 {
		id := fmt.Sprintf("req_%d", i)
		must(t, s.Begin(small(id)))
		_, data := fs.segment()
		ids = append(ids, id)
		marks = append(marks, mark{len(data), append([]string{}, ids...)})
		if i == 1 {
			continue
		}
		must(t, s.End(small(id)))
	}
	name, data := fs.segment()
	for cut := range len(data) + 1 {
		var want []string
		for _, m := range marks {
			if m.size <= cut {
				want = m.ids
			}
		}
		tails := [][]byte{nil, make([]byte, 50), bytes.Repeat([]byte{0xff}, 9)}
		for _, tail := range tails[:1+2*(cut%8/7)] { // append zeros or 0xff bytes only at every eighth offset
			torn := fs.only(name, append(bytes.Clone(data[:cut]), tail...))
			next, err := Open("", Options{FS: torn})
			must(t, err)
			var got []string
			for _, e := range next.backlog.orphans {
				got = append(got, e.ID)
			}
			must(t, next.Pending(func(e *requestlog.Entry) { got = append(got, e.ID) }))
			slices.Sort(got)
			if diff := cmp.Diff(want, got); diff != "" {
				t.Fatalf("cut at %d: recovered requests differ (-want +got):\n%s", cut, diff)
			}
			if next.Stats().Corrupt != 0 {
				t.Fatalf("cut at %d: %d corrupt bytes reported for a truncated end, want 0", cut, next.Stats().Corrupt)
			}
			must(t, next.Close())
		}
	}
}

// A flipped byte damages at most the record that contains it.
func TestCorruptByteLosesOneRecord(t *testing.T) {
	t.Parallel()
	fs := newMemFS()
	s := open(t, fs, Options{})
	for i := range 3 {
		must(t, s.End(small(fmt.Sprintf("req_%d", i))))
	}
	name, data := fs.segment()
	for at := range data {
		damaged := bytes.Clone(data)
		damaged[at] ^= 0x41
		next, err := Open("", Options{FS: fs.only(name, damaged)})
		must(t, err)
		n := 0
		must(t, next.Pending(func(*requestlog.Entry) { n++ }))
		last := at >= len(data)*2/3
		if n != 2 || (next.Stats().Corrupt == 0 && !last) {
			t.Fatalf("byte %d flipped: %d entries, %d corrupt bytes reported; want 2 entries and a report", at, n, next.Stats().Corrupt)
		}
		must(t, next.Close())
	}
}

// A body that contains the bytes of a record is never read as a record.
func TestBodyIsNeverReadAsARecord(t *testing.T) {
	t.Parallel()
	var forged bytes.Buffer
	rec, _, err := encodeEnd(&forged, entry("req_forged"), 0)
	must(t, err)
	fs := newMemFS()
	s := open(t, fs, Options{})
	e := entry("req_1")
	e.Body.Request = rec
	must(t, s.End(e))
	name, data := fs.segment()
	data[headerSize+3] ^= 1 // damage the record that contains the body
	next := open(t, fs.only(name, data), Options{})
	must(t, next.Pending(func(e *requestlog.Entry) { t.Errorf("entry %s was read from a body", e.ID) }))
}

func TestRequestsAreRejectedDuringDiskFailures(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		strict       bool
		fail, repair func(fs *memFS)
	}{
		"EIO on write":        {false, func(fs *memFS) { fs.failWrite = syscall.EIO }, func(fs *memFS) { fs.failWrite = nil }},
		"half a write":        {false, func(fs *memFS) { fs.failWrite, fs.tearWrites = syscall.EIO, true }, func(fs *memFS) { fs.failWrite = nil }},
		"ENOSPC":              {false, func(fs *memFS) { fs.room = 100 }, func(fs *memFS) { fs.room = -1 }},
		"no space for a file": {false, func(fs *memFS) { fs.room, fs.failOpen = 0, syscall.ENOSPC }, func(fs *memFS) { fs.room, fs.failOpen = -1, nil }},
		"EIO on strict fsync": {true, func(fs *memFS) { fs.failSync = syscall.EIO }, func(fs *memFS) { fs.failSync = nil }},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				fs, db := newMemFS(), newDatabase()
				s := open(t, fs, Options{Strict: tt.strict})
				stop := running(t, s, db, RunOptions{})
				mustRecord(t, s, "req_before")
				must(t, s.Begin(entry("req_open")))
				time.Sleep(time.Second)

				fs.set(func() { tt.fail(fs) })
				wantUnavailable(t, s.Begin(entry("req_refused")))
				wantUnavailable(t, s.End(entry("req_open")))
				wantUnavailable(t, s.Ready())
				time.Sleep(5 * time.Second)
				wantUnavailable(t, s.Begin(entry("req_refused")))

				fs.set(func() { tt.repair(fs) })
				time.Sleep(2 * time.Second)
				must(t, s.Ready())
				mustRecord(t, s, "req_after")
				must(t, s.Flush(t.Context()))
				stop()
				must(t, s.Close())
				// The end record that could not be written was kept, and written when the disk recovered.
				if diff := cmp.Diff([]string{"req_before", "req_open", "req_after"}, db.ids()); diff != "" {
					t.Error(diff)
				}
				rest := newDatabase()
				next := open(t, fs.kill(), Options{})
				drain(t, next, rest)
				must(t, next.Close())
				for _, id := range rest.ids() {
					if _, known := db.entries[id]; !known {
						t.Errorf("%s was delivered only after a restart", id)
					}
				}
			})
		})
	}
}

func TestRequestsAreRejectedUntilSyncSucceeds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		fs, db := newMemFS(), newDatabase()
		s := open(t, fs, Options{})
		fs.set(func() { fs.failSync = syscall.EIO })
		mustRecord(t, s, "req_1") // within the second before the disk is tried again
		time.Sleep(1500 * time.Millisecond)
		wantUnavailable(t, s.Begin(entry("req_2")))
		time.Sleep(3 * time.Second)
		wantUnavailable(t, s.Ready())
		fs.set(func() { fs.failSync = nil })
		time.Sleep(time.Second)
		mustRecord(t, s, "req_3")
		drain(t, s, db)
		must(t, s.Close())
		if diff := cmp.Diff([]string{"req_1", "req_3"}, db.ids()); diff != "" {
			t.Error(diff)
		}
	})
}

func TestOpenWorksOnAFullDisk(t *testing.T) {
	t.Parallel()
	fs := newMemFS()
	fs.room, fs.failOpen = 0, syscall.ENOSPC
	s := open(t, fs, Options{})
	wantUnavailable(t, s.Begin(entry("req_1")))
}

func TestWriterOutageKeepsOrderAndCatchesUp(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, db := open(t, newMemFS(), Options{SegmentSize: 8 << 10}), newDatabase()
		db.set(func([]requestlog.Entry) error { return errors.New("connection refused") })
		stop := running(t, s, db, RunOptions{Batch: 10, Away: func(error) bool { return true }})
		var want []string
		for i := range 60 {
			e := entry(fmt.Sprintf("req_%02d", i))
			e.Time, e.Latency = time.Now(), 0
			must(t, s.End(e))
			want = append(want, e.ID)
			time.Sleep(time.Second)
		}
		if st := s.Stats(); st.Entries != 60 || st.Oldest < 59*time.Second {
			t.Errorf("stats during the outage: %+v, want 60 entries, the oldest 59 s old", st)
		}
		db.set(nil)
		time.Sleep(3 * time.Second)
		if diff := cmp.Diff(want, db.ids()); diff != "" {
			t.Error(diff)
		}
		if s.Stats().Rejected != 0 {
			t.Error("entries were rejected because of an outage")
		}
		stop()
		must(t, s.Close())
	})
}

func TestDeliveryPausesWhileRequestsNeedTheCPU(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, db := open(t, newMemFS(), Options{Limit: 64 << 10}), newDatabase()
		var busy atomic.Bool
		busy.Store(true)
		stop := running(t, s, db, RunOptions{Busy: busy.Load})
		mustRecord(t, s, "req_1")
		time.Sleep(time.Minute)
		if got := db.ids(); len(got) > 0 {
			t.Errorf("delivered while the gateway is busy: %v", got)
		}
		must(t, s.Flush(t.Context())) // delivery is not delayed while Flush waits for it
		mustRecord(t, s, "req_2")
		busy.Store(false)
		time.Sleep(time.Second)
		if diff := cmp.Diff([]string{"req_1", "req_2"}, db.ids()); diff != "" {
			t.Error(diff)
		}
		busy.Store(true)
		time.Sleep(time.Second)
		for i := 3; s.fullness() < 0.5; i++ {
			mustRecord(t, s, fmt.Sprintf("req_%d", i))
		}
		time.Sleep(time.Second)
		if st := s.Stats(); st.Bytes >= 64<<10/2 {
			t.Errorf("%d of 64 KiB are queued, want delivery above half", st.Bytes)
		}
		stop()
		must(t, s.Close())
	})
}

func TestInvalidEntryIsRejected(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		fs, db := newMemFS(), newDatabase()
		s := open(t, fs, Options{})
		db.set(func(batch []requestlog.Entry) error {
			for _, e := range batch {
				if strings.HasPrefix(e.ID, "req_bad") {
					return errors.New("invalid byte sequence")
				}
			}
			return nil
		})
		for _, id := range []string{"req_bad1", "req_bad2", "req_bad3", "req_bad4", "req_1", "req_2"} {
			e := entry(id)
			e.Decision = manyConsidered()
			must(t, s.End(e))
		}
		stop := running(t, s, db, RunOptions{})
		time.Sleep(30 * time.Second)
		mustRecord(t, s, "req_3")
		must(t, s.Flush(t.Context()))
		stop()
		must(t, s.Close())
		got := map[string]bool{}
		for _, id := range db.ids() {
			got[id] = true
		}
		if diff := cmp.Diff(map[string]bool{"req_1": true, "req_2": true, "req_3": true}, got); diff != "" {
			t.Error(diff)
		}
		list, err := readRejected(fs)
		if err != nil || len(list) != 4 || s.Stats().Rejected != 4 || list[0].Reason != "invalid byte sequence" || !bytes.Contains(list[0].Record, fmt.Appendf(nil, "p/m-%d", manyCandidates)) {
			t.Errorf("rejected entries: %v, %v, want 4 with the error and the whole decision", list, err)
		}
		db.set(nil)
		s = open(t, fs, Options{}) // the next process delivers them again
		pending := 0
		must(t, s.Pending(func(*requestlog.Entry) { pending++ }))
		if n := s.Stats().Rejected; n != 4 || pending != 4 {
			t.Errorf("after a restart: %d rejected entries, %d pending, want 4", n, pending)
		}
		drain(t, s, db)
		list, err = readRejected(fs)
		if n := len(db.ids()); n != 7 || s.Stats().Rejected != 0 || err != nil || len(list) > 0 {
			t.Errorf("after a restart: %d entries delivered, %d still rejected, want 7 and 0", n, len(list))
		}
	})
}

func TestEntryThatCannotBeDeliveredStopsNoOther(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		first string // entry that the database has accepted before; empty for none
		fail  func() error
		o     RunOptions
	}{
		"refused by a database without entries": {"", func() error { return errors.New("invalid byte sequence") }, RunOptions{}},
		"takes too long":                        {"req_0", func() error { time.Sleep(time.Minute); return context.DeadlineExceeded }, RunOptions{}},
		"panic of the database":                 {"req_0", func() error { panic("index out of range") }, RunOptions{}},
		"panic before the database": {"", func() error { return nil }, RunOptions{Prepare: func(entries []requestlog.Entry) {
			if slices.ContainsFunc(entries, func(e requestlog.Entry) bool { return e.ID == "req_bad" }) {
				panic("index out of range")
			}
		}}},
	} {
		synctest.Test(t, func(t *testing.T) {
			fs, db := newMemFS(), newDatabase()
			s := open(t, fs, Options{})
			tc.o.Away = func(err error) bool { return errors.Is(err, context.DeadlineExceeded) }
			stop := running(t, s, db, tc.o)
			if tc.first != "" {
				mustRecord(t, s, tc.first)
				must(t, s.Flush(t.Context()))
			}
			db.set(func(batch []requestlog.Entry) error {
				if slices.ContainsFunc(batch, func(e requestlog.Entry) bool { return e.ID == "req_bad" }) {
					return tc.fail()
				}
				return nil
			})
			mustRecord(t, s, "req_bad")
			time.Sleep(time.Second)
			mustRecord(t, s, "req_1")
			time.Sleep(10 * time.Minute)
			if !slices.Contains(db.ids(), "req_1") || s.Stats().Rejected != 1 {
				t.Errorf("%s: %d rejected, delivered %v; want req_1 delivered and one rejected", name, s.Stats().Rejected, db.ids())
			}
			stop()
			must(t, s.Close())
		})
	}
}

func TestOutageDuringIsolationRejectsNothing(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, db := open(t, newMemFS(), Options{}), newDatabase()
		stop := running(t, s, db, RunOptions{})
		mustRecord(t, s, "req_0")
		must(t, s.Flush(t.Context()))
		began := time.Now()
		db.set(func(batch []requestlog.Entry) error {
			// Batches fail, single entries are accepted for a while, then every write fails for a minute.
			if since := time.Since(began); (since < 10*time.Second && len(batch) > 1) || (since > time.Second && since < time.Minute) {
				return errors.New("database is shutting down")
			}
			return nil
		})
		for i := range 20 {
			mustRecord(t, s, fmt.Sprintf("req_%d", i+1))
		}
		time.Sleep(2 * time.Minute)
		stop()
		must(t, s.Close())
		if n := len(db.ids()); n != 21 || s.Stats().Rejected != 0 {
			t.Errorf("%d delivered, %d rejected; want 21 and 0", n, s.Stats().Rejected)
		}
	})
}

func TestUndecodableRecordIsRejected(t *testing.T) {
	t.Parallel()
	fs, db := newMemFS(), newDatabase()
	s := open(t, fs, Options{})
	var b bytes.Buffer
	must(t, begin(&b, "req_odd"))
	b.WriteString("\x02\x00\x00\x00{]\x00\x00\x00\x00\x00")
	s.mu.Lock()
	batch := s.put(seal(b.Bytes(), endKind, s.salt), op{kind: endKind, id: "req_odd"})
	s.mu.Unlock()
	must(t, s.wait(batch))
	mustRecord(t, s, "req_1")
	drain(t, s, db)
	if diff := cmp.Diff([]string{"req_1"}, db.ids()); diff != "" {
		t.Error(diff)
	}
	if list, err := readRejected(fs); err != nil || len(list) != 1 || list[0].ID != "req_odd" {
		t.Errorf("rejected records: %v, %v, want req_odd", list, err)
	}
}

func FuzzParse(f *testing.F) {
	var b bytes.Buffer
	rec, _, err := encodeEnd(&b, entry("req_1"), 7)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(rec)
	f.Add(append(append([]byte("torn"), rec...), rec[:20]...))
	f.Fuzz(func(t *testing.T, data []byte) {
		s := &Spool{o: Options{}.withDefaults("")}
		seg := &segment{salt: 7}
		last := int64(0)
		end := s.walk(seg, data, 0, true, func(r record, end int64) bool {
			if end <= last {
				t.Fatalf("record ends at %d, want after %d", end, last)
			}
			last = end
			var e requestlog.Entry
			_ = decodeEnd(r.rest, &e)
			_, _ = interrupted(r.rest)
			return true
		})
		if end < last || end > int64(len(data)) {
			t.Fatalf("parsing ended at %d of %d bytes", end, len(data))
		}
		var e requestlog.Entry
		_ = decodeEnd(data, &e)
	})
}

// A writer that recovers while entries are written one by one would receive them out of order.
func TestOutageKeepsTheOrderWhenItEndsAtAnyWrite(t *testing.T) {
	t.Parallel()
	for back := range 12 {
		synctest.Test(t, func(t *testing.T) {
			refused := errors.New("connection refused")
			s, db := open(t, newMemFS(), Options{}), newDatabase()
			writes := 0
			db.set(func([]requestlog.Entry) error {
				if writes++; writes <= back {
					return refused
				}
				return nil
			})
			var want []string
			for i := range 8 {
				want = append(want, fmt.Sprintf("req_%d", i))
				mustRecord(t, s, want[i])
			}
			stop := running(t, s, db, RunOptions{Away: func(err error) bool { return errors.Is(err, refused) }})
			must(t, s.Flush(t.Context()))
			stop()
			must(t, s.Close())
			if diff := cmp.Diff(want, db.ids()); diff != "" {
				t.Errorf("database available after %d writes: %s", back, diff)
			}
		})
	}
}
