package anthropic

import (
	"bytes"
	"regexp"

	"fairlead.dev/internal/rawjson"
)

var systemRole = regexp.MustCompile(`"role"\s*:\s*"system"`)

// HasSystemTurns reports whether messages may contain a message with the role system. It first searches for "system", which is faster than
// the regular expression.
func HasSystemTurns(messages []byte) bool {
	return bytes.Contains(messages, []byte(`"system"`)) && systemRole.Match(messages)
}

// withoutSystemTurns removes the role system, for models that accept only the roles user and assistant. It appends the content of each
// system message to the preceding user message. If the preceding message is not a user message, the system message becomes a user message.
// These models also have no blocks that change the tools.
func withoutSystemTurns(messages []byte) []byte {
	var list [][]byte
	user := false // whether the last message is a user message
	rawjson.Parse(messages).ForEach(func(_, message rawjson.Value) bool {
		content := message.Get("content")
		switch role := message.Get("role").String(); {
		case role != "system":
			list, user = append(list, []byte(message.Raw)), role == "user"
		case user:
			last := len(list) - 1
			before := rawjson.Parse(list[last]).Get("content")
			list[last] = splice(list[last], before.Index, len(before.Raw), joinContent(before, content))
		default:
			var w rawjson.Writer
			w.Open()
			w.Str("role", "user")
			if content.IsList() {
				w.Raw("content", joinContent(content))
			} else {
				w.Raw("content", []byte(content.Raw))
			}
			w.Close()
			list, user = append(list, w.Out), true
		}
		return true
	})
	return append(append([]byte{'['}, bytes.Join(list, []byte{','})...), ']')
}

// joinContent returns the blocks of several content values, each of which is a string or a list of blocks.
func joinContent(contents ...rawjson.Value) []byte {
	w := rawjson.Writer{Out: []byte{'['}}
	for _, content := range contents {
		if content.Kind == rawjson.Text {
			w.Open()
			w.Str("type", "text")
			w.Raw("text", []byte(content.Raw))
			w.Close()
			continue
		}
		content.ForEach(func(_, block rawjson.Value) bool {
			if text := DescribeToolChange(block); text != "" {
				w.Open()
				w.Str("type", "text")
				w.Str("text", text)
				w.Close()
			} else {
				w.Element([]byte(block.Raw))
			}
			return true
		})
	}
	w.CloseList()
	return w.Out
}
