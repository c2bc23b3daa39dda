package spool

import (
	"bytes"
	"sync"

	"fairlead.dev/internal/requestlog"
)

const (
	keepBuffer = 1 << 20 // maximum capacity of a buffer that is returned to the pool
	keepBatch  = 4 << 20 // maximum capacity of a batch buffer that is reused; a batch has the entries of many requests
	mostSpare  = 256     // maximum length of inFlight.spare and of recent.spare; a begin record uses about a kilobyte
)

// begun holds the state of a request that has begun but not ended.
type begun struct {
	segment *segment // segment of the latest begin record; nil until the record is written
	record  []byte
	ending  bool // whether the end record is in a batch
}

// inFlight holds the requests that have begun but not ended. The lock of the spool guards inFlight.
type inFlight struct {
	requests map[string]*begun // requests by id
	spare    []*begun          // memory of ended requests, for reuse
}

// add stores the begin record of a request.
func (r *inFlight) add(id string, record []byte) {
	b := &begun{}
	if last := len(r.spare) - 1; last >= 0 {
		b, r.spare = r.spare[last], r.spare[:last]
	}
	*b = begun{record: append(b.record[:0], record...)}
	r.requests[id] = b
}

// forget removes a request and keeps the memory of its begin record for the next request.
func (r *inFlight) forget(id string, b *begun) {
	delete(r.requests, id)
	if len(r.spare) < mostSpare {
		r.spare = append(r.spare, b)
	}
}

// others returns the number of requests other than the given one.
func (r *inFlight) others(id string) int {
	if r.requests[id] != nil {
		return len(r.requests) - 1
	}
	return len(r.requests)
}

// batch is a group of records that are written together. Callers add to it while the batch before it is being written.
type batch struct {
	buf  []byte
	ops  []op
	done chan struct{}
	err  error
}

// op is the effect of a record, which is applied when the record is written.
type op struct {
	kind      kind
	id        string
	carry     bool   // whether a begin record is written again, so that an old segment can be removed
	workspace string // workspace of the entry; set for end records
	size      int64  // length of the record in bytes; set for end records
}

// batches holds the batch that is being filled, and the memory of a written batch for reuse. The lock of the spool guards batches.
type batches struct {
	open     *batch
	spare    []byte // buffer for the next batch
	spareOps []op   // ops buffer for the next batch
}

// take returns the open batch and opens a new one.
func (b *batches) take() *batch {
	taken := b.open
	b.open, b.spare, b.spareOps = newBatch(b.spare, b.spareOps), nil, nil
	return taken
}

// reuse keeps the memory of a written batch for a later batch.
func (b *batches) reuse(written *batch) {
	if cap(written.buf) <= keepBatch {
		b.spare, written.buf = written.buf, nil
	}
	clear(written.ops) // allows the ids to be garbage collected
	b.spareOps, written.ops = written.ops, nil
}

// newBatch returns a batch that reuses the memory of a written batch.
func newBatch(buf []byte, ops []op) *batch {
	return &batch{buf: buf[:0], ops: ops[:0], done: make(chan struct{})}
}

// buffer holds a record while it is encoded.
type buffer struct {
	bytes.Buffer
	parts []byte // memory for the parts of a split request body
}

var buffers = sync.Pool{New: func() any { return new(buffer) }}

func giveBack(b *buffer) {
	if b.Cap() <= keepBuffer && cap(b.parts) <= keepBuffer {
		b.Reset()
		buffers.Put(b)
	}
}

// Begin records that a request is about to be dispatched. If it returns nil, the record survives the end of the process, and
// space for the end record is reserved. Otherwise the error is an *llm.Error of kind LedgerUnavailable.
func (s *Spool) Begin(e *requestlog.Entry) error {
	b := buffers.Get().(*buffer)
	defer giveBack(b)
	rec, err := encodeBegin(&b.Buffer, e, s.salt)
	if err != nil {
		return unavailable(err)
	}
	s.mu.Lock()
	if s.inFlight.requests[e.ID] != nil {
		s.mu.Unlock()
		return nil
	}
	if err := s.admit(e.WorkspaceID); err != nil {
		s.mu.Unlock()
		return err
	}
	s.inFlight.add(e.ID, rec)
	batch := s.put(rec, op{kind: beginKind, id: e.ID})
	s.mu.Unlock()
	if err := s.wait(batch); err != nil {
		return unavailable(err)
	}
	return nil
}

// End records the whole entry. An earlier call of Begin is not required. When End returns nil, the entry survives the end of the
// process (with Options.Strict also a power cut) and will be delivered. Otherwise the error is an *llm.Error of kind
// LedgerUnavailable. If the disk failed, the entry is kept in memory without its bodies, up to unwrittenLimit for all entries, and
// written when the disk recovers, unless End is called again first.
//
// Bodies are omitted if the queue, or the workspace's share of the queue, has no space for them. The entry of a request that has
// begun is always written. The caller must not change values that e refers to afterwards, because delivery reads them.
func (s *Spool) End(e *requestlog.Entry) error {
	b := buffers.Get().(*buffer)
	defer giveBack(b)
	split := s.o.Split(e, b.parts[:0])
	if split.Body.Split {
		b.parts = split.Body.Parts
	}
	rec, err := encodeWhole(&b.Buffer, split, s.salt)
	if err != nil {
		return unavailable(err)
	}
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return unavailable(errClosed)
	}
	if size := int64(len(rec.bytes)); !s.space.fits(size, s.inFlight.others(e.ID)) || !s.space.shares(e.WorkspaceID, size) {
		s.mu.Unlock()
		b.Reset()
		if rec, err = encodeWhole(&b.Buffer, withoutBodies(e), s.salt); err != nil {
			return unavailable(err)
		}
		s.mu.Lock()
		if s.inFlight.requests[e.ID] == nil && !s.space.fits(int64(len(rec.bytes)), len(s.inFlight.requests)) {
			s.mu.Unlock()
			return full()
		}
	}
	if begun := s.inFlight.requests[e.ID]; begun != nil {
		begun.ending = true
	}
	batch := s.put(rec.bytes, op{kind: endKind, id: e.ID, workspace: e.WorkspaceID, size: int64(len(rec.bytes))})
	s.space.add(e.WorkspaceID, int64(len(rec.bytes)))
	s.recent.add(rec.entry, rec.decision)
	s.mu.Unlock()
	if err := s.wait(batch); err != nil {
		s.keepUnwritten(e)
		return unavailable(err)
	}
	return nil
}

// endRecord is an encoded end record.
type endRecord struct {
	bytes    []byte
	entry    *requestlog.Entry // the recorded entry
	decision span              // position of the decision
}

// encodeWhole encodes an entry. If the decision cannot be encoded, for example because a score is NaN, it encodes the entry without
// the decision and adds a warning.
func encodeWhole(b *bytes.Buffer, e *requestlog.Entry, salt uint32) (endRecord, error) {
	text, decision, err := encodeEnd(b, e, salt)
	if err == nil || e.Decision == nil {
		return endRecord{text, e, decision}, err
	}
	plain := *e
	plain.Decision = nil
	plain.Warnings = append(append([]string{}, e.Warnings...), "the decision could not be recorded: "+err.Error())
	b.Reset()
	text, decision, err = encodeEnd(b, &plain, salt)
	return endRecord{text, &plain, decision}, err
}

func withoutBodies(e *requestlog.Entry) *requestlog.Entry {
	light := *e
	light.Body = requestlog.Body{}
	if light.BodyState == requestlog.BodyStored {
		light.BodyState = requestlog.BodyTooLarge
	}
	return &light
}

// put adds a record to the open batch. The caller holds the lock, and waits for the batch after releasing it.
func (s *Spool) put(rec []byte, o op) *batch {
	b := s.batches.open
	b.buf, b.ops = append(b.buf, rec...), append(b.ops, o)
	s.space.used += int64(len(rec))
	return b
}

// wait returns when the batch is written. One of the waiting goroutines writes the batch, with all records that were added while
// the previous batch was being written.
func (s *Spool) wait(b *batch) error {
	select {
	case <-b.done:
		return b.err
	case s.turn <- struct{}{}:
	}
	defer func() { <-s.turn }()
	select {
	case <-b.done:
	default:
		s.write()
	}
	return b.err
}

// write writes the open batch. The caller holds s.turn.
func (s *Spool) write() {
	s.mu.Lock()
	b := s.batches.take()
	seg := s.disk.active
	s.mu.Unlock()

	if seg == nil || seg.size >= s.o.SegmentSize { // reading the size needs no lock: only the holder of s.turn changes it
		seg, b.err = s.create()
	}
	if b.err == nil {
		_, b.err = seg.file.WriteAt(b.buf, seg.size)
	}
	if b.err == nil {
		s.mu.Lock()
		seg.written = seg.size + int64(len(b.buf))
		s.mu.Unlock()
		if s.o.Strict {
			b.err = s.sync()
		}
	}
	s.mu.Lock()
	if b.err == nil {
		s.commit(seg, b)
	} else {
		s.rollBack(b)
	}
	s.batches.reuse(b)
	s.mu.Unlock()
	if b.err != nil {
		s.abandon(b.err)
	}
	close(b.done)
}

// commit applies the effects of a written batch. The caller holds the lock.
func (s *Spool) commit(seg *segment, b *batch) {
	seg.size += int64(len(b.buf))
	for _, o := range b.ops {
		begun := s.inFlight.requests[o.id]
		if begun != nil && begun.segment != nil && o.kind != noteKind {
			begun.segment.open--
		}
		switch o.kind {
		case beginKind:
			if begun != nil {
				begun.segment = seg
				seg.open++
			}
		case endKind:
			if begun != nil {
				s.inFlight.forget(o.id, begun)
			}
			s.outage.drop(o.id)
			if s.backlog.entries == 0 {
				s.backlog.oldest = s.o.Now()
			}
			if s.backlog.entries++; s.backlog.entries >= s.backlog.wanted {
				s.backlog.poke()
			}
		case noteKind:
		}
	}
}

// rollBack discards a batch that was not written. The caller holds the lock.
func (s *Spool) rollBack(b *batch) {
	s.space.used -= int64(len(b.buf))
	for _, o := range b.ops {
		s.recent.forget(o.id)
		if o.kind == endKind {
			s.space.add(o.workspace, -o.size)
		}
		begun := s.inFlight.requests[o.id]
		switch {
		case begun == nil:
		case o.kind == endKind:
			begun.ending = false
		case o.kind == beginKind && !o.carry:
			s.inFlight.forget(o.id, begun)
		}
	}
}
