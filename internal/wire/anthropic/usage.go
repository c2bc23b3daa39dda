package anthropic

import (
	"github.com/go-json-experiment/json/jsontext"

	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/wire/upstream"
)

// usage is the usage object of the format. Absent counts are nil.
type usage struct {
	tokens
	ServiceTier string   `json:"service_tier,omitzero"`
	Speed       string   `json:"speed,omitzero"`
	Iterations  []tokens `json:"iterations,omitzero"`
}

// tokens holds the counts of a response, or of one of the calls that the provider made for it.
type tokens struct {
	Type          string         `json:"type,omitzero"` // kind of a call
	Input         *float64       `json:"input_tokens,omitzero"`
	CacheCreated  *float64       `json:"cache_creation_input_tokens,omitzero"`
	CacheRead     *float64       `json:"cache_read_input_tokens,omitzero"`
	CacheCreation *cacheCreation `json:"cache_creation,omitzero"`
	Output        *float64       `json:"output_tokens,omitzero"`
	OutputDetails *outputDetails `json:"output_tokens_details,omitzero"`
	ServerTools   *serverTools   `json:"server_tool_use,omitzero"`
}

type cacheCreation struct {
	Short *float64 `json:"ephemeral_5m_input_tokens,omitzero"`
	Long  *float64 `json:"ephemeral_1h_input_tokens,omitzero"`
}

type outputDetails struct {
	Thinking *float64 `json:"thinking_tokens,omitzero"`
}

type serverTools struct {
	Searches *float64 `json:"web_search_requests,omitzero"`
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

// figures returns the counts that are billed. Counts that are absent are nil.
func (t *tokens) figures() (f [figures]*float64) {
	f[inputTokens], f[readTokens], f[writtenTokens], f[outputTokens] = t.Input, t.CacheRead, t.CacheCreated, t.Output
	if t.CacheCreation != nil {
		f[writtenLong] = t.CacheCreation.Long
	}
	if t.OutputDetails != nil {
		f[thinkingTokens] = t.OutputDetails.Thinking
	}
	if t.ServerTools != nil {
		f[searches] = t.ServerTools.Searches
	}
	return f
}

// counts collects the usage of a response. A stream may report usage several times; every report contains totals.
type counts struct {
	totals   [figures]int64
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
	if raw.Kind() != '{' || upstream.Decode(raw, &u) != nil {
		return usage{}
	}
	total := u.figures()
	for _, call := range u.Iterations {
		if call.Type != "compaction" {
			continue
		}
		for i, n := range call.figures() {
			if n != nil && total[i] != nil {
				total[i] = new(*total[i] + *n)
			}
		}
	}
	for i, n := range total {
		switch {
		case n == nil:
		case *n < 0 || *n > llm.MaxTokenCount || *n != float64(int64(*n)):
			c.absurd = true
		default:
			c.reported = true
			c.totals[i] = max(c.totals[i], int64(*n))
		}
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
	t := c.totals
	return &llm.Usage{
		Input: t[inputTokens], CacheRead: t[readTokens], CacheWrite: max(t[writtenTokens], t[writtenLong]), CacheWriteLong: t[writtenLong],
		Output: t[outputTokens], Reasoning: min(t[thinkingTokens], t[outputTokens]), Searches: t[searches], ServiceTier: readTier(c.tier),
	}
}

// tokensOf returns the usage object for clients.
func tokensOf(u llm.Usage) tokens {
	count := func(n int64) *float64 { return new(float64(n)) }
	t := tokens{Input: count(u.Input), CacheCreated: count(u.CacheWrite), CacheRead: count(u.CacheRead), Output: count(u.Output)}
	if u.CacheWrite > 0 {
		t.CacheCreation = &cacheCreation{Short: count(u.CacheWrite - u.CacheWriteLong), Long: count(u.CacheWriteLong)}
	}
	if u.Reasoning > 0 {
		t.OutputDetails = &outputDetails{Thinking: count(u.Reasoning)}
	}
	if u.Searches > 0 {
		t.ServerTools = &serverTools{Searches: count(u.Searches)}
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
