package spool

import (
	"fmt"
	"os"
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
	written int64 // bytes handed to the file
	synced  int64 // bytes that are known to be durable
	open    int   // requests whose latest begin record is in this segment and that have not ended
}

const segmentName = "%016d-%08x.log"

func parseName(name string) (number uint64, salt uint32, ok bool) {
	if _, err := fmt.Sscanf(name, segmentName, &number, &salt); err != nil {
		return 0, 0, false
	}
	return number, salt, name == fmt.Sprintf(segmentName, number, salt)
}

// create starts a segment. The caller holds the turn.
func (s *Spool) create() (*segment, error) {
	s.mu.Lock()
	number := s.next
	s.next++
	s.mu.Unlock()
	name := fmt.Sprintf(segmentName, number, s.salt)
	f, err := s.o.FS.OpenFile(name, os.O_CREATE|os.O_EXCL)
	if err != nil {
		return nil, fmt.Errorf("create spool segment: %w", err)
	}
	seg := &segment{number: number, salt: s.salt, name: name, file: f, created: s.o.Now()}
	s.mu.Lock()
	s.segments = append(s.segments, seg)
	s.active = seg
	s.newNames = true
	s.mu.Unlock()
	return seg, nil
}

// position is a place in the queue: everything before it is delivered.
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
