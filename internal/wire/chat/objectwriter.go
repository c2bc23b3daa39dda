package chat

import (
	"cmp"
	"slices"
	"strconv"
)

// objectWriter writes JSON objects out of raw values.
type objectWriter struct{ out []byte }

func (w *objectWriter) open()  { w.out = append(w.out, '{') }
func (w *objectWriter) close() { w.out = append(w.out, '}') }

func (w *objectWriter) key(name string) {
	if w.out[len(w.out)-1] != '{' {
		w.out = append(w.out, ',')
	}
	w.out = append(appendQuoted(w.out, name), ':')
}

func (w *objectWriter) member(name string, value []byte) {
	w.key(name)
	w.out = append(w.out, value...)
}

// optional writes a member only when there is a value.
func (w *objectWriter) optional(name string, value []byte) {
	if value != nil {
		w.member(name, value)
	}
}

// text writes a member that is a string.
func (w *objectWriter) text(name, value string) {
	w.key(name)
	w.out = appendQuoted(w.out, value)
}

// optionalText writes a string only when it is not empty.
func (w *objectWriter) optionalText(name, value string) {
	if value != "" {
		w.text(name, value)
	}
}

func (c *joinedChoice) write(w *objectWriter) {
	w.open()
	w.member("index", strconv.AppendInt(nil, int64(c.index), 10))
	w.key("message")
	w.open()
	w.member("role", or(c.role, `"assistant"`))
	w.member("content", c.content.json())
	if c.reasoning != nil {
		w.member("reasoning_content", c.reasoning.json())
	}
	if len(c.blocks) > 0 {
		w.key("thinking_blocks")
		w.out = append(w.out, '[')
		w.out = append(w.out, joinRaw(c.blocks)...)
		w.out = append(w.out, ']')
	}
	if c.refusal != nil {
		w.member("refusal", c.refusal.json())
	}
	if c.function != nil {
		w.key("function_call")
		c.function.writeFunction(w)
	}
	c.writeCalls(w)
	w.close()
	w.member("finish_reason", or(c.finish, "null"))
	w.close()
}

// writeBare writes the choice of an answer to a bare prompt.
func (c *joinedChoice) writeBare(w *objectWriter) {
	w.open()
	w.member("index", strconv.AppendInt(nil, int64(c.index), 10))
	w.member("text", c.content.json())
	w.member("finish_reason", or(c.finish, "null"))
	w.close()
}

func (c *joinedChoice) writeCalls(w *objectWriter) {
	if len(c.calls) == 0 {
		return
	}
	slices.SortStableFunc(c.calls, func(x, y *joinedCall) int { return cmp.Compare(x.index, y.index) })
	w.key("tool_calls")
	w.out = append(w.out, '[')
	for i, call := range c.calls {
		if i > 0 {
			w.out = append(w.out, ',')
		}
		call.write(w)
	}
	w.out = append(w.out, ']')
}

func (j *joinedCall) write(w *objectWriter) {
	kind := "function"
	if j.custom {
		kind = "custom"
	}
	w.open()
	w.member("id", or(j.id, `""`))
	w.member("type", or(j.kind, `"`+kind+`"`))
	w.key(kind)
	j.writeFunction(w)
	w.optional("extra_content", j.extra)
	w.close()
}

func (j *joinedCall) writeFunction(w *objectWriter) {
	text := "arguments"
	if j.custom {
		text = "input"
	}
	w.open()
	w.member("name", or(j.name, `""`))
	arguments := j.arguments
	if arguments == nil {
		arguments = joined{}
	}
	w.member(text, arguments.json())
	w.close()
}
