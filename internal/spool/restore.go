package spool

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io/fs"
	"os"
	"slices"
	"strings"

	"fairlead.dev/internal/requestlog"
)

// restore reads the files of an earlier process. It finds the entries that are not delivered, and the requests that were running
// when the process ended.
func (s *Spool) restore() error {
	// Without a valid position, delivery starts at the first segment: delivering again is safe.
	if f, err := s.o.FS.OpenFile(positionName, 0); err == nil {
		s.backlog.file = f
		b := make([]byte, positionSize)
		if n, _ := f.ReadAt(b, 0); n == positionSize && binary.LittleEndian.Uint32(b[16:]) == crc32.Checksum(b[:16], castagnoli) {
			s.backlog.pos = position{binary.LittleEndian.Uint64(b), int64(binary.LittleEndian.Uint64(b[8:]))}
		}
	}
	names, err := s.o.FS.Names()
	if err != nil {
		return fmt.Errorf("list spool: %w", err)
	}
	for _, name := range names {
		if id, ok := strings.CutPrefix(name, rejectedPrefix); ok {
			s.backlog.rejected[id] = true
		}
		number, salt, ok := parseName(name)
		if !ok {
			continue
		}
		s.disk.segments = append(s.disk.segments, &segment{number: number, salt: salt, name: name, created: s.o.Now()})
	}
	slices.SortFunc(s.disk.segments, func(a, b *segment) int { return cmp.Compare(a.number, b.number) })
	open := map[string][]byte{}
	for _, seg := range s.disk.segments {
		if err := s.restoreSegment(seg, open); err != nil {
			return fmt.Errorf("read spool segment %s: %w", seg.name, err)
		}
	}
	// A segment number is never used again, because the position may refer to a segment that was lost in a power cut.
	s.disk.next = s.backlog.pos.segment + 1
	if n := len(s.disk.segments); n > 0 {
		s.disk.next = max(s.disk.next, s.disk.segments[n-1].number+1)
	}
	s.backlog.oldest = s.o.Now()
	s.adoptOrphans(open)
	return nil
}

// savePosition writes the position of delivery to its file. If it fails, entries are delivered again after a restart, which is safe.
// The position has a checksum, because it is overwritten in place and an incomplete write must be detected.
func (s *Spool) savePosition(p position) error {
	if s.backlog.file == nil {
		f, err := s.o.FS.OpenFile(positionName, os.O_CREATE)
		if err != nil {
			return err
		}
		s.backlog.file = f
	}
	b := make([]byte, positionSize)
	binary.LittleEndian.PutUint64(b, p.segment)
	binary.LittleEndian.PutUint64(b[8:], uint64(p.offset))
	binary.LittleEndian.PutUint32(b[16:], crc32.Checksum(b[:16], castagnoli))
	_, err := s.backlog.file.WriteAt(b, 0)
	return err
}

// restoreSegment reads a segment and updates open, a map from request id to a begin record without an end record.
func (s *Spool) restoreSegment(seg *segment, open map[string][]byte) error {
	f, err := s.o.FS.OpenFile(seg.name, 0)
	if err != nil {
		return err
	}
	seg.file = f
	size, err := f.Size()
	if err != nil {
		return err
	}
	b := make([]byte, size)
	if _, err := f.ReadAt(b, 0); err != nil && size > 0 {
		return err
	}
	seg.size = s.walk(seg, b, 0, true, func(r record, end int64) bool {
		switch r.kind {
		case beginKind:
			open[r.id] = slices.Clone(r.rest)
		case endKind:
			delete(open, r.id)
			if s.backlog.pos.before(position{seg.number, end}) {
				s.backlog.entries++
			}
		case noteKind:
		}
		return true
	})
	seg.written, seg.synced = seg.size, 0
	s.space.used += seg.size
	return nil
}

// walk calls f for each record in b until f returns false, with the offset of the record's end in the segment. b begins at the given
// offset of the segment. walk returns the end of the last record. If b is the last part of the segment, damage between records is
// logged and skipped, and damage after the last record is ignored as an incomplete write. Otherwise walk stops at the first damage.
func (s *Spool) walk(seg *segment, b []byte, offset int64, last bool, f func(r record, end int64) bool) int64 {
	at := 0
	for at < len(b) {
		r, n, err := parse(b[at:], seg.salt)
		if err != nil {
			skip := -1
			if last {
				skip = resync(b[at:], seg.salt)
			}
			if skip < 0 {
				break
			}
			s.o.Log.Error("skipped corrupt records", "segment", seg.name, "offset", offset+int64(at), "bytes", int64(skip))
			s.mu.Lock()
			s.disk.corrupt += int64(skip)
			s.mu.Unlock()
			at += skip
			continue
		}
		at += n
		if !f(r, offset+int64(at)) {
			break
		}
	}
	return offset + int64(at)
}

// adoptOrphans creates entries for the requests that the earlier process did not end. The entries are only in memory. The segments
// of their begin records are kept until the entries are delivered, so that another restart finds them again.
func (s *Spool) adoptOrphans(open map[string][]byte) {
	for id, begin := range open {
		e, err := interrupted(begin)
		if err != nil {
			s.o.Log.Error("spool: begin record cannot be decoded", "request_id", id, "error", err)
			continue
		}
		s.backlog.orphans = append(s.backlog.orphans, e)
	}
	slices.SortFunc(s.backlog.orphans, func(a, b requestlog.Entry) int {
		return cmp.Or(a.Time.Compare(b.Time), cmp.Compare(a.ID, b.ID))
	})
}

// CountUndelivered counts the ended entries in a directory that are not delivered. A process that does not own
// the directory can call it, because it changes nothing.
func CountUndelivered(dir string) (int64, error) {
	if _, err := os.Stat(dir); errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	s := &Spool{o: Options{}.withDefaults(dir), backlog: backlog{rejected: map[string]bool{}}}
	defer s.closeFiles()
	if err := s.restore(); err != nil {
		return 0, err
	}
	return s.backlog.entries, nil
}
