package spool

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"

	"fairlead.dev/internal/requestlog"
)

const (
	chunkSize  = 256 << 10
	batchBytes = 8 << 20 // maximum size of a batch, regardless of its number of entries
)

// chunks is a pool of read buffers.
var chunks = sync.Pool{New: func() any { return new([chunkSize]byte) }}

// unreadable is a complete record whose entry cannot be decoded.
type unreadable struct {
	id   string
	rest []byte
	err  error
}

// piece is the result of one read: entries in order, and the position of the next read. Entries share memory with the chunks, which
// are valid until the next read into the same piece.
type piece struct {
	entries []requestlog.Entry
	broken  []unreadable
	sizes   map[string]int64 // sizes of the records, by workspace
	next    position
	full    bool // whether there may be more entries
	reading *[chunkSize]byte
	rest    []byte // unused part of the last chunk
	chunks  []*[chunkSize]byte
	shared  bool // whether the current chunk is kept, so entries may refer to its memory
}

func (p *piece) count() int { return len(p.entries) + len(p.broken) }

// room returns a buffer of the given size to read into.
func (p *piece) room(size int64) []byte {
	if p.shared = size > chunkSize || size < chunkSize/8; p.shared { // long records are too rare to pool; short ones would waste a chunk
		return make([]byte, size)
	}
	if p.reading == nil {
		p.reading = chunks.Get().(*[chunkSize]byte)
	}
	return p.reading[:size]
}

// keep returns text that stays valid when the next chunk is read. It copies short text, so that the chunk can be reused. For long text,
// it keeps the whole chunk.
func (p *piece) keep(text []byte) []byte {
	switch {
	case p.shared || text == nil:
		return text
	case len(text) > chunkSize/8:
		p.chunks, p.reading, p.shared = append(p.chunks, p.reading), nil, true
		return text
	case len(text) > cap(p.rest)-len(p.rest):
		chunk := chunks.Get().(*[chunkSize]byte)
		p.chunks, p.rest = append(p.chunks, chunk), chunk[:0]
	}
	from := len(p.rest)
	p.rest = append(p.rest, text...)
	return p.rest[from:len(p.rest):len(p.rest)]
}

// empty makes the piece ready for the next read.
func (p *piece) empty() {
	for _, chunk := range p.chunks {
		chunks.Put(chunk)
	}
	if p.reading != nil {
		chunks.Put(p.reading)
	}
	clear(p.entries)
	clear(p.sizes)
	p.entries, p.broken, p.reading, p.rest, p.chunks = p.entries[:0], nil, nil, nil, p.chunks[:0]
}

// read replaces the content of the piece with up to limit ended entries from the given position on. If nothing remains to be read, the
// piece is empty and its next position is the given one or the beginning of a later segment.
func (s *Spool) read(p *piece, from position, limit int) error {
	p.empty()
	p.next, p.full = from, false
	bytes := int64(0)
	for p.count() < limit && bytes < batchBytes {
		s.mu.Lock()
		i := slices.IndexFunc(s.disk.segments, func(seg *segment) bool { return seg.number >= p.next.segment })
		if i < 0 {
			s.mu.Unlock()
			return nil
		}
		seg, sealed := s.disk.segments[i], s.disk.segments[i] != s.disk.active
		size := seg.size
		s.mu.Unlock()
		if seg.number > p.next.segment {
			p.next = position{seg.number, 0}
		}
		if p.next.offset >= size {
			if !sealed {
				return nil
			}
			p.next = position{seg.number + 1, 0}
			continue
		}
		end, err := s.readChunk(seg, p.next.offset, size, limit, p)
		if err != nil {
			return err
		}
		bytes += end - p.next.offset
		p.next.offset = end
	}
	p.full = true
	return nil
}

// readChunk adds the entries of the next chunk to the piece and returns the end of the last entry. A chunk that begins with a record
// longer than the chunk is read again with the length of that record. A chunk that begins with damage is read again up to the end of
// the segment.
func (s *Spool) readChunk(seg *segment, from, size int64, limit int, p *piece) (int64, error) {
	want := int64(chunkSize)
	for {
		want = min(want, size-from)
		b := p.room(want)
		if _, err := seg.file.ReadAt(b, from); err != nil && !errors.Is(err, io.EOF) {
			return from, fmt.Errorf("read spool segment %s: %w", seg.name, err)
		}
		last := want == size-from
		end := s.collect(seg, b, from, last, limit, p)
		if last && p.count() < limit {
			return size, nil // the rest is damaged
		}
		if end > from {
			return end, nil
		}
		if _, n, err := parse(b, seg.salt); errors.Is(err, errTorn) && n > 0 {
			want = int64(n)
		} else {
			want = size - from
		}
	}
}

func (s *Spool) collect(seg *segment, b []byte, from int64, last bool, limit int, p *piece) int64 {
	return s.walk(seg, b, from, last, func(r record, _ int64) bool {
		if r.kind != endKind {
			return true
		}
		n := len(p.entries)
		p.entries = slices.Grow(p.entries, 1)[:n+1]
		if err := s.decode(r, &p.entries[n]); err != nil {
			p.entries[n] = requestlog.Entry{}
			p.entries, p.broken = p.entries[:n], append(p.broken, unreadable{r.id, p.keep(r.rest), err})
			return p.count() < limit
		}
		e := &p.entries[n]
		if p.sizes == nil {
			p.sizes = map[string]int64{}
		}
		p.sizes[e.WorkspaceID] += int64(headerSize + 1 + len(r.id) + len(r.rest))
		e.Body.Request, e.Body.Parts, e.Body.Response = p.keep(e.Body.Request), p.keep(e.Body.Parts), p.keep(e.Body.Response)
		e.Recorded.JSON = p.keep(e.Recorded.JSON)
		return p.count() < limit
	})
}

// Pending calls f with each ended entry that might not be delivered yet: those in the queue, oldest first, then the rejected ones. It is
// used to rebuild the amounts spent. After a crash, up to one batch of these entries may already be in the database.
func (s *Spool) Pending(f func(e *requestlog.Entry)) error {
	seen := map[string]bool{}
	if err := s.queued(func(e *requestlog.Entry) { seen[e.ID] = true; f(e) }); err != nil {
		return err
	}
	rejected, err := readRejected(s.o.FS)
	for _, r := range rejected {
		var e requestlog.Entry
		if !seen[r.ID] && decodeEnd(r.Record, &e) == nil {
			f(&e)
		}
	}
	return err
}

func (s *Spool) queued(f func(e *requestlog.Entry)) error {
	s.disk.files.RLock()
	defer s.disk.files.RUnlock()
	s.mu.Lock()
	at := s.backlog.pos
	s.mu.Unlock()
	var p piece
	defer p.empty()
	for {
		if err := s.read(&p, at, 500); err != nil {
			return err
		}
		if p.next == at {
			return nil
		}
		for i := range p.entries {
			f(&p.entries[i])
		}
		at = p.next
	}
}
