package responses

import (
	"strings"

	"fairlead.dev/internal/llm"
)

// item is one element of the output.
type item struct {
	kind   string
	id     string
	index  int // index in the output
	status string

	parts     []*part         // parts of a message
	text      strings.Builder // summary of reasoning, or arguments of a call
	spoken    bool            // whether the summary of a reasoning item has begun
	encrypted string
	call      llm.ToolCall // call without its arguments
	namespace string       // namespace of the tool
	place     int          // index of the tool call in the deltas
}

// part is one element of a message's content.
type part struct {
	refusal     bool
	text        strings.Builder
	from        int // offset of the part's first character in the text of the response
	annotations []any
	done        bool
}

func (p *part) json() any {
	if p.refusal {
		return refusalJSON{Type: "refusal", Refusal: p.text.String()}
	}
	return textJSON{Type: "output_text", Text: p.text.String(), Annotations: append([]any{}, p.annotations...), Logprobs: []any{}}
}

func (p *part) event() string {
	if p.refusal {
		return "response.refusal"
	}
	return "response.output_text"
}

func (it *item) json() any {
	switch it.kind {
	case messageItem:
		content := []any{}
		for _, p := range it.parts {
			content = append(content, p.json())
		}
		return messageJSON{ID: it.id, Type: it.kind, Status: it.status, Role: "assistant", Content: content}
	case reasoningItem:
		summary := []summaryJSON{}
		if it.spoken {
			summary = append(summary, it.summary())
		}
		return reasoningJSON{ID: it.id, Type: it.kind, Summary: summary, Encrypted: it.encrypted, Status: it.status}
	}
	text := it.text.String()
	call := callJSON{ID: it.id, Type: it.kind, Status: it.status, CallID: it.call.ID, Name: it.call.Name, Namespace: it.namespace}
	if it.kind == customItem {
		call.Input = &text
	} else {
		call.Arguments = &text
	}
	return call
}

func (it *item) summary() summaryJSON {
	return summaryJSON{Type: "summary_text", Text: it.text.String()}
}

func (it *item) isCall() bool { return it.kind == functionItem || it.kind == customItem }

// argumentsEvent returns the common prefix of the event names for the arguments of a call.
func (it *item) argumentsEvent() string {
	if it.kind == customItem {
		return "response.custom_tool_call_input"
	}
	return "response.function_call_arguments"
}
