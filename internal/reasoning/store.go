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
	// lifetime is the time for which reasoning is kept after its last use. It is the longest lifetime of any vendor's prompt cache, so that
	// a conversation that continues within this time keeps the same prefix.
	lifetime = time.Hour

	defaultBytes  = 64 << 20
	maxCallBytes  = 128 << 10 // maximum bytes of reasoning before one call
	maxRestored   = 4 << 20   // maximum bytes of reasoning restored in one request
	entryOverhead = 512       // estimated bytes of memory that a call uses in addition to its reasoning
)

// key identifies a call in a workspace.
type key struct{ workspace, call string }

// call is a tool call with the reasoning that preceded it.
type call struct {
	key       key
	name      string
	model     string // canonical name of the model that made the call
	thinking  []llm.Thinking
	signature string // signature of the call itself
	provider  string // provider that created the signature
	expires   time.Time
}

// size returns the size of the reasoning in bytes.
func (c *call) size() int {
	n := len(c.signature)
	for i := range c.thinking {
		n += len(c.thinking[i].Text) + len(c.thinking[i].Signature) + len(c.thinking[i].Redacted)
	}
	return n
}

func (c *call) thinkingParts() (parts []llm.Part) {
	for i := range c.thinking {
		parts = append(parts, llm.Part{Kind: llm.ThinkingPart, Thinking: &c.thinking[i]})
	}
	return parts
}

// Store holds the reasoning of calls. It evicts the least recently used calls. It is safe for concurrent use.
type Store struct {
	maxBytes int
	signers  signers

	mu    sync.Mutex
	calls map[key]*list.Element // elements of order
	order *list.List            // list of *call, least recently used first
	bytes int
}

// New returns an empty store.
func New() *Store {
	return &Store{maxBytes: defaultBytes, calls: map[key]*list.Element{}, order: list.New()}
}

// keep stores the calls of a response.
func (s *Store) keep(calls []*call) {
	now := time.Now()
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range calls {
		if old := s.calls[c.key]; old != nil {
			s.remove(old)
		}
		c.expires = now.Add(lifetime)
		s.calls[c.key] = s.order.PushBack(c)
		s.bytes += entryOverhead + c.size()
	}
	for oldest := s.order.Front(); oldest != nil; oldest = s.order.Front() {
		if s.bytes <= s.maxBytes && oldest.Value.(*call).expires.After(now) {
			break
		}
		s.remove(oldest)
	}
}

func (s *Store) remove(at *list.Element) {
	c := s.order.Remove(at).(*call)
	s.bytes -= entryOverhead + c.size()
	delete(s.calls, c.key)
}

// find returns a stored call and extends its lifetime, or returns nil.
func (s *Store) find(k key) *call {
	now := time.Now()
	s.mu.Lock()
	defer s.mu.Unlock()
	at := s.calls[k]
	if at == nil {
		return nil
	}
	c := at.Value.(*call)
	if !c.expires.After(now) {
		s.remove(at)
		return nil
	}
	c.expires = now.Add(lifetime)
	s.order.MoveToBack(at)
	return c
}
