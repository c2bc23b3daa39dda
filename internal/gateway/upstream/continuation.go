package upstream

import (
	"iter"
	"strings"
	"unicode/utf8"

	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/wire"
)

// continuation joins the response of another target to the delivered text. The response is hidden until it is known to continue that text.
type continuation struct {
	delivered string // text that the client has received
	prefilled bool   // whether delivered was sent to the target as a prefill; otherwise the target starts again
	withheld  string // white space at the end of delivered that was not sent to the target

	matched  int    // number of bytes of delivered that a restarted response has repeated
	received string // text received from a prefilled target while it may be repeating delivered text
	joined   bool
	hidden   textBytes
	onDelta  func() // function called for every delta from the target except begin and usage deltas
}

// textBytes counts bytes of text for token estimates.
type textBytes struct{ ascii, nonASCII int64 }

func (b *textBytes) add(text string, sign int64) {
	for i := range len(text) {
		if text[i] < utf8.RuneSelf {
			b.ascii += sign
		} else {
			b.nonASCII += sign
		}
	}
}

// joiner is the client's format for an attempt that continues an interrupted response. It joins the new text to the delivered text.
type joiner struct {
	format wire.Format
	rest   wire.Continuation
	c      *continuation
}

// EncodeResponse implements provider.Client. It encodes only the part after the delivered text.
func (j *joiner) EncodeResponse(_ *llm.Request, _ string, deltas iter.Seq2[llm.Delta, error]) iter.Seq2[llm.Event, error] {
	return j.rest.Encode(j.c.join(deltas))
}

// join yields the deltas that follow the delivered text. If the response does not continue the delivered text, join yields a
// ContinuationMismatch error.
func (c *continuation) join(deltas iter.Seq2[llm.Delta, error]) iter.Seq2[llm.Delta, error] {
	return func(yield func(llm.Delta, error) bool) {
		for d, err := range deltas {
			if err != nil {
				yield(d, err)
				return
			}
			visible, err := c.filter(d)
			if err != nil {
				yield(llm.Delta{}, err)
				return
			}
			for _, d := range visible {
				if !yield(d, nil) {
					return
				}
			}
		}
	}
}

// filter returns the visible part of a delta. Reasoning is hidden, because it cannot follow text that the client has
// already received.
func (c *continuation) filter(d llm.Delta) ([]llm.Delta, error) {
	if d.Kind == llm.BeginDelta || d.Kind == llm.UsageDelta {
		return []llm.Delta{d}, nil
	}
	c.onDelta()
	switch {
	case d.Choice != 0:
		return nil, nil
	case d.Kind == llm.CitationDelta:
		return nil, nil // the citation's range might not fit the joined text
	case d.Kind == llm.ThinkingDelta || d.Kind == llm.SignatureDelta:
		c.hidden.add(d.Text, 1)
		return nil, nil
	case c.joined:
		return []llm.Delta{d}, nil
	case d.Kind == llm.TextDelta:
		c.hidden.add(d.Text, 1)
		return c.compare(d.Text, false)
	}
	visible, err := c.compare("", true) // the end of the text was reached
	return append(visible, d), err
}

// match is the result of a comparison.
type match int

const (
	undecided match = iota
	joined          // the remaining text is new
	mismatch        // the response differs from the delivered text
)

// compare compares the next text with the delivered text. If end is true, the response text ends with text.
func (c *continuation) compare(text string, end bool) ([]llm.Delta, error) {
	matches := c.matchRestart
	if c.prefilled {
		matches = c.matchPrefill
	}
	rest, m := matches(text, end)
	switch m {
	case mismatch:
		return nil, llm.Errorf(llm.ContinuationMismatch, "the new response does not match the text already sent to the client")
	case undecided:
		return nil, nil
	case joined:
	}
	c.joined = true
	c.hidden.add(rest, -1)
	if rest == "" {
		return nil, nil
	}
	return []llm.Delta{{Kind: llm.TextDelta, Text: rest}}, nil
}

// matchRestart matches a restarted response, which must repeat the delivered text exactly.
func (c *continuation) matchRestart(text string, end bool) (rest string, m match) {
	missing := c.delivered[c.matched:]
	if rest, ok := strings.CutPrefix(text, missing); ok {
		return rest, joined
	}
	if end || !strings.HasPrefix(missing, text) {
		return "", mismatch
	}
	c.matched += len(text)
	return "", undecided
}

// matchPrefill removes delivered text that a prefilled target repeats. Some targets repeat the end of the delivered
// text, or the whole text.
func (c *continuation) matchPrefill(text string, end bool) (rest string, m match) {
	c.received += text
	if !end && strings.Contains(c.delivered, c.received) {
		return "", undecided // the target may be repeating the end of the delivered text
	}
	if n := overlap(c.delivered, c.received); n > 0 {
		return c.received[n:], joined
	}
	if rest, ok := strings.CutPrefix(c.received, c.withheld); ok {
		return rest, joined
	}
	if end && strings.HasPrefix(c.withheld, c.received) {
		return "", joined // the response had no more text
	}
	return "", mismatch
}

// minOverlap is the minimum length of an overlap in bytes. A shorter overlap, such as "the ", may be coincidental.
const minOverlap = 12

// overlap returns the length of the longest suffix of delivered that is a prefix of received. It returns 0 if the
// delivered text repeats itself, because the repetition may be intended.
func overlap(delivered, received string) int {
	for n := min(len(delivered), len(received)); n >= minOverlap; n-- {
		both := received[:n]
		before, ok := strings.CutSuffix(delivered, both)
		if !ok {
			continue
		}
		if strings.HasSuffix(before, both) || strings.Contains((both + both)[1:2*n-1], both) {
			return 0
		}
		return n
	}
	return 0
}
