package openai

import (
	"strconv"

	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/rawjson"
)

// counts holds the counts of a usage object.
type counts struct {
	prompt, completion, total, cached, written, reasoning, audioIn, audioOut, searches int64

	present     bool // whether there is any count
	separate    bool // whether input and output are reported separately, not only as a total
	hasOutput   bool // whether output is reported, directly or through the total
	implausible bool // whether a count is negative, fractional or implausibly large
}

// parseUsage converts the usage object of a chat response into token classes that do not overlap. It returns false for a missing or
// implausible object, which the caller replaces with an estimate. onTop is true for providers that exclude reasoning tokens from
// completion tokens.
func parseUsage(raw []byte, onTop bool) (llm.Usage, bool) {
	c, ok := readCounts(raw)
	if !ok || !c.separate || !c.hasOutput {
		return llm.Usage{}, false
	}
	return c.usage(onTop), true
}

// parseEmbedUsage converts the usage of embeddings, which have no output. Some vendors report only the total.
func parseEmbedUsage(raw []byte) (llm.Usage, bool) {
	c, ok := readCounts(raw)
	if !ok {
		return llm.Usage{}, false
	}
	if !c.separate {
		c.prompt = c.total
	}
	u := c.usage(false)
	u.Output, u.Reasoning, u.AudioOutput = 0, 0, 0
	return u, true
}

func readCounts(raw []byte) (counts, bool) {
	s := rawjson.Scanner{Data: raw}
	var c counts
	if s.Kind() != '{' {
		return c, false
	}
	for key := range s.Members {
		switch string(key) {
		case "prompt_tokens":
			c.separate = c.read(&s, &c.prompt) || c.separate
		case "completion_tokens":
			c.hasOutput = c.read(&s, &c.completion) || c.hasOutput
			c.separate = c.separate || c.hasOutput
		case "total_tokens":
			c.read(&s, &c.total)
		case "prompt_tokens_details":
			c.details(&s, &c.audioIn)
		case "completion_tokens_details":
			c.details(&s, &c.audioOut)
		case "prompt_cache_hit_tokens", "cached_tokens": // DeepSeek, Moonshot
			c.read(&s, &c.cached)
		case "reasoning_tokens": // member name used by Perplexity
			c.read(&s, &c.reasoning)
		case "num_search_queries": // member name used by Perplexity
			c.read(&s, &c.searches)
		case "server_tool_use": // member name used by OpenRouter
			c.details(&s, nil)
		}
	}
	if !c.hasOutput && c.total > 0 { // some vendors report only the prompt and the total
		c.completion, c.hasOutput = max(c.total-c.prompt, 0), true
	}
	return c, s.Err == nil && c.present && !c.implausible
}

// details decodes prompt_tokens_details, completion_tokens_details or server_tool_use. The number of audio tokens is stored in audio, unless
// audio is nil.
func (c *counts) details(s *rawjson.Scanner, audio *int64) {
	if s.Kind() != '{' {
		return
	}
	for key := range s.Members {
		switch string(key) {
		case "cached_tokens":
			c.read(s, &c.cached)
		case "cache_write_tokens", "cache_creation_tokens", "cache_creation_input_tokens": // the last is Alibaba's
			c.read(s, &c.written)
		case "reasoning_tokens":
			c.read(s, &c.reasoning)
		case "audio_tokens":
			if audio != nil {
				c.read(s, audio)
			}
		case "web_search_requests":
			c.read(s, &c.searches)
		}
	}
}

// read reads a count and reports whether there is one. If a provider reports the same count twice, the larger one is
// used.
func (c *counts) read(s *rawjson.Scanner, into *int64) bool {
	if s.Kind() != '0' {
		return false
	}
	n, ok := llm.ParseTokenCount(string(s.Number()))
	c.present = true
	if !ok {
		c.implausible = true
		return true
	}
	*into = max(*into, n)
	return true
}

func (c *counts) usage(onTop bool) llm.Usage {
	u := llm.Usage{CacheRead: c.cached, CacheWrite: c.written, Output: c.completion, Reasoning: c.reasoning, Searches: c.searches}
	u.CacheRead = min(u.CacheRead, c.prompt)
	u.CacheWrite = min(u.CacheWrite, c.prompt-u.CacheRead)
	u.Input = c.prompt - u.CacheRead - u.CacheWrite
	// If the total is the sum of prompt, completion and reasoning, the completion count does not include the reasoning tokens.
	if onTop || c.reasoning > 0 && c.total == c.prompt+c.completion+c.reasoning {
		rest := c.total - c.prompt - c.completion
		switch {
		case c.reasoning == 0: // the reasoning tokens are not reported, but the total includes them
			u.Output += max(rest, 0)
		case rest == 0 && c.reasoning <= c.completion: // the completion count includes the reasoning tokens
		default:
			// The completion count excludes the reasoning tokens, because the total includes them in addition or because they
			// exceed the completion count. Perplexity's total excludes reasoning.
			u.Output += c.reasoning
		}
	}
	u.Reasoning = min(u.Reasoning, u.Output)
	u.AudioInput, u.AudioOutput = min(c.audioIn, u.Input), min(c.audioOut, u.Output)
	return u
}

// UsageJSON returns the usage object of the chat format.
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
	b = append(b, '}')
	if u.Searches > 0 {
		b = append(b, `,"server_tool_use":{"web_search_requests":`...)
		b = append(strconv.AppendInt(b, u.Searches, 10), '}')
	}
	return append(b, '}')
}
