// Package judge decides which of two responses to the same request is better. Checks that need no model come first. If no check
// decides, a judge model decides, without the names of the models that wrote the responses. The package makes no calls: the caller
// sends the prompts.
package judge

import (
	"cmp"
	"encoding/json"
	"strings"

	"fairlead.dev/internal/rawjson"
)

// Methods that decide a comparison.
const (
	Schema = "schema" // JSON schema of the request
	Tools  = "tools"  // tool calls and their arguments
	Exact  = "exact"  // equal text or number
	Code   = "code"   // code blocks that do or do not parse
	Hook   = "hook"   // score of the user's hook
	Model  = "judge"  // judge model
)

// Verdict is the result of a comparison.
type Verdict struct {
	// Difference is the quality of the routed response minus the quality of the baseline response, from -1 to 1.
	Difference float64
	Method     string
	Reason     string
}

// Exchange is a request with two responses, in the chat format.
type Exchange struct {
	Task     string // task type
	Request  []byte // body of the request
	Routed   Response
	Baseline Response
}

// Response is the next step that a model proposed: text, tool calls, or both.
type Response struct {
	Text  string `json:"text,omitempty"`
	Calls []Call `json:"tool_calls,omitempty"`
}

// Call is a proposed tool call.
type Call struct {
	Name      string `json:"name"`
	Arguments string `json:"arguments"`
}

// ParseResponse reads the first choice of a response in the chat format. It reports false for a response without text and
// tool calls.
func ParseResponse(body []byte) (Response, bool) {
	message := rawjson.Get(body, "choices.0.message")
	if !message.Exists() {
		return Response{}, false
	}
	var parsed struct {
		Content   json.RawMessage `json:"content"`
		Refusal   string          `json:"refusal"`
		ToolCalls []struct {
			Function *struct{ Name, Arguments string } `json:"function"`
			Custom   *struct{ Name, Input string }     `json:"custom"`
		} `json:"tool_calls"`
	}
	if json.Unmarshal([]byte(message.Raw), &parsed) != nil {
		return Response{}, false
	}
	r := Response{Text: cmp.Or(contentText(parsed.Content), parsed.Refusal)}
	for _, c := range parsed.ToolCalls {
		switch {
		case c.Function != nil:
			r.Calls = append(r.Calls, Call{c.Function.Name, c.Function.Arguments})
		case c.Custom != nil:
			r.Calls = append(r.Calls, Call{c.Custom.Name, c.Custom.Input})
		}
	}
	return r, r.Text != "" || len(r.Calls) > 0
}

// contentText returns the text of a message, whose content is a string or a list of parts.
func contentText(content json.RawMessage) string {
	var text string
	if json.Unmarshal(content, &text) == nil {
		return text
	}
	var parts []struct {
		Type string `json:"type"`
		Text string `json:"text"`
	}
	if json.Unmarshal(content, &parts) != nil {
		return ""
	}
	var all []string
	for _, p := range parts {
		if p.Type == "text" {
			all = append(all, p.Text)
		} else {
			all = append(all, "["+p.Type+"]")
		}
	}
	return strings.Join(all, "\n")
}
