package anthropic

import (
	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/rawjson"
)

// Counts collects the usage of a response. A stream may report usage several times; every report contains totals.
type Counts struct {
	input, read, written, writtenLong, output, thinking, searches int64

	tier     string
	reported bool
	Final    bool // whether the output count is final; the count at the start of a stream is not
	absurd   bool
}

// End adds the usage of a complete response or of the last event of a stream. Final stays false if the provider omits the output
// count.
func (c *Counts) End(v rawjson.Value) {
	c.Add(v)
	c.Final = c.Final || v.Get("output_tokens").Kind == rawjson.Number
}

// Add merges one usage object. For each total, the larger value is kept, because totals never decrease.
func (c *Counts) Add(v rawjson.Value) {
	if !v.IsObject() {
		return
	}
	for _, figure := range []struct {
		into *int64
		name string
	}{
		{&c.input, "input_tokens"},
		{&c.read, "cache_read_input_tokens"},
		{&c.written, "cache_creation_input_tokens"},
		{&c.writtenLong, "cache_creation.ephemeral_1h_input_tokens"},
		{&c.output, "output_tokens"},
		{&c.thinking, "output_tokens_details.thinking_tokens"},
		{&c.searches, "server_tool_use.web_search_requests"},
	} {
		value := v.Get(figure.name)
		if value.Kind != rawjson.Number {
			continue
		}
		n := value.Float() + compacted(v, figure.name)
		if n < 0 || n > llm.MaxTokenCount || n != float64(int64(n)) {
			c.absurd = true
			continue
		}
		c.reported = true
		*figure.into = max(*figure.into, int64(n))
	}
	if tier := v.Get("service_tier"); tier.Kind == rawjson.Text {
		c.tier = tier.String()
	}
	if v.Get("speed").String() == fast {
		c.tier = fast
	}
}

// fast is a value of the response's speed member. It is treated as a service tier, because fast responses have their own price.
const fast = "fast"

// compacted adds up a token count of all conversation summaries (compactions) that the provider made. name is the count's member. The
// summaries are billed, but not included in the reported totals.
func compacted(v rawjson.Value, name string) (sum float64) {
	v.Get("iterations").ForEach(func(_, one rawjson.Value) bool {
		if one.Get("type").String() == "compaction" {
			sum += one.Get(name).Float()
		}
		return true
	})
	return sum
}

// Usage returns the usage, or nil if the provider reported none or implausible counts. The gateway then estimates the usage.
func (c *Counts) Usage() *llm.Usage {
	if !c.reported || c.absurd {
		return nil
	}
	written := max(c.written, c.writtenLong)
	return &llm.Usage{
		Input: c.input, CacheRead: c.read, CacheWrite: written, CacheWriteLong: c.writtenLong,
		Output: c.output, Reasoning: min(c.thinking, c.output), Searches: c.searches, ServiceTier: ReadTier(c.tier),
	}
}

// WriteUsage encodes the usage object of this format.
func WriteUsage(w *rawjson.Writer, u llm.Usage) {
	w.Open()
	w.Int("input_tokens", u.Input)
	w.Int("cache_creation_input_tokens", u.CacheWrite)
	w.Int("cache_read_input_tokens", u.CacheRead)
	if u.CacheWrite > 0 {
		w.Key("cache_creation")
		w.Open()
		w.Int("ephemeral_5m_input_tokens", u.CacheWrite-u.CacheWriteLong)
		w.Int("ephemeral_1h_input_tokens", u.CacheWriteLong)
		w.Close()
	}
	w.Int("output_tokens", u.Output)
	if u.Reasoning > 0 {
		w.Key("output_tokens_details")
		w.Open()
		w.Int("thinking_tokens", u.Reasoning)
		w.Close()
	}
	if u.Searches > 0 {
		w.Key("server_tool_use")
		w.Open()
		w.Int("web_search_requests", u.Searches)
		w.Close()
	}
	w.Close()
}

// ReadTier converts the service tier reported in a response to the name that the price list uses.
func ReadTier(tier string) string {
	if tier == "standard_only" || tier == "standard" {
		return "default"
	}
	return tier
}

// FinishReason converts a stop reason to a finish reason of the chat format. Unknown reasons become "stop".
func FinishReason(reason string) string {
	switch reason {
	case "":
		return ""
	case "max_tokens", "model_context_window_exceeded":
		return "length"
	case "tool_use":
		return "tool_calls"
	case "refusal":
		return "content_filter"
	default: // end_turn, stop_sequence, pause_turn
		return "stop"
	}
}

// StopReason converts a finish reason of the chat format to a stop reason.
func StopReason(finish, stopSequence string) string {
	switch {
	case finish == "stop" && stopSequence != "":
		return "stop_sequence"
	case finish == "length":
		return "max_tokens"
	case finish == "tool_calls":
		return "tool_use"
	case finish == "content_filter":
		return "refusal"
	default:
		return "end_turn"
	}
}
