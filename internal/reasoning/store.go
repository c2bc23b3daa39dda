// Package reasoning stores the signed reasoning before tool calls, for clients that do not send it back. Vendors sign the reasoning that
// leads to a tool call and expect the client to send it back with the tool result. The package stores it in memory, by workspace and
// tool-call ID. It never writes to the request log.
package reasoning

import (
	"container/list"
	"sync"
	"time"

	"fairlead.dev/internal/llm"
)

// Limits of a Store.
const (
	// Lifetime is the time for which reasoning is kept after its last use. It is the longest lifetime of any vendor's prompt cache, so that
	// a conversation that continues within this time keeps the same prefix.
	Lifetime = time.Hour

	defaultEntries = 16_384
	defaultBytes   = 64 << 20
	maxCallBytes   = 128 << 10 // maximum bytes of reasoning before one call
	maxRestored    = 4 << 20   // maximum bytes of reasoning restored in one request
	entryOverhead  = 256       // estimated bytes of memory that an entry uses in addition to its reasoning
)

// Call is a tool call with the reasoning that preceded it.
type Call struct {
	ID        string
	Name      string
	Model     string // canonical name of the model that made the call
	Thinking  []llm.Thinking
	Signature string // signature of the call itself
	Provider  string // provider that created Signature
}

// size returns the size of the reasoning in bytes.
func (c *Call) size() int {
	n := len(c.Signature)
	for i := range c.Thinking {
		n += len(c.Thinking[i].Text) + len(c.Thinking[i].Signature) + len(c.Thinking[i].Redacted)
	}
	return n
}

// Store holds the reasoning of calls. It evicts the least recently used calls. It is safe for concurrent use.
type Store struct {
	maxEntries int
	maxBytes   int

	mu      sync.Mutex
	entries map[key]*list.Element // elements of order
	order   *list.List            // list of *entry, least recently used first
	bytes   int
}

// key identifies a call in a workspace.
type key struct{ workspace, call string }

type entry struct {
	key     key
	call    *Call
	expires time.Time
}

func (e *entry) size() int { return entryOverhead + e.call.size() }

// New returns an empty store.
func New() *Store {
	return &Store{maxEntries: defaultEntries, maxBytes: defaultBytes, entries: map[key]*list.Element{}, order: list.New()}
}

// keep stores the calls of a response.
func (s *Store) keep(workspaceID string, calls []Call) {
	now := time.Now()
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := range calls {
		k := key{workspaceID, calls[i].ID}
		if old := s.entries[k]; old != nil {
			s.remove(old)
		}
		e := &entry{k, &calls[i], now.Add(Lifetime)}
		s.entries[k] = s.order.PushBack(e)
		s.bytes += e.size()
	}
	for oldest := s.order.Front(); oldest != nil; oldest = s.order.Front() {
		if s.order.Len() <= s.maxEntries && s.bytes <= s.maxBytes && oldest.Value.(*entry).expires.After(now) {
			break
		}
		s.remove(oldest)
	}
}

func (s *Store) remove(at *list.Element) {
	e := s.order.Remove(at).(*entry)
	s.bytes -= e.size()
	delete(s.entries, e.key)
}

// recall returns the stored reasoning of the wanted calls, newest first, up to maxRestored bytes.
func (s *Store) recall(workspaceID string, wanted []wantedCall) *Recalled {
	found := &Recalled{calls: map[string]*Call{}}
	now := time.Now()
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, w := range wanted {
		at := s.entries[key{workspaceID, w.id}]
		if at == nil {
			continue
		}
		e := at.Value.(*entry)
		if !e.expires.After(now) {
			s.remove(at)
			continue
		}
		e.expires = now.Add(Lifetime)
		s.order.MoveToBack(at)
		found.add(w, e.call)
	}
	return found
}
