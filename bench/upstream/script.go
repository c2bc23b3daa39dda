package upstream

import (
	"fmt"
	"strings"

	"fairlead.dev/bench/agent"
)

// script holds all responses of the upstream, ready to send.
type script struct {
	whole   []byte             // a non-streamed response
	streams map[string]*stream // streams by client format
}

// stream is a streamed response.
type stream struct{ opening, chunk, ending []byte }

const (
	sentence = `A proxy is worth what it does, less what it costs:\nso \"measure\" both, on one machine, in turns. `
	usage    = `{"prompt_tokens":256,"completion_tokens":240,"total_tokens":496,` +
		`"prompt_tokens_details":{"cached_tokens":0,"audio_tokens":0},"completion_tokens_details":{"reasoning_tokens":0,"audio_tokens":0}}`
	fields = `"created":1750000000,"model":"mock","service_tier":"default","system_fingerprint":"fp_0",`
)

// compose builds responses of typical size: one and a half kilobytes for a complete response, and a few words per
// chunk.
func compose() *script {
	body := `{"id":"chatcmpl-0","object":"chat.completion",` + fields +
		`"choices":[{"index":0,"message":{"role":"assistant","content":"` + strings.Repeat(sentence, 10) +
		`","refusal":null},"logprobs":null,"finish_reason":"stop"}],"usage":` + usage + `}`
	return &script{
		whole:   fmt.Appendf(nil, "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", len(body), body),
		streams: map[string]*stream{agent.Chat: chatStream(), agent.Messages: messagesStream(), agent.Responses: responsesStream()},
	}
}

const (
	streamHead = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
	streamEnd  = "0\r\n\r\n"
)

func chatStream() *stream {
	return &stream{
		opening: []byte(streamHead + event(delta(`{"role":"assistant","content":"","refusal":null}`, `null`))),
		chunk:   []byte(event(delta(`{"content":" and the quick brown fox"}`, `null`))),
		ending: []byte(event(delta(`{}`, `"stop"`)) + event(`{"id":"chatcmpl-0","object":"chat.completion.chunk",`+fields+`"choices":[],"usage":`+usage+`}`) +
			event(`[DONE]`) + streamEnd),
	}
}

func messagesStream() *stream {
	return &stream{
		opening: []byte(streamHead +
			named("message_start", `"message":{"id":"msg_0","type":"message","role":"assistant","model":"mock","content":[],"stop_reason":null,"stop_sequence":null,`+
				`"usage":{"input_tokens":256,"cache_creation_input_tokens":0,"cache_read_input_tokens":0,"output_tokens":1}}`) +
			named("content_block_start", `"index":0,"content_block":{"type":"text","text":""}`)),
		chunk: []byte(named("content_block_delta", `"index":0,"delta":{"type":"text_delta","text":" and the quick brown fox"}`)),
		ending: []byte(named("content_block_stop", `"index":0`) +
			named("message_delta", `"delta":{"stop_reason":"end_turn","stop_sequence":null},"usage":{"output_tokens":240}`) +
			named("message_stop", "") + streamEnd),
	}
}

func responsesStream() *stream {
	response := func(status, output, usage string) string {
		return `"response":{"id":"resp_0","object":"response","created_at":1750000000,"status":"` + status + `","model":"mock","output":` + output +
			`,"parallel_tool_calls":true,"tool_choice":"auto","tools":[],"usage":` + usage + `}`
	}
	text := func(status, content string) string {
		return `{"id":"msg_0","type":"message","status":"` + status + `","role":"assistant","content":[` + content + `]}`
	}
	const part = `{"type":"output_text","text":" and the quick brown fox","annotations":[],"logprobs":[]}`
	return &stream{
		opening: []byte(streamHead + named("response.created", `"sequence_number":0,`+response("in_progress", "[]", "null")) +
			named("response.output_item.added", `"sequence_number":1,"output_index":0,"item":`+text("in_progress", "")) +
			named("response.content_part.added", `"sequence_number":2,"item_id":"msg_0","output_index":0,"content_index":0,"part":{"type":"output_text","text":"","annotations":[],"logprobs":[]}`)),
		chunk: []byte(named("response.output_text.delta", `"sequence_number":3,"item_id":"msg_0","output_index":0,"content_index":0,"delta":" and the quick brown fox","logprobs":[]`)),
		ending: []byte(named("response.output_text.done", `"sequence_number":4,"item_id":"msg_0","output_index":0,"content_index":0,"text":" and the quick brown fox","logprobs":[]`) +
			named("response.content_part.done", `"sequence_number":5,"item_id":"msg_0","output_index":0,"content_index":0,"part":`+part) +
			named("response.output_item.done", `"sequence_number":6,"output_index":0,"item":`+text("completed", part)) +
			named("response.completed", `"sequence_number":7,`+response("completed", "["+text("completed", part)+"]",
				`{"input_tokens":256,"input_tokens_details":{"cached_tokens":0},"output_tokens":240,"output_tokens_details":{"reasoning_tokens":0},"total_tokens":496}`)) + streamEnd),
	}
}

// named returns an event whose data repeats the event name.
func named(name, members string) string {
	if members != "" {
		members = "," + members
	}
	data := `{"type":"` + name + `"` + members + `}`
	text := "event: " + name + "\ndata: " + data + "\n\n"
	return fmt.Sprintf("%x\r\n%s\r\n", len(text), text)
}

func delta(content, finish string) string {
	return `{"id":"chatcmpl-0","object":"chat.completion.chunk",` + fields +
		`"choices":[{"index":0,"delta":` + content + `,"logprobs":null,"finish_reason":` + finish + `}]}`
}

// event returns a server-sent event in its own HTTP chunk.
func event(data string) string {
	return fmt.Sprintf("%x\r\ndata: %s\n\n\r\n", len(data)+len("data: \n\n"), data)
}
