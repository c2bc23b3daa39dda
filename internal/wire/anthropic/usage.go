package anthropic

import (
	"math"

	"github.com/go-json-experiment/json/jsontext"

	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/wire/upstream"
)

// usage is the usage object of the format.
type usage struct {
	tokens
	ServiceTier string   `json:"service_tier,omitzero"`
	Speed       string   `json:"speed,omitzero"`
	Iterations  []tokens `json:"iterations,omitzero"`
}

// tokens holds the counts of a response, or of one of the calls that the provider made for it.
type tokens struct {
	Type          string        `json:"type,omitzero"` // kind of a call
	Input         float64       `json:"input_tokens"`
	CacheCreated  float64       `json:"cache_creation_input_tokens"`
	CacheRead     float64       `json:"cache_read_input_tokens"`
	CacheCreation cacheCreation `json:"cache_creation,omitzero"`
	Output        *float64      `json:"output_tokens"` // nil when the provider does not report it
	OutputDetails outputDetails `json:"output_tokens_details,omitzero"`
	ServerTools   serverTools   `json:"server_tool_use,omitzero"`
}

type cacheCreation struct {
	Short float64 `json:"ephemeral_5m_input_tokens"`
	Long  float64 `json:"ephemeral_1h_input_tokens"`
}

type outputDetails struct {
	Thinking float64 `json:"thinking_tokens"`
}

type serverTools struct {
	Searches float64 `json:"web_search_requests"`
}

// Positions of the counts that figures returns.
const (
	inputTokens = iota
	readTokens
	writtenTokens
	writtenLong
	outputTokens
	thinkingTokens
	searches
	figures
)

// figures returns the counts that are billed.
func (t *tokens) figures() [figures]float64 {
	output := 0.0
	if t.Output != nil {
		output = *t.Output
	}
	return [...]float64{
		inputTokens: t.Input, readTokens: t.CacheRead, writtenTokens: t.CacheCreated, writtenLong: t.CacheCreation.Long,
		outputTokens: output, thinkingTokens: t.OutputDetails.Thinking, searches: t.ServerTools.Searches,
	}
}

// counts collects the usage of a response. A stream may report usage several times; every report contains totals.
type counts struct {
	totals   [figures]float64
	tier     string
	reported bool
	final    bool // whether the output count is final; the count at the start of a stream is not
	absurd   bool
}

// end adds the usage of a complete response or of the last event of a stream. final stays false if the provider omits the output
// count.
func (c *counts) end(raw jsontext.Value) {
	u := c.add(raw)
	c.final = c.final || u.Output != nil
}

// add merges one usage object. For each total, the larger value is kept, because totals never decrease. The summaries of the conversation
// (compactions) that the provider made are billed, but not included in the reported totals.
func (c *counts) add(raw jsontext.Value) (u usage) {
	if upstream.Decode(raw, &u) != nil {
		return usage{}
	}
	c.reported = c.reported || u.Output != nil
	for i, n := range u.figures() {
		for _, call := range u.Iterations {
			if call.Type == "compaction" {
				n += call.figures()[i]
			}
		}
		if n < 0 || n > llm.MaxTokenCount || n != math.Trunc(n) {
			c.absurd = true
		}
		c.reported = c.reported || n != 0
		c.totals[i] = max(c.totals[i], n)
	}
	if u.ServiceTier != "" {
		c.tier = u.ServiceTier
	}
	if u.Speed == fast {
		c.tier = fast
	}
	return u
}

// fast is a value of the response's speed member. It is treated as a service tier, because fast responses have their own price.
const fast = "fast"

// usage returns the usage, or nil if the provider reported none or implausible counts. The gateway then estimates the usage.
func (c *counts) usage() *llm.Usage {
	if !c.reported || c.absurd {
		return nil
	}
	count := func(i int) int64 { return int64(c.totals[i]) }
	return &llm.Usage{
		Input: count(inputTokens), CacheRead: count(readTokens), CacheWrite: max(count(writtenTokens), count(writtenLong)), CacheWriteLong: count(writtenLong),
		Output: count(outputTokens), Reasoning: min(count(thinkingTokens), count(outputTokens)), Searches: count(searches), ServiceTier: readTier(c.tier),
	}
}

// tokensOf returns the usage object for clients.
func tokensOf(u llm.Usage) tokens {
	t := tokens{
		Input: float64(u.Input), CacheCreated: float64(u.CacheWrite), CacheRead: float64(u.CacheRead), Output: new(float64(u.Output)),
		OutputDetails: outputDetails{Thinking: float64(u.Reasoning)}, ServerTools: serverTools{Searches: float64(u.Searches)},
	}
	if u.CacheWrite > 0 {
		t.CacheCreation = cacheCreation{Short: float64(u.CacheWrite - u.CacheWriteLong), Long: float64(u.CacheWriteLong)}
	}
	return t
}

// readTier converts the service tier reported in a response to the name that the price list uses.
func readTier(tier string) string {
	if tier == "standard_only" || tier == "standard" {
		return "default"
	}
	return tier
}

// finishReason converts a stop reason to a finish reason of the chat format. Unknown reasons become "stop".
func finishReason(reason string) string {
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

// stopReason converts a finish reason of the chat format to a stop reason.
func stopReason(finish, stopSequence string) string {
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
