package spool

import "fairlead/internal/requestlog"

// recentLimit is how many entries are kept in memory besides the disk: two batches and what ends while they are written.
const recentLimit = 1024

// recent holds the latest ended entries, by id, without their bodies, so that delivery does not decode what this process has
// just encoded. It is a shortcut only: whatever is not in it is read from the disk. The spool's lock guards it.
type recent map[string]*requestlog.Entry

// add keeps an entry while there is room. One that ends a second time is left to the disk, which has both.
func (r recent) add(e *requestlog.Entry) {
	if _, twice := r[e.ID]; twice {
		delete(r, e.ID)
		return
	}
	if len(r) >= recentLimit {
		return
	}
	light := *e
	light.Body = requestlog.Body{}
	light.Time = e.Time.Round(0) // as it would come back from the disk: without the monotonic clock
	r[e.ID] = &light
}

func (r recent) forget(id string) { delete(r, id) }

// decode reads an end record's entry, from memory where it is still there.
func (s *Spool) decode(r record) (requestlog.Entry, error) {
	s.mu.Lock()
	known := s.recent[r.id]
	s.mu.Unlock()
	var e requestlog.Entry
	if known == nil {
		err := decodeEnd(r.rest, &e)
		return e, err
	}
	_, bodies, ok := cutSized(r.rest)
	if !ok || len(bodies) < 1 {
		return e, errCorrupt
	}
	e = *known
	return e, decodeBody(bodies, &e)
}
