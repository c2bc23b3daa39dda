package otlp

import (
	"encoding/json"
	"slices"
	"strings"
)

// maxText is the maximum size in bytes of the message text in one attribute. For a longer conversation, only the newest messages are
// exported.
const maxText = 64 << 10

// chatBody holds the content fields of a request or response in the chat format.
type chatBody struct {
	Messages []chatMessage   `json:"messages"`
	Prompt   json.RawMessage `json:"prompt"` // prompt of a completion
	Input    json.RawMessage `json:"input"`  // input of embeddings and moderations
	Choices  []struct {
		Message chatMessage `json:"message"`
		Text    string      `json:"text"`
		Finish  string      `json:"finish_reason"`
	} `json:"choices"`
}

type chatMessage struct {
	Role      string          `json:"role"`
	Content   json.RawMessage `json:"content"`
	Refusal   string          `json:"refusal"`
	Reasoning string          `json:"reasoning_content"`
	ToolCalls []struct {
		ID       string `json:"id"`
		Function struct {
			Name      string `json:"name"`
			Arguments string `json:"arguments"`
		} `json:"function"`
	} `json:"tool_calls"`
	ToolCallID string `json:"tool_call_id"`
}

// message is a message in the format of the OpenTelemetry semantic conventions.
type message struct {
	Role   string `json:"role"`
	Parts  []part `json:"parts"`
	Finish string `json:"finish_reason,omitempty"`
}

type part struct {
	Type      string `json:"type"`
	Content   string `json:"content,omitempty"`
	ID        string `json:"id,omitempty"`
	Name      string `json:"name,omitempty"`
	Arguments string `json:"arguments,omitempty"`
	Response  string `json:"response,omitempty"`
}

func inputMessages(body []byte) []message {
	var b chatBody
	if json.Unmarshal(body, &b) != nil {
		return nil
	}
	var list []message
	for i := range b.Messages {
		list = append(list, message{Role: b.Messages[i].Role, Parts: b.Messages[i].parts()})
	}
	for _, raw := range []json.RawMessage{b.Prompt, b.Input} {
		if parts := texts(raw); len(parts) > 0 {
			list = append(list, message{Role: "user", Parts: parts})
		}
	}
	return list
}

func outputMessages(body []byte) []message {
	var b chatBody
	if json.Unmarshal(body, &b) != nil {
		return nil
	}
	var list []message
	for _, c := range b.Choices {
		parts := c.Message.parts()
		if c.Text != "" {
			parts = append(parts, part{Type: "text", Content: c.Text})
		}
		list = append(list, message{Role: "assistant", Parts: parts, Finish: c.Finish})
	}
	return list
}

func (m *chatMessage) parts() []part {
	var list []part
	if m.Reasoning != "" {
		list = append(list, part{Type: "reasoning", Content: m.Reasoning})
	}
	if m.Role == "tool" {
		var whole strings.Builder
		for _, p := range texts(m.Content) {
			whole.WriteString(p.Content)
		}
		return append(list, part{Type: "tool_call_response", ID: m.ToolCallID, Response: whole.String()})
	}
	list = append(list, texts(m.Content)...)
	if m.Refusal != "" {
		list = append(list, part{Type: "text", Content: m.Refusal})
	}
	for _, c := range m.ToolCalls {
		list = append(list, part{Type: "tool_call", ID: c.ID, Name: c.Function.Name, Arguments: c.Function.Arguments})
	}
	return list
}

// texts returns the parts of message content, which is a string or a list of strings and parts. For images, audio and files it returns only
// the type, without the data. It skips null elements.
func texts(content json.RawMessage) []part {
	var text string
	if json.Unmarshal(content, &text) == nil {
		if text == "" {
			return nil
		}
		return []part{{Type: "text", Content: text}}
	}
	var raw []json.RawMessage
	if json.Unmarshal(content, &raw) != nil {
		return nil
	}
	var list []part
	for _, r := range raw {
		var text *string
		var one struct {
			Type string `json:"type"`
			Text string `json:"text"`
		}
		switch {
		case json.Unmarshal(r, &text) == nil:
			if text != nil {
				list = append(list, part{Type: "text", Content: *text})
			}
		case json.Unmarshal(r, &one) != nil:
		case one.Type == "text":
			list = append(list, part{Type: "text", Content: one.Text})
		case one.Type != "":
			list = append(list, part{Type: one.Type})
		}
	}
	return list
}

// encode encodes the newest messages that fit into maxText. The text of the oldest one may be truncated.
func encode(list []message) string {
	left, first := maxText, len(list)
	for first > 0 && left > 0 {
		first--
		parts := slices.Clone(list[first].Parts)
		for i := len(parts) - 1; i >= 0; i-- {
			for _, text := range []*string{&parts[i].Content, &parts[i].Arguments, &parts[i].Response} {
				if len(*text) > left {
					*text = strings.ToValidUTF8((*text)[:left], "") + "…"
				}
				left = max(0, left-len(*text))
			}
		}
		list[first].Parts = parts
	}
	if first == len(list) {
		return ""
	}
	data, err := json.Marshal(list[first:])
	if err != nil {
		return "" // unreachable, because only strings are encoded
	}
	return string(data)
}
