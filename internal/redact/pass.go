package redact

import (
	"cmp"
	"maps"
	"slices"
	"strings"
)

// Pass is one use of a redactor, over as many texts as belong together. It counts what it takes out, and can be told to
// stop when it takes too long. One goroutine at a time may use it.
type Pass struct {
	rules   []rule
	expired func() bool
	stopped bool
	counts  map[string]int
	found   []span
}

// span is a piece of a text that a rule found.
type span struct {
	start, end int
	rule       string
}

// Begin starts a pass. From the moment expired says true, which may be nil, the pass returns nothing any more.
func (r *Redactor) Begin(expired func() bool) *Pass {
	if expired == nil {
		expired = func() bool { return false }
	}
	return &Pass{rules: r.rules, expired: expired, counts: map[string]int{}}
}

// Stopped reports whether the pass ran out of time. Then what it was given must not be kept.
func (p *Pass) Stopped() bool { return p.stopped }

// over asks whether there is time left; once there is none, there never is.
func (p *Pass) over() bool {
	p.stopped = p.stopped || p.expired()
	return p.stopped
}

// Counts says how many marks each rule has set.
func (p *Pass) Counts() map[string]int { return maps.Clone(p.counts) }

// Text returns a plain text with marks in the place of what the rules find.
func (p *Pass) Text(s string) string {
	if media(s) {
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

// search returns what the rules find, in order and apart from each other. Pieces that overlap become one, with the mark
// of the piece that begins first. The result is good until the next search.
func (p *Pass) search(s string) []span {
	p.found = p.found[:0]
	if s == "" {
		return nil
	}
	for _, r := range p.rules {
		if p.over() {
			return nil
		}
		r.find(s, p.over, func(start, end int) { p.found = append(p.found, span{start, end, r.name}) })
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
	longestMediaHead = 200 // of "data:image/png;base64,"
	shortestMedia    = 512 // bytes of base64 that are taken for a picture or a sound without being called so
)

var base64Set = setOf(digits + letters + "+/=_-")

// media reports whether a text is an encoded picture, sound or vector. What looks like a key or a number in there is
// chance, and a mark would break it.
func media(s string) bool {
	if strings.HasPrefix(s, "data:") {
		_, data, ok := strings.Cut(s[:min(len(s), longestMediaHead)], ";base64,")
		return ok && isBase64(data) && isBase64(s[min(len(s), longestMediaHead):])
	}
	return len(s) >= shortestMedia && isBase64(s) &&
		strings.ContainsAny(s, letters[:26]) && strings.ContainsAny(s, letters[26:]) && strings.ContainsAny(s, digits)
}

func isBase64(s string) bool {
	for i := range len(s) {
		if !base64Set[s[i]] {
			return false
		}
	}
	return true
}
