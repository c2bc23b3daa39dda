package responsecache

import (
	"hash/maphash"
	"sync"

	"fairlead.dev/internal/conversation"
	"fairlead.dev/internal/predict"
)

// maxReadings is the maximum number of readings in memory. A reading takes about 1 KB.
const maxReadings = 1024

// Readings caches the features of short requests that use the response cache, because computing the features takes longer than the other
// steps of a cache hit. Package turncache holds the features of long requests. Readings are not shared between workspaces, so that the
// duration of a request reveals nothing about requests of other workspaces. The zero value is ready to use.
type Readings struct {
	once  sync.Once
	seeds [2]maphash.Seed
	mu    sync.Mutex
	known map[ReadingKey]*Reading
}

// ReadingKey is an unpredictable hash of a workspace, an endpoint and a body. The zero key means that there is no reading.
type ReadingKey [2]uint64

// Reading holds the features of a prompt and the state of its conversation.
type Reading struct {
	Features predict.Features
	State    conversation.Findings
}

// Key returns the key of a request.
func (r *Readings) Key(workspace, path string, body []byte) (key ReadingKey) {
	r.once.Do(func() { r.seeds = [2]maphash.Seed{maphash.MakeSeed(), maphash.MakeSeed()} })
	for i := range key {
		var h maphash.Hash
		h.SetSeed(r.seeds[i])
		for _, part := range [...]string{workspace, path} {
			_, _ = h.WriteString(part) // WriteString never fails
			_ = h.WriteByte(0)
		}
		_, _ = h.Write(body)
		key[i] = h.Sum64()
	}
	return key
}

// Find returns the reading of a request, or nil.
func (r *Readings) Find(key ReadingKey) *Reading {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.known[key]
}

// Keep stores the reading of a request. If the table is full, Keep first empties it.
func (r *Readings) Keep(key ReadingKey, reading *Reading) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.known == nil || len(r.known) >= maxReadings {
		r.known = map[ReadingKey]*Reading{}
	}
	r.known[key] = reading
}
