package spool

import "fairlead.dev/internal/requestlog"

// manyCandidates is the maximum number of candidates that an entry keeps in memory. Longer lists are read from disk: they would use
// most of the memory of an entry, and most readers do not need them.
const manyCandidates = 32

// recentBytes limits the estimated memory of entries that are kept for delivery. It is high because decoding entries from disk would slow
// down delivery when it is already behind.
const recentBytes = 16 << 20

// recent holds the latest ended entries by id, without their bodies, so that delivery does not decode entries that this process has
// just encoded. Other entries are read from disk. The lock of the spool guards recent.
type recent struct {
	entries map[string]*ended
	bytes   int
	spare   []*ended // cleared memory of delivered entries, for reuse; at most mostSpare
}

// ended is an entry with the position of the decision in its record's JSON.
type ended struct {
	requestlog.Entry
	decision span
	short    bool // whether the candidates are omitted
}

// span is a range of byte offsets.
type span struct{ from, to int }

// add stores an entry if there is space. If a request ends a second time, add removes its entry instead: both records are on disk, and
// delivery decodes them from there.
func (r *recent) add(e *requestlog.Entry, decision span) {
	if r.entries[e.ID] != nil {
		r.forget(e.ID)
		return
	}
	if r.bytes+weight(e) > recentBytes {
		return
	}
	light := &ended{}
	if last := len(r.spare) - 1; last >= 0 {
		light, r.spare = r.spare[last], r.spare[:last]
	}
	light.Entry, light.decision = *e, decision
	light.Body = requestlog.Body{}
	if d := e.Decision; d != nil && len(d.Candidates) > manyCandidates {
		short := *d
		short.Candidates = nil
		light.Decision, light.short = &short, true
	}
	light.Time = e.Time.Round(0) // removes the monotonic clock reading, which an entry from disk does not have either
	r.entries[e.ID] = light
	r.bytes += weight(&light.Entry)
}

// forget removes an entry. Readers copy entries under the lock, so the memory can be reused.
func (r *recent) forget(id string) {
	e := r.entries[id]
	if e == nil {
		return
	}
	r.bytes -= weight(&e.Entry)
	delete(r.entries, id)
	if len(r.spare) < mostSpare {
		*e = ended{}
		r.spare = append(r.spare, e)
	}
}

// weight estimates the memory of an entry without its bodies. Most of the memory is used by the candidates of the decision.
func weight(e *requestlog.Entry) int {
	const entry, candidate = 3 << 10, 400
	if e.Decision == nil || len(e.Decision.Candidates) > manyCandidates {
		return entry
	}
	return entry + candidate*len(e.Decision.Candidates)
}

// decode returns the entry of an end record. It does not decode the record if recent has the entry.
func (s *Spool) decode(r record, e *requestlog.Entry) error {
	var decision span
	var short bool
	s.mu.Lock()
	known := s.recent.entries[r.id]
	if known != nil {
		*e, decision, short = known.Entry, known.decision, known.short
	}
	s.mu.Unlock()
	if known == nil {
		return decodeEnd(r.rest, e)
	}
	meta, bodies, ok := cutSized(r.rest)
	if !ok || len(bodies) < 1 || decision.to > len(meta) {
		return errCorrupt
	}
	if e.Decision != nil {
		e.Recorded = requestlog.Recorded{Decision: e.Decision, JSON: meta[decision.from:decision.to], Short: short}
	}
	return decodeBody(bodies, e)
}
