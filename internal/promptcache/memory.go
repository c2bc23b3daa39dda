package promptcache

import (
	"container/list"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/cespare/xxhash/v2"

	"fairlead.dev/internal/catalog"
	"fairlead.dev/internal/llm"
)

// DefaultLinks is the usual capacity of a Memory.
const DefaultLinks = 50_000

// idleTimeout is the time after which a conversation counts as a new one.
const idleTimeout = time.Hour

// Memory records which prefixes of prompts the targets have cached, by workspace. At its capacity it evicts the link that was
// recorded least recently. A nil Memory has no records. It is safe for concurrent use.
type Memory struct {
	maxLinks int

	mu    sync.Mutex
	links map[linkKey]*list.Element // elements of order
	order *list.List                // list of *entry, least recently recorded first
	rates map[string]hitRate        // hit rates by target
}

// linkKey identifies a link, or a session, of a workspace.
type linkKey struct {
	workspace string
	hash      uint64
}

// entry is the state of a link.
type entry struct {
	key    linkKey
	seen   time.Time
	turn   int    // number of the turn whose prompt ended here, or 0
	last   string // target that served the turn
	copies []cachedCopy
}

// cachedCopy is a link in the cache of a target.
type cachedCopy struct {
	target  string
	expires time.Time
}

// NewMemory returns a memory with a capacity of the given number of links.
func NewMemory(links int) *Memory {
	return &Memory{maxLinks: links, links: map[linkKey]*list.Element{}, order: list.New(), rates: map[string]hitRate{}}
}

const baselinePrefix = "baseline:"

// Baseline returns the name under which the cache of a baseline model is recorded. The baseline is the model that would have been used
// without routing. It is never called, so its cache is computed from the prompts that it would have read.
func Baseline(model string) string { return baselinePrefix + model }

func sessionKey(workspaceID, session string) linkKey {
	return linkKey{workspaceID, xxhash.Sum64String("session\x00" + session)}
}

// View is a prompt with its cache state at the time of its request. The zero value has no cache.
type View struct {
	Fingerprint
	Turns int    // number of known earlier turns of the conversation
	Last  string // target that served the previous turn; may be empty

	memory    *Memory
	workspace string
	now       time.Time
	hits      map[string]hit // longest cached prefix by target
}

// hit is the longest prefix of a prompt that a target has cached.
type hit struct {
	link int
	rate float64 // expected share of the prefix that the target reads; 0 if it was never measured
}

// Lookup returns the cache state of a prompt that is sent at the given time.
func (m *Memory) Lookup(workspaceID string, fp Fingerprint, now time.Time) View {
	v := View{Fingerprint: fp, memory: m, workspace: workspaceID, now: now, hits: map[string]hit{}}
	if m == nil {
		return v
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	var previous time.Time
	for i, link := range slices.Backward(fp.Links) {
		e := m.find(linkKey{workspaceID, link.Hash})
		if e == nil {
			continue
		}
		for _, c := range e.copies {
			if _, longer := v.hits[c.target]; !longer && c.expires.After(now) {
				v.hits[c.target] = hit{i, m.rates[c.target].share}
			}
		}
		if e.turn == 0 || now.Sub(e.seen) >= idleTimeout {
			continue
		}
		if v.Last == "" {
			v.Last = e.last
		}
		if v.Turns == 0 && i < len(fp.Links)-1 { // the entry of the whole prompt is a repeat, not an earlier turn
			v.Turns, previous = e.turn, e.seen
		}
	}
	if v.Last == "" && fp.Session != "" {
		if e := m.find(sessionKey(workspaceID, fp.Session)); e != nil && now.Sub(e.seen) < idleTimeout {
			v.Last, v.Turns, previous = e.last, e.turn, e.seen
		}
	}
	if v.Turns > 0 { // most prompts are sent once, and a cache mark would make them more expensive
		v.Outlook = Outlook{Another: float64(v.Turns+1) / float64(v.Turns+2), Gap: now.Sub(previous)}
	}
	return v
}

// Record stores the fact that a target has read the prompt, and the usage that the target reported. Cache lifetimes start at the time of
// the lookup, when the prompt was sent. For a target named by Baseline, the usage is ignored.
func (v *View) Record(target string, rules catalog.CacheRule, u llm.Usage) {
	m := v.memory
	if m == nil || len(v.Links) == 0 {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	baseline := strings.HasPrefix(target, baselinePrefix)
	fp := v.withEndMark(rules)
	if held := v.heldTokens(target, fp, rules); held > 0 && !baseline && !u.Estimated && u.Prompt() > 0 {
		expected := float64(held) / float64(fp.Tokens()) * float64(u.Prompt())
		rate := m.rates[target]
		rate.learn(min(float64(u.CacheRead)/expected, 1), rules.HitRate)
		m.rates[target] = rate
	}
	last, cached := len(fp.Links)-1, fp.cachedLinks(rules, u, baseline)
	for i, link := range fp.Links {
		writes := i < cached && (rules.Granularity == catalog.CacheBlocks || link.Mark != Unmarked ||
			rules.Granularity == catalog.CachePromptEnd && i == last && !fp.MarksOnly)
		ends := i == last && !baseline
		e := m.touch(linkKey{v.workspace, link.Hash}, writes || ends, v.now)
		if e != nil && i < cached {
			e.extend(target, writes, v.now, v.now.Add(fp.lifetime(rules, link.Mark)))
		}
		if ends {
			e.turn, e.last = v.Turns+1, target
		}
	}
	if fp.Session != "" && !baseline {
		e := m.touch(sessionKey(v.workspace, fp.Session), true, v.now)
		e.turn, e.last = v.Turns+1, target
	}
}

func (m *Memory) find(k linkKey) *entry {
	if at := m.links[k]; at != nil {
		return at.Value.(*entry)
	}
	return nil
}

// touch returns an entry after recording its use. It returns nil if the entry does not exist and create is false.
func (m *Memory) touch(k linkKey, create bool, now time.Time) *entry {
	at := m.links[k]
	if at == nil {
		if !create {
			return nil
		}
		if m.order.Len() >= m.maxLinks {
			delete(m.links, m.order.Remove(m.order.Front()).(*entry).key)
		}
		at = m.order.PushBack(&entry{key: k})
		m.links[k] = at
	}
	m.order.MoveToBack(at)
	e := at.Value.(*entry)
	if now.After(e.seen) {
		e.seen = now
	}
	return e
}

// extend records when the target's copy of the link expires. Unless the target has written the link, it only extends the lifetime of an
// unexpired copy.
func (e *entry) extend(target string, written bool, now, expires time.Time) {
	for i := range e.copies {
		if c := &e.copies[i]; c.target == target {
			if (written || c.expires.After(now)) && expires.After(c.expires) {
				c.expires = expires
			}
			return
		}
	}
	if written {
		e.copies = slices.DeleteFunc(e.copies, func(c cachedCopy) bool { return !c.expires.After(now) })
		e.copies = append(e.copies, cachedCopy{target, expires})
	}
}

// hitRate is the measured share of the expected cached tokens that a target reads, as a moving average.
type hitRate struct{ share, weight float64 }

const (
	priorWeight = 5  // weight of the prior, in responses
	maxWeight   = 40 // maximum weight of past responses, so that older responses lose weight
)

// learn adds the share that one response read.
func (r *hitRate) learn(share, prior float64) {
	if r.weight == 0 {
		r.share, r.weight = prior, priorWeight
	}
	r.weight = min(r.weight+1, maxWeight)
	r.share += (share - r.share) / r.weight
}
