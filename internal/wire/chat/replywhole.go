package chat

import (
	"cmp"
	"slices"
	"strconv"

	"fairlead/internal/llm"
)

// emit readies a chunk with what one choice says. ev describes it.
func (w *reply) emit(c *told, delta []byte, ev llm.Event) {
	var d objectWriter
	d.out = append(d.out, '[')
	d.open()
	d.member("index", strconv.AppendInt(nil, int64(c.index), 10))
	d.member("delta", delta)
	d.member("logprobs", []byte("null"))
	if ev.Finish == "" {
		d.member("finish_reason", []byte("null"))
	} else {
		d.text("finish_reason", ev.Finish)
	}
	d.close()
	d.out = append(d.out, ']')
	ev.Data, ev.Model = w.chunk(d.out, nil), w.reported
	w.ready = append(w.ready, ev)
}

// chunk writes a chunk: every one has the same id, date and model.
func (w *reply) chunk(choices, usage []byte) []byte {
	var d objectWriter
	w.head(&d, "chat.completion.chunk")
	d.member("choices", choices)
	d.optional("usage", usage)
	d.close()
	return d.out
}

func (w *reply) head(d *objectWriter, object string) {
	if !w.begun {
		w.begin(&llm.Delta{})
	}
	d.open()
	d.text("id", w.id)
	d.text("object", object)
	d.member("created", strconv.AppendInt(nil, w.created, 10))
	d.text("model", w.model)
}

// whole writes the answer in one piece.
func (w *reply) whole() llm.Event {
	slices.SortFunc(w.choices, func(a, b *told) int { return cmp.Compare(a.index, b.index) })
	ev := llm.Event{Content: true, Usage: w.usage, Model: w.reported, Finish: w.choices[0].finish}
	var d objectWriter
	w.head(&d, "chat.completion")
	d.key("choices")
	d.out = append(d.out, '[')
	for i, c := range w.choices {
		if i > 0 {
			d.out = append(d.out, ',')
		}
		w.choiceJSON(&d, c)
		c.count(&ev)
	}
	d.out = append(d.out, ']')
	if w.usage != nil {
		d.member("usage", UsageJSON(*w.usage))
		if w.usage.ServiceTier != "" {
			d.text("service_tier", w.usage.ServiceTier)
		}
	}
	d.close()
	ev.Data = d.out
	return ev
}

func (w *reply) choiceJSON(d *objectWriter, c *told) {
	d.open()
	d.member("index", strconv.AppendInt(nil, int64(c.index), 10))
	d.key("message")
	d.open()
	d.text("role", "assistant")
	if c.content.Len() == 0 && (len(c.calls) > 0 || c.refusal.Len() > 0) {
		d.member("content", []byte("null"))
	} else {
		d.text("content", c.content.String())
	}
	if c.refusal.Len() == 0 {
		d.member("refusal", []byte("null"))
	} else {
		d.text("refusal", c.refusal.String())
	}
	d.optionalText("reasoning_content", c.reasoning.String())
	if len(c.blocks) > 0 {
		d.key("thinking_blocks")
		d.out = append(d.out, '[')
		d.out = append(d.out, joinRaw(c.blocks)...)
		d.out = append(d.out, ']')
	}
	w.callsJSON(d, c)
	d.close()
	d.member("logprobs", []byte("null"))
	d.text("finish_reason", c.finish)
	d.close()
}

func (w *reply) callsJSON(d *objectWriter, c *told) {
	if len(c.calls) == 0 {
		return
	}
	if w.old {
		d.key("function_call")
		c.calls[0].function(d, c.calls[0].arguments.String(), true)
		return
	}
	slices.SortStableFunc(c.calls, func(a, b *calling) int { return cmp.Compare(a.index, b.index) })
	d.key("tool_calls")
	d.out = append(d.out, '[')
	for i, call := range c.calls {
		if i > 0 {
			d.out = append(d.out, ',')
		}
		d.open()
		call.head(d)
		d.key(call.kind())
		call.function(d, call.arguments.String(), true)
		call.extra(d)
		d.close()
	}
	d.out = append(d.out, ']')
}

// count adds the choice's text to the event's own count.
func (c *told) count(ev *llm.Event) {
	texts := []string{c.content.String(), c.refusal.String(), c.reasoning.String()}
	for _, call := range c.calls {
		texts = append(texts, call.call.Name, call.arguments.String())
	}
	for _, text := range texts {
		one := counted(text)
		ev.ASCIIBytes += one.ASCIIBytes
		ev.NonASCIIBytes += one.NonASCIIBytes
	}
}

func joinRaw(values [][]byte) []byte {
	var out []byte
	for i, value := range values {
		if i > 0 {
			out = append(out, ',')
		}
		out = append(out, value...)
	}
	return out
}
