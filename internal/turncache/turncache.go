// Package turncache stores the states of readers of request bodies, so that the cost of reading a turn depends only on its new messages.
// Clients send the whole conversation with every turn, so the body of a turn begins with the same bytes as the body of the previous turn.
// A reader stores its state at an offset of a body. It continues at that offset when another body of the same workspace begins with the
// same bytes. A state depends only on these bytes, so a result never depends on the contents of the cache.
package turncache

import (
	"container/list"
	"hash/maphash"
	"sync"
)

// DefaultBytes is the default capacity of a Cache.
const DefaultBytes = 24 << 20

const (
	block    = 4 << 10 // block size in bytes; a state is found by the hash of all complete blocks before its offset
	maxBody  = 8 << 20 // maximum length of a cached body in bytes
	branches = 4       // maximum number of states with the same key
	overhead = 256     // estimated bytes of an entry in addition to its state
)

// MinPrefix is the smallest offset at which a state can be stored.
const MinPrefix = block

// Kind identifies the reader that stores a state.
type Kind uint8

// Readers that store states.
const (
	Decoding  Kind = iota // used by the wire formats
	Reading               // used by package conversation
	Features              // used for the features of the task
	Prompts               // used by package promptcache
	Splitting             // used by package outline
)

// Cache holds the states of readers. It is safe for concurrent use. When it is full, the least recently used states are removed
// first.
type Cache struct {
	seeds [2]maphash.Seed
	limit int

	mu     sync.Mutex
	groups map[key]*list.Element // groups of states; elements hold *group
	recent list.List             // groups, most recently used first
	bytes  int
}

// key identifies the states of bodies with the same beginning. sum is the hash of the body up to the start of the block that contains
// the offset of the state. Workspaces never share states.
type key struct {
	workspace string
	scope     string
	kind      Kind
	sum       uint64
}

type group struct {
	key
	states []stored // states, oldest first
	bytes  int
}

type stored struct {
	check uint64 // second hash of the bytes that key.sum covers
	end   int    // offset of the state in the body
	tail  uint64 // hash of the body from the start of the block to end
	state any
	bytes int
}

// New returns a cache with a capacity of limit bytes.
func New(limit int) *Cache {
	return &Cache{seeds: [2]maphash.Seed{maphash.MakeSeed(), maphash.MakeSeed()}, limit: limit, groups: map[key]*list.Element{}}
}

// Bytes returns the size of the stored states.
func (c *Cache) Bytes() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.bytes
}

// Turn finds and stores the states for the body of one request. A nil Turn finds no states and stores none.
type Turn struct {
	cache     *Cache
	workspace string
	scope     string
	body      []byte
	sums      [][2]uint64 // hashes of the body up to each multiple of block, except 0
}

// Turn returns the Turn for a request body in a workspace. scope distinguishes readers of the same kind, such as wire formats. It returns
// nil for a body that is too short or too long to cache, and for a nil Cache.
func (c *Cache) Turn(workspace, scope string, body []byte) *Turn {
	if c == nil || len(body) < 2*block || len(body) > maxBody {
		return nil
	}
	t := &Turn{cache: c, workspace: workspace, scope: scope, body: body, sums: make([][2]uint64, len(body)/block)}
	var sum [2]uint64
	for i := range t.sums {
		for j := range sum {
			// The seeds are random, so a client cannot construct two bodies with equal sums.
			sum[j] = (sum[j] ^ maphash.Bytes(c.seeds[j], body[i*block:(i+1)*block])) * 0x9E3779B97F4A7C15
			sum[j] ^= sum[j] >> 32
		}
		t.sums[i] = sum
	}
	return t
}

// For returns t if t is the Turn of this body, otherwise nil.
func (t *Turn) For(body []byte) *Turn {
	if t == nil || len(body) != len(t.body) || &body[0] != &t.body[0] {
		return nil
	}
	return t
}

// Find returns the stored state with the largest offset, and that offset. It returns 0 if no state is stored.
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

// Hash returns a hash of text that clients cannot predict. It returns 0 for a nil Turn.
func (t *Turn) Hash(text string) uint64 {
	if t == nil {
		return 0
	}
	return maphash.String(t.cache.seeds[1], text)
}

// tail returns the hash of a part of the body that is shorter than a block.
func (t *Turn) tail(from, end int) uint64 { return maphash.Bytes(t.cache.seeds[0], t.body[from:end]) }

// Keep stores the state of a reader at an offset of the body. size is the size of the state in bytes. The state must not
// refer to the body and must not be changed afterwards.
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
