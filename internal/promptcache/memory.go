package promptcache

import (
	"context"
	"math/bits"
	"slices"
	"sync"
	"time"

	"github.com/cespare/xxhash/v2"

	"fairlead/internal/llm"
)

// DefaultLinks is how many links a Memory holds when nothing else is said: 64 bytes each.
const DefaultLinks = 100_000

const (
	ways       = 8   // links that share a bucket
	slots      = 7   // targets that a link remembers
	stripes    = 64  // locks
	fewBuckets = 512 // that a memory begins with at most
	idle       = time.Hour
	maxTurns   = 1<<16 - 1
	longestTTL = 48 * time.Hour
)

// Memory is a Store within one process. Links live in small buckets. Where one is full of links that still tell something,
// the number of buckets doubles, up to a bound; from there on a full bucket forgets the link that was used least lately.
type Memory struct {
	names   *names
	few     int      // buckets that it began with
	most    int      // that it may have, but for less than few
	buckets []bucket // replaced only with all locks held
	locks   [stripes]struct {
		sync.Mutex
		_ [56]byte // one lock a cache line
	}
}

type bucket struct {
	keys    [ways]uint64 // 0 when free
	entries [ways]entry
}

// entry is what is known of a link. Times are in seconds since 1970.
type entry struct {
	owner   uint32 // of the workspace, so that no two ever share a link
	seen    uint32
	turn    uint16        // the number of the turn whose prompt ended here; 0 when none did
	last    uint16        // the target that served it
	targets [slots]uint16 // taken from the front; 0 when free
	until   [slots]uint32
}

// NewMemory makes a store for this many links; DefaultLinks when not positive.
func NewMemory(links int) *Memory {
	if links <= 0 {
		links = DefaultLinks
	}
	most := (links + ways - 1) / ways
	few := most
	for few > fewBuckets {
		few = (few + 1) / 2
	}
	return &Memory{names: newNames(), few: few, most: most, buckets: make([]bucket, few)}
}

// place is where a link is kept.
type place struct {
	key   uint64
	owner uint32
}

// placeOf is the place of a link in a workspace.
func placeOf(workspace, hash uint64) place {
	key := (hash ^ workspace) * 0x9E3779B97F4A7C15
	key ^= key >> 29
	return place{key: max(key, 1), owner: uint32(workspace >> 32)}
}

// sessionPlace is the place of what a caller calls a conversation.
func sessionPlace(workspace uint64, session string) place {
	return placeOf(workspace, xxhash.Sum64String("session\x00"+session))
}

func seconds(t time.Time) uint32 { return uint32(max(t.Unix(), 0)) }

// Lookup implements Store.
func (m *Memory) Lookup(_ context.Context, workspaceID string, d Fingerprint, now time.Time) View {
	v := View{digest: d, names: m.names, known: -1}
	at, workspace := seconds(now), xxhash.Sum64String(workspaceID)
	for i := len(d.Links) - 1; i >= 0; i-- {
		p := placeOf(workspace, d.Links[i].Hash)
		b, lock := m.bucketOf(p)
		if e := b.at(p); e != nil {
			v.take(i, e, at)
		}
		lock.Unlock()
	}
	if v.last == 0 && d.Session != "" {
		if e, ok := m.get(sessionPlace(workspace, d.Session)); ok && e.live(at) {
			v.last, v.turns = e.last, int(e.turn)
		}
	}
	return v
}

// Record implements Store.
func (m *Memory) Record(workspaceID string, d Fingerprint, target string, rules Rules, u llm.Usage, now time.Time) {
	id, ok := m.names.take(target)
	if !ok || len(d.Links) == 0 {
		return
	}
	before := m.Lookup(context.Background(), workspaceID, d, now) // before it is changed, for what was expected and the turns
	if !isVirtual(target) {
		m.learn(id, before, rules, u)
	}
	workspace, last := xxhash.Sum64String(workspaceID), len(d.Links)-1
	n := note{target: id, at: seconds(now)}
	warm := reaching(d, rules, u, isVirtual(target))
	for i, link := range d.Links {
		n.until, n.refresh, n.turn = 0, false, 0
		switch {
		case i > warm:
		case rules.Reach == Blocks, rules.Reach == Ends && i == last && !d.MarksOnly, link.Mark != Unmarked:
			n.until = seconds(now.Add(min(rules.keeps(d, link.Mark), longestTTL)))
		default: // not kept now, but what was kept here before has been used again
			n.until, n.refresh = seconds(now.Add(min(rules.keeps(d, Unmarked), longestTTL))), true
		}
		if i == last && !isVirtual(target) {
			n.turn = uint16(min(before.turns+1, maxTurns))
		}
		m.put(placeOf(workspace, link.Hash), n)
	}
	if d.Session != "" && !isVirtual(target) {
		n.until, n.refresh, n.turn = 0, false, uint16(min(before.turns+1, maxTurns))
		m.put(sessionPlace(workspace, d.Session), n)
	}
}

// learn compares what a target reported with what was expected of it.
func (m *Memory) learn(id uint16, before View, rules Rules, u llm.Usage) {
	h, ok := before.hit(id)
	if !ok || u.Estimated || u.Prompt() <= 0 || rules.Reach == Nothing {
		return
	}
	held := before.held(int(h.link), rules)
	if held == 0 {
		return
	}
	expected := float64(held) / float64(before.digest.Tokens()) * float64(u.Prompt())
	m.names.learn(id, min(max(float64(u.CacheRead)/expected, 0), 1))
}

// slack is how far our share of a link may be off from the provider's, for estimates differ.
const slack = 0.05

// reaching is the last link that a target has in its cache after it has read a prompt; -1 for none. Where reading and
// writing are both told, they say how far it reaches.
func reaching(d Fingerprint, rules Rules, u llm.Usage, guess bool) int {
	whole := d.Tokens()
	if rules.Reach == Nothing || whole < rules.Minimum {
		return -1
	}
	last := len(d.Links) - 1
	if guess || u.Estimated || !rules.Writes || u.Prompt() <= 0 {
		return last
	}
	told := u.CacheRead + u.CacheWrite
	if told == 0 {
		return -1
	}
	most := (float64(told)/float64(u.Prompt()) + slack) * float64(whole)
	for last >= 0 && float64(d.Links[last].Tokens) > most {
		last--
	}
	return last
}

// note is what is to be written to an entry.
type note struct {
	at      uint32
	target  uint16
	turn    uint16 // 0 leaves it
	until   uint32 // 0 leaves it
	refresh bool   // only where the target is warm already
}

// bucketOf returns a link's bucket with its lock held.
func (m *Memory) bucketOf(p place) (*bucket, *sync.Mutex) {
	lock := &m.locks[bucketAt(p.key, m.few)%stripes].Mutex // all that comes of a first bucket has its lock
	lock.Lock()
	return &m.buckets[bucketAt(p.key, len(m.buckets))], lock
}

// bucketAt is the bucket of a key among so many. Among twice as many it is one of the two in its place.
func bucketAt(key uint64, of int) int {
	i, _ := bits.Mul64(key, uint64(of))
	return int(i)
}

// grow doubles the number of buckets, unless somebody else has. It takes milliseconds at most, a few times in all.
func (m *Memory) grow(from int) {
	for i := range m.locks {
		m.locks[i].Lock()
		defer m.locks[i].Unlock()
	}
	if len(m.buckets) != from {
		return
	}
	fresh := make([]bucket, 2*from)
	for i := range m.buckets {
		b := &m.buckets[i]
		for k, key := range b.keys {
			if key != 0 {
				fresh[bucketAt(key, len(fresh))].add(key, b.entries[k])
			}
		}
	}
	m.buckets = fresh
}

// add puts an entry in a free place.
func (b *bucket) add(key uint64, e entry) {
	i := slices.Index(b.keys[:], 0)
	b.keys[i], b.entries[i] = key, e
}

// crowded reports whether a link has no place and would take that of one that still tells something.
func (b *bucket) crowded(p place, now uint32) bool {
	for i := range b.keys {
		if b.rank(i, now) < live {
			return false
		}
	}
	return b.at(p) == nil
}

func (m *Memory) get(p place) (entry, bool) {
	b, lock := m.bucketOf(p)
	defer lock.Unlock()
	if e := b.at(p); e != nil {
		return *e, true
	}
	return entry{}, false
}

// at returns a link's entry, nil when there is none.
func (b *bucket) at(p place) *entry {
	for i, key := range b.keys {
		if key == p.key && b.entries[i].owner == p.owner {
			return &b.entries[i]
		}
	}
	return nil
}

// put writes a note. A link that would stay empty gets no place.
func (m *Memory) put(p place, n note) {
	room := n.turn > 0 || n.until > 0 && !n.refresh
	b, lock := m.bucketOf(p)
	if size := len(m.buckets); room && size < m.most && b.crowded(p, n.at) {
		lock.Unlock()
		m.grow(size)
		b, lock = m.bucketOf(p)
	}
	defer lock.Unlock()
	e := b.find(p, n.at, room)
	if e == nil {
		return
	}
	e.seen = max(e.seen, n.at)
	if n.turn > 0 {
		e.turn, e.last = n.turn, n.target
	}
	if n.until > 0 {
		e.warm(n.target, n.until, n.at, n.refresh)
	}
}

// find returns a link's entry, making room for it where asked to.
func (b *bucket) find(p place, now uint32, room bool) *entry {
	if e := b.at(p); e != nil || !room {
		return e
	}
	oldest := 0
	for i := range b.keys {
		if b.rank(i, now) < b.rank(oldest, now) {
			oldest = i
		}
	}
	b.keys[oldest] = p.key
	b.entries[oldest] = entry{owner: p.owner}
	return &b.entries[oldest]
}

// rank orders the places of a bucket by how little is lost with them: free, dead, used longest ago.
func (b *bucket) rank(i int, now uint32) uint64 {
	switch {
	case b.keys[i] == 0:
		return 0
	case !b.entries[i].live(now):
		return 1
	}
	return live + uint64(b.entries[i].seen)
}

// live is the least rank of a link that still tells something.
const live = 2

// live reports whether the entry still tells anything.
func (e *entry) live(now uint32) bool {
	if e.turn > 0 && now < e.seen+uint32(idle/time.Second) {
		return true
	}
	for i, until := range e.until {
		if e.targets[i] != 0 && until > now {
			return true
		}
	}
	return false
}

// warm notes until when a target has the link. The place of another one is taken that is gone, or will be first.
func (e *entry) warm(target uint16, until, now uint32, refresh bool) {
	at := 0
	for i, one := range e.targets {
		if one == target {
			if !refresh || e.until[i] > now {
				e.until[i] = max(e.until[i], until)
			}
			return
		}
		if e.until[i] < e.until[at] {
			at = i
		}
	}
	if refresh {
		return
	}
	e.targets[at], e.until[at] = target, until
}
