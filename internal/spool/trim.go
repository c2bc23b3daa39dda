package spool

// trim removes delivered segments, oldest first. A segment may contain the begin record of a running request, for example of a long
// stream. That request would prevent the removal of this and all later segments until it ends. Therefore the begin record is written
// again to the active segment and synced before the old segment is removed.
func (s *Spool) trim() {
	for {
		seg, carried, ok := s.prepareRemoval()
		if !ok {
			return
		}
		if carried != nil {
			if s.wait(carried) != nil || s.sync() != nil {
				return
			}
		}
		s.mu.Lock()
		free := seg.open == 0
		s.mu.Unlock()
		if !free {
			return
		}
		s.remove(seg)
	}
}

// prepareRemoval returns the first segment if it can be removed, and a batch that rewrites the begin records of its running
// requests, or nil if there are none. A segment of an earlier process has none, because Run first delivers them as interrupted.
func (s *Spool) prepareRemoval() (*segment, *batch, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.disk.segments) == 0 {
		return nil, nil, false
	}
	seg := s.disk.segments[0]
	if seg == s.disk.active || s.backlog.pos.segment <= seg.number {
		return nil, nil, false
	}
	if seg.open == 0 {
		return seg, nil, true
	}
	for _, b := range s.inFlight.requests {
		if b.segment == seg && b.ending { // the end record is being written; a begin record after it would restore the request
			return nil, nil, false
		}
	}
	var carried *batch
	for id, b := range s.inFlight.requests {
		if b.segment == seg {
			carried = s.put(b.record, op{kind: beginKind, id: id, carry: true})
		}
	}
	return seg, carried, true
}

// remove closes and deletes a segment. If deleting fails, the next restart finds the segment and delivers its entries again, which
// is safe.
func (s *Spool) remove(seg *segment) {
	s.disk.files.Lock()
	defer s.disk.files.Unlock()
	_ = seg.file.Close()
	if err := s.o.FS.Remove(seg.name); err != nil {
		s.o.Log.Warn("spool: a delivered segment cannot be deleted", "segment", seg.name, "error", err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := range s.disk.segments {
		if s.disk.segments[i] == seg {
			s.disk.segments = append(s.disk.segments[:i:i], s.disk.segments[i+1:]...)
			break
		}
	}
	s.space.used -= seg.size
}

// sealIdle ends the active segment if it is old enough and all its entries are delivered, so that the segment can be removed.
func (s *Spool) sealIdle() bool {
	if !s.mayGo() {
		return false
	}
	s.turn <- struct{}{}
	defer func() { <-s.turn }()
	if !s.mayGo() {
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.disk.active = nil
	return true
}

func (s *Spool) mayGo() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.disk.active != nil && !s.backlog.pos.before(s.disk.end()) && s.o.Now().Sub(s.disk.active.created) >= s.o.IdleAfter
}
