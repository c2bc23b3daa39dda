package redact

import (
	"cmp"
	"maps"
	"slices"
	"strings"
)

// Pass applies a redactor to the strings of one request. It counts replacements and stops at its deadline. It is not safe for concurrent
// use.
type Pass struct {
	rules   []rule
	expired func() bool
	stopped bool
	counts  map[string]int
	found   []span
}

// span is a range of text found by a rule.
type span struct {
	start, end int
	rule       string
}

// Begin starts a pass. After expired returns true, the pass returns empty results. expired may be nil.
func (r *Redactor) Begin(expired func() bool) *Pass {
	if expired == nil {
		expired = func() bool { return false }
	}
	return &Pass{rules: r.rules, expired: expired, counts: map[string]int{}}
}

// Stopped reports whether the pass ran out of time. If so, its input must not be stored.
func (p *Pass) Stopped() bool { return p.stopped }

// isExpired reports whether the deadline has passed. After it has returned true, it always returns true.
func (p *Pass) isExpired() bool {
	p.stopped = p.stopped || p.expired()
	return p.stopped
}

// Counts returns the number of replacements per rule.
func (p *Pass) Counts() map[string]int { return maps.Clone(p.counts) }

// Text returns s with every match replaced with a mark.
func (p *Pass) Text(s string) string {
	if isMedia(s) {
		return s
	}
	spans := p.search(s)
	if p.stopped {
		return ""
	}
	if len(spans) == 0 {
		return s
	}
	var b strings.Builder
	at := 0
	for _, f := range spans {
		b.WriteString(s[at:f.start])
		b.WriteString(Mark(f.rule))
		at = f.end
	}
	b.WriteString(s[at:])
	return b.String()
}

// search returns the ranges found by the rules, in order and without overlaps. Overlapping ranges are merged and get the mark of the first
// range. The result is valid until the next search.
func (p *Pass) search(s string) []span {
	p.found = p.found[:0]
	if s == "" {
		return nil
	}
	for _, r := range p.rules {
		if p.isExpired() {
			return nil
		}
		r.find(s, p.isExpired, func(start, end int) { p.found = append(p.found, span{start, end, r.name}) })
	}
	if p.stopped {
		return nil
	}
	slices.SortStableFunc(p.found, func(a, b span) int {
		return cmp.Or(cmp.Compare(a.start, b.start), cmp.Compare(b.end, a.end))
	})
	joined := p.found[:0]
	for _, f := range p.found {
		if n := len(joined); n > 0 && f.start < joined[n-1].end {
			joined[n-1].end = max(joined[n-1].end, f.end)
			continue
		}
		joined = append(joined, f)
	}
	for _, f := range joined {
		p.counts[f.rule]++
	}
	return joined
}

const (
	longestMediaHead = 200 // maximum length of a data URL prefix such as "data:image/png;base64,"
	shortestMedia    = 512 // minimum length of base64 text that counts as media without a data URL prefix
)

// isMedia reports whether a string is encoded media or a vector. Matches in such a string are coincidental, and a mark would corrupt the
// data.
func isMedia(s string) bool {
	if strings.HasPrefix(s, "data:") {
		_, data, ok := strings.Cut(s[:min(len(s), longestMediaHead)], ";base64,")
		return ok && isBase64(data) && isBase64(s[min(len(s), longestMediaHead):])
	}
	return len(s) >= shortestMedia && isBase64(s) &&
		strings.ContainsAny(s, letters[:26]) && strings.ContainsAny(s, letters[26:]) && strings.ContainsAny(s, digits)
}

func isBase64(s string) bool {
	for i := range len(s) {
		if !sets.base64[s[i]] {
			return false
		}
	}
	return true
}
