package promptcache

import (
	"slices"
	"strings"
	"time"

	"fairlead.dev/internal/catalog"
	"fairlead.dev/internal/llm"
)

// Outlook predicts the next turn of a conversation from earlier turns. The zero value predicts no further turn.
type Outlook struct {
	Another float64       // probability of a further turn
	Gap     time.Duration // pause before the current turn, also expected before the next one
}

// EndMark returns the mark that the gateway sets at the end of the prompt for a target with the given rules. The lifetime of the mark
// covers the expected pause, and the expected reads save more than the write costs. EndMark returns Unmarked if no lifetime meets both
// conditions, if the rules do not allow an end mark or require a longer prompt, or if the caller has set any marks.
func (fp *Fingerprint) EndMark(rules catalog.CacheRule) Mark {
	next := fp.Outlook
	if !rules.EndMark || fp.Tokens() < rules.Minimum || next.Another <= 0 || slices.ContainsFunc(fp.Links, func(l Link) bool { return l.Mark != Unmarked }) {
		return Unmarked
	}
	// Each later turn reads the prefix and extends its lifetime. With the short lifetime, one read saves more than the write costs.
	// Longer pauses need the long lifetime. Its write costs more than one read saves, so several reads must be expected.
	reads := next.Another / (1 - next.Another)
	switch {
	case next.Gap <= rules.Lifetime && next.Another*rules.HitRate > rules.BreakEven:
		return ShortMark
	case next.Gap > rules.Lifetime && next.Gap <= rules.Long && rules.BreakEvenLong > 0 && reads*rules.HitRate > rules.BreakEvenLong:
		return LongMark
	}
	return Unmarked
}

// withEndMark returns the fingerprint with the mark that the gateway sets for a target with the given rules.
func (fp *Fingerprint) withEndMark(rules catalog.CacheRule) *Fingerprint {
	mark := fp.EndMark(rules)
	if mark == Unmarked {
		return fp
	}
	marked := *fp
	marked.Links = slices.Clone(fp.Links)
	marked.Links[len(marked.Links)-1].Mark = mark
	return &marked
}

// CacheHit describes the expected use of a target's prompt cache. Token counts are the estimates in the fingerprint.
type CacheHit struct {
	Prompt int64 // length of the whole prompt in tokens
	Tokens int64 // expected cache read
	Writes int64 // expected cache write, billed separately
	Long   bool  // whether the prefix is written with a lifetime of one hour
}

// CacheHit returns the expected use of the cache of a target with the given rules.
func (v *View) CacheHit(target string, rules catalog.CacheRule) CacheHit {
	w := CacheHit{Prompt: v.Tokens()}
	if rules.Granularity == catalog.NoCache || w.Prompt == 0 {
		return w
	}
	fp := v.withEndMark(rules)
	rate := rules.HitRate
	switch {
	case strings.HasPrefix(target, baselinePrefix):
		rate = 1 // a baseline is never called, so its hit rate cannot be measured
	case v.hits[target].rate > 0:
		rate = v.hits[target].rate
	}
	w.Tokens = int64(float64(v.heldTokens(target, fp, rules))*rate + 0.5)
	if !rules.Writes {
		return w
	}
	end := len(fp.Links) - 1
	if rules.Granularity == catalog.CacheMarks || fp.MarksOnly {
		for end >= 0 && fp.Links[end].Mark == Unmarked {
			end--
		}
	}
	if end >= 0 && fp.Links[end].Tokens >= rules.Minimum {
		w.Writes = max(fp.Links[end].Tokens-w.Tokens, 0)
		w.Long = rules.Long > 0 && fp.Links[end].Mark == LongMark
	}
	return w
}

// heldTokens returns the number of tokens that a target has cached and can read for the prompt with the given marks.
func (v *View) heldTokens(target string, fp *Fingerprint, rules catalog.CacheRule) int64 {
	h, ok := v.hits[target]
	if !ok || rules.Granularity == catalog.NoCache {
		return 0
	}
	if rules.Granularity == catalog.CacheMarks {
		// The prompt needs a mark from which the provider finds the cached link.
		mark := slices.IndexFunc(fp.Links[h.link:], func(l Link) bool { return l.Mark != Unmarked })
		if mark < 0 || rules.Lookback > 0 && mark > rules.Lookback {
			return 0
		}
	}
	tokens := fp.Links[h.link].Tokens
	if rules.Step > 0 {
		tokens -= tokens % rules.Step
	}
	if tokens < rules.Minimum {
		return 0
	}
	return tokens
}

// tolerance is added to the cached share of the prompt that a provider reports, because token estimates are inexact.
const tolerance = 0.05

// cachedLinks returns the number of links that a target has cached after reading the prompt. If the provider reports cache reads and
// writes, the reported token counts determine the number. If guess is true or the usage is estimated, the usage is ignored.
func (fp *Fingerprint) cachedLinks(rules catalog.CacheRule, u llm.Usage, guess bool) int {
	whole, n := fp.Tokens(), len(fp.Links)
	if rules.Granularity == catalog.NoCache || whole < rules.Minimum {
		return 0
	}
	if guess || u.Estimated || !rules.Writes || u.Prompt() <= 0 {
		return n
	}
	cached := u.CacheRead + u.CacheWrite
	if cached == 0 {
		return 0
	}
	maxTokens := (float64(cached)/float64(u.Prompt()) + tolerance) * float64(whole)
	for n > 0 && float64(fp.Links[n-1].Tokens) > maxTokens {
		n--
	}
	return n
}

// lifetime returns the time for which a link stays cached after its last use.
func (fp *Fingerprint) lifetime(rules catalog.CacheRule, mark Mark) time.Duration {
	switch {
	case mark == LongMark && rules.Long > 0:
		return rules.Long
	case rules.Extendable:
		return max(rules.Lifetime, fp.Retention)
	}
	return rules.Lifetime
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
