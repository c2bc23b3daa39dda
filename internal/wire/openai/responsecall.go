package openai

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strconv"

	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/rawjson"
)

// call begins a tool call. If the call has already begun, the delta's arguments are appended.
func (w *responseWriter) call(c *choiceWriter, p *llm.Delta) error {
	if p.Call == nil {
		return malformed("The provider's response has a tool call without a name.")
	}
	if c.byIndex[p.Index] != nil {
		return w.arguments(c, p.Index, p.Call.Arguments)
	}
	call := &callWriter{index: p.Index, call: *p.Call, written: p.Call.Arguments != ""}
	call.call.Arguments = ""
	if call.call.ID == "" {
		sum := sha256.Sum256(fmt.Appendf(nil, "%s %d %d", w.id, c.index, p.Index))
		call.call.ID = "call_" + hex.EncodeToString(sum[:12])
	}
	c.calls = append(c.calls, call)
	if c.byIndex == nil {
		c.byIndex = map[int]*callWriter{}
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

func (w *responseWriter) arguments(c *choiceWriter, index int, text string) error {
	call := c.byIndex[index]
	switch {
	case call == nil:
		return malformed("The provider's response continues a tool call that never began.")
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

// callDelta encodes a delta of one call. Only the first delta identifies the call.
func (w *responseWriter) callDelta(call *callWriter, arguments string, first bool) []byte {
	var d rawjson.Writer
	d.Open()
	if w.legacyFunctions {
		d.Key("function_call")
		call.function(&d, arguments, first)
		d.Close()
		return d.Out
	}
	d.Key("tool_calls")
	d.Out = append(d.Out, '[')
	d.Open()
	d.Raw("index", strconv.AppendInt(nil, int64(call.index), 10))
	if first {
		call.head(&d)
	}
	d.Key(toolKind(call.call.Custom))
	call.function(&d, arguments, first)
	if first {
		call.extra(&d)
	}
	d.Close()
	d.Out = append(d.Out, ']')
	d.Close()
	return d.Out
}

func (call *callWriter) head(d *rawjson.Writer) {
	d.Str("id", call.call.ID)
	d.Str("type", toolKind(call.call.Custom))
}

func (call *callWriter) function(d *rawjson.Writer, arguments string, named bool) {
	d.Open()
	if named {
		d.Str("name", call.call.Name)
	}
	if call.call.Custom {
		d.Str("input", arguments)
	} else {
		d.Str("arguments", arguments)
	}
	d.Close()
}

// extra writes the call's signature and provider into the member where Google's clients expect the signature.
func (call *callWriter) extra(d *rawjson.Writer) {
	if call.call.Signature == "" {
		return
	}
	d.Key("extra_content")
	d.Open()
	d.Key("google")
	d.Open()
	d.Str("thought_signature", call.call.Signature)
	d.Close()
	if call.call.Provider != "" {
		d.Key("fairlead")
		d.Open()
		d.Str("provider", call.call.Provider)
		d.Close()
	}
	d.Close()
}
