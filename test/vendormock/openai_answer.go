package vendormock

import "github.com/tidwall/gjson"

var chatReasons = map[finish]string{
	ended: "stop", calling: "tool_calls", cutShort: "length", stopped: "stop", refused: "stop", blocked: "content_filter",
}

const refusalText = "I can't help with that."

func (a *openAI) whole(_ *visit, c *conversation, r reply) any {
	choices := []obj{}
	for i := range or(c.answers, 1) {
		choice := obj{"index": i, "message": chatMessage(r), "logprobs": nil, "finish_reason": chatReasons[r.finish]}
		if a.azure {
			choice["content_filter_results"] = filterResults(r.finish == blocked)
		}
		choices = append(choices, choice)
	}
	e := a.envelope(c, r, "chat.completion")
	e["choices"], e["usage"] = choices, chatUsage(c, r)
	return e
}

func (a *openAI) envelope(c *conversation, r reply, object string) obj {
	return obj{"id": "chatcmpl-" + r.id, "object": object, "created": 1_790_000_000, "model": c.model, "service_tier": "default", "system_fingerprint": "fp_mock"}
}

func chatMessage(r reply) obj {
	m := obj{"role": "assistant", "content": nil, "refusal": nil, "annotations": []obj{}}
	if r.finish == refused {
		m["refusal"] = refusalText
	}
	var calls []obj
	for _, p := range r.parts {
		switch p.kind {
		case said:
			m["content"] = p.text
		case called:
			calls = append(calls, obj{"id": p.id, "type": "function", "function": obj{"name": p.name, "arguments": string(p.input)}})
		default:
		}
	}
	if len(calls) > 0 {
		m["tool_calls"] = calls
	}
	return m
}

func chatUsage(c *conversation, r reply) obj {
	output := r.usage.output * or(c.answers, 1)
	return obj{
		"prompt_tokens": r.usage.input, "completion_tokens": output, "total_tokens": r.usage.input + output,
		"prompt_tokens_details":     obj{"cached_tokens": r.usage.cacheRead, "audio_tokens": 0},
		"completion_tokens_details": obj{"reasoning_tokens": r.usage.thinking, "audio_tokens": 0, "accepted_prediction_tokens": 0, "rejected_prediction_tokens": 0},
	}
}

func (a *openAI) frames(v *visit, c *conversation, r reply) (contentType string, list [][]byte) {
	send := func(chunk obj) { list = append(list, []byte("data: "+string(encode(chunk))+"\n\n")) }
	delta := func(index int, d obj, finish any) {
		e := a.envelope(c, r, "chat.completion.chunk")
		e["choices"] = []obj{{"index": index, "delta": d, "logprobs": nil, "finish_reason": finish}}
		send(e)
	}
	if a.azure {
		send(obj{"id": "", "object": "", "created": 0, "model": "", "choices": []obj{}, "prompt_filter_results": []obj{
			{"prompt_index": 0, "content_filter_results": filterResults(false)},
		}})
	}
	for i := range or(c.answers, 1) {
		delta(i, obj{"role": "assistant", "content": "", "refusal": nil}, nil)
		if r.finish == refused {
			delta(i, obj{"refusal": refusalText}, nil)
		}
		number := 0
		for _, p := range r.parts {
			for _, d := range chatDeltas(p, number) {
				delta(i, d, nil)
			}
			if p.kind == called {
				number++
			}
		}
		delta(i, obj{}, chatReasons[r.finish])
	}
	if gjson.GetBytes(v.call.Body, "stream_options.include_usage").Bool() {
		e := a.envelope(c, r, "chat.completion.chunk")
		e["choices"], e["usage"] = []obj{}, chatUsage(c, r)
		send(e)
	}
	return "text/event-stream; charset=utf-8", append(list, []byte("data: [DONE]\n\n"))
}

func chatDeltas(p part, number int) []obj {
	var list []obj
	switch p.kind {
	case said:
		for _, piece := range pieces(p.text) {
			list = append(list, obj{"content": piece})
		}
	case called:
		list = append(list, obj{"tool_calls": []obj{{"index": number, "id": p.id, "type": "function", "function": obj{"name": p.name, "arguments": ""}}}})
		for _, piece := range pieces(string(p.input)) {
			list = append(list, obj{"tool_calls": []obj{{"index": number, "function": obj{"arguments": piece}}}})
		}
	default: // this API does not show reasoning
	}
	return list
}

func (a *openAI) broken() []byte {
	return []byte(`data: {"error":{"message":"The server had an error while processing your request.","type":"server_error","param":null,"code":null}}` + "\n\n")
}
