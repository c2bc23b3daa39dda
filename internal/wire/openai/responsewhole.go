package openai

import (
	"cmp"
	"slices"
	"strconv"

	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/rawjson"
)

// emit encodes the delta of one choice as a chunk and appends the event to w.ready. ev holds the other properties of the event.
func (w *responseWriter) emit(c *choiceWriter, delta []byte, ev llm.Event) {
	var d rawjson.Writer
	d.Out = append(d.Out, '[')
	d.Open()
	d.Raw("index", strconv.AppendInt(nil, int64(c.index), 10))
	d.Raw("delta", delta)
	d.Raw("logprobs", []byte("null"))
	if ev.Finish == "" {
		d.Raw("finish_reason", []byte("null"))
	} else {
		d.Str("finish_reason", ev.Finish)
	}
	d.Close()
	d.Out = append(d.Out, ']')
	ev.Data, ev.Model = w.chunk(d.Out, nil), w.reported
	w.ready = append(w.ready, ev)
}

// chunk encodes a chunk. All chunks have the same ID, creation time and model.
func (w *responseWriter) chunk(choices, usage []byte) []byte {
	var d rawjson.Writer
	w.head(&d, "chat.completion.chunk")
	d.Raw("choices", choices)
	d.OptionalRaw("usage", usage)
	d.Close()
	return d.Out
}

func (w *responseWriter) head(d *rawjson.Writer, object string) {
	if !w.begun {
		w.begin(&llm.Delta{})
	}
	d.Open()
	d.Str("id", w.id)
	d.Str("object", object)
	d.Raw("created", strconv.AppendInt(nil, w.created, 10))
	d.Str("model", w.model)
}

// whole encodes the response as one event.
func (w *responseWriter) whole() llm.Event {
	slices.SortFunc(w.choices, func(a, b *choiceWriter) int { return cmp.Compare(a.index, b.index) })
	ev := llm.Event{Content: true, Usage: w.usage, Model: w.reported, Finish: w.choices[0].finish}
	var d rawjson.Writer
	w.head(&d, "chat.completion")
	d.Key("choices")
	d.Out = append(d.Out, '[')
	for i, c := range w.choices {
		if i > 0 {
			d.Out = append(d.Out, ',')
		}
		w.choiceJSON(&d, c)
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
	d.Out = append(d.Out, ']')
	if w.usage != nil {
		d.Raw("usage", UsageJSON(*w.usage))
		if w.usage.ServiceTier != "" {
			d.Str("service_tier", w.usage.ServiceTier)
		}
	}
	d.Close()
	ev.Data = d.Out
	return ev
}

func (w *responseWriter) choiceJSON(d *rawjson.Writer, c *choiceWriter) {
	d.Open()
	d.Raw("index", strconv.AppendInt(nil, int64(c.index), 10))
	d.Key("message")
	d.Open()
	d.Str("role", "assistant")
	if c.content.Len() == 0 && (len(c.calls) > 0 || c.refusal.Len() > 0) {
		d.Raw("content", []byte("null"))
	} else {
		d.Str("content", c.content.String())
	}
	if c.refusal.Len() == 0 {
		d.Raw("refusal", []byte("null"))
	} else {
		d.Str("refusal", c.refusal.String())
	}
	if len(c.annotations) > 0 {
		d.OpenList("annotations")
		d.Out = append(d.Out, rawjson.Join(c.annotations)...)
		d.CloseList()
	}
	d.OptionalStr("reasoning_content", c.reasoning.String())
	if len(c.blocks) > 0 {
		d.Key("thinking_blocks")
		d.Out = append(d.Out, '[')
		d.Out = append(d.Out, rawjson.Join(c.blocks)...)
		d.Out = append(d.Out, ']')
	}
	w.callsJSON(d, c)
	d.Close()
	d.Raw("logprobs", []byte("null"))
	d.Str("finish_reason", c.finish)
	d.Close()
}

func (w *responseWriter) callsJSON(d *rawjson.Writer, c *choiceWriter) {
	if len(c.calls) == 0 {
		return
	}
	if w.legacyFunctions {
		d.Key("function_call")
		c.calls[0].function(d, c.calls[0].arguments.String(), true)
		return
	}
	slices.SortStableFunc(c.calls, func(a, b *callWriter) int { return cmp.Compare(a.index, b.index) })
	d.Key("tool_calls")
	d.Out = append(d.Out, '[')
	for i, call := range c.calls {
		if i > 0 {
			d.Out = append(d.Out, ',')
		}
		d.Open()
		call.head(d)
		d.Key(toolKind(call.call.Custom))
		call.function(d, call.arguments.String(), true)
		call.extra(d)
		d.Close()
	}
	d.Out = append(d.Out, ']')
}
