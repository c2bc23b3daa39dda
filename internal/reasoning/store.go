// Package reasoning stores the signed reasoning before tool calls, for clients that do not send it back. Vendors sign the reasoning that
// leads to a tool call and expect the client to send it back with the tool result. The package stores it by workspace and tool-call ID, in
// memory and, encrypted, in the Redis that the replicas share. It never writes to the request log.
package reasoning

import (
	"container/list"
	"context"
	"crypto/sha256"
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
	workspaceShare = 4         // one workspace may use at most 1/workspaceShare of the entries and bytes
	maxCallBytes   = 128 << 10 // maximum bytes of reasoning before one call
	maxRestored    = 4 << 20   // maximum bytes of reasoning restored in one request
	maxLoads       = 32        // maximum number of calls that one request reads from the Remote
	entryOverhead  = 256       // estimated bytes of memory that an entry uses in addition to its reasoning
)

// Call is a tool call with the reasoning that preceded it.
type Call struct {
	ID        string         `json:"-"`
	Name      string         `json:"n"`
	Model     string         `json:"m"` // canonical name of the model that made the call
	Thinking  []llm.Thinking `json:"t,omitempty"`
	Signature string         `json:"s,omitempty"` // signature of the call itself
	Provider  string         `json:"p,omitempty"` // provider that created Signature
}

// size returns the size of the reasoning in bytes.
func (c *Call) size() int {
	n := len(c.Signature)
	for i := range c.Thinking {
		n += len(c.Thinking[i].Text) + len(c.Thinking[i].Signature) + len(c.Thinking[i].Redacted)
	}
	return n
}

// Retention determines where the reasoning of a response may be stored.
type Retention int

// Values of Retention.
const (
	Discard Retention = iota // reasoning is not stored
	Local                    // reasoning is stored in the memory of this process
	Shared                   // reasoning is stored in memory and in the Remote
)

// Remote is a store shared by the replicas. Keys are opaque.
type Remote interface {
	// Load returns the values of the keys in the same order and extends their lifetime. The value of a missing key is nil.
	Load(ctx context.Context, keys []Key) ([]*Call, error)
	// Save stores calls for Lifetime and removes the keys in drop.
	Save(ctx context.Context, keys []Key, calls []Call, drop []Key) error
	// Extend extends the lifetime of keys.
	Extend(ctx context.Context, keys []Key) error
}

// Key identifies a call in a workspace.
type Key [16]byte

// KeyOf returns the key of a call.
func KeyOf(workspaceID, callID string) Key {
	sum := sha256.Sum256([]byte(workspaceID + "\x00" + callID))
	return Key(sum[:16])
}

// Store holds the reasoning of calls. It evicts the least recently used calls. It is safe for concurrent use.
type Store struct {
	remote     Remote // shared store; nil for none
	maxEntries int
	maxBytes   int

	mu         sync.Mutex
	entries    map[Key]*entry
	order      *list.List // list of *entry, least recently used first
	bytes      int
	workspaces map[string]*workspaceEntries
}

// workspaceEntries holds the entries of one workspace.
type workspaceEntries struct {
	order *list.List // list of *entry, least recently used first
	bytes int
}

type entry struct {
	key       Key
	workspace string
	call      *Call // call with its reasoning; nil if a lookup in the Remote did not find it
	size      int
	expires   time.Time
	published time.Time // time at which this process last saved or extended the call in the Remote; zero for never
	all, own  *list.Element
}

// New returns a store. remote may be nil.
func New(remote Remote) *Store {
	return &Store{
		remote: remote, maxEntries: defaultEntries, maxBytes: defaultBytes,
		entries: map[Key]*entry{}, order: list.New(), workspaces: map[string]*workspaceEntries{},
	}
}

// keep stores the calls of a response. It returns after the Remote has stored them or the call to the Remote has timed
// out.
func (s *Store) keep(ctx context.Context, workspaceID string, calls []Call, r Retention) {
	if r == Discard || len(calls) == 0 {
		return
	}
	shared := r == Shared && s.remote != nil
	now := time.Now()
	keys := make([]Key, len(calls))
	s.mu.Lock()
	var drop []Key
	for i := range calls {
		keys[i] = KeyOf(workspaceID, calls[i].ID)
		e := s.put(workspaceID, keys[i], &calls[i], now)
		if shared {
			e.published = now
		}
		drop = append(drop, s.evict(workspaceID)...)
	}
	s.mu.Unlock()
	if shared || s.remote != nil && len(drop) > 0 {
		if !shared {
			keys, calls = nil, nil
		}
		_ = s.remote.Save(ctx, keys, calls, drop) // if the call fails, only this replica has the reasoning
	}
}

// put adds or replaces an entry. The lock must be held.
func (s *Store) put(workspaceID string, key Key, call *Call, now time.Time) *entry {
	if old := s.entries[key]; old != nil {
		s.remove(old)
	}
	own := s.workspaces[workspaceID]
	if own == nil {
		own = &workspaceEntries{order: list.New()}
		s.workspaces[workspaceID] = own
	}
	e := &entry{key: key, workspace: workspaceID, call: call, size: entryOverhead, expires: now.Add(Lifetime)}
	if call != nil {
		e.size += call.size()
	}
	e.all, e.own = s.order.PushBack(e), own.order.PushBack(e)
	s.entries[key] = e
	s.bytes += e.size
	own.bytes += e.size
	return e
}

func (s *Store) remove(e *entry) {
	own := s.workspaces[e.workspace]
	s.order.Remove(e.all)
	own.order.Remove(e.own)
	s.bytes -= e.size
	own.bytes -= e.size
	delete(s.entries, e.key)
	if own.order.Len() == 0 {
		delete(s.workspaces, e.workspace)
	}
}

// evict removes expired entries. If the store exceeds its limits, it also removes the least recently used entries. It returns the keys
// to remove from the Remote, so that a process never uses more space in the Remote than in its own memory.
func (s *Store) evict(workspaceID string) (drop []Key) {
	now := time.Now()
	for own := s.workspaces[workspaceID]; own.order.Len() > s.maxEntries/workspaceShare || own.bytes > s.maxBytes/workspaceShare; {
		drop = s.dropEntry(own.order.Front().Value.(*entry), now, drop)
	}
	for s.order.Len() > 0 {
		oldest := s.order.Front().Value.(*entry)
		if s.order.Len() <= s.maxEntries && s.bytes <= s.maxBytes && oldest.expires.After(now) {
			break
		}
		drop = s.dropEntry(oldest, now, drop)
	}
	return drop
}

func (s *Store) dropEntry(e *entry, now time.Time, drop []Key) []Key {
	s.remove(e)
	if now.Sub(e.published) < Lifetime {
		drop = append(drop, e.key)
	}
	return drop
}

// get returns a live entry and marks it as used. The lock must be held.
func (s *Store) get(key Key, now time.Time) *entry {
	e := s.entries[key]
	if e == nil {
		return nil
	}
	if !e.expires.After(now) {
		s.remove(e)
		return nil
	}
	e.expires = now.Add(Lifetime)
	s.order.MoveToBack(e.all)
	s.workspaces[e.workspace].order.MoveToBack(e.own)
	return e
}

// recall returns the stored reasoning of the wanted calls, newest first, up to maxRestored bytes. It reads at most
// maxLoads calls from the Remote.
func (s *Store) recall(ctx context.Context, workspaceID string, wanted []wantedCall) *Recalled {
	found := &Recalled{calls: map[string]*Call{}}
	now := time.Now()
	var missing []wantedCall
	var extend []Key
	s.mu.Lock()
	for _, w := range wanted {
		key := KeyOf(workspaceID, w.id)
		e := s.get(key, now)
		switch {
		case e == nil:
			missing = append(missing, w)
		case e.call != nil:
			found.add(w, e.call)
			if age := now.Sub(e.published); age > Lifetime/2 && age < Lifetime {
				e.published = now
				extend = append(extend, key)
			}
		}
	}
	s.mu.Unlock()
	if s.remote == nil {
		return found
	}
	if len(extend) > 0 {
		_ = s.remote.Extend(ctx, extend) // if this fails, the calls are still in the memory of this process
	}
	for _, loaded := range s.load(ctx, workspaceID, missing[:min(len(missing), maxLoads)]) {
		found.add(loaded.wantedCall, loaded.call)
	}
	return found
}

type loadedCall struct {
	wantedCall
	call *Call
}

// load reads calls from the Remote into memory. A call that the Remote does not have is recorded as missing and not looked up again:
// reasoning is stored before the client receives the end of the response, so it cannot be added later.
func (s *Store) load(ctx context.Context, workspaceID string, missing []wantedCall) (found []loadedCall) {
	if len(missing) == 0 {
		return nil
	}
	keys := make([]Key, len(missing))
	for i, w := range missing {
		keys[i] = KeyOf(workspaceID, w.id)
	}
	calls, err := s.remote.Load(ctx, keys)
	if err != nil || len(calls) != len(keys) {
		return nil
	}
	now := time.Now()
	var drop []Key
	s.mu.Lock()
	for i, call := range calls {
		if call != nil {
			found = append(found, loadedCall{missing[i], call})
		}
		if s.entries[keys[i]] == nil {
			s.put(workspaceID, keys[i], call, now)
			drop = append(drop, s.evict(workspaceID)...)
		}
	}
	s.mu.Unlock()
	if len(drop) > 0 {
		_ = s.remote.Save(ctx, nil, nil, drop) // if the call fails, the keys expire
	}
	return found
}
