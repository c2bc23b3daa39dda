package spool

import (
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"sync"
	"syscall"
)

// memFS is an in-memory directory that records which writes were synced, fails on demand and simulates power failures.
type memFS struct {
	mu    sync.Mutex
	files map[string]*memFile // contents, including writes that are not synced
	named map[string]*memFile // names that survive a power cut
	room  int64               // bytes until ENOSPC; negative for no limit

	failWrite, failSync, failOpen error
	tearWrites                    bool // whether a failing write stores half of its bytes
}

type memFile struct {
	fs      *memFS
	data    []byte
	durable []byte
	pending []memWrite // writes since the last sync
}

type memWrite struct {
	at   int64
	data []byte
}

func newMemFS() *memFS {
	return &memFS{files: map[string]*memFile{}, named: map[string]*memFile{}, room: -1}
}

func (m *memFS) set(f func()) {
	m.mu.Lock()
	defer m.mu.Unlock()
	f()
}

func (m *memFS) OpenFile(name string, flag int) (File, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	f := m.files[name]
	switch {
	case f != nil && flag&os.O_EXCL != 0:
		return nil, os.ErrExist
	case f == nil && flag&os.O_CREATE == 0:
		return nil, os.ErrNotExist
	case f == nil && m.failOpen != nil:
		return nil, m.failOpen
	case f == nil:
		f = &memFile{fs: m}
		m.files[name] = f
	}
	return f, nil
}

func (m *memFS) Names() ([]string, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Sorted(maps.Keys(m.files)), nil
}

func (m *memFS) Remove(name string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.files, name)
	return nil
}

func (m *memFS) SyncDir() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.failSync != nil {
		return m.failSync
	}
	m.named = maps.Clone(m.files)
	return nil
}

func (f *memFile) ReadAt(b []byte, at int64) (int, error) {
	f.fs.mu.Lock()
	defer f.fs.mu.Unlock()
	if at >= int64(len(f.data)) {
		return 0, io.EOF
	}
	n := copy(b, f.data[at:])
	if n < len(b) {
		return n, io.EOF
	}
	return n, nil
}

func (f *memFile) WriteAt(b []byte, at int64) (int, error) {
	f.fs.mu.Lock()
	defer f.fs.mu.Unlock()
	n, err := len(b), f.fs.failWrite
	if err != nil && f.fs.tearWrites {
		n = len(b) / 2
	} else if err != nil {
		n = 0
	}
	if room := f.fs.room; room >= 0 {
		if int64(n) > room {
			n, err = int(room), syscall.ENOSPC
		}
		f.fs.room -= int64(n)
	}
	f.data = overlay(f.data, b[:n], at)
	f.pending = append(f.pending, memWrite{at, slices.Clone(b[:n])})
	return n, err
}

func overlay(data, b []byte, at int64) []byte {
	if grow := at + int64(len(b)) - int64(len(data)); grow > 0 {
		data = append(data, make([]byte, grow)...)
	}
	copy(data[at:], b)
	return data
}

func (f *memFile) Sync() error {
	f.fs.mu.Lock()
	defer f.fs.mu.Unlock()
	if f.fs.failSync != nil {
		f.pending = nil // the kernel also drops failed writes and reports success for the next sync
		return f.fs.failSync
	}
	f.durable = slices.Clone(f.data)
	f.pending = nil
	return nil
}

func (f *memFile) Truncate(size int64) error {
	f.fs.mu.Lock()
	defer f.fs.mu.Unlock()
	f.data = f.data[:min(size, int64(len(f.data)))]
	return nil
}

func (f *memFile) Size() (int64, error) {
	f.fs.mu.Lock()
	defer f.fs.mu.Unlock()
	return int64(len(f.data)), nil
}

func (f *memFile) Close() error { return nil }

// kill returns the directory that the next process finds after kill -9: it contains all written data.
func (m *memFS) kill() *memFS {
	m.mu.Lock()
	defer m.mu.Unlock()
	next := newMemFS()
	for name, f := range m.files {
		g := &memFile{fs: next, data: slices.Clone(f.data), durable: slices.Clone(f.durable)}
		next.files[name] = g
		if m.named[name] == f {
			next.named[name] = g
		}
	}
	return next
}

// powerCut returns the directory after a power failure. Each write and rename that was not synced is present, absent or partial.
func (m *memFS) powerCut(r *rand.Rand) *memFS {
	m.mu.Lock()
	defer m.mu.Unlock()
	next := newMemFS()
	all := maps.Clone(m.files)
	maps.Copy(all, m.named)
	for _, name := range slices.Sorted(maps.Keys(all)) {
		f := all[name]
		certain := m.named[name] != nil && m.files[name] != nil
		if !certain && r.IntN(2) == 0 {
			continue
		}
		data := slices.Clone(f.durable)
		for _, w := range f.pending {
			switch r.IntN(3) {
			case 0:
				data = overlay(data, w.data, w.at)
			case 1:
				data = overlay(data, w.data[:r.IntN(len(w.data)+1)], w.at)
			}
		}
		g := &memFile{fs: next, data: data, durable: slices.Clone(data)}
		next.files[name], next.named[name] = g, g
	}
	return next
}

func (m *memFS) only(name string, data []byte) *memFS {
	next := newMemFS()
	next.files[name] = &memFile{fs: next, data: slices.Clone(data)}
	return next
}

func (m *memFS) segment() (string, []byte) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for name, f := range m.files {
		if _, _, ok := parseName(name); ok {
			return name, slices.Clone(f.data)
		}
	}
	panic(fmt.Sprint("no segment among ", slices.Sorted(maps.Keys(m.files))))
}

func (m *memFS) segments() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	n := 0
	for name := range m.files {
		if _, _, ok := parseName(name); ok {
			n++
		}
	}
	return n
}
