package spool

import (
	"fmt"
	"os"
	"sync"
	"time"
)

// segment is one file of the queue. Its number and salt are in its name, so that damage to the content does not affect them.
type segment struct {
	number  uint64
	salt    uint32
	name    string
	file    File
	created time.Time

	// Guarded by the spool's lock.
	size    int64 // bytes of whole, acknowledged records
	written int64 // bytes written to the file, including records that are not acknowledged yet
	synced  int64 // bytes that are known to be durable
	open    int   // number of running requests whose latest begin record is in this segment
}

// disk holds the segments. The lock of the spool guards the fields below the two mutexes.
type disk struct {
	syncing sync.Mutex   // serialises syncs: a second sync must not return before the first has ended
	files   sync.RWMutex // held for writing while segment files are closed and removed

	segments []*segment // oldest first
	active   *segment   // segment that records are appended to; may be nil
	next     uint64     // number of the next segment
	newNames bool       // whether the directory has names that are not synced
	corrupt  int64      // number of bytes that could not be read
}

// end returns the position after all records written so far.
func (d *disk) end() position {
	if len(d.segments) == 0 {
		return position{}
	}
	last := d.segments[len(d.segments)-1]
	return position{last.number, last.size}
}

// since returns the number of bytes after the given position.
func (d *disk) since(p position) int64 {
	bytes := int64(0)
	for _, seg := range d.segments {
		switch {
		case seg.number > p.segment:
			bytes += seg.size
		case seg.number == p.segment:
			bytes += max(seg.size-p.offset, 0)
		}
	}
	return bytes
}

const segmentName = "%016d-%08x.log"

func parseName(name string) (number uint64, salt uint32, ok bool) {
	if _, err := fmt.Sscanf(name, segmentName, &number, &salt); err != nil {
		return 0, 0, false
	}
	return number, salt, name == fmt.Sprintf(segmentName, number, salt)
}

// create starts a segment. The caller holds s.turn.
func (s *Spool) create() (*segment, error) {
	s.mu.Lock()
	number := s.disk.next
	s.disk.next++
	s.mu.Unlock()
	name := fmt.Sprintf(segmentName, number, s.salt)
	f, err := s.o.FS.OpenFile(name, os.O_CREATE|os.O_EXCL)
	if err != nil {
		return nil, fmt.Errorf("create spool segment: %w", err)
	}
	seg := &segment{number: number, salt: s.salt, name: name, file: f, created: s.o.Now()}
	s.mu.Lock()
	s.disk.segments = append(s.disk.segments, seg)
	s.disk.active = seg
	s.disk.newNames = true
	s.mu.Unlock()
	return seg, nil
}

// position is an offset in a segment of the queue.
type position struct {
	segment uint64
	offset  int64
}

func (p position) before(q position) bool {
	return p.segment < q.segment || (p.segment == q.segment && p.offset < q.offset)
}

const (
	positionName = "position"
	positionSize = 20
)
