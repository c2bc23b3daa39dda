// Package spool is the durable local queue in front of the database. When Begin returns, the begin record of a request is on disk.
// When End returns, its whole entry is on disk, even if the database is unavailable. Run delivers entries later, in order. After a
// crash, Run may deliver entries again; the writer ignores entries that it already has. Requests that were running when a process
// died become entries with the outcome interrupted.
//
// The queue is a directory of segments. A segment is a file that only grows and is removed when all its entries are delivered. The
// caller must ensure that only one process uses a directory at a time.
package spool

import (
	"crypto/rand"
	"encoding/binary"
	"log/slog"
	"os"
	"sync"
	"time"

	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/requestlog"
)

// Options configures a Spool. Zero values select the defaults given below.
type Options struct {
	Limit       int64         // maximum number of bytes on disk; default 256 MiB
	Strict      bool          // whether to sync before Begin and End return, so that a power cut loses no acknowledged record
	SegmentSize int64         // minimum size at which a new segment begins; default 8 MiB, at most an eighth of Limit
	SyncEvery   time.Duration // maximum time that written data stays unsynced; default 1 s
	IdleAfter   time.Duration // minimum age at which a delivered segment is ended and removed, so that its text does not stay on disk; default 1 min
	Now         func() time.Time
	Log         *slog.Logger
	FS          FS // file system; nil for the spool directory on disk
	// Split returns the entry with a split request body, or the entry itself. It appends the parts of the body to memory, which is
	// reused after the entry has been written. If Split is nil, no body is split.
	Split func(e *requestlog.Entry, memory []byte) *requestlog.Entry
}

func (o Options) withDefaults(dir string) Options {
	if o.Limit <= 0 {
		o.Limit = 256 << 20
	}
	if o.SegmentSize <= 0 {
		o.SegmentSize = 8 << 20
	}
	o.SegmentSize = min(o.SegmentSize, max(o.Limit/8, 4<<10))
	if o.SyncEvery <= 0 {
		o.SyncEvery = time.Second
	}
	if o.IdleAfter <= 0 {
		o.IdleAfter = time.Minute
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.FS == nil {
		o.FS = directory(dir)
	}
	if o.Split == nil {
		o.Split = func(e *requestlog.Entry, _ []byte) *requestlog.Entry { return e }
	}
	return o
}

// Spool is the queue. Its methods may be called from any goroutine.
type Spool struct {
	o    Options
	salt uint32        // random start value for checksums, so that bytes in a body are not mistaken for a record after damage
	turn chan struct{} // semaphore; its holder may write the open batch and change the active segment
	disk disk

	// mu guards the fields below, and the fields of disk after its locks. One lock is used because most updates change several of these
	// fields.
	mu       sync.Mutex
	closed   bool
	space    space
	batches  batches
	inFlight inFlight
	outage   outage
	recent   recent // latest ended entries, kept in memory so that delivery does not decode them
	backlog  backlog

	stop    chan struct{}
	stopped sync.WaitGroup
	closing sync.Once
}

// Open reads the entries of an earlier process and prepares the queue. It writes nothing, so it also works on a full disk. An
// incomplete record at the end of a segment is ignored. Damage in the middle is logged and skipped.
func Open(dir string, o Options) (*Spool, error) {
	o = o.withDefaults(dir)
	if _, ok := o.FS.(directory); ok {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return nil, err
		}
	}
	var salt [4]byte
	_, _ = rand.Read(salt[:]) // never fails: crypto/rand ends the process instead
	s := &Spool{
		o:        o,
		salt:     binary.LittleEndian.Uint32(salt[:]),
		turn:     make(chan struct{}, 1),
		disk:     disk{next: 1},
		space:    space{limit: o.Limit, reserve: min(max(o.Limit/1024, 2<<10), 16<<10), queued: map[string]int64{}},
		batches:  batches{open: newBatch(nil, nil)},
		inFlight: inFlight{requests: map[string]*begun{}},
		outage:   outage{unwritten: map[string][]byte{}},
		recent:   recent{entries: map[string]*ended{}},
		backlog:  backlog{rejected: map[string]bool{}, progress: make(chan struct{}), wake: make(chan struct{}, 1)},
		stop:     make(chan struct{}),
	}
	if err := s.restore(); err != nil {
		s.closeFiles()
		return nil, err
	}
	s.stopped.Go(s.keep)
	return s, nil
}

// Close syncs and closes the files. Run must have ended.
func (s *Spool) Close() error {
	var err error
	s.closing.Do(func() {
		close(s.stop)
		s.stopped.Wait()
		s.turn <- struct{}{} // s.turn is never released, to prevent further writes
		err = s.sync()
		s.mu.Lock()
		s.closed = true
		waiting := s.batches.open
		waiting.err = errClosed
		s.batches.open = newBatch(nil, nil)
		s.mu.Unlock()
		close(waiting.done)
		s.closeFiles()
	})
	return err
}

func (s *Spool) closeFiles() {
	s.disk.files.Lock()
	defer s.disk.files.Unlock()
	for _, seg := range s.disk.segments {
		if seg.file != nil {
			_ = seg.file.Close()
		}
	}
	if s.backlog.file != nil {
		_ = s.backlog.file.Close()
	}
}

// Ready returns the error that new requests receive now, or nil. A used share of the queue is an
// error only if every workspace with queued entries has used its share.
func (s *Spool) Ready() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	err := s.admit("") // no workspace has this id, so its share is free
	if err == nil {
		for workspace := range s.space.queued {
			if err = s.admit(workspace); err == nil {
				break
			}
		}
	}
	if err != nil {
		return err
	}
	return nil
}

// Stats describes the state of the queue.
type Stats struct {
	Entries  int64         // number of ended and interrupted entries that are not yet delivered
	Bytes    int64         // number of bytes written but not yet delivered
	Oldest   time.Duration // age of the oldest waiting entry
	Disk     int64         // total size of all segments in bytes
	Open     int           // number of requests that have begun but not ended
	Rejected int64         // number of entries that the writer rejected and that have a file of their own
	Corrupt  int64         // number of bytes that could not be read
}

// Stats returns the current figures.
func (s *Spool) Stats() Stats {
	s.mu.Lock()
	defer s.mu.Unlock()
	st := Stats{
		Entries: s.backlog.entries + int64(len(s.backlog.orphans)), Bytes: s.disk.since(s.backlog.pos), Disk: s.space.used,
		Open: len(s.inFlight.requests), Rejected: int64(len(s.backlog.rejected)), Corrupt: s.disk.corrupt,
	}
	if s.backlog.entries > 0 {
		st.Oldest = max(s.o.Now().Sub(s.backlog.oldest), 0)
	}
	return st
}

// beginRoom is the assumed size of a begin record. Ready and Begin use the same value, so that they always agree.
const beginRoom = 1 << 10

// admit returns an error if a new request of the workspace must be rejected. The caller holds the lock.
func (s *Spool) admit(workspace string) *llm.Error {
	if s.closed {
		return unavailable(errClosed)
	}
	if s.outage.cause != nil {
		return unavailable(s.outage.cause)
	}
	if !s.space.fits(beginRoom, len(s.inFlight.requests)+1) {
		return full()
	}
	if !s.space.shares(workspace, beginRoom+s.space.reserve) {
		e := llm.Errorf(llm.LedgerUnavailable, "Too many request records of this workspace are waiting for the database. Retry in 5 seconds.")
		e.RetryAfter = 5 * time.Second
		return e
	}
	return nil
}

func full() *llm.Error {
	e := llm.Errorf(llm.LedgerUnavailable, "The queue of request records is full because they cannot be written to the database. Retry in a few seconds.")
	e.RetryAfter = 5 * time.Second
	return e
}

func unavailable(cause error) *llm.Error {
	e := llm.Errorf(llm.LedgerUnavailable, "Requests cannot be recorded because the gateway cannot write to its disk. Retry in a few seconds.")
	e.RetryAfter = 2 * time.Second
	e.Err = cause
	return e
}
