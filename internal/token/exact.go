package token

import (
	"strings"
	"sync"

	"github.com/tiktoken-go/tokenizer/codec"
)

// Limits of exact counting. The time for tokenising is linear in the length, and longer for text without white space.
const (
	MaxExact = 8 << 10 // maximum total length of the strings in bytes
	maxRun   = 512     // maximum number of consecutive bytes without white space
)

// Counter counts tokens exactly for published vocabularies. It loads a vocabulary on first use and is safe for
// concurrent use.
type Counter struct {
	o200k, cl100k func() *codec.Codec
}

// NewCounter returns a counter without loaded vocabularies.
func NewCounter() *Counter {
	return &Counter{o200k: sync.OnceValue(codec.NewO200kBase), cl100k: sync.OnceValue(codec.NewCl100kBase)}
}

// Text counts the tokens in texts. It reports false if the model's vocabulary is not published or the strings are too long.
func (c *Counter) Text(m Model, texts ...string) (tokens int64, ok bool) {
	v := m.Vocabulary()
	if v.rule.Margin != 1 || v.family != O200K && v.family != CL100K {
		return 0, false
	}
	size := 0
	for _, s := range texts {
		if size += len(s); size > MaxExact || longestRun(s) > maxRun {
			return 0, false
		}
	}
	vocabulary := c.o200k
	if v.family == CL100K {
		vocabulary = c.cl100k
	}
	for _, s := range texts {
		n, err := vocabulary().Count(s)
		if err != nil {
			return 0, false
		}
		tokens += int64(n)
	}
	return tokens, true
}

// longestRun returns the length of the longest run of bytes without white space.
func longestRun(s string) (longest int) {
	for len(s) > 0 {
		end := strings.IndexAny(s, " \t\r\n")
		if end < 0 {
			return max(longest, len(s))
		}
		longest = max(longest, end)
		s = s[end+1:]
	}
	return longest
}

// Prompt is like Model.Prompt, but counts the tokens in texts exactly.
func (c *Counter) Prompt(m Model, p Prompt, texts ...string) (tokens int64, ok bool) {
	v := m.Vocabulary()
	n, ok := c.Text(m, texts...)
	return n + v.nonText(&p), ok
}
