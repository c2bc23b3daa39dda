package promptcache

import (
	"time"
)

// hits bounds how many targets a view tells of: those that have most of the prompt.
const maxHits = 16

// hit is the longest beginning of a prompt that a target has warm.
type hit struct {
	target uint16
	link   int16
	until  uint32
}

// View is what is known about a prompt at one moment. The zero value knows nothing.
type View struct {
	digest Fingerprint
	names  *names
	hits   [maxHits]hit
	count  int
	known  int // the longest link that is known, -1 for none
	turns  int
	last   uint16
	noted  [slots]uint16 // targets of an entry that all have hits
}

// take notes what an entry tells of a link. Links come longest first.
func (v *View) take(link int, e *entry, now uint32) {
	warm := v.targets(link, e, now)
	if e.turn > 0 && now < e.seen+uint32(idle/time.Second) {
		warm = true
		if v.last == 0 {
			v.last = e.last
		}
		if v.turns == 0 && link < len(v.digest.Links)-1 { // the whole prompt itself is a repeat, not a turn before it
			v.turns = int(e.turn)
		}
	}
	if warm && v.known < 0 {
		v.known = link
	}
}

// targets notes who has a link warm, and reports whether anybody has.
func (v *View) targets(link int, e *entry, now uint32) bool {
	if e.targets == v.noted && v.count > 0 {
		return true // all of them have more than this link
	}
	warm, all := false, true
	for i, target := range e.targets {
		if target == 0 {
			break
		}
		if e.until[i] > now {
			warm = true
			v.add(hit{target, int16(link), e.until[i]})
		} else {
			all = false
		}
	}
	if warm && all {
		v.noted = e.targets
	}
	return warm
}

func (v *View) add(h hit) {
	for i := range v.hits[:v.count] {
		if v.hits[i].target == h.target {
			return // with a longer beginning
		}
	}
	if v.count < maxHits {
		v.hits[v.count] = h
		v.count++
	}
}

// Turns is how many turns of the conversation came before this one, as far as is known.
func (v View) Turns() int { return v.turns }

// Repeats reports whether this very prompt was read before, not long ago.
func (v View) Repeats() bool { return len(v.digest.Links) > 0 && v.known == len(v.digest.Links)-1 }

// Last is the target that served the previous turn; empty when unknown.
func (v View) Last() string {
	if v.names == nil {
		return ""
	}
	return v.names.name(v.last)
}

// CacheHit tells what a target has warm of the prompt. rules are the target's own.
func (v View) CacheHit(target string, rules Rules) CacheHit {
	w := CacheHit{Prompt: v.digest.Tokens()}
	if rules.Reach == Nothing || w.Prompt == 0 {
		return w
	}
	if id, ok := v.id(target); ok {
		w.Chance = v.names.chance(id, rules)
		if isVirtual(target) {
			w.Chance = 1 // nobody was asked, so nobody ever failed: the baseline gets the benefit
		}
		if h, ok := v.hit(id); ok {
			w.Held = v.held(int(h.link), rules)
			if w.Held > 0 {
				w.Until = time.Unix(int64(h.until), 0)
			}
		}
	}
	w.Tokens = int64(float64(w.Held)*w.Chance + 0.5)
	w.Writes, w.Long = v.writes(rules, w.Tokens)
	return w
}

func (v View) id(target string) (uint16, bool) {
	if v.names == nil {
		return 0, false
	}
	return v.names.id(target)
}

func (v View) hit(target uint16) (hit, bool) {
	for _, h := range v.hits[:v.count] {
		if h.target == target {
			return h, true
		}
	}
	return hit{}, false
}

// held is how much of the prompt a target may read that has everything up to a link.
func (v View) held(link int, rules Rules) int64 {
	tokens := v.digest.Links[link].Tokens
	if rules.Reach == Marks && !v.reached(link, rules.Lookback) {
		return 0
	}
	if rules.Step > 0 {
		tokens -= tokens % rules.Step
	}
	if tokens < max(rules.Minimum, 1) {
		return 0
	}
	return tokens
}

// reached reports whether the prompt has a mark from which a kept link is found.
func (v View) reached(link, lookback int) bool {
	for i := link; i < len(v.digest.Links); i++ {
		if v.digest.Links[i].Mark != Unmarked && (lookback == 0 || i-link <= lookback) {
			return true
		}
	}
	return false
}

// writes is how much of the prompt is written to the cache, at a price, when so much is read from it.
func (v View) writes(rules Rules, read int64) (tokens int64, long bool) {
	if !rules.Writes {
		return 0, false
	}
	end := len(v.digest.Links) - 1
	if rules.Reach == Marks || v.digest.MarksOnly {
		for end >= 0 && v.digest.Links[end].Mark == Unmarked {
			end--
		}
	}
	if end < 0 || v.digest.Links[end].Tokens < rules.Minimum {
		return 0, false
	}
	return max(v.digest.Links[end].Tokens-read, 0), rules.Long > 0 && v.digest.Links[end].Mark == LongMark
}
