// Package agent generates the requests of a coding agent. Every turn of a session resends the whole conversation and adds a tool
// call with its result. The JSON has the shape that real clients send, in each of the three client formats.
package agent

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
)

// The client formats.
const (
	Chat      = "chat"
	Messages  = "messages"
	Responses = "responses"
)

// Formats lists the client formats.
func Formats() []string { return []string{Chat, Messages, Responses} }

// Size of a session.
const (
	Turns       = 40
	systemBytes = 8 << 10
	toolBytes   = 20 << 10
	taskBytes   = 1500
	turnBytes   = 3 << 10
)

// Path returns the path of the endpoint for a format, relative to the base URL.
func Path(format string) string {
	switch format {
	case Messages:
		return "/messages"
	case Responses:
		return "/responses"
	}
	return "/chat/completions"
}

// Session is a conversation that grows by one turn at a time. All sessions of a format have the same generated instructions and
// tools. Sessions with different seeds have different messages.
type Session struct {
	format  string
	head    string // beginning of the body, before the messages
	list    strings.Builder
	tail    string
	words   *rand.Rand
	started int // number of turns so far
}

// New returns a session before its first turn. The instructions begin with preface. fields contains additional JSON members of the
// body, each with a trailing comma.
func New(format, model, preface, fields string, seed uint64) *Session {
	s := &Session{format: format, words: rand.New(rand.NewPCG(seed, 7))}
	shared := rand.New(rand.NewPCG(1, 2)) // the instructions and tools are the same for every session
	instructions, tools := quote(preface+prose(shared, systemBytes)), toolList(format, shared)
	switch format {
	case Messages:
		s.head = fmt.Sprintf(`{"model":%q,"max_tokens":8192,%s"stream":true,"system":[{"type":"text","text":%s}],"tools":%s,"messages":[`, model, fields, instructions, tools)
		s.tail = `]}`
	case Responses:
		s.head = fmt.Sprintf(`{"model":%q,%s"stream":true,"store":false,"instructions":%s,"tools":%s,"tool_choice":"auto","input":[`, model, fields, instructions, tools)
		s.tail = `]}`
	default:
		s.head = fmt.Sprintf(`{"model":%q,%s"stream":true,"stream_options":{"include_usage":true},"max_tokens":8192,"tools":%s,"messages":[{"role":"system","content":%s}`, model, fields, tools, instructions)
		s.tail = `]}`
	}
	s.add(s.user("Task " + fmt.Sprint(seed) + ": " + prose(s.words, taskBytes)))
	return s
}

// Next starts the next turn and returns its request body.
func (s *Session) Next() []byte {
	if s.started++; s.started > 1 {
		id := fmt.Sprintf("call_%d_%x", s.started, s.words.Uint64())
		path := fmt.Sprintf("internal/pkg%d/file%d.go", s.words.IntN(50), s.words.IntN(500))
		s.add(s.call(id, path, prose(s.words, turnBytes/8)))
		s.add(s.result(id, listing(s.words, turnBytes*3/4)))
	}
	body := make([]byte, 0, len(s.head)+s.list.Len()+len(s.tail))
	body = append(body, s.head...)
	body = append(body, s.list.String()...)
	return append(body, s.tail...)
}

// add appends messages to the conversation.
func (s *Session) add(messages ...string) {
	for _, m := range messages {
		if s.list.Len() > 0 || s.format == Chat { // in the chat format, head already contains the instructions as a message
			s.list.WriteByte(',')
		}
		s.list.WriteString(m)
	}
}

func (s *Session) user(text string) string {
	switch s.format {
	case Messages:
		return fmt.Sprintf(`{"role":"user","content":[{"type":"text","text":%s}]}`, quote(text))
	case Responses:
		return fmt.Sprintf(`{"type":"message","role":"user","content":[{"type":"input_text","text":%s}]}`, quote(text))
	}
	return fmt.Sprintf(`{"role":"user","content":%s}`, quote(text))
}

// call returns the messages in which the model explains its next step and calls a tool.
func (s *Session) call(id, path, text string) string {
	input := fmt.Sprintf(`{"file_path":%q,"offset":%d,"limit":200,"description":%s}`, path, s.words.IntN(900), quote(prose(s.words, 80)))
	switch s.format {
	case Messages:
		return fmt.Sprintf(`{"role":"assistant","content":[{"type":"text","text":%s},{"type":"tool_use","id":%q,"name":"tool_1","input":%s}]}`, quote(text), id, input)
	case Responses:
		return fmt.Sprintf(`{"type":"message","role":"assistant","content":[{"type":"output_text","text":%s,"annotations":[]}],"status":"completed"},`+
			`{"type":"function_call","call_id":%q,"name":"tool_1","arguments":%s,"status":"completed"}`, quote(text), id, quote(input))
	}
	return fmt.Sprintf(`{"role":"assistant","content":%s,"tool_calls":[{"id":%q,"type":"function","function":{"name":"tool_1","arguments":%s}}]}`, quote(text), id, quote(input))
}

func (s *Session) result(id, text string) string {
	switch s.format {
	case Messages:
		return fmt.Sprintf(`{"role":"user","content":[{"type":"tool_result","tool_use_id":%q,"content":[{"type":"text","text":%s}]}]}`, id, quote(text))
	case Responses:
		return fmt.Sprintf(`{"type":"function_call_output","call_id":%q,"output":%s}`, id, quote(text))
	}
	return fmt.Sprintf(`{"role":"tool","tool_call_id":%q,"content":%s}`, id, quote(text))
}

// toolList returns about toolBytes of tool definitions.
func toolList(format string, words *rand.Rand) string {
	var list []string
	for size := 0; size < toolBytes; size += len(list[len(list)-1]) {
		name, description := fmt.Sprintf("tool_%d", len(list)), quote(prose(words, 700))
		schema := fmt.Sprintf(`{"type":"object","properties":{"file_path":{"type":"string","description":%s},"offset":{"type":"integer","description":%s},`+
			`"limit":{"type":"integer","minimum":1},"description":{"type":"string"},"options":{"type":"array","items":{"type":"object","properties":{`+
			`"key":{"type":"string"},"value":{"type":["string","null"]}},"required":["key"]}}},"required":["file_path"],"additionalProperties":false}`,
			quote(prose(words, 120)), quote(prose(words, 90)))
		switch format {
		case Messages:
			list = append(list, fmt.Sprintf(`{"name":%q,"description":%s,"input_schema":%s}`, name, description, schema))
		case Responses:
			list = append(list, fmt.Sprintf(`{"type":"function","name":%q,"description":%s,"parameters":%s,"strict":false}`, name, description, schema))
		default:
			list = append(list, fmt.Sprintf(`{"type":"function","function":{"name":%q,"description":%s,"parameters":%s}}`, name, description, schema))
		}
	}
	return "[" + strings.Join(list, ",") + "]"
}

var vocabulary = strings.Fields(`the file reads a value and returns an error when the context ends; check tests before you change "handler" or the cache, then run
	make build. Prefer small functions: one idea each (see docs/design.md), keep names short, explain why — not what. Naïve loops over 100 entries cost 42 ms; use an
	index. Users expect café, über and 日本語 to work. Never commit secrets! If $HOME/.config is missing, create it with mode 0600 & retry <once>.`)

// prose returns text of about size bytes.
func prose(words *rand.Rand, size int) string {
	var b strings.Builder
	for b.Len() < size {
		b.WriteString(vocabulary[words.IntN(len(vocabulary))])
		if words.IntN(18) == 0 {
			b.WriteString("\n")
		} else {
			b.WriteByte(' ')
		}
	}
	return b.String()
}

// listing returns part of a source file with line numbers, formatted like the output of the file tools of coding agents.
func listing(words *rand.Rand, size int) string {
	var b strings.Builder
	for line := 1 + words.IntN(400); b.Len() < size; line++ {
		name := vocabulary[words.IntN(len(vocabulary))]
		switch words.IntN(5) {
		case 0:
			fmt.Fprintf(&b, "%6d\t\n", line)
		case 1:
			fmt.Fprintf(&b, "%6d\t// %s %s %d\n", line, name, vocabulary[words.IntN(len(vocabulary))], words.IntN(1000))
		case 2:
			fmt.Fprintf(&b, "%6d\t\tif err := s.%c%d(ctx, \"%d\", value[%d:]); err != nil {\n", line, 'a'+rune(words.IntN(26)), words.IntN(90), words.IntN(9000), words.IntN(64))
		case 3:
			fmt.Fprintf(&b, "%6d\t\t\treturn fmt.Errorf(\"step %d: %%w\", err)\n", line, words.IntN(500))
		default:
			fmt.Fprintf(&b, "%6d\t\tresult%d = append(result%d, entry{id: %d, name: names[%d]})\n", line, words.IntN(9), words.IntN(9), words.IntN(100000), words.IntN(300))
		}
	}
	return b.String()
}

func quote(text string) string {
	out, err := json.Marshal(text)
	if err != nil {
		panic(err) // a string can always be encoded
	}
	return string(out)
}
