// Package spool is the durable local queue in front of the database. A request's beginning and its whole entry are on
// disk when Begin and End return, whatever the database does; Run delivers entries later, in order, and again after a
// crash when their delivery is uncertain: the writer ignores entries it has. Requests that a dead process left
// open become entries with the outcome interrupted.
//
// The queue is a directory of segments, files that only grow and are removed when everything in them is delivered.
// One process uses a directory at a time; that is ensured elsewhere.
package spool

import (
	"crypto/rand"
	"encoding/binary"
	"log/slog"
	"os"
	"sync"
	"time"

	"fairlead/internal/llm"
	"fairlead/internal/requestlog"
)

// Options set up a Spool; zero values are replaced by the defaults named.
type Options struct {
	Limit       int64         // most bytes on disk; 256 MiB
	Strict      bool          // sync before Begin and End return, so that a power cut loses nothing acknowledged
	SegmentSize int64         // where a new segment begins; 8 MiB, and an eighth of Limit at most
	SyncEvery   time.Duration // longest that something written stays unsynced; 1 s
	IdleAfter   time.Duration // age at which a delivered segment is given up, so that text does not linger; 1 min
	Now         func() time.Time
	Log         *slog.Logger
	FS          FS // the directory; nil for the real one
	// Split returns the entry with a split request body, or the entry itself. It appends the parts of the body to the memory, which is
	// used again after the entry was written. nil splits none.
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
	salt uint32 // makes checksums unguessable, so that bytes in a body never pass for a record when damage is skipped
	room int64  // what Begin keeps free for the End of an admitted request

	turn    chan struct{} // who sends into it may write the open batch and change the active segment
	syncing sync.Mutex    // one sync at a time: a second must not pass before the first has ended
	files   sync.RWMutex  // held for writing while segment files are closed and removed

	mu       sync.Mutex
	closed   bool
	batch    *batch             // being filled
	spare    []byte             // buffer for the next batch
	spareOps []op               // the same for its meaning
	spent    []*begun           // begins of requests that have ended, for those to come
	segments []*segment         // oldest first
	active   *segment           // the last one while it still grows
	next     uint64             // number of the next segment
	used     int64              // bytes on disk and in batches
	queued   map[string]int64   // bytes of ended entries that are not delivered, by workspace; no zeros
	failing  bool               // the writer did not take the latest batch
	begun    map[string]*begun  // requests that have begun and not ended
	late     map[string][]byte  // records of ends that could not be written
	recent   recent             // ended entries that delivery need not decode
	lateSize int64              // bytes in late
	failure  error              // why the disk does not take entries at present
	newNames bool               // the directory has names that are not synced
	orphans  []requestlog.Entry // interrupted requests of an earlier process, until delivered
	pos      position           // everything before it is delivered
	backlog  int64              // ended entries from pos on
	wanted   int64              // how many of them delivery waits for
	oldest   time.Time          // end of the first of them
	rejected int64
	corrupt  int64
	flushing int
	reading  int           // readers that wait for queued entries
	progress chan struct{} // closed and replaced after a delivery

	wake    chan struct{} // signals a full batch or a waiting caller
	posFile File
	stop    chan struct{}
	stopped sync.WaitGroup
	closing sync.Once
}

// Open reads the entries of an earlier process and prepares the queue. It writes nothing, so that it works on a full
// disk too. A torn end of a segment is cut off; damage in the middle is logged and skipped.
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
		room:     min(max(o.Limit/1024, 2<<10), 16<<10),
		turn:     make(chan struct{}, 1),
		batch:    newBatch(nil, nil),
		next:     1,
		queued:   map[string]int64{},
		begun:    map[string]*begun{},
		late:     map[string][]byte{},
		recent:   recent{entries: map[string]*ended{}},
		progress: make(chan struct{}),
		wake:     make(chan struct{}, 1),
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
		s.turn <- struct{}{} // kept, so that no further writes happen
		err = s.sync()
		s.mu.Lock()
		s.closed = true
		waiting := s.batch
		waiting.err = errClosed
		s.batch = newBatch(nil, nil)
		s.mu.Unlock()
		close(waiting.done)
		s.closeFiles()
	})
	return err
}

func (s *Spool) closeFiles() {
	s.files.Lock()
	defer s.files.Unlock()
	for _, seg := range s.segments {
		if seg.file != nil {
			_ = seg.file.Close()
		}
	}
	if s.posFile != nil {
		_ = s.posFile.Close()
	}
}

// Ready returns the error that requests get now, or nil. A workspace that has used its share of the queue does not make the gateway
// unready while other workspaces that use it are served.
func (s *Spool) Ready() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	err := s.admit("") // no workspace has this id, so its share is free
	if err == nil {
		for workspace := range s.queued {
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

// Stats are figures about the queue.
type Stats struct {
	Entries  int64         // ended and not yet delivered
	Bytes    int64         // written and not yet delivered
	Oldest   time.Duration // age of the oldest of them
	Disk     int64         // bytes of all segments
	Open     int           // requests that have begun and not ended
	Rejected int64         // entries that the writer never took, kept in the file of rejected ones
	Corrupt  int64         // bytes that could not be read
}

// Stats returns the present figures.
func (s *Spool) Stats() Stats {
	s.mu.Lock()
	defer s.mu.Unlock()
	st := Stats{
		Entries: s.backlog + int64(len(s.orphans)), Disk: s.used,
		Open: len(s.begun), Rejected: s.rejected, Corrupt: s.corrupt,
	}
	for _, seg := range s.segments {
		switch {
		case seg.number > s.pos.segment:
			st.Bytes += seg.size
		case seg.number == s.pos.segment:
			st.Bytes += max(seg.size-s.pos.offset, 0)
		}
	}
	if s.backlog > 0 {
		st.Oldest = max(s.o.Now().Sub(s.oldest), 0)
	}
	return st
}

// beginRoom is what a begin is taken to need, so that Ready and Begin always agree.
const beginRoom = 1 << 10

// admit returns the error for a request of a workspace that may not begin. The caller holds the lock.
func (s *Spool) admit(workspace string) *llm.Error {
	if s.closed {
		return unavailable(errClosed)
	}
	if s.failure != nil {
		return unavailable(s.failure)
	}
	if s.used+beginRoom+s.room*int64(len(s.begun)+1) > s.o.Limit {
		return full()
	}
	if !s.shares(workspace, beginRoom+s.room) {
		e := llm.Errorf(llm.LedgerUnavailable, "Too many request records of this workspace are waiting for the database. Retry in 5 seconds.")
		e.RetryAfter = 5 * time.Second
		return e
	}
	return nil
}

// queueShare is how many times the free space a workspace may have queued: one workspace can use three quarters of the queue, and
// each further one three quarters of what the others leave.
const queueShare = 3

// shares reports whether a workspace may queue so many bytes more. The caller holds the lock.
func (s *Spool) shares(workspace string, size int64) bool {
	queued := s.queued[workspace]
	return queued == 0 || queued+size <= queueShare*(s.o.Limit-s.used-size)
}

// addQueued counts bytes that a workspace has queued, or no longer has. Entries of an earlier process were never added. The caller
// holds the lock.
func (s *Spool) addQueued(workspace string, size int64) {
	if n := s.queued[workspace] + size; n > 0 {
		s.queued[workspace] = n
	} else {
		delete(s.queued, workspace)
	}
}

func full() *llm.Error {
	e := llm.Errorf(llm.LedgerUnavailable, "The queue of request records is full because the database does not take them, so requests cannot be recorded. Repeat the request in a few seconds.")
	e.RetryAfter = 5 * time.Second
	return e
}

func unavailable(cause error) *llm.Error {
	e := llm.Errorf(llm.LedgerUnavailable, "Requests cannot be recorded right now because the disk does not take them. Repeat the request in a few seconds.")
	e.RetryAfter = 2 * time.Second
	e.Err = cause
	return e
}
