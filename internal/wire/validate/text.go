package validate

import (
	"context"
	"unicode/utf8"

	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/rawjson"
)

// CountText adds every string of a value, including keys, to the text counts of a request. It returns the number of bytes that it added.
// It stops when the context of the reader is cancelled.
func (r *Reader) CountText(size *llm.PromptSize, v rawjson.Value) int {
	before := size.ASCIIBytes + size.NonASCIIBytes
	counter := textCounter{ctx: r.Context, size: size}
	if v.Kind == rawjson.Text {
		counter.add(v.String())
	} else {
		counter.data = []byte(v.Raw)
		s := rawjson.Scanner{Data: counter.data, Context: r.Context, Spans: &counter}
		s.SkipCounted()
	}
	return size.ASCIIBytes + size.NonASCIIBytes - before
}

// textCounter adds the strings that a scanner reads to the text counts of a request.
type textCounter struct {
	ctx  context.Context
	size *llm.PromptSize
	data []byte
}

// Add counts the text of one encoded string.
func (c *textCounter) Add(start, end int) {
	raw := c.data[start:end]
	c.add(string(rawjson.Unescape(make([]byte, 0, len(raw)), raw, len(raw))))
}

func (c *textCounter) add(s string) {
	if c.ctx.Err() != nil {
		return
	}
	ascii := 0
	for i := range len(s) {
		if s[i] < utf8.RuneSelf {
			ascii++
		}
	}
	c.size.ASCIIBytes += ascii
	c.size.NonASCIIBytes += len(s) - ascii
	c.size.Text.Add(s)
}
