package gateway

import (
	"iter"
	"strings"
	"unicode/utf8"

	"fairlead/internal/llm"
	"fairlead/internal/wire"
)

// seam joins the answer of another target to what the client has. Nothing of it shows until it is certain that both are one
// text.
type seam struct {
	said      string // what the client has
	prefilled bool   // the target was given it as the beginning of its answer; else it answers anew
	untold    string // white space at the end of said, which the target was not given: providers refuse it

	same   int    // bytes of said that an answer given anew has repeated
	heard  string // what a prefilled target has said so far, while it may be repeating what the client has
	joined bool
	unseen textBytes
	alive  func() // called for everything the target says, seen or not
}

// textBytes counts text as tokens are estimated from it.
type textBytes struct{ ascii, other int64 }

func (b *textBytes) add(text string, sign int64) {
	for i := range len(text) {
		if text[i] < utf8.RuneSelf {
			b.ascii += sign
		} else {
			b.other += sign
		}
	}
}

// joiner is the caller's format for an answer that goes on with another one.
type joiner struct {
	wire.Format
	rest wire.Continuation
	seam *seam
}

// Answer writes what follows the seam.
func (j joiner) Answer(_ *llm.Request, _ string, pieces iter.Seq2[llm.Delta, error]) iter.Seq2[llm.Event, error] {
	return j.rest.Encode(j.seam.join(pieces))
}

// join passes on what follows the seam. An answer that does not fit ends with an llm.Deviated error.
func (s *seam) join(pieces iter.Seq2[llm.Delta, error]) iter.Seq2[llm.Delta, error] {
	return func(yield func(llm.Delta, error) bool) {
		for p, err := range pieces {
			if err != nil {
				yield(p, err)
				return
			}
			out, err := s.take(p)
			if err != nil {
				yield(llm.Delta{}, err)
				return
			}
			for _, p := range out {
				if !yield(p, nil) {
					return
				}
			}
		}
	}
}

// take turns a piece into what the client sees of it. Thinking is left out: the client has text already, and thinking does
// not come after that.
func (s *seam) take(p llm.Delta) ([]llm.Delta, error) {
	if p.Kind == llm.BeginDelta || p.Kind == llm.UsageDelta {
		return []llm.Delta{p}, nil
	}
	s.alive()
	switch {
	case p.Choice != 0:
		return nil, nil
	case p.Kind == llm.ThinkingDelta || p.Kind == llm.SignatureDelta:
		s.unseen.add(p.Text, 1)
		return nil, nil
	case s.joined:
		return []llm.Delta{p}, nil
	case p.Kind == llm.TextDelta:
		s.unseen.add(p.Text, 1)
		return s.meet(p.Text, false)
	}
	out, err := s.meet("", true) // the text is over
	return append(out, p), err
}

// meet compares the next text with what the client has. over says that no more will come.
func (s *seam) meet(text string, over bool) ([]llm.Delta, error) {
	compare := s.repeats
	if s.prefilled {
		compare = s.continues
	}
	rest, m := compare(text, over)
	if m == apart {
		return nil, llm.Errorf(llm.ContinuationMismatch, "the answer is not the one that had begun")
	}
	if m == unsure {
		return nil, nil
	}
	s.joined = true
	s.unseen.add(rest, -1)
	if rest == "" {
		return nil, nil
	}
	return []llm.Delta{{Kind: llm.TextDelta, Text: rest}}, nil
}

// meeting is what a comparison has shown.
type meeting int

const (
	unsure meeting = iota
	met            // the rest is new
	apart          // two different texts
)

// repeats compares an answer given anew, which must repeat what the client has to the last byte.
func (s *seam) repeats(text string, over bool) (rest string, m meeting) {
	missing := s.said[s.same:]
	if rest, ok := strings.CutPrefix(text, missing); ok {
		return rest, met
	}
	if over || !strings.HasPrefix(missing, text) {
		return "", apart
	}
	s.same += len(text)
	return "", unsure
}

// continues looks whether a target that was given the text repeats some of it first, as some do, in a part or from the
// beginning; exactly that much is left out.
func (s *seam) continues(text string, over bool) (rest string, m meeting) {
	s.heard += text
	if !over && strings.Contains(s.said, s.heard) {
		return "", unsure // it may be on its way to the end of what the client has
	}
	if n := overlap(s.said, s.heard); n > 0 {
		return s.heard[n:], met
	}
	if rest, ok := strings.CutPrefix(s.heard, s.untold); ok {
		return rest, met
	}
	if over && strings.HasPrefix(s.untold, s.heard) {
		return "", met // nothing more was to come
	}
	return "", apart
}

// leastOverlap is how many bytes are more than chance: "the " may well stand on both sides of a seam.
const leastOverlap = 12

// overlap is how much of the end of said stands at the beginning of heard. A text that has just said the same twice may go
// on to say it again: that proves nothing.
func overlap(said, heard string) int {
	for n := min(len(said), len(heard)); n >= leastOverlap; n-- {
		both := heard[:n]
		before, ok := strings.CutSuffix(said, both)
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
