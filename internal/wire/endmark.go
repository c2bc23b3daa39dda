package wire

import (
	"slices"

	"fairlead.dev/internal/rawjson"
)

// CacheControl returns the value of cache_control for a prompt-cache mark with a lifetime of 5m or 1h. It returns nil for any other.
func CacheControl(lifetime string) []byte {
	switch lifetime {
	case "5m":
		return []byte(`{"type":"ephemeral"}`)
	case "1h":
		return []byte(`{"type":"ephemeral","ttl":"1h"}`)
	}
	return nil
}

// MarkEnd adds cache_control to the end of the last message of a request in the messages or the chat format: to its last part, or to a
// tool message itself. It returns false, and the body unchanged, if that message is not from the user or a tool, or if its last part
// cannot have a mark.
func MarkEnd(body []byte, lifetime string) ([]byte, bool) {
	mark := CacheControl(lifetime)
	if mark == nil {
		return body, false
	}
	list := member(body, "messages")
	last := lastElement(body, list)
	message := body[last.from:last.to]
	role := rawjson.Get(message, "role").String()
	if role == "tool" {
		return replace(body, last, rawjson.AppendMember(message, "cache_control", mark)), true
	}
	content := member(message, "content")
	text := message[content.from:content.to]
	if role != "user" || len(text) == 0 {
		return body, false
	}
	if text[0] == '"' {
		if len(text) == len(`""`) {
			return body, false
		}
		w := rawjson.Writer{Out: []byte{'['}}
		w.Open()
		w.Str("type", "text")
		w.Raw("text", text)
		w.Raw("cache_control", mark)
		w.Close()
		w.CloseList()
		return replace(body, last, replace(message, content, w.Out)), true
	}
	end := lastElement(message, content)
	part := message[end.from:end.to]
	if !markable(part) {
		return body, false
	}
	return replace(body, last, replace(message, end, rawjson.AppendMember(part, "cache_control", mark))), true
}

// markable reports whether a part can have a mark. Chat providers accept marks of texts only; the other kinds exist in the messages format
// alone.
func markable(part []byte) bool {
	v := rawjson.Parse(part)
	kind := v.Get("type").String()
	return kind == "text" && v.Get("text").String() != "" || slices.Contains([]string{"tool_result", "image", "document"}, kind)
}

// span is the position of a value in a document. It is empty if there is none.
type span struct{ from, to int }

// member returns the position of a member of an object.
func member(object []byte, name string) (at span) {
	s := rawjson.Scanner{Data: object}
	if s.Kind() != '{' {
		return at
	}
	s.Members(func(key []byte) bool {
		from := s.Pos
		if s.Skip(); string(key) == name {
			at = span{from, s.Pos}
		}
		return true
	})
	return at
}

// lastElement returns the position in the document of the last element of a list.
func lastElement(data []byte, list span) (at span) {
	s := rawjson.Scanner{Data: data[:list.to], Pos: list.from}
	if s.Kind() != '[' {
		return at
	}
	s.Elements(func(int) bool {
		from := s.Pos
		s.Skip()
		at = span{from, s.Pos}
		return true
	})
	return at
}

// replace returns a copy of the document with another value at a position.
func replace(data []byte, at span, value []byte) []byte {
	return slices.Concat(data[:at.from], value, data[at.to:])
}
