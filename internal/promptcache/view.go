package promptcache

import (
	"time"

	"fairlead.dev/internal/catalog"
	"fairlead.dev/internal/llm"
)

// hit is the longest prefix of a prompt that a target has cached.
type hit struct {
	target string
	link   int
	until  int64
}

// View holds the cache state of a prompt at one point in time. The zero value has no hits.
type View struct {
	fingerprint  Fingerprint
	memory       *Memory // source of the hit rates; nil for the zero value
	hits         []hit
	longestKnown int // index of the longest known link, or -1
	turns        int
	last         string
	seen         int64 // time of the previous turn
}

// addEntry adds the entry of a link. Links are added longest first.
func (v *View) addEntry(link int, e *entry, now int64) {
	live := false
	for _, one := range e.targets {
		if one.until <= now {
			continue
		}
		live = true
		if _, longer := v.hit(one.target); !longer {
			v.hits = append(v.hits, hit{one.target, link, one.until})
		}
	}
	if e.isRecent(now) {
		live = true
		if v.last == "" {
			v.last = e.last
		}
		if v.turns == 0 && link < len(v.fingerprint.Links)-1 { // the entry of the whole prompt is a repeat, not an earlier turn
			v.turns, v.seen = e.turn, e.seen
		}
	}
	if live && v.longestKnown < 0 {
		v.longestKnown = link
	}
}

// Turns returns the number of known earlier turns of the conversation.
func (v View) Turns() int { return v.turns }

// Last returns the target that served the previous turn, or "".
func (v View) Last() string { return v.last }

// CacheHit returns the expected cached prefix at a target with the given rules.
func (v View) CacheHit(target string, rules catalog.CacheRule) CacheHit {
	w := CacheHit{Prompt: v.fingerprint.Tokens()}
	if rules.Granularity == catalog.NoCache || w.Prompt == 0 {
		return w
	}
	v.fingerprint = v.fingerprint.withEndMark(rules)
	if h, ok := v.hit(target); ok {
		w.HitRate = 1 // a baseline is never called, so its hit rate cannot be measured
		if !isBaseline(target) {
			w.HitRate = v.memory.hitRate(target, rules.HitRate)
		}
		if w.Held = v.cachedTokens(h.link, rules); w.Held > 0 {
			w.Until = time.Unix(h.until, 0)
		}
	}
	w.Tokens = int64(float64(w.Held)*w.HitRate + 0.5)
	w.Writes, w.Long = v.writes(rules, w.Tokens)
	return w
}

func (v *View) hit(target string) (hit, bool) {
	for _, h := range v.hits {
		if h.target == target {
			return h, true
		}
	}
	return hit{}, false
}

// cachedTokens returns the number of tokens that a target can read from its cache if it has cached all links up to the given link.
func (v View) cachedTokens(link int, rules catalog.CacheRule) int64 {
	tokens := v.fingerprint.Links[link].Tokens
	if rules.Granularity == catalog.CacheMarks {
		reachable := false // whether the prompt has a mark from which the provider finds the cached link
		for i := link; i < len(v.fingerprint.Links) && !reachable; i++ {
			reachable = v.fingerprint.Links[i].Mark != Unmarked && (rules.Lookback == 0 || i-link <= rules.Lookback)
		}
		if !reachable {
			return 0
		}
	}
	if rules.Step > 0 {
		tokens -= tokens % rules.Step
	}
	if tokens < max(rules.Minimum, 1) {
		return 0
	}
	return tokens
}

// writes returns the number of tokens that are billed as cache writes if read tokens come from the cache. long reports whether they are
// written with the long lifetime.
func (v View) writes(rules catalog.CacheRule, read int64) (tokens int64, long bool) {
	if !rules.Writes {
		return 0, false
	}
	end := len(v.fingerprint.Links) - 1
	if rules.Granularity == catalog.CacheMarks || v.fingerprint.MarksOnly {
		for end >= 0 && v.fingerprint.Links[end].Mark == Unmarked {
			end--
		}
	}
	if end < 0 || v.fingerprint.Links[end].Tokens < rules.Minimum {
		return 0, false
	}
	return max(v.fingerprint.Links[end].Tokens-read, 0), rules.Long > 0 && v.fingerprint.Links[end].Mark == LongMark
}

// ttl returns the time for which a link stays cached after its last use.
func ttl(rule catalog.CacheRule, fp Fingerprint, mark Mark) time.Duration {
	switch {
	case mark == LongMark && rule.Long > 0:
		return rule.Long
	case rule.Extendable:
		return max(rule.Lifetime, fp.Retention)
	}
	return rule.Lifetime
}

// CacheHit describes the prefix of a prompt that a target is expected to have cached. Token counts are the estimates in the fingerprint.
type CacheHit struct {
	Prompt  int64     `json:"prompt"`          // length of the whole prompt in tokens
	Held    int64     `json:"held,omitempty"`  // length of the cached prefix according to the provider's rules
	Tokens  int64     `json:"tokens"`          // expected cache read: Held times HitRate
	Writes  int64     `json:"write,omitempty"` // expected cache write, billed separately
	Long    bool      `json:"long,omitempty"`  // whether the prefix is written with a lifetime of one hour
	Until   time.Time `json:"until,omitzero"`  // expiry time if the prefix is not used again
	HitRate float64   `json:"hit_rate,omitempty"`
}

// Usage splits a prompt, in the target's own token count, into the expected uncached, cached and written tokens.
func (w CacheHit) Usage(prompt int64) llm.Usage {
	if w.Prompt <= 0 || prompt <= 0 {
		return llm.Usage{Input: max(prompt, 0)}
	}
	share := float64(prompt) / float64(w.Prompt)
	u := llm.Usage{CacheRead: min(int64(float64(w.Tokens)*share+0.5), prompt)}
	u.CacheWrite = min(int64(float64(w.Writes)*share+0.5), prompt-u.CacheRead)
	if w.Long {
		u.CacheWriteLong = u.CacheWrite
	}
	u.Input = prompt - u.CacheRead - u.CacheWrite
	return u
}
