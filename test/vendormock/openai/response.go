package openai

import (
	"cmp"

	"github.com/tidwall/gjson"

	"fairlead.dev/test/vendormock"
)

var chatReasons = map[vendormock.Finish]string{
	vendormock.Completed: "stop", vendormock.CallsTools: "tool_calls", vendormock.LimitReached: "length", vendormock.StopSequence: "stop", vendormock.Rejected: "stop", vendormock.Blocked: "content_filter",
}

const refusalText = "I can't help with that."

func (a *openAI) Whole(v *vendormock.Request, c *vendormock.Conversation, r vendormock.Reply) any {
	if onResponses(v) {
		return responseObject(v, c, r)
	}
	choices := []vendormock.Object{}
	for i := range cmp.Or(c.Answers, 1) {
		choice := vendormock.Object{"index": i, "message": chatMessage(r), "logprobs": nil, "finish_reason": chatReasons[r.Finish]}
		if a.azure {
			choice["content_filter_results"] = filterResults(r.Finish == vendormock.Blocked)
		}
		choices = append(choices, choice)
	}
	e := a.envelope(c, r, "chat.completion")
	e["choices"], e["usage"] = choices, chatUsage(c, r)
	return e
}

func (a *openAI) envelope(c *vendormock.Conversation, r vendormock.Reply, object string) vendormock.Object {
	return vendormock.Object{"id": "chatcmpl-" + r.ID, "object": object, "created": 1_790_000_000, "model": c.Model, "service_tier": "default", "system_fingerprint": "fp_mock"}
}

func chatMessage(r vendormock.Reply) vendormock.Object {
	m := vendormock.Object{"role": "assistant", "content": nil, "refusal": nil, "annotations": []vendormock.Object{}}
	if r.Finish == vendormock.Rejected {
		m["refusal"] = refusalText
	}
	var calls []vendormock.Object
	for _, p := range r.Parts {
		switch p.Kind {
		case vendormock.TextPart:
			m["content"] = p.Text
		case vendormock.CallPart:
			call := vendormock.Object{"id": p.ID, "type": "function", "function": vendormock.Object{"name": p.Name, "arguments": string(p.Input)}}
			if p.Custom {
				call = vendormock.Object{"id": p.ID, "type": "custom", "custom": vendormock.Object{"name": p.Name, "input": string(p.Input)}}
			}
			calls = append(calls, call)
		default:
		}
	}
	if len(calls) > 0 {
		m["tool_calls"] = calls
	}
	return m
}

func chatUsage(c *vendormock.Conversation, r vendormock.Reply) vendormock.Object {
	output := r.Usage.Output * cmp.Or(c.Answers, 1)
	return vendormock.Object{
		"prompt_tokens": r.Usage.Input, "completion_tokens": output, "total_tokens": r.Usage.Input + output,
		"prompt_tokens_details":     vendormock.Object{"cached_tokens": r.Usage.CacheRead, "audio_tokens": 0},
		"completion_tokens_details": vendormock.Object{"reasoning_tokens": r.Usage.Thinking, "audio_tokens": 0, "accepted_prediction_tokens": 0, "rejected_prediction_tokens": 0},
	}
}

func (a *openAI) Frames(v *vendormock.Request, c *vendormock.Conversation, r vendormock.Reply) (contentType string, list [][]byte) {
	if onResponses(v) {
		return responseEvents(v, c, r)
	}
	send := func(chunk vendormock.Object) {
		list = append(list, []byte("data: "+string(vendormock.Encode(chunk))+"\n\n"))
	}
	delta := func(index int, d vendormock.Object, finish any) {
		e := a.envelope(c, r, "chat.completion.chunk")
		e["choices"] = []vendormock.Object{{"index": index, "delta": d, "logprobs": nil, "finish_reason": finish}}
		send(e)
	}
	if a.azure {
		send(vendormock.Object{"id": "", "object": "", "created": 0, "model": "", "choices": []vendormock.Object{}, "prompt_filter_results": []vendormock.Object{
			{"prompt_index": 0, "content_filter_results": filterResults(false)},
		}})
	}
	for i := range cmp.Or(c.Answers, 1) {
		delta(i, vendormock.Object{"role": "assistant", "content": "", "refusal": nil}, nil)
		if r.Finish == vendormock.Rejected {
			delta(i, vendormock.Object{"refusal": refusalText}, nil)
		}
		number := 0
		for _, p := range r.Parts {
			for _, d := range chatDeltas(p, number) {
				delta(i, d, nil)
			}
			if p.Kind == vendormock.CallPart {
				number++
			}
		}
		delta(i, vendormock.Object{}, chatReasons[r.Finish])
	}
	if gjson.GetBytes(v.Call.Body, "stream_options.include_usage").Bool() {
		e := a.envelope(c, r, "chat.completion.chunk")
		e["choices"], e["usage"] = []vendormock.Object{}, chatUsage(c, r)
		send(e)
	}
	return "text/event-stream; charset=utf-8", append(list, []byte("data: [DONE]\n\n"))
}

func chatDeltas(p vendormock.Part, number int) []vendormock.Object {
	var list []vendormock.Object
	switch p.Kind {
	case vendormock.TextPart:
		for _, piece := range vendormock.Pieces(p.Text) {
			list = append(list, vendormock.Object{"content": piece})
		}
	case vendormock.CallPart:
		kind, input := "function", "arguments"
		if p.Custom {
			kind, input = "custom", "input"
		}
		list = append(list, vendormock.Object{"tool_calls": []vendormock.Object{{"index": number, "id": p.ID, "type": kind, kind: vendormock.Object{"name": p.Name, input: ""}}}})
		for _, piece := range vendormock.Pieces(string(p.Input)) {
			list = append(list, vendormock.Object{"tool_calls": []vendormock.Object{{"index": number, kind: vendormock.Object{input: piece}}}})
		}
	default: // the API does not show reasoning
	}
	return list
}

func (a *openAI) Broken(v *vendormock.Request) []byte {
	if onResponses(v) {
		return []byte("event: error\ndata: " + `{"type":"error","sequence_number":9,"code":"server_error","message":"The server had an error while processing your request.","param":null}` + "\n\n")
	}
	return []byte(`data: {"error":{"message":"The server had an error while processing your request.","type":"server_error","param":null,"code":null}}` + "\n\n")
}
