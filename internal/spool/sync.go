package spool

import (
	"bytes"
	"errors"
	"time"

	"fairlead.dev/internal/requestlog"
)

// keep syncs written records periodically, and retries after a disk failure.
func (s *Spool) keep() {
	tick := time.NewTicker(s.o.SyncEvery / 2) // half the interval, because records that are written during a sync wait for the next sync
	defer tick.Stop()
	for {
		select {
		case <-s.stop:
			return
		case <-tick.C:
		}
		s.mu.Lock()
		failed := s.outage.cause != nil
		s.mu.Unlock()
		if failed {
			s.heal()
			continue
		}
		if err := s.sync(); err != nil {
			s.turn <- struct{}{}
			s.abandon(err)
			<-s.turn
		}
	}
}

// sync makes everything written so far durable: names first, then contents.
func (s *Spool) sync() error {
	s.disk.syncing.Lock()
	defer s.disk.syncing.Unlock()
	s.disk.files.RLock()
	defer s.disk.files.RUnlock()
	s.mu.Lock()
	names := s.disk.newNames
	s.disk.newNames = false
	type dirty struct {
		seg *segment
		to  int64
	}
	var todo []dirty
	for _, seg := range s.disk.segments {
		if seg.written > seg.synced {
			todo = append(todo, dirty{seg, seg.written})
		}
	}
	s.mu.Unlock()
	if names {
		if err := s.o.FS.SyncDir(); err != nil {
			s.mu.Lock()
			s.disk.newNames = true
			s.mu.Unlock()
			return err
		}
	}
	var failures error
	for _, d := range todo {
		err := d.seg.file.Sync()
		failures = errors.Join(failures, err)
		// A file whose sync failed is not synced again: the kernel drops the dirty pages, and a second sync would report success.
		s.mu.Lock()
		d.seg.synced = max(d.seg.synced, d.to)
		s.mu.Unlock()
	}
	return failures
}

// abandon stops using the active segment after a failure, and rejects requests until heal succeeds. Records that were not
// acknowledged are truncated if the disk allows it; otherwise they may be delivered once after a restart. The caller holds
// s.turn.
func (s *Spool) abandon(cause error) {
	s.mu.Lock()
	seg := s.disk.active
	s.disk.active = nil
	fresh := s.outage.cause == nil
	s.outage.cause = cause
	s.mu.Unlock()
	if fresh {
		s.o.Log.Error("spool: entries cannot be written to disk, rejecting requests", "error", cause)
	}
	if seg == nil {
		return
	}
	if seg.size > 0 {
		_ = seg.file.Truncate(seg.size)
		s.mu.Lock()
		seg.written = seg.size
		s.mu.Unlock()
		return
	}
	s.remove(seg)
}

// unwrittenLimit is the maximum total size of end records that are kept in memory while the disk fails.
const unwrittenLimit = 16 << 20

// outage is the state of a disk failure. The lock of the spool guards outage.
type outage struct {
	cause     error             // error that prevents writing to disk; nil while the disk works
	unwritten map[string][]byte // end records that could not be written, by request id
	size      int64             // bytes in unwritten
}

// drop removes the end record of a request.
func (o *outage) drop(id string) {
	o.size -= int64(len(o.unwritten[id]))
	delete(o.unwritten, id)
}

// keepUnwritten holds an unwritten entry in memory until the disk recovers.
func (s *Spool) keepUnwritten(e *requestlog.Entry) {
	rec, err := encodeWhole(new(bytes.Buffer), withoutBodies(e), s.salt)
	if err != nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.outage.drop(e.ID)
	if s.outage.size+int64(len(rec.bytes)) > unwrittenLimit {
		s.o.Log.Error("spool: too many entries wait for the disk; a request will be logged as interrupted after a restart", "request_id", e.ID)
		return
	}
	s.outage.unwritten[e.ID] = rec.bytes
	s.outage.size += int64(len(rec.bytes))
}

// heal writes the entries that wait for the disk to a new segment and syncs the segment. Without waiting entries it writes an empty
// record. Requests are admitted again only after that.
func (s *Spool) heal() {
	s.mu.Lock()
	note := seal(append(make([]byte, headerSize), 0), noteKind, s.salt)
	b := s.put(note, op{kind: noteKind})
	for id, rec := range s.outage.unwritten {
		if begun := s.inFlight.requests[id]; begun != nil {
			if begun.ending {
				continue
			}
			begun.ending = true
		}
		s.put(rec, op{kind: endKind, id: id})
	}
	s.mu.Unlock()
	if s.wait(b) != nil {
		return
	}
	if err := s.sync(); err != nil {
		s.turn <- struct{}{}
		s.abandon(err)
		<-s.turn
		return
	}
	s.mu.Lock()
	s.outage.cause = nil
	s.mu.Unlock()
	s.o.Log.Info("spool: entries can be written to disk again")
}
