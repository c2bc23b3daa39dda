package spool

// trim removes delivered segments, oldest first. A request that began in one of them and still runs would keep it, and
// with it everything after it, for as long as a stream lasts; its begin is therefore written again further on, and
// synced, before the old segment goes.
func (s *Spool) trim() {
	for {
		seg, carried, ok := s.oldestDelivered()
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

// oldestDelivered returns the first segment if it can go, and the batch that carries its open begins on, if any.
// Segments of an earlier process hold no requests that could still end: Run delivers those before anything else.
func (s *Spool) oldestDelivered() (*segment, *batch, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.segments) == 0 {
		return nil, nil, false
	}
	seg := s.segments[0]
	if seg == s.active || s.pos.segment <= seg.number {
		return nil, nil, false
	}
	if seg.open == 0 {
		return seg, nil, true
	}
	for _, b := range s.begun {
		if b.segment == seg && b.ending { // its end is on the way; a begin after it would bring the request back
			return nil, nil, false
		}
	}
	var carried *batch
	for id, b := range s.begun {
		if b.segment == seg {
			carried = s.put(b.record, op{kind: beginKind, id: id, carry: true})
		}
	}
	return seg, carried, true
}

// remove closes and deletes a segment. If deleting fails the segment is found again after a restart and its entries are
// delivered again, which is safe.
func (s *Spool) remove(seg *segment) {
	s.files.Lock()
	defer s.files.Unlock()
	_ = seg.file.Close()
	if err := s.o.FS.Remove(seg.name); err != nil {
		s.o.Log.Warn("spool: a delivered segment cannot be deleted", "segment", seg.name, "error", err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := range s.segments {
		if s.segments[i] == seg {
			s.segments = append(s.segments[:i:i], s.segments[i+1:]...)
			break
		}
	}
	s.used -= seg.size
}

// sealIdle ends an active segment of some age once all of it is delivered, so that it is removed.
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
	s.active = nil
	return true
}

func (s *Spool) mayGo() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.active != nil && !s.pos.before(s.end()) && s.o.Now().Sub(s.active.created) >= s.o.IdleAfter
}
