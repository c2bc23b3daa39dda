package predict

import (
	"strings"
	"unicode/utf8"
	"unsafe"

	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/rawjson"
)

// author identifies who wrote a message: the system, the user, the model or a tool.
type author uint8

const (
	byOther  author = iota
	bySystem        // role system or developer
	byUser          // role user; includes tool results in the messages and gemini formats
	byModel
	byTool // author of a tool result
)

// message is an encoded message in one of the wire formats.
type message struct {
	author  author
	decoded bool          // whether text is set
	cleaned bool          // whether turn is set
	value   rawjson.Value // the message
	text    string        // cached result of readText
	turn    turn          // cached result of readTurn
}

// maxCapacity limits the initial capacity of the list of messages.
const maxCapacity = 512

// elements returns the messages in the value of a message list. count is the approximate number of messages. A string is one user message.
func elements(raw string, count int) []message {
	if raw != "" && raw[0] == '"' {
		return []message{{author: byUser, value: rawjson.Value{Kind: rawjson.Text, Raw: raw}}}
	}
	messages := make([]message, 0, min(max(count, 1), maxCapacity))
	list := rawjson.Value{Kind: rawjson.List, Raw: raw} // the JSON is already validated, so only ForEach scans it
	list.ForEach(func(_, v rawjson.Value) bool {
		messages = append(messages, message{author: authorOf(v), value: v})
		return true
	})
	return messages
}

// authorOf returns the author of a message, which usually follows from its first member. In the Responses format, tool calls and
// results have a type instead of a role.
func authorOf(v rawjson.Value) (by author) {
	v.ForEach(func(key, value rawjson.Value) bool {
		switch key.Raw {
		case `"role"`:
			switch value.Raw {
			case `"user"`:
				by = byUser
			case `"assistant"`, `"model"`:
				by = byModel
			case `"system"`, `"developer"`:
				by = bySystem
			case `"tool"`, `"function"`:
				by = byTool
			}
			return false
		case `"parts"`:
			by = byUser // in the gemini format, the user may have no role
		case `"type"`:
			switch kind := strings.Trim(value.Raw, `"`); {
			case strings.HasSuffix(kind, "_output"):
				by = byTool
			case strings.HasSuffix(kind, "_call"), kind == "reasoning":
				by = byModel
			}
			return by == byOther // if the type gives no author, continue with the role
		}
		return true
	})
	return by
}

// isResult reports whether the message contains a tool result. In the messages and gemini formats, user messages contain tool results.
func (m *message) isResult() bool {
	if m.author == byTool {
		return true
	}
	found := false
	if m.author == byUser && m.content().IsList() {
		m.content().ForEach(func(_, part rawjson.Value) bool {
			found = member(part, `"type"`).Raw == `"tool_result"` || member(part, `"functionResponse"`, `"function_response"`).Exists()
			return !found
		})
	}
	return found
}

// content returns the content of a message.
func (m *message) content() rawjson.Value {
	if m.value.Kind == rawjson.Text {
		return m.value
	}
	return member(m.value, `"content"`, `"parts"`) // parts in the gemini format
}

// maxText is the approximate maximum number of bytes of a message's text that are decoded.
const maxText = 16 << 10

// readText returns the text of a message, without tool calls and tool results.
func (m *message) readText() string {
	if !m.decoded {
		m.decoded, m.text = true, contentText(m.content(), maxText)
	}
	return m.text
}

// readTurn returns the part of a message that the user wrote, without text that clients add.
func (m *message) readTurn() turn {
	if !m.cleaned {
		m.cleaned, m.turn = true, readTurn(m.readText())
		m.turn.document += max(0, len(m.content().Raw)-2*maxText) // text that was not decoded
	}
	return m.turn
}

// member returns the value of the first of the given keys that the object contains. The keys are encoded, with quotes.
func member(v rawjson.Value, keys ...string) (found rawjson.Value) {
	for _, key := range keys {
		v.ForEach(func(k, value rawjson.Value) bool {
			if k.Raw == key {
				found = value
				return false
			}
			return true
		})
		if found.Exists() {
			break
		}
	}
	return found
}

// contentText returns the text in content, which is a string or a list of parts. limit is the approximate maximum number of bytes to
// return.
func contentText(content rawjson.Value, limit int) string {
	if content.Kind == rawjson.Text {
		return decode(content.Raw, limit)
	}
	text := ""
	content.ForEach(func(_, part rawjson.Value) bool {
		var value rawjson.Value
		textual := true
		part.ForEach(func(key, v rawjson.Value) bool {
			switch key.Raw {
			case `"type"`:
				textual = v.Raw == `"text"` || v.Raw == `"input_text"` || v.Raw == `"output_text"`
			case `"thought"`:
				textual = v.Raw != "true"
			case `"text"`:
				value = v
			}
			return textual
		})
		if textual && value.Kind == rawjson.Text {
			if one := decode(value.Raw, limit-len(text)); text == "" {
				text = one
			} else {
				text += "\n" + one
			}
		}
		return len(text) < limit
	})
	return text
}

// decode returns a copy of an encoded string. A string longer than limit bytes is truncated in the middle: the result consists of its
// beginning (three quarters of the limit) and its end.
func decode(raw string, limit int) string {
	inner := raw[1 : len(raw)-1]
	return llm.RawText(unsafe.Slice(unsafe.StringData(inner), len(inner))).Text(limit) // Text only reads the shared memory
}

// head returns at most n bytes from the beginning of text and never splits a rune.
func head(text string, n int) string {
	if len(text) <= n {
		return text
	}
	for n > 0 && !utf8.RuneStart(text[n]) {
		n--
	}
	return text[:n]
}

// tail returns at most n bytes from the end of text and never splits a rune.
func tail(text string, n int) string {
	if len(text) <= n {
		return text
	}
	at := len(text) - n
	for at < len(text) && !utf8.RuneStart(text[at]) {
		at++
	}
	return text[at:]
}
