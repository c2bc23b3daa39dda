// Package outlinetest generates the request bodies of agent sessions, for tests and benchmarks.
package outlinetest

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
)

// Session describes an agent session: a system prompt of 8 KB, tools of 20 KB, and turns that add an assistant message with a tool
// call and the tool's result.
type Session struct {
	Format string // chat, messages or responses
	Turns  int
	Growth int // approximate number of bytes that a turn adds
	Seed   uint64
	Marks  bool // whether to mark the last message with cache_control in the messages format, as clients do
}

// Formats returns the supported values of Session.Format.
func Formats() []string { return []string{"chat", "messages", "responses"} }

// Turn is one request of a session with its response.
type Turn struct {
	Body   []byte
	Answer []byte
	New    int // size in bytes of the messages added since the previous turn
}

// Make returns the turns of a session.
func (s Session) Make() []Turn {
	r := rand.New(rand.NewPCG(s.Seed, 1)) //nolint:gosec // the text must be reproducible
	w := writer{r}
	system, tools := w.text(8<<10), w.tools(s.Format)
	messages := []json.RawMessage{encode(map[string]any{"role": "user", "content": w.text(600)})}
	fresh := len(messages[0]) + len(system)
	for _, t := range tools {
		fresh += len(t)
	}
	turns := make([]Turn, s.Turns)
	for i := range turns {
		call := fmt.Sprintf("call_%08x%08x", r.Uint32(), r.Uint32())
		reply, command, result := w.text(s.Growth/4), w.text(s.Growth/8), w.text(s.Growth/2)
		arguments := json.RawMessage(encode(map[string]any{"command": command}))
		answer := encode(map[string]any{"id": "chatcmpl-" + call, "object": "chat.completion", "model": "auto", "choices": []any{
			map[string]any{"index": 0, "finish_reason": "tool_calls", "message": map[string]any{
				"role": "assistant", "content": reply,
				"tool_calls": []any{map[string]any{"id": call, "type": "function", "function": map[string]any{"name": "tool_3", "arguments": string(arguments)}}},
			}},
		}})
		turns[i] = Turn{Body: s.body(system, tools, messages), Answer: answer, New: fresh}
		added := s.exchange(reply, call, arguments, result)
		fresh = 0
		for _, m := range added {
			fresh += len(m) + 1
		}
		messages = append(messages, added...)
	}
	return turns
}

func (s Session) body(system string, tools, messages []json.RawMessage) []byte {
	switch s.Format {
	case "messages":
		if s.Marks {
			messages = append(messages[:len(messages)-1:len(messages)-1], mark(messages[len(messages)-1]))
		}
		return encode(struct {
			Model    string            `json:"model"`
			System   []any             `json:"system"`
			Messages []json.RawMessage `json:"messages"`
			Tools    []json.RawMessage `json:"tools"`
			Max      int               `json:"max_tokens"`
			Stream   bool              `json:"stream"`
		}{"auto", []any{map[string]any{"type": "text", "text": system}}, messages, tools, 32000, true})
	case "responses":
		return encode(struct {
			Model        string            `json:"model"`
			Instructions string            `json:"instructions"`
			Input        []json.RawMessage `json:"input"`
			Tools        []json.RawMessage `json:"tools"`
			Stream       bool              `json:"stream"`
		}{"auto", system, messages, tools, true})
	}
	return encode(struct {
		Model    string            `json:"model"`
		Messages []json.RawMessage `json:"messages"`
		Tools    []json.RawMessage `json:"tools"`
		Stream   bool              `json:"stream"`
	}{"auto", append([]json.RawMessage{encode(map[string]any{"role": "system", "content": system})}, messages...), tools, true})
}

// mark adds cache_control to the last block of a message.
func mark(message json.RawMessage) json.RawMessage {
	var m struct {
		Role    string `json:"role"`
		Content any    `json:"content"`
	}
	_ = json.Unmarshal(message, &m) // cannot fail, because encode created the message
	if text, ok := m.Content.(string); ok {
		m.Content = []any{map[string]any{"type": "text", "text": text}}
	}
	blocks, _ := m.Content.([]any)
	last, _ := blocks[len(blocks)-1].(map[string]any)
	last["cache_control"] = map[string]any{"type": "ephemeral"}
	return encode(m)
}

func (s Session) exchange(reply, call string, arguments json.RawMessage, result string) []json.RawMessage {
	switch s.Format {
	case "messages":
		return []json.RawMessage{
			encode(map[string]any{"role": "assistant", "content": []any{
				map[string]any{"type": "text", "text": reply},
				map[string]any{"type": "tool_use", "id": call, "name": "tool_3", "input": arguments},
			}}),
			encode(map[string]any{"role": "user", "content": []any{map[string]any{"type": "tool_result", "tool_use_id": call, "content": result}}}),
		}
	case "responses":
		return []json.RawMessage{
			encode(map[string]any{"type": "message", "role": "assistant", "content": []any{map[string]any{"type": "output_text", "text": reply}}}),
			encode(map[string]any{"type": "function_call", "call_id": call, "name": "tool_3", "arguments": string(arguments)}),
			encode(map[string]any{"type": "function_call_output", "call_id": call, "output": result}),
		}
	}
	return []json.RawMessage{
		encode(map[string]any{"role": "assistant", "content": reply, "tool_calls": []any{
			map[string]any{"id": call, "type": "function", "function": map[string]any{"name": "tool_3", "arguments": string(arguments)}},
		}}),
		encode(map[string]any{"role": "tool", "tool_call_id": call, "content": result}),
	}
}

type writer struct{ r *rand.Rand }

// text returns about n bytes that compress like source code and prose.
func (w writer) text(n int) string {
	words := strings.Fields(`the request func return error nil if value test file package import string context server client handler
		token model provider budget stream chunk message result list range entry store write read open close path config option
		2026-11-17 0x1f 404 func( ){ } == != := := // note "quoted" \n src/internal/gateway/serve.go line column`)
	var b strings.Builder
	for b.Len() < n {
		if w.r.IntN(6) == 0 {
			fmt.Fprintf(&b, "%x ", w.r.Uint32()>>w.r.IntN(24))
			continue
		}
		b.WriteString(words[w.r.IntN(len(words))])
		b.WriteByte(" \n "[w.r.IntN(3)])
	}
	return b.String()[:n]
}

func (w writer) tools(format string) []json.RawMessage {
	tools := make([]json.RawMessage, 20)
	for i := range tools {
		properties := map[string]any{}
		for j := range 4 {
			properties[fmt.Sprintf("argument_%d", j)] = map[string]any{"type": "string", "description": w.text(90)}
		}
		schema := map[string]any{"type": "object", "properties": properties, "required": []string{"argument_0"}}
		name, about := fmt.Sprintf("tool_%d", i), w.text(350)
		switch format {
		case "messages":
			tools[i] = encode(map[string]any{"name": name, "description": about, "input_schema": schema})
		case "responses":
			tools[i] = encode(map[string]any{"type": "function", "name": name, "description": about, "parameters": schema})
		default:
			tools[i] = encode(map[string]any{"type": "function", "function": map[string]any{"name": name, "description": about, "parameters": schema}})
		}
	}
	return tools
}

func encode(v any) []byte {
	text, err := json.Marshal(v)
	if err != nil {
		panic(err) // the values are known to be valid
	}
	return text
}
