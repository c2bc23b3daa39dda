package responses

import (
	"encoding/json"

	"fairlead.dev/internal/llm"
)

// response is the complete response object. It repeats settings of the request, as the format requires.
type response struct {
	ID                 string          `json:"id"`
	Object             string          `json:"object"`
	CreatedAt          int64           `json:"created_at"`
	Status             string          `json:"status"`
	Background         bool            `json:"background"`
	Error              json.RawMessage `json:"error"`
	IncompleteDetails  *incomplete     `json:"incomplete_details"`
	Instructions       json.RawMessage `json:"instructions"`
	MaxOutputTokens    json.RawMessage `json:"max_output_tokens"`
	Model              string          `json:"model"`
	Output             []any           `json:"output"`
	ParallelToolCalls  json.RawMessage `json:"parallel_tool_calls"`
	PreviousResponseID json.RawMessage `json:"previous_response_id"`
	Reasoning          json.RawMessage `json:"reasoning"`
	ServiceTier        json.RawMessage `json:"service_tier,omitempty"`
	Store              bool            `json:"store"` // always false, because the response is not stored
	Temperature        json.RawMessage `json:"temperature"`
	Text               json.RawMessage `json:"text"`
	ToolChoice         json.RawMessage `json:"tool_choice"`
	Tools              json.RawMessage `json:"tools"`
	TopP               json.RawMessage `json:"top_p"`
	Truncation         string          `json:"truncation"`
	Usage              *usage          `json:"usage"`
	User               json.RawMessage `json:"user,omitempty"`
	Metadata           json.RawMessage `json:"metadata"`
}

type incomplete struct {
	Reason string `json:"reason"`
}

type usage struct {
	InputTokens        int64 `json:"input_tokens"`
	InputTokensDetails struct {
		CachedTokens     int64 `json:"cached_tokens"`
		CacheWriteTokens int64 `json:"cache_write_tokens"`
	} `json:"input_tokens_details"`
	OutputTokens        int64 `json:"output_tokens"`
	OutputTokensDetails struct {
		ReasoningTokens int64 `json:"reasoning_tokens"`
	} `json:"output_tokens_details"`
	TotalTokens int64 `json:"total_tokens"`
}

// newResponse returns a response object for a request, without output.
func newResponse(p *llm.Payload, model string) response {
	given := map[string]json.RawMessage{}
	for _, f := range p.Fields {
		given[f.Name] = p.Body[f.Value:f.End]
	}
	or := func(name, otherwise string) json.RawMessage {
		if value, ok := given[name]; ok && string(value) != "null" {
			return value
		}
		return json.RawMessage(otherwise)
	}
	return response{
		Object: "response", Status: "in_progress", Model: model, Output: []any{}, Truncation: "disabled",
		Error: json.RawMessage("null"), PreviousResponseID: json.RawMessage("null"),
		Instructions: or("instructions", "null"), MaxOutputTokens: or("max_output_tokens", "null"),
		ParallelToolCalls: or("parallel_tool_calls", "true"), Reasoning: or("reasoning", `{"effort":null,"summary":null}`),
		Temperature: or("temperature", "null"), TopP: or("top_p", "null"), Text: or("text", `{"format":{"type":"text"}}`),
		ToolChoice: or("tool_choice", `"auto"`), Tools: or("tools", "[]"), Metadata: or("metadata", "{}"),
		User: or("user", ""), ServiceTier: or("service_tier", ""),
	}
}

// Types of output items.
const (
	messageItem   = "message"
	reasoningItem = "reasoning"
	functionItem  = "function_call"
	customItem    = "custom_tool_call"
)

// prefixes maps the types of output items to the prefixes of their IDs.
var prefixes = map[string]string{messageItem: "msg_", reasoningItem: "rs_", functionItem: "fc_", customItem: "ctc_"}

type messageJSON struct {
	ID      string `json:"id"`
	Type    string `json:"type"`
	Status  string `json:"status"`
	Role    string `json:"role"`
	Content []any  `json:"content"`
}

type textJSON struct {
	Type        string `json:"type"`
	Text        string `json:"text"`
	Annotations []any  `json:"annotations"`
	Logprobs    []any  `json:"logprobs"`
}

type citationJSON struct {
	Type       string `json:"type"`
	StartIndex int    `json:"start_index"`
	EndIndex   int    `json:"end_index"`
	URL        string `json:"url"`
	Title      string `json:"title"`
}

type refusalJSON struct {
	Type    string `json:"type"`
	Refusal string `json:"refusal"`
}

type reasoningJSON struct {
	ID        string        `json:"id"`
	Type      string        `json:"type"`
	Summary   []summaryJSON `json:"summary"`
	Encrypted string        `json:"encrypted_content,omitempty"`
	Status    string        `json:"status,omitempty"`
}

type summaryJSON struct {
	Type string `json:"type"`
	Text string `json:"text"`
}

type callJSON struct {
	ID        string  `json:"id"`
	Type      string  `json:"type"`
	Status    string  `json:"status"`
	CallID    string  `json:"call_id"`
	Name      string  `json:"name"`
	Namespace string  `json:"namespace,omitempty"`
	Arguments *string `json:"arguments,omitempty"`
	Input     *string `json:"input,omitempty"`
}
