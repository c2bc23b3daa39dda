package wire

import (
	"slices"

	"fairlead.dev/internal/rawjson"
)

// CacheControl returns the value of cache_control for a prompt-cache mark with a lifetime of 5m or 1h. It returns nil
// for any other lifetime.
func CacheControl(lifetime string) []byte {
	switch lifetime {
	case "5m":
		return []byte(`{"type":"ephemeral"}`)
	case "1h":
		return []byte(`{"type":"ephemeral","ttl":"1h"}`)
	}
	return nil
}

// MarkEnd adds cache_control to the last message of a request in the messages or the chat format: to a tool message itself, or to the last
// part of a user message. It returns the unchanged body and false if the lifetime is neither 5m nor 1h, if the last message has another role,
// or if its last part cannot have cache_control.
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

// markable reports whether a part can have cache_control. In the chat format, only text parts can have it. The other kinds that markable
// accepts exist only in the messages format.
func markable(part []byte) bool {
	v := rawjson.Parse(part)
	kind := v.Get("type").String()
	return kind == "text" && v.Get("text").String() != "" || slices.Contains([]string{"tool_result", "image", "document"}, kind)
}

// span is the position of a value in a document. It is empty if the value does not exist.
type span struct{ from, to int }

// member returns the position of the value of the member with the given name.
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

// lastElement returns the position in data of the last element of the given list.
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

// replace returns a copy of data in which value replaces the bytes at the given position.
func replace(data []byte, at span, value []byte) []byte {
	return slices.Concat(data[:at.from], value, data[at.to:])
}
