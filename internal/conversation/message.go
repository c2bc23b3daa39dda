package conversation

import (
	"strings"
	"unicode/utf8"
	"unsafe"

	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/rawjson"
)

// author is who wrote a message.
type author uint8

const (
	byOther  author = iota
	bySystem        // system or developer
	byUser          // in the messages format also results of tools
	byModel
	byTool // a result of a tool
)

// message is an encoded message in one of the wire formats.
type message struct {
	author author
	value  rawjson.Value

	decoded, cleaned bool   // whether the texts below are set
	whole            string // see text
	words            string // see turn
	facts            *facts // nil before the loop is read
}

// maxCapacity bounds the list of messages before it grows.
const maxCapacity = 512

// elements returns the messages of a list of about count messages in the body. A string is one message of the user. The first known
// messages are known from an earlier turn and are not scanned.
func (k *reading) elements(body string, f llm.Field, count int) (messages []message, known int) {
	raw := body[f.Value:f.End]
	if raw != "" && raw[0] == '"' {
		return []message{{author: byUser, value: rawjson.Value{Kind: rawjson.Text, Raw: raw}}}, 0
	}
	messages = make([]message, 0, min(max(count, 1), maxCapacity))
	rest := rawjson.Value{Kind: rawjson.List, Raw: raw, Index: f.Value} // validated; parsing it would scan it twice
	if k.list == f.Value && k.end > f.Value && k.end < f.End {
		for i, one := range k.messages {
			v := rawjson.Value{Kind: one.kind, Raw: body[one.from:one.to], Index: int(one.from)}
			m := message{author: one.author, value: v, decoded: one.wordless}
			if at := i - len(k.messages) + len(k.facts); at >= 0 {
				m.facts = k.facts[at]
			}
			messages = append(messages, m)
		}
		known = len(messages)
		rest.Raw = strings.TrimLeft(body[k.end:f.End], " \t\r\n") // begins with a comma instead of the bracket
		rest.Index = f.End - len(rest.Raw)
		if rest.Raw[0] == ']' {
			return messages, known
		}
	}
	rest.ForEach(func(_, v rawjson.Value) bool {
		messages = append(messages, message{author: authorOf(v), value: v})
		return true
	})
	return messages, known
}

// authorOf returns the author of a message. Usually the first member decides. Calls and results of the Responses format
// have a type instead of a role.
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
			return by == byOther // a message of the Responses format has a role too
		}
		return true
	})
	return by
}

// isResult reports whether the message has a result of a tool. The messages and gemini formats have results in messages of the user.
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

// text returns the texts of a message, without calls and results of tools.
func (m *message) text() string {
	if !m.decoded {
		m.decoded, m.whole = true, contentText(m.content(), maxRaw)
	}
	return m.whole
}

// turn returns the user's own words of a message: without text that clients add and without polite phrases. It is empty for a
// message that holds tool results only.
func (m *message) turn() string {
	if !m.cleaned {
		m.cleaned = true
		if text := m.text(); text != "" && !isToolOutput(text) {
			m.words = withoutCourtesy(withoutHarness(text))
		}
	}
	return m.words
}

// member returns the first of the members of an object that exists. keys are encoded, with quotes.
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

// maxRaw is the maximum number of bytes of a text that are decoded. Three quarters are taken from its beginning, the rest from its
// end.
const maxRaw = 32 << 10

// contentText returns the texts of a content, which is a string or a list of parts. The result has at most about most bytes.
func contentText(content rawjson.Value, most int) string {
	if content.Kind == rawjson.Text {
		return decode(content.Raw, most)
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
			if one := decode(value.Raw, most-len(text)); text == "" {
				text = one
			} else {
				text += "\n" + one
			}
		}
		return len(text) < most
	})
	return text
}

// decode returns a copy of an encoded string. A string longer than most bytes is shortened: three quarters of the result are its
// beginning, the rest is its end.
func decode(raw string, most int) string {
	inner := raw[1 : len(raw)-1]
	return llm.RawText(unsafe.Slice(unsafe.StringData(inner), len(inner))).Text(most) // read only
}

// head returns at most n bytes of the beginning of a text, cut between runes.
func head(text string, n int) string {
	if len(text) <= n {
		return text
	}
	for n > 0 && !utf8.RuneStart(text[n]) {
		n--
	}
	return text[:n]
}

// tail returns at most n bytes of the end of a text, cut between runes.
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
