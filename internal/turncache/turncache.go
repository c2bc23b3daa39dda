// Package turncache remembers how far earlier requests were read, so that the cost of a turn depends on its new messages only. Clients
// send the whole conversation with every turn; the body of a turn begins with the same bytes as the body before it. A reader stores
// its state at a position of a body and continues from there when another body of the same workspace has the same beginning. The
// states are functions of these bytes alone, so a result never depends on the contents of the cache.
package turncache

import (
	"container/list"
	"hash/maphash"
	"sync"
)

// DefaultBytes is the default capacity of a Cache.
const DefaultBytes = 24 << 20

const (
	block    = 4 << 10 // states are found by the hash of the body up to a multiple of this
	maxBody  = 8 << 20 // longer bodies are not cached
	branches = 4       // states within one block
	overhead = 256     // bytes of an entry without its state
)

// MinPrefix is the first position at which a state is kept.
const MinPrefix = block

// Kind is a reader that stores its states.
type Kind uint8

// The readers.
const (
	Decoding  Kind = iota // used by the wire formats
	Reading               // used by package conversation
	Features              // features of the task
	Prompts               // used by package promptcache
	Splitting             // used by package outline
)

// Cache holds the states of readers. It is safe for concurrent use. When it is full, the least recently used states are removed
// first.
type Cache struct {
	seeds [2]maphash.Seed
	limit int

	mu     sync.Mutex
	groups map[key]*list.Element // elements hold *group
	recent list.List             // most recently used first
	bytes  int
}

// key identifies the states whose position is in one block after equal beginnings. States of workspaces are never shared.
type key struct {
	workspace string
	scope     string
	kind      Kind
	sum       uint64
}

type group struct {
	key
	states []stored // latest last
	bytes  int
}

type stored struct {
	check uint64 // second hash up to the block
	end   int    // position of the state
	tail  uint64 // hash from the block to the position
	state any
	bytes int
}

// New returns a cache for so many bytes.
func New(limit int) *Cache {
	return &Cache{seeds: [2]maphash.Seed{maphash.MakeSeed(), maphash.MakeSeed()}, limit: limit, groups: map[key]*list.Element{}}
}

// Bytes returns the size of the stored states.
func (c *Cache) Bytes() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.bytes
}

// Turn is the body of one request. A nil Turn finds and keeps nothing.
type Turn struct {
	cache     *Cache
	workspace string
	scope     string
	body      []byte
	sums      [][2]uint64 // hashes of the body up to each multiple of block, except 0
}

// Turn returns the body of a request of a workspace. scope distinguishes readers of the same kind, such as wire formats. It returns nil
// for a body that is too short to be worth caching, and for a nil Cache.
func (c *Cache) Turn(workspace, scope string, body []byte) *Turn {
	if c == nil || len(body) < 2*block || len(body) > maxBody {
		return nil
	}
	t := &Turn{cache: c, workspace: workspace, scope: scope, body: body, sums: make([][2]uint64, len(body)/block)}
	var sum [2]uint64
	for i := range t.sums {
		for j := range sum {
			// The hashes of the blocks are unpredictable, which makes the sums of different bodies differ.
			sum[j] = (sum[j] ^ maphash.Bytes(c.seeds[j], body[i*block:(i+1)*block])) * 0x9E3779B97F4A7C15
			sum[j] ^= sum[j] >> 32
		}
		t.sums[i] = sum
	}
	return t
}

// For returns the Turn itself, or nil if it is not the Turn of this body.
func (t *Turn) For(body []byte) *Turn {
	if t == nil || len(body) != len(t.body) || &body[0] != &t.body[0] {
		return nil
	}
	return t
}

// Find returns the state at the latest position for which one is stored, and that position. It returns 0 when there is none.
func (t *Turn) Find(kind Kind) (end int, state any) {
	if t == nil {
		return 0, nil
	}
	c := t.cache
	c.mu.Lock()
	defer c.mu.Unlock()
	for i := len(t.sums) - 1; i >= 0; i-- {
		element, ok := c.groups[key{t.workspace, t.scope, kind, t.sums[i][0]}]
		if !ok {
			continue
		}
		for _, one := range element.Value.(*group).states {
			if one.end > end && one.check == t.sums[i][1] && one.end <= len(t.body) && one.tail == t.tail((i+1)*block, one.end) {
				end, state = one.end, one.state
			}
		}
		if end > 0 {
			c.recent.MoveToFront(element)
			return end, state
		}
	}
	return 0, nil
}

// Hash returns a hash of a text that clients cannot predict. It returns 0 for a nil Turn.
func (t *Turn) Hash(text string) uint64 {
	if t == nil {
		return 0
	}
	return maphash.String(t.cache.seeds[1], text)
}

// tail returns the hash of a part of the body that is shorter than a block.
func (t *Turn) tail(from, end int) uint64 { return maphash.Bytes(t.cache.seeds[0], t.body[from:end]) }

// Keep stores the state of a reader at a position of the body. size is its size in bytes. The state must not refer to the body and must
// not be changed afterwards.
func (t *Turn) Keep(kind Kind, end int, state any, size int) {
	if t == nil || end < block || end > len(t.body) {
		return
	}
	i, c := end/block-1, t.cache
	one := stored{check: t.sums[i][1], end: end, tail: t.tail((i+1)*block, end), state: state, bytes: size + overhead}
	if one.bytes > c.limit/16 {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	k := key{t.workspace, t.scope, kind, t.sums[i][0]}
	element, ok := c.groups[k]
	if !ok {
		element = c.recent.PushFront(&group{key: k})
		c.groups[k] = element
	}
	c.recent.MoveToFront(element)
	g := element.Value.(*group)
	for at, other := range g.states {
		if other.end == one.end && other.tail == one.tail && other.check == one.check {
			g.remove(c, at)
			break
		}
	}
	if len(g.states) == branches {
		g.remove(c, 0)
	}
	g.states = append(g.states, one)
	g.bytes, c.bytes = g.bytes+one.bytes, c.bytes+one.bytes
	for c.bytes > c.limit {
		oldest := c.recent.Remove(c.recent.Back()).(*group)
		c.bytes -= oldest.bytes
		delete(c.groups, oldest.key)
	}
}

func (g *group) remove(c *Cache, at int) {
	c.bytes -= g.states[at].bytes
	g.bytes -= g.states[at].bytes
	g.states = append(g.states[:at], g.states[at+1:]...)
}
