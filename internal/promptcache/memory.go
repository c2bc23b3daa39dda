package promptcache

import (
	"container/list"
	"strings"
	"sync"
	"time"

	"github.com/cespare/xxhash/v2"

	"fairlead.dev/internal/catalog"
	"fairlead.dev/internal/llm"
)

// DefaultLinks is the default capacity of a Memory.
const DefaultLinks = 50_000

const (
	maxTargets  = 7 // maximum number of targets that are recorded as having a link cached
	idleTimeout = 3600
	maxLifetime = 48 * time.Hour
)

// Memory records which prefixes of prompts the targets have cached, by workspace. At its capacity it evicts the link that was
// recorded least recently. A nil Memory has no records. It is safe for concurrent use.
type Memory struct {
	maxLinks int

	mu    sync.Mutex
	links map[linkKey]*list.Element // elements of order
	order *list.List                // list of *entry, least recently recorded first
	rates map[string]*hitRate       // hit rates by target
}

// linkKey identifies a link, or a session, of a workspace.
type linkKey struct {
	workspace string
	hash      uint64
}

// entry is the state of a link. Times are Unix seconds.
type entry struct {
	key     linkKey
	seen    int64
	turn    int    // number of the turn whose prompt ended here, or 0
	last    string // target that served the turn
	targets []copyAt
}

// copyAt is a target that has a link cached, with the expiry time.
type copyAt struct {
	target string
	until  int64
}

// NewMemory returns a memory with a capacity of the given number of links, or DefaultLinks if links is not positive.
func NewMemory(links int) *Memory {
	if links <= 0 {
		links = DefaultLinks
	}
	return &Memory{maxLinks: links, links: map[linkKey]*list.Element{}, order: list.New(), rates: map[string]*hitRate{}}
}

const baselinePrefix = "baseline:"

// Baseline returns the name under which the cache of a baseline model is recorded. The baseline is the model that would have been used
// without routing. It is never called, so its cache is computed from the prompts that it would have read.
func Baseline(model string) string { return baselinePrefix + model }

func isBaseline(target string) bool { return strings.HasPrefix(target, baselinePrefix) }

func sessionKey(workspaceID, session string) linkKey {
	return linkKey{workspaceID, xxhash.Sum64String("session\x00" + session)}
}

// Lookup returns the cache state of a prompt: which targets have cached which of its prefixes.
func (m *Memory) Lookup(workspaceID string, fp Fingerprint, now time.Time) View {
	if m == nil {
		return View{}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.lookup(workspaceID, fp, now.Unix())
}

// lookup is Lookup with the lock held.
func (m *Memory) lookup(workspaceID string, fp Fingerprint, now int64) View {
	v := View{fingerprint: fp, memory: m, longestKnown: -1}
	for i := len(fp.Links) - 1; i >= 0; i-- {
		if e := m.entry(linkKey{workspaceID, fp.Links[i].Hash}); e != nil {
			v.addEntry(i, e, now)
		}
	}
	if v.last == "" && fp.Session != "" {
		if e := m.entry(sessionKey(workspaceID, fp.Session)); e != nil && e.isRecent(now) {
			v.last, v.turns, v.seen = e.last, e.turn, e.seen
		}
	}
	v.fingerprint.Outlook = outlook(v.turns, time.Duration(max(now-v.seen, 0))*time.Second)
	return v
}

// Record stores the fact that a target has read a prompt, and the usage that the target reported. now is the time at which the prompt
// was sent, because cache lifetimes start at that time. For a target named by Baseline, the usage is ignored.
func (m *Memory) Record(workspaceID string, fp Fingerprint, target string, rules catalog.CacheRule, u llm.Usage, now time.Time) {
	if m == nil || target == "" || len(fp.Links) == 0 {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	turn, at := 0, now.Unix()
	if !isBaseline(target) {
		fp = fp.withEndMark(rules)
		before := m.lookup(workspaceID, fp, at) // state before this prompt, used for the expected read and the turn number
		turn = before.turns + 1
		m.learn(target, &before, rules, u)
	}
	last := len(fp.Links) - 1
	cached := lastCachedLink(fp, rules, u, isBaseline(target))
	for i, link := range fp.Links {
		n := update{target: target}
		switch {
		case i > cached:
		case rules.Granularity == catalog.CacheBlocks, rules.Granularity == catalog.CachePromptEnd && i == last && !fp.MarksOnly, link.Mark != Unmarked:
			n.until = now.Add(min(ttl(rules, fp, link.Mark), maxLifetime)).Unix()
		default: // not a new write, but the read extends the lifetime of an earlier write
			n.until, n.refresh = now.Add(min(ttl(rules, fp, Unmarked), maxLifetime)).Unix(), true
		}
		if i == last {
			n.turn = turn
		}
		m.put(linkKey{workspaceID, link.Hash}, n, at)
	}
	if fp.Session != "" && turn > 0 {
		m.put(sessionKey(workspaceID, fp.Session), update{target: target, turn: turn}, at)
	}
}

// learn compares the usage that a target reported with the estimate.
func (m *Memory) learn(target string, before *View, rules catalog.CacheRule, u llm.Usage) {
	h, ok := before.hit(target)
	if !ok || u.Estimated || u.Prompt() <= 0 || rules.Granularity == catalog.NoCache {
		return
	}
	held := before.cachedTokens(h.link, rules)
	if held == 0 {
		return
	}
	expected := float64(held) / float64(before.fingerprint.Tokens()) * float64(u.Prompt())
	rate := m.rates[target]
	if rate == nil {
		rate = &hitRate{}
		m.rates[target] = rate
	}
	rate.learn(min(max(float64(u.CacheRead)/expected, 0), 1))
}

// hitRate returns the expected share of the cached prefix that a target reads. guess is the share before any response of the target.
func (m *Memory) hitRate(target string, guess float64) float64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	if rate := m.rates[target]; rate != nil {
		return rate.estimate(guess)
	}
	return guess
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

func (m *Memory) entry(k linkKey) *entry {
	if at := m.links[k]; at != nil {
		return at.Value.(*entry)
	}
	return nil
}

// update is a change to an entry.
type update struct {
	target  string
	turn    int   // new turn number; 0 for no change
	until   int64 // new expiry time; 0 for no change
	refresh bool  // whether to set until only for a target with an unexpired copy
}

// put applies an update. It creates an entry only if the update sets a turn or an expiry time. Extending an expiry time does not create one.
func (m *Memory) put(k linkKey, n update, now int64) {
	at := m.links[k]
	if at == nil {
		if n.turn == 0 && (n.until == 0 || n.refresh) {
			return
		}
		if m.order.Len() >= m.maxLinks {
			delete(m.links, m.order.Remove(m.order.Front()).(*entry).key)
		}
		at = m.order.PushBack(&entry{key: k})
		m.links[k] = at
	}
	m.order.MoveToBack(at)
	e := at.Value.(*entry)
	e.seen = max(e.seen, now)
	if n.turn > 0 {
		e.turn, e.last = n.turn, n.target
	}
	if n.until > 0 {
		e.setExpiry(n.target, n.until, now, n.refresh)
	}
}

// isRecent reports whether a turn ended at the entry within the idle timeout.
func (e *entry) isRecent(now int64) bool { return e.turn > 0 && now < e.seen+idleTimeout }

// setExpiry records when the target's copy of the link expires. If the entry is full, it replaces the target whose copy expires first. If
// refresh is true, it does nothing unless the target has an unexpired copy.
func (e *entry) setExpiry(target string, until, now int64, refresh bool) {
	first := 0
	for i := range e.targets {
		one := &e.targets[i]
		if one.target == target {
			if !refresh || one.until > now {
				one.until = max(one.until, until)
			}
			return
		}
		if one.until < e.targets[first].until {
			first = i
		}
	}
	switch {
	case refresh:
	case len(e.targets) < maxTargets:
		e.targets = append(e.targets, copyAt{target, until})
	default:
		e.targets[first] = copyAt{target, until}
	}
}

// hitRate learns how often a target reads a cached prefix.
type hitRate struct{ hits, misses float64 }

const (
	priorWeight  = 5  // weight of the prior, in responses
	memoryWeight = 40 // maximum weight of past responses, so that older responses lose weight
)

// learn adds a response that read the given share of the expected prefix.
func (r *hitRate) learn(share float64) {
	if all := r.hits + r.misses; all+1 > memoryWeight {
		fade := (memoryWeight - 1) / all
		r.hits, r.misses = r.hits*fade, r.misses*fade
	}
	r.hits += share
	r.misses += 1 - share
}

func (r *hitRate) estimate(guess float64) float64 {
	return (guess*priorWeight + r.hits) / (priorWeight + r.hits + r.misses)
}
