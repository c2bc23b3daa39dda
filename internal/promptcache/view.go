package promptcache

import (
	"time"

	"fairlead.dev/internal/catalog"
)

// maxHits is the maximum number of targets in a view.
const maxHits = 16

// hit is the longest prefix of a prompt that a target has cached.
type hit struct {
	target uint16
	link   int16
	until  uint32
}

// View holds the cache state of a prompt at one point in time. The zero value has no hits.
type View struct {
	fingerprint  Fingerprint
	names        *targetTable
	hits         [maxHits]hit
	count        int
	longestKnown int // index of the longest known link, or -1
	turns        int
	last         uint16
	seen         uint32        // time of the previous turn
	covered      [slots]uint16 // targets of the last entry without an expired copy; another entry with the same targets adds no hits
}

// addEntry adds the entry of a link. Links are added longest first.
func (v *View) addEntry(link int, e *entry, now uint32) {
	live := v.addTargets(link, e, now)
	if e.turn > 0 && now < e.seen+uint32(idleTimeout/time.Second) {
		live = true
		if v.last == 0 {
			v.last = e.last
		}
		if v.turns == 0 && link < len(v.fingerprint.Links)-1 { // the entry of the whole prompt is a repeat, not an earlier turn
			v.turns, v.seen = int(e.turn), e.seen
		}
	}
	if live && v.longestKnown < 0 {
		v.longestKnown = link
	}
}

// addTargets adds the targets that have a link cached and reports whether there are any.
func (v *View) addTargets(link int, e *entry, now uint32) bool {
	if e.targets == v.covered && v.count > 0 {
		return true // all targets of the entry already have a longer prefix
	}
	cached, all := false, true
	for i, target := range e.targets {
		if target == 0 {
			break
		}
		if e.until[i] > now {
			cached = true
			if _, longer := v.hit(target); !longer && v.count < maxHits {
				v.hits[v.count] = hit{target, int16(link), e.until[i]}
				v.count++
			}
		} else {
			all = false
		}
	}
	if cached && all {
		v.covered = e.targets
	}
	return cached
}

// Turns returns the number of known earlier turns of the conversation.
func (v View) Turns() int { return v.turns }

// Repeats reports whether the same prompt was sent recently.
func (v View) Repeats() bool {
	return len(v.fingerprint.Links) > 0 && v.longestKnown == len(v.fingerprint.Links)-1
}

// Last returns the target that served the previous turn, or "".
func (v View) Last() string {
	if v.names == nil {
		return ""
	}
	return v.names.name(v.last)
}

// CacheHit returns the expected cached prefix at a target with the given rules.
func (v View) CacheHit(target string, rules catalog.CacheRule) CacheHit {
	w := CacheHit{Prompt: v.fingerprint.Tokens()}
	if rules.Granularity == catalog.NoCache || w.Prompt == 0 {
		return w
	}
	v.fingerprint = v.fingerprint.withEndMark(rules)
	var id uint16
	known := false
	if v.names != nil {
		id, known = v.names.id(target)
	}
	if known {
		w.HitRate = v.names.table.Load().rates[id].estimate(rules.HitRate)
		if isBaseline(target) {
			w.HitRate = 1 // a baseline is never called, so its hit rate cannot be measured
		}
		if h, ok := v.hit(id); ok {
			w.Held = v.cachedTokens(int(h.link), rules)
			if w.Held > 0 {
				w.Until = time.Unix(int64(h.until), 0)
			}
		}
	}
	w.Tokens = int64(float64(w.Held)*w.HitRate + 0.5)
	w.Writes, w.Long = v.writes(rules, w.Tokens)
	return w
}

func (v *View) hit(target uint16) (hit, bool) {
	for _, h := range v.hits[:v.count] {
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
