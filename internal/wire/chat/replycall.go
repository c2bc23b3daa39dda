package chat

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strconv"

	"fairlead/internal/llm"
)

// call begins a tool call. A second piece for the same call goes on with its arguments.
func (w *reply) call(c *told, p *llm.Delta) error {
	if p.Call == nil {
		return malformed("The provider's answer has a tool call without a name.")
	}
	if c.calling(p.Index) != nil {
		return w.arguments(c, p.Index, p.Call.Arguments)
	}
	call := &calling{index: p.Index, call: *p.Call, written: p.Call.Arguments != ""}
	call.call.Arguments = ""
	if call.call.ID == "" {
		call.call.ID = w.callID(c.index, p.Index)
	}
	c.calls = append(c.calls, call)
	if c.byIndex == nil {
		c.byIndex = map[int]*calling{}
	}
	c.byIndex[p.Index] = call
	if !w.stream {
		call.arguments.WriteString(p.Call.Arguments)
		return nil
	}
	ev := counted(call.call.Name + p.Call.Arguments)
	ev.Content = true
	w.emit(c, w.callDelta(call, p.Call.Arguments, true), ev)
	return nil
}

// callID makes an id for a call of a provider that gives none.
func (w *reply) callID(choice, index int) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%s %d %d", w.id, choice, index))
	return "call_" + hex.EncodeToString(sum[:12])
}

func (w *reply) arguments(c *told, index int, text string) error {
	call := c.calling(index)
	switch {
	case call == nil:
		return malformed("The provider's answer goes on with a tool call that never began.")
	case text == "":
		return nil
	}
	call.written = true
	if !w.stream {
		call.arguments.WriteString(text)
		return nil
	}
	w.emit(c, w.callDelta(call, text, false), counted(text))
	return nil
}

// fill gives calls without arguments the empty object: clients parse what they get.
func (w *reply) fill(c *told) {
	for _, call := range c.calls {
		if !call.written && !call.call.Custom {
			// A call that has begun always takes arguments.
			_ = w.arguments(c, call.index, "{}")
		}
	}
}

func (c *told) calling(index int) *calling {
	return c.byIndex[index]
}

// callDelta writes a piece of one call. What identifies the call comes in its first piece only.
func (w *reply) callDelta(call *calling, arguments string, first bool) []byte {
	var d objectWriter
	d.open()
	if w.old {
		d.key("function_call")
		call.function(&d, arguments, first)
		d.close()
		return d.out
	}
	d.key("tool_calls")
	d.out = append(d.out, '[')
	d.open()
	d.member("index", strconv.AppendInt(nil, int64(call.index), 10))
	if first {
		call.head(&d)
	}
	d.key(call.kind())
	call.function(&d, arguments, first)
	if first {
		call.extra(&d)
	}
	d.close()
	d.out = append(d.out, ']')
	d.close()
	return d.out
}

func (call *calling) kind() string {
	if call.call.Custom {
		return "custom"
	}
	return "function"
}

func (call *calling) head(d *objectWriter) {
	d.text("id", call.call.ID)
	d.text("type", call.kind())
}

func (call *calling) function(d *objectWriter, arguments string, named bool) {
	d.open()
	if named {
		d.text("name", call.call.Name)
	}
	if call.call.Custom {
		d.text("input", arguments)
	} else {
		d.text("arguments", arguments)
	}
	d.close()
}

// extra carries the provider's seal on the call where Google's own clients of this format look for it, and who made it.
func (call *calling) extra(d *objectWriter) { writeExtra(d, &call.call) }

func writeExtra(d *objectWriter, call *llm.ToolCall) {
	if call.Signature == "" {
		return
	}
	d.key("extra_content")
	d.open()
	d.key("google")
	d.open()
	d.text("thought_signature", call.Signature)
	d.close()
	if call.Provider != "" {
		d.key("fairlead")
		d.open()
		d.text("provider", call.Provider)
		d.close()
	}
	d.close()
}
