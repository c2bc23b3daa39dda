package responses

import (
	"math"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/wire/fault"
	"fairlead.dev/internal/wire/upstream"
)

// response is the response object. The gateway's own responses repeat settings of the request, as the format requires.
type response struct {
	ID                 upstream.Placed `json:"id,omitzero"`
	Object             string          `json:"object,omitzero"`
	CreatedAt          jsontext.Value  `json:"created_at,omitzero"`
	Status             string          `json:"status,omitzero"`
	Background         jsontext.Value  `json:"background,omitzero"`
	Error              jsontext.Value  `json:"error,omitzero"`
	IncompleteDetails  jsontext.Value  `json:"incomplete_details,omitzero"`
	Instructions       jsontext.Value  `json:"instructions,omitzero"`
	MaxOutputTokens    jsontext.Value  `json:"max_output_tokens,omitzero"`
	Model              upstream.Placed `json:"model,omitzero"`
	Output             []item          `json:"output"` // nil if the provider sends none
	ParallelToolCalls  jsontext.Value  `json:"parallel_tool_calls,omitzero"`
	PreviousResponseID upstream.Placed `json:"previous_response_id,omitzero"`
	Reasoning          jsontext.Value  `json:"reasoning,omitzero"`
	ServiceTier        jsontext.Value  `json:"service_tier,omitzero"`
	Store              jsontext.Value  `json:"store,omitzero"`
	Temperature        jsontext.Value  `json:"temperature,omitzero"`
	Text               jsontext.Value  `json:"text,omitzero"`
	ToolChoice         jsontext.Value  `json:"tool_choice,omitzero"`
	Tools              jsontext.Value  `json:"tools,omitzero"`
	TopP               jsontext.Value  `json:"top_p,omitzero"`
	Truncation         jsontext.Value  `json:"truncation,omitzero"`
	Usage              jsontext.Value  `json:"usage,omitzero"`
	User               jsontext.Value  `json:"user,omitzero"`
	Metadata           jsontext.Value  `json:"metadata,omitzero"`
	CompletedAt        jsontext.Value  `json:"completed_at,omitzero"`
	ToolUsage          jsontext.Value  `json:"tool_usage,omitzero"`
	Type               string          `json:"type,omitzero"` // only of an error
	Unknown            jsontext.Value  `json:",embed"`
}

// event is an event of a stream. Each type of event has some of the members.
type event struct {
	Type            string         `json:"type"`
	Sequence        int            `json:"sequence_number"`
	ItemID          string         `json:"item_id,omitzero"`
	OutputIndex     *int           `json:"output_index,omitzero"`
	ContentIndex    *int           `json:"content_index,omitzero"`
	SummaryIndex    *int           `json:"summary_index,omitzero"`
	AnnotationIndex *int           `json:"annotation_index,omitzero"`
	Item            *item          `json:"item,omitzero"`
	Part            *part          `json:"part,omitzero"`
	Annotation      jsontext.Value `json:"annotation,omitzero"`
	Delta           string         `json:"delta,omitzero"`
	Text            *string        `json:"text,omitzero"`
	Refusal         *string        `json:"refusal,omitzero"`
	Logprobs        jsontext.Value `json:"logprobs,omitzero"`
	Name            string         `json:"name,omitzero"`
	Arguments       *string        `json:"arguments,omitzero"`
	Input           *string        `json:"input,omitzero"`
	Error           jsontext.Value `json:"error,omitzero"`
	Response        *response      `json:"response,omitzero"`

	data []byte // bytes from the provider; nil for an event that the gateway creates
}

// Types of output items.
const (
	messageItem   = "message"
	reasoningItem = "reasoning"
	functionItem  = "function_call"
	customItem    = "custom_tool_call"
	searchItem    = "web_search_call" // a web search that the provider ran
)

// usage is the usage object.
type usage struct {
	InputTokens        float64 `json:"input_tokens"`
	InputTokensDetails struct {
		CachedTokens     float64 `json:"cached_tokens"`
		CacheWriteTokens float64 `json:"cache_write_tokens"`
	} `json:"input_tokens_details"`
	OutputTokens        *float64 `json:"output_tokens"` // nil if the provider does not report it
	OutputTokensDetails struct {
		ReasoningTokens float64 `json:"reasoning_tokens"`
	} `json:"output_tokens_details"`
	TotalTokens float64 `json:"total_tokens"`
}

// usageOf returns the usage object of the format.
func usageOf(u *llm.Usage) *usage {
	output := float64(u.Output)
	counts := &usage{InputTokens: float64(u.Prompt()), OutputTokens: &output, TotalTokens: float64(u.Total())}
	counts.InputTokensDetails.CachedTokens, counts.InputTokensDetails.CacheWriteTokens = float64(u.CacheRead), float64(u.CacheWrite)
	counts.OutputTokensDetails.ReasoningTokens = float64(u.Reasoning)
	return counts
}

// readUsage returns the usage of a response. It returns nil if the provider reports none, no output count or an implausible count.
func (r *response) readUsage() *llm.Usage {
	var u usage
	if upstream.Decode(r.Usage, &u) != nil || u.OutputTokens == nil {
		return nil
	}
	input, output := u.InputTokens, *u.OutputTokens
	read, written := u.InputTokensDetails.CachedTokens, u.InputTokensDetails.CacheWriteTokens
	thought := u.OutputTokensDetails.ReasoningTokens
	for _, n := range []float64{input, output, read, written, thought, input - read - written} {
		if n < 0 || n > llm.MaxTokenCount || n != math.Trunc(n) {
			return nil
		}
	}
	return &llm.Usage{
		Input: int64(input - read - written), CacheRead: int64(read), CacheWrite: int64(written), Output: int64(output),
		Reasoning: int64(min(thought, output)), Searches: r.searches(), ServiceTier: upstream.Text(r.ServiceTier),
	}
}

// searches returns the number of billed web searches.
func (r *response) searches() (n int64) {
	for i := range r.Output {
		n += r.Output[i].searches()
	}
	var used struct {
		WebSearch struct {
			Requests int64 `json:"num_requests"`
		} `json:"web_search"`
	}
	if r.ToolUsage != nil && upstream.Decode(r.ToolUsage, &used) == nil { // sent by some providers
		n = max(n, min(used.WebSearch.Requests, llm.MaxTokenCount))
	}
	return n
}

// searches returns the number of billed web searches that a complete output item represents: 1 for a search, 0 for a failed search and any
// other item. A call that opens a page from the results of an earlier search is not billed.
func (it *item) searches() int64 {
	if it.Type != searchItem || it.Status == "failed" {
		return 0
	}
	var action struct {
		Type string `json:"type"`
	}
	if it.Action != nil && upstream.Decode(it.Action, &action) == nil && action.Type != "" && action.Type != "search" {
		return 0
	}
	return 1
}

// finish returns the finish reason in the terms of the chat format. It is empty while the response is not complete.
func (r *response) finish() string {
	switch r.Status {
	case "completed", "":
		for i := range r.Output {
			if isCall(r.Output[i].Type) {
				return "tool_calls"
			}
		}
		return "stop"
	case "incomplete":
		var details incomplete
		if upstream.Decode(r.IncompleteDetails, &details) == nil && details.Reason == "content_filter" {
			return "content_filter"
		}
		return "length"
	}
	return ""
}

type incomplete struct {
	Reason string `json:"reason"`
}

// isCall reports whether an output item is a tool call that the client must run.
func isCall(kind string) bool {
	switch kind {
	case functionItem, customItem, "local_shell_call", "shell_call", "apply_patch_call", "computer_call":
		return true
	}
	return false
}

// failure classifies a response whose status is failed or cancelled. It returns nil for any other status.
func (r *response) failure() error {
	switch {
	case r.Status == "failed" && r.Error.Kind() == '{':
		return fault.Inside(r.Error)
	case r.Status == "failed":
		return llm.Errorf(llm.UpstreamServer, "The provider could not complete the response.")
	case r.Status == "cancelled":
		return upstream.Interrupted()
	}
	return nil
}

// encoding keeps strings of providers as they are. It escapes U+2028 and U+2029, because some clients split streams at them.
var encoding = json.JoinOptions(
	jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true), jsontext.PreserveRawStrings(true), jsontext.EscapeForJS(true),
)

// encode encodes a value of the format, which can always be encoded.
func encode(v any) jsontext.Value {
	data, err := json.Marshal(v, encoding)
	if err != nil {
		return null
	}
	return data
}

// unmarshal decodes JSON that a provider or the gateway encoded.
func unmarshal(data []byte, into any) error { return json.Unmarshal(data, into, encoding) }

var null = jsontext.Value("null")
