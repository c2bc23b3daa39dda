package promptcache

import (
	"context"
	"math/bits"
	"slices"
	"sync"
	"time"

	"github.com/cespare/xxhash/v2"

	"fairlead.dev/internal/catalog"
	"fairlead.dev/internal/llm"
)

// DefaultLinks is the default capacity of a Memory, at 64 bytes per link.
const DefaultLinks = 100_000

const (
	ways              = 8   // links per bucket
	slots             = 7   // targets per link
	stripes           = 64  // number of locks
	maxInitialBuckets = 512 // maximum initial number of buckets
	idleTimeout       = time.Hour
	maxTurns          = 1<<16 - 1
	maxLifetime       = 48 * time.Hour
)

// Memory is an in-process Store. Links are stored in small buckets. When a bucket is full of live links, the number
// of buckets doubles, up to a limit. At the limit, a full bucket evicts its least recently used link.
type Memory struct {
	names          *targetTable
	initialBuckets int      // initial number of buckets
	maxBuckets     int      // number of buckets at which doubling stops
	buckets        []bucket // current buckets, replaced only with all locks held
	locks          [stripes]struct {
		sync.Mutex
		_ [56]byte // padding, so that each lock has its own cache line
	}
}

type bucket struct {
	keys    [ways]uint64 // keys of the links; 0 for a free slot
	entries [ways]entry
}

// entry is the state of a link. Times are Unix seconds.
type entry struct {
	owner   uint32 // hash of the workspace, so that workspaces never share a link
	seen    uint32
	turn    uint16        // number of the turn whose prompt ended here, or 0
	last    uint16        // target that served the turn
	targets [slots]uint16 // targets that have the link cached, filled from the front; 0 for a free slot
	until   [slots]uint32
}

// NewMemory returns a store with a capacity of the given number of links, or DefaultLinks if links is not positive.
func NewMemory(links int) *Memory {
	if links <= 0 {
		links = DefaultLinks
	}
	limit := (links + ways - 1) / ways
	initial := limit
	for initial > maxInitialBuckets {
		initial = (initial + 1) / 2
	}
	names := &targetTable{}
	names.table.Store(&targetSnapshot{ids: map[string]uint16{}, names: []string{""}, rates: []*hitRate{{}}})
	return &Memory{names: names, initialBuckets: initial, maxBuckets: limit, buckets: make([]bucket, initial)}
}

// linkKey identifies a link of a workspace.
type linkKey struct {
	key   uint64
	owner uint32
}

// linkKeyOf returns the key of a link in a workspace.
func linkKeyOf(workspace, hash uint64) linkKey {
	key := (hash ^ workspace) * 0x9E3779B97F4A7C15
	key ^= key >> 29
	return linkKey{key: max(key, 1), owner: uint32(workspace >> 32)}
}

// sessionKey returns the key of a session ID in a workspace.
func sessionKey(workspace uint64, session string) linkKey {
	return linkKeyOf(workspace, xxhash.Sum64String("session\x00"+session))
}

func seconds(t time.Time) uint32 { return uint32(max(t.Unix(), 0)) }

// Lookup implements Store.
func (m *Memory) Lookup(_ context.Context, workspaceID string, fp Fingerprint, now time.Time) View {
	v := View{fingerprint: fp, names: m.names, longestKnown: -1}
	at, workspace := seconds(now), xxhash.Sum64String(workspaceID)
	for i := len(fp.Links) - 1; i >= 0; i-- {
		p := linkKeyOf(workspace, fp.Links[i].Hash)
		b, lock := m.bucketOf(p)
		if e := b.at(p); e != nil {
			v.addEntry(i, e, at)
		}
		lock.Unlock()
	}
	if v.last == 0 && fp.Session != "" {
		if e, ok := m.get(sessionKey(workspace, fp.Session)); ok && e.isLive(at) {
			v.last, v.turns, v.seen = e.last, int(e.turn), e.seen
		}
	}
	v.fingerprint.Outlook = outlook(v.turns, time.Duration(at-min(v.seen, at))*time.Second)
	return v
}

// Record implements Store.
func (m *Memory) Record(workspaceID string, fp Fingerprint, target string, rules catalog.CacheRule, u llm.Usage, now time.Time) {
	id, ok := m.names.assign(target)
	if !ok || len(fp.Links) == 0 {
		return
	}
	if !isBaseline(target) {
		fp = fp.withEndMark(rules)
	}
	before := m.Lookup(context.Background(), workspaceID, fp, now) // state before this prompt, used for the expected read and the turn number
	if !isBaseline(target) {
		m.learn(id, before, rules, u)
	}
	workspace, last := xxhash.Sum64String(workspaceID), len(fp.Links)-1
	n := entryUpdate{target: id, at: seconds(now)}
	cached := lastCachedLink(fp, rules, u, isBaseline(target))
	for i, link := range fp.Links {
		n.until, n.refresh, n.turn = 0, false, 0
		switch {
		case i > cached:
		case rules.Granularity == catalog.CacheBlocks, rules.Granularity == catalog.CachePromptEnd && i == last && !fp.MarksOnly, link.Mark != Unmarked:
			n.until = seconds(now.Add(min(ttl(rules, fp, link.Mark), maxLifetime)))
		default: // not a new write, but the read extends the lifetime of an earlier write
			n.until, n.refresh = seconds(now.Add(min(ttl(rules, fp, Unmarked), maxLifetime))), true
		}
		if i == last && !isBaseline(target) {
			n.turn = uint16(min(before.turns+1, maxTurns))
		}
		m.put(linkKeyOf(workspace, link.Hash), n)
	}
	if fp.Session != "" && !isBaseline(target) {
		n.until, n.refresh, n.turn = 0, false, uint16(min(before.turns+1, maxTurns))
		m.put(sessionKey(workspace, fp.Session), n)
	}
}

// learn compares the usage that a target reported with the estimate.
func (m *Memory) learn(id uint16, before View, rules catalog.CacheRule, u llm.Usage) {
	h, ok := before.hit(id)
	if !ok || u.Estimated || u.Prompt() <= 0 || rules.Granularity == catalog.NoCache {
		return
	}
	held := before.cachedTokens(int(h.link), rules)
	if held == 0 {
		return
	}
	expected := float64(held) / float64(before.fingerprint.Tokens()) * float64(u.Prompt())
	m.names.table.Load().rates[id].learn(min(max(float64(u.CacheRead)/expected, 0), 1))
}

// tolerance is added to the cached share of the prompt that a provider reports, because token estimates are inexact.
const tolerance = 0.05

// lastCachedLink returns the index of the last link that a target has cached after reading a prompt, or -1. If the provider reports cache
// reads and writes, the reported token counts determine the link. If guess is true or the usage is estimated, the usage is ignored.
func lastCachedLink(fp Fingerprint, rules catalog.CacheRule, u llm.Usage, guess bool) int {
	whole := fp.Tokens()
	if rules.Granularity == catalog.NoCache || whole < rules.Minimum {
		return -1
	}
	last := len(fp.Links) - 1
	if guess || u.Estimated || !rules.Writes || u.Prompt() <= 0 {
		return last
	}
	cached := u.CacheRead + u.CacheWrite
	if cached == 0 {
		return -1
	}
	maxTokens := (float64(cached)/float64(u.Prompt()) + tolerance) * float64(whole)
	for last >= 0 && float64(fp.Links[last].Tokens) > maxTokens {
		last--
	}
	return last
}

// entryUpdate is a change to an entry.
type entryUpdate struct {
	at      uint32
	target  uint16
	turn    uint16 // new turn number; 0 for no change
	until   uint32 // new expiry time; 0 for no change
	refresh bool   // whether to set until only for a target with an unexpired copy
}

// bucketOf returns the bucket of a link with its lock held.
func (m *Memory) bucketOf(p linkKey) (*bucket, *sync.Mutex) {
	lock := &m.locks[bucketAt(p.key, m.initialBuckets)%stripes].Mutex // buckets split from one initial bucket share its lock
	lock.Lock()
	return &m.buckets[bucketAt(p.key, len(m.buckets))], lock
}

// bucketAt returns the bucket of a key among n buckets. Doubling n splits every bucket into two neighbours.
func bucketAt(key uint64, n int) int {
	i, _ := bits.Mul64(key, uint64(n))
	return int(i)
}

// grow doubles the number of buckets, unless another goroutine has already doubled it. It holds all locks for some milliseconds,
// which is acceptable because the number doubles only a few times in the life of a process.
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
				to := &fresh[bucketAt(key, len(fresh))]
				free := slices.Index(to.keys[:], 0)
				to.keys[free], to.entries[free] = key, b.entries[k]
			}
		}
	}
	m.buckets = fresh
}

// isFull reports whether adding the link would evict a live link.
func (b *bucket) isFull(p linkKey, now uint32) bool {
	for i := range b.keys {
		if b.rank(i, now) < liveRank {
			return false
		}
	}
	return b.at(p) == nil
}

func (m *Memory) get(p linkKey) (entry, bool) {
	b, lock := m.bucketOf(p)
	defer lock.Unlock()
	if e := b.at(p); e != nil {
		return *e, true
	}
	return entry{}, false
}

// at returns the entry of a link, or nil.
func (b *bucket) at(p linkKey) *entry {
	for i, key := range b.keys {
		if key == p.key && b.entries[i].owner == p.owner {
			return &b.entries[i]
		}
	}
	return nil
}

// put applies an update. It creates an entry only if the update sets a turn or an expiry time. Extending an expiry time does not create one.
func (m *Memory) put(p linkKey, n entryUpdate) {
	create := n.turn > 0 || n.until > 0 && !n.refresh
	b, lock := m.bucketOf(p)
	if size := len(m.buckets); create && size < m.maxBuckets && b.isFull(p, n.at) {
		lock.Unlock()
		m.grow(size)
		b, lock = m.bucketOf(p)
	}
	defer lock.Unlock()
	e := b.at(p)
	if e == nil && !create {
		return
	}
	if e == nil {
		evicted := 0
		for i := range b.keys {
			if b.rank(i, n.at) < b.rank(evicted, n.at) {
				evicted = i
			}
		}
		b.keys[evicted], b.entries[evicted] = p.key, entry{owner: p.owner}
		e = &b.entries[evicted]
	}
	e.seen = max(e.seen, n.at)
	if n.turn > 0 {
		e.turn, e.last = n.turn, n.target
	}
	if n.until > 0 {
		e.setExpiry(n.target, n.until, n.at, n.refresh)
	}
}

// rank returns the eviction rank of a slot. The slot with the lowest rank is evicted first: free slots, then expired links, then the least
// recently used link.
func (b *bucket) rank(i int, now uint32) uint64 {
	switch {
	case b.keys[i] == 0:
		return 0
	case !b.entries[i].isLive(now):
		return 1
	}
	return liveRank + uint64(b.entries[i].seen)
}

// liveRank is the lowest rank of a live link.
const liveRank = 2

// isLive reports whether the entry has a turn or a cached prefix that has not expired.
func (e *entry) isLive(now uint32) bool {
	if e.turn > 0 && now < e.seen+uint32(idleTimeout/time.Second) {
		return true
	}
	for i, until := range e.until {
		if e.targets[i] != 0 && until > now {
			return true
		}
	}
	return false
}

// setExpiry records when the target's copy of the link expires. If the entry is full, it replaces the target whose copy expires first. If
// refresh is true, it does nothing unless the target has an unexpired copy.
func (e *entry) setExpiry(target uint16, until, now uint32, refresh bool) {
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
