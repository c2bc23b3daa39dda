package openai

import (
	"cmp"
	"slices"
	"strconv"

	"fairlead.dev/internal/rawjson"
)

// write encodes a choice. bare is true for a legacy completion, whose text is a member of the choice.
func (c *joinedChoice) write(w *rawjson.Writer, bare bool) {
	w.Open()
	w.Raw("index", strconv.AppendInt(nil, int64(c.index), 10))
	if bare {
		w.Raw("text", c.content.json())
		w.Raw("finish_reason", or(c.finish, "null"))
		w.Close()
		return
	}
	w.Key("message")
	w.Open()
	w.Raw("role", or(c.role, `"assistant"`))
	w.Raw("content", c.content.json())
	if c.reasoning != nil {
		w.Raw("reasoning_content", c.reasoning.json())
	}
	if len(c.blocks) > 0 {
		w.Key("thinking_blocks")
		w.Out = append(w.Out, '[')
		w.Out = append(w.Out, rawjson.Join(c.blocks)...)
		w.Out = append(w.Out, ']')
	}
	if c.refusal != nil {
		w.Raw("refusal", c.refusal.json())
	}
	if c.function != nil {
		w.Key("function_call")
		c.function.writeFunction(w)
	}
	c.writeCalls(w)
	w.Close()
	w.Raw("finish_reason", or(c.finish, "null"))
	w.Close()
}

func (c *joinedChoice) writeCalls(w *rawjson.Writer) {
	if len(c.calls) == 0 {
		return
	}
	slices.SortStableFunc(c.calls, func(x, y *joinedCall) int { return cmp.Compare(x.index, y.index) })
	w.Key("tool_calls")
	w.Out = append(w.Out, '[')
	for i, call := range c.calls {
		if i > 0 {
			w.Out = append(w.Out, ',')
		}
		kind := "function"
		if call.custom {
			kind = "custom"
		}
		w.Open()
		w.Raw("id", or(call.id, `""`))
		w.Raw("type", or(call.kind, `"`+kind+`"`))
		w.Key(kind)
		call.writeFunction(w)
		w.OptionalRaw("extra_content", call.extra)
		w.Close()
	}
	w.Out = append(w.Out, ']')
}

func (j *joinedCall) writeFunction(w *rawjson.Writer) {
	text := "arguments"
	if j.custom {
		text = "input"
	}
	w.Open()
	w.Raw("name", or(j.name, `""`))
	arguments := j.arguments
	if arguments == nil {
		arguments = joined{}
	}
	w.Raw(text, arguments.json())
	w.Close()
}
