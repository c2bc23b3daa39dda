package spool

import "fairlead.dev/internal/requestlog"

// manyCandidates is the number of candidates from which an entry keeps them only on disk. Long lists would use most of the memory
// of an entry, and most readers do not need them.
const manyCandidates = 32

// recentBytes limits the estimated memory of entries that are kept for delivery. Decoding them from disk would slow down delivery
// when it is already behind.
const recentBytes = 16 << 20

// recent holds the latest ended entries, by id, without their bodies, so that delivery does not decode entries that this process
// has just encoded. Entries that are not in it are read from the disk. The spool's lock guards it.
type recent struct {
	entries map[string]*ended
	bytes   int
	spare   []*ended // memory of delivered entries, for those to come; empty, and mostSpare at most
}

// ended is an entry with the position of the decision in the JSON of its record.
type ended struct {
	requestlog.Entry
	decision span
	short    bool // without the candidates
}

// span is a part of a text.
type span struct{ from, to int }

// add keeps an entry while there is space. An entry that ends a second time is read from the disk, which has both records.
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
	light.Time = e.Time.Round(0) // as it would come back from the disk: without the monotonic clock
	r.entries[e.ID] = light
	r.bytes += weight(&light.Entry)
}

// forget drops an entry. Readers have copied it under the lock, so that its memory is free for another one.
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

// weight estimates the memory of an entry without its bodies. The candidates of the decision take the most.
func weight(e *requestlog.Entry) int {
	const entry, candidate = 3 << 10, 400
	if e.Decision == nil || len(e.Decision.Candidates) > manyCandidates {
		return entry
	}
	return entry + candidate*len(e.Decision.Candidates)
}

// decode returns the entry of an end record, from memory if it is still there.
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
