package spool

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"fairlead.dev/internal/requestlog"
)

// After any sequence of events, every request that began or ended is in the database exactly once: as a whole entry if its end was
// acknowledged, and as interrupted if its process died first.
func TestExactlyOnceAgainstModel(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		m := &spoolModel{fs: newMemFS(), db: newDatabase(), open: map[string]bool{}, want: map[string]requestlog.Outcome{}}
		m.start(t)
		defer func() { _ = m.spool.Close() }()
		t.Repeat(map[string]func(*rapid.T){
			"begin":         m.begin,
			"end":           m.end,
			"end only":      m.endOnly,
			"deliver":       m.deliver,
			"kill":          m.kill,
			"kill delivery": m.killDelivery,
			"disk trouble":  m.diskFailure,
		})
		m.kill(t)
		m.deliver(t)
		m.check(t)
	})
}

type spoolModel struct {
	fs    *memFS
	db    *database
	spool *Spool
	count int
	open  map[string]bool
	want  map[string]requestlog.Outcome
}

func (m *spoolModel) start(t *rapid.T) {
	s, err := Open("", Options{FS: m.fs, SegmentSize: 4 << 10, SyncEvery: time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	m.spool = s
}

func (m *spoolModel) id() string {
	m.count++
	return fmt.Sprintf("req_%04d", m.count)
}

func (m *spoolModel) begin(t *rapid.T) {
	id := m.id()
	if err := m.spool.Begin(entry(id)); err != nil {
		t.Fatal(err)
	}
	m.open[id] = true
}

func (m *spoolModel) end(t *rapid.T) {
	for id := range m.open {
		if err := m.spool.End(entry(id)); err != nil {
			t.Fatal(err)
		}
		delete(m.open, id)
		m.want[id] = requestlog.OK
		return
	}
	t.Skip("no open requests: this step does not apply")
}

func (m *spoolModel) endOnly(t *rapid.T) {
	id := m.id()
	if err := m.spool.End(entry(id)); err != nil {
		t.Fatal(err)
	}
	m.want[id] = requestlog.OK
}

func (m *spoolModel) deliver(t *rapid.T) {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- m.spool.Run(ctx, m.db, RunOptions{Batch: 3, Linger: 1}) }()
	if err := m.spool.Flush(ctx); err != nil {
		t.Fatal(err)
	}
	cancel()
	<-done
}

// killDelivery simulates a crash after the database committed a batch and before the spool recorded it.
func (m *spoolModel) killDelivery(t *rapid.T) {
	ctx, cancel := context.WithCancel(context.Background())
	after := rapid.IntRange(1, 4).Draw(t, "batches")
	var left *memFS
	m.db.set(func([]requestlog.Entry) error {
		if after--; after == 0 {
			left = m.fs.kill()
			cancel()
		}
		return nil
	})
	done := make(chan error, 1)
	go func() { done <- m.spool.Run(ctx, m.db, RunOptions{Batch: 2, Linger: 1}) }()
	flushed := m.spool.Flush(ctx)
	cancel()
	<-done
	m.db.set(nil)
	if flushed == nil && left == nil {
		left = m.fs.kill()
	}
	m.restart(t, left)
}

func (m *spoolModel) kill(t *rapid.T) { m.restart(t, m.fs.kill()) }

func (m *spoolModel) restart(t *rapid.T, left *memFS) {
	_ = m.spool.Close()
	m.fs = left
	for id := range m.open {
		m.want[id] = requestlog.Interrupted
	}
	clear(m.open)
	m.start(t)
}

// diskFailure fails a write half way. The caller gets an error and repeats the call after the disk has recovered.
func (m *spoolModel) diskFailure(t *rapid.T) {
	id := m.id()
	m.fs.set(func() { m.fs.failWrite, m.fs.tearWrites = errors.New("write failed"), rapid.Bool().Draw(t, "torn") })
	if err := m.spool.End(entry(id)); err == nil {
		t.Fatal("End returned no error although the write failed")
	}
	m.fs.set(func() { m.fs.failWrite = nil })
	m.spool.heal()
	if m.spool.Ready() != nil {
		t.Fatal("Ready returned an error after the disk recovered")
	}
	m.want[id] = requestlog.OK
}

func (m *spoolModel) check(t *rapid.T) {
	if len(m.db.order) != len(m.want) {
		t.Errorf("%d entries, want %d", len(m.db.order), len(m.want))
	}
	for id, outcome := range m.want {
		if got := m.db.entries[id].Outcome; got != outcome {
			t.Errorf("%s: outcome %q, want %q", id, got, outcome)
		}
	}
}

// TestPowerCut checks that a power cut loses only entries of the last second. In strict mode it loses no acknowledged entry.
func TestPowerCut(t *testing.T) {
	t.Parallel()
	for _, strict := range []bool{false, true} {
		t.Run(fmt.Sprintf("strict %v", strict), func(t *testing.T) {
			t.Parallel()
			for seed := range uint64(100) {
				synctest.Test(t, func(t *testing.T) { powerCut(t, strict, seed) })
			}
		})
	}
}

func powerCut(t *testing.T, strict bool, seed uint64) {
	r := rand.New(rand.NewPCG(seed, 1))
	fs, db := newMemFS(), newDatabase()
	s := open(t, fs, Options{Strict: strict, SegmentSize: 4 << 10})
	stop := running(t, s, db, RunOptions{Batch: 5})
	type ack struct {
		at    time.Time
		ended bool
	}
	acks := map[string]ack{}
	var begun []string
	for i := range 20 + r.IntN(60) {
		id := fmt.Sprintf("req_%03d", i)
		switch r.IntN(4) {
		case 0:
			must(t, s.Begin(entry(id)))
			begun = append(begun, id)
			acks[id] = ack{at: time.Now()}
		case 1:
			if len(begun) > 0 {
				id, begun = begun[0], begun[1:]
				must(t, s.End(entry(id)))
				acks[id] = ack{time.Now(), true}
			}
		default:
			mustRecord(t, s, id)
			acks[id] = ack{time.Now(), true}
		}
		time.Sleep(time.Duration(r.IntN(300)) * time.Millisecond)
		if r.IntN(20) == 0 {
			db.set(func([]requestlog.Entry) error { return errors.New("unavailable") })
		} else if r.IntN(5) == 0 {
			db.set(nil)
		}
	}
	cut, now := fs.powerCut(r), time.Now()
	stop()
	must(t, s.Close())

	db.set(nil)
	next := open(t, cut, Options{})
	drain(t, next, db)
	must(t, next.Close())
	for id, a := range acks {
		got, there := db.entries[id]
		durable := strict || now.Sub(a.at) > time.Second
		if durable && !there {
			t.Errorf("seed %d: %s, acknowledged %v before the power cut, was lost", seed, id, now.Sub(a.at))
		}
		if durable && a.ended && got.Outcome != requestlog.OK {
			t.Errorf("seed %d: %s, ended %v before the power cut, has outcome %q, want ok", seed, id, now.Sub(a.at), got.Outcome)
		}
	}
	for _, id := range db.order {
		if _, known := acks[id]; !known {
			t.Errorf("seed %d: %s was never recorded", seed, id)
		}
	}
}

// A begin record that is written again after its own end record would restore the request after a restart.
func TestBeginIsNotRewrittenAfterItsEnd(t *testing.T) {
	t.Parallel()
	s := open(t, newMemFS(), Options{})
	must(t, s.Begin(entry("req_1")))
	s.turn <- struct{}{} // block other writers
	s.mu.Lock()
	s.backlog.pos, s.disk.active = position{2, 0}, nil // all entries are delivered and the segment is sealed
	s.mu.Unlock()
	ended := make(chan error, 1)
	go func() { ended <- s.End(entry("req_1")) }()
	for len(s.ops()) == 0 {
		time.Sleep(time.Millisecond)
	}
	if _, carried, ok := s.prepareRemoval(); ok || carried != nil {
		t.Error("prepareRemoval rewrites a begin record whose end is being written")
	}
	<-s.turn
	must(t, <-ended)
	s.trim()
	if got := s.Stats().Open; got != 0 {
		t.Errorf("%d open requests, want 0", got)
	}
}

func (s *Spool) ops() []op {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.batches.open.ops
}
