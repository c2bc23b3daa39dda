package gemini

import (
	"cmp"
	"slices"
	"strings"
	"unicode/utf8"

	"fairlead.dev/internal/llm"
)

// maxSupports is the maximum number of text ranges with sources per candidate.
const maxSupports = 1000

// emitCitations yields the sources of a candidate as citations. Ranges are converted from bytes to characters. If the sources have no ranges, they
// are cited at the end of the text.
func (dec *responseDecoder) emitCitations(n int, c *decodedChoice) error {
	if c.grounding == nil || !dec.o.Search {
		return nil
	}
	text, supports := c.text.String(), c.grounding.Supports[:min(len(c.grounding.Supports), maxSupports)]
	if len(supports) == 0 {
		end := utf8.RuneCountInString(text)
		for i := range c.grounding.Chunks {
			if err := dec.emitCitation(n, c, i, end, end); err != nil {
				return err
			}
		}
		return nil
	}
	for i := range supports { // make offsets relative to the complete text; in a stream, they already are
		s := &supports[i].Segment
		if s.Part >= 0 && s.Part < len(c.starts) {
			s.Start, s.End = s.Start+c.starts[s.Part], s.End+c.starts[s.Part]
		}
		s.Start = min(max(s.Start, 0), len(text))
		s.End = min(max(s.End, s.Start), len(text))
	}
	slices.SortStableFunc(supports, func(a, b support) int { return cmp.Compare(a.Segment.Start, b.Segment.Start) })
	start, at := 0, 0 // number of characters and of bytes before the range
	for _, s := range supports {
		start, at = start+characters(text[at:s.Segment.Start]), s.Segment.Start
		end := start + characters(text[at:s.Segment.End])
		for _, chunk := range s.Chunks {
			if err := dec.emitCitation(n, c, chunk, start, end); err != nil {
				return err
			}
		}
	}
	return nil
}

// characters counts the characters whose first byte is in text. A character that is split between two texts is therefore counted once.
func characters(text string) (n int) {
	for i := range len(text) {
		if utf8.RuneStart(text[i]) {
			n++
		}
	}
	return n
}

func (dec *responseDecoder) emitCitation(n int, c *decodedChoice, chunk, start, end int) error {
	if chunk < 0 || chunk >= len(c.grounding.Chunks) {
		return nil
	}
	web := c.grounding.Chunks[chunk].Web
	if !strings.HasPrefix(web.URI, "http://") && !strings.HasPrefix(web.URI, "https://") {
		return nil
	}
	return dec.emit(llm.Delta{Kind: llm.CitationDelta, Choice: n, Citation: &llm.Citation{URL: web.URI, Title: web.Title, Start: start, End: end}})
}
