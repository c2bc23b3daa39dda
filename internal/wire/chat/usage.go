package chat

import (
	"strconv"

	"fairlead/internal/llm"
)

// absurdTokens is more than any provider can have counted for one request.
const absurdTokens = 1_000_000_000_000

// counts are the figures of a usage object as providers write them.
type counts struct {
	prompt, completion, total, cached, written, reasoning int64

	told   bool // there is a figure at all
	apart  bool // input and output are told apart, not in the total alone
	absurd bool // one of them is negative, no whole number or beyond all reason
}

// parseUsage sorts the usage object of a conversation into classes that exclude each other. It reports false when the
// object says nothing of use or something absurd: then our own count stands. onTop is for providers that do not count
// reasoning tokens among the completion tokens.
func parseUsage(raw []byte, onTop bool) (llm.Usage, bool) {
	c, ok := readCounts(raw)
	if !ok || !c.apart {
		return llm.Usage{}, false
	}
	return c.usage(onTop), true
}

// parseEmbedUsage does so for embeddings, which have no output: some vendors tell the total alone.
func parseEmbedUsage(raw []byte) (llm.Usage, bool) {
	c, ok := readCounts(raw)
	if !ok {
		return llm.Usage{}, false
	}
	if !c.apart {
		c.prompt = c.total
	}
	u := c.usage(false)
	u.Output, u.Reasoning = 0, 0
	return u, true
}

func readCounts(raw []byte) (counts, bool) {
	s := scanner{b: raw}
	var c counts
	if s.kind() != '{' {
		return c, false
	}
	for key := range s.members {
		switch string(key) {
		case "prompt_tokens":
			c.apart = c.read(&s, &c.prompt) || c.apart
		case "completion_tokens":
			c.apart = c.read(&s, &c.completion) || c.apart
		case "total_tokens":
			c.read(&s, &c.total)
		case "prompt_tokens_details", "completion_tokens_details":
			c.details(&s)
		case "prompt_cache_hit_tokens", "cached_tokens": // DeepSeek, Moonshot
			c.read(&s, &c.cached)
		case "reasoning_tokens": // Perplexity
			c.read(&s, &c.reasoning)
		}
	}
	return c, s.err == nil && c.told && !c.absurd
}

func (c *counts) details(s *scanner) {
	if s.kind() != '{' {
		return
	}
	for key := range s.members {
		switch string(key) {
		case "cached_tokens":
			c.read(s, &c.cached)
		case "cache_write_tokens", "cache_creation_tokens":
			c.read(s, &c.written)
		case "reasoning_tokens":
			c.read(s, &c.reasoning)
		}
	}
}

// read takes a figure and reports whether there is one. The larger one counts where a provider tells the same thing in
// two places.
func (c *counts) read(s *scanner, into *int64) bool {
	if s.kind() != '0' {
		return false
	}
	n, ok := wholeNumber(s.number())
	c.told = true
	if !ok || n < 0 || n > absurdTokens {
		c.absurd = true
		return true
	}
	*into = max(*into, n)
	return true
}

func (c *counts) usage(onTop bool) llm.Usage {
	u := llm.Usage{CacheRead: c.cached, CacheWrite: c.written, Output: c.completion, Reasoning: c.reasoning}
	u.CacheRead = min(u.CacheRead, c.prompt)
	u.CacheWrite = min(u.CacheWrite, c.prompt-u.CacheRead)
	u.Input = c.prompt - u.CacheRead - u.CacheWrite
	if onTop {
		u.Output += c.beside()
	}
	u.Reasoning = min(u.Reasoning, u.Output)
	return u
}

// beside is the reasoning that a provider counts beside the completion. The total shows when such a provider has begun to
// count it inside after all, and what was thought where no count is given.
func (c *counts) beside() int64 {
	rest := c.total - c.prompt - c.completion
	switch {
	case c.reasoning == 0:
		return max(rest, 0)
	case rest == 0:
		return 0
	}
	return c.reasoning
}

// UsageJSON is the usage object of the chat format, for answers whose provider told the figures in another way.
func UsageJSON(u llm.Usage) []byte {
	b := append(make([]byte, 0, 256), `{"prompt_tokens":`...)
	b = strconv.AppendInt(b, u.Prompt(), 10)
	b = append(b, `,"completion_tokens":`...)
	b = strconv.AppendInt(b, u.Output, 10)
	b = append(b, `,"total_tokens":`...)
	b = strconv.AppendInt(b, u.Total(), 10)
	b = append(b, `,"prompt_tokens_details":{"cached_tokens":`...)
	b = strconv.AppendInt(b, u.CacheRead, 10)
	b = append(b, `,"cache_write_tokens":`...)
	b = strconv.AppendInt(b, u.CacheWrite, 10)
	b = append(b, `},"completion_tokens_details":{"reasoning_tokens":`...)
	b = strconv.AppendInt(b, u.Reasoning, 10)
	return append(b, `}}`...)
}
