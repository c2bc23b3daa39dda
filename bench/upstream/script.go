package upstream

import (
	"fmt"
	"strings"
)

// script is all that the upstream ever says, as it goes over the connection.
type script struct {
	whole                  []byte // an answer in one piece
	opening, chunk, ending []byte // of one that streams
}

const (
	sentence = `A proxy is worth what it does, less what it costs:\nso \"measure\" both, on one machine, in turns. `
	usage    = `{"prompt_tokens":256,"completion_tokens":240,"total_tokens":496,` +
		`"prompt_tokens_details":{"cached_tokens":0,"audio_tokens":0},"completion_tokens_details":{"reasoning_tokens":0,"audio_tokens":0}}`
	fields = `"created":1750000000,"model":"mock","service_tier":"default","system_fingerprint":"fp_0",`
)

// compose renders answers of the size that models give: one and a half kilobytes in one piece, a few words a chunk.
func compose() *script {
	body := `{"id":"chatcmpl-0","object":"chat.completion",` + fields +
		`"choices":[{"index":0,"message":{"role":"assistant","content":"` + strings.Repeat(sentence, 10) +
		`","refusal":null},"logprobs":null,"finish_reason":"stop"}],"usage":` + usage + `}`
	return &script{
		whole: fmt.Appendf(nil, "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", len(body), body),
		opening: []byte("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n" +
			event(delta(`{"role":"assistant","content":"","refusal":null}`, `null`))),
		chunk: []byte(event(delta(`{"content":" and the quick brown fox"}`, `null`))),
		ending: []byte(event(delta(`{}`, `"stop"`)) + event(`{"id":"chatcmpl-0","object":"chat.completion.chunk",`+fields+`"choices":[],"usage":`+usage+`}`) +
			event(`[DONE]`) + "0\r\n\r\n"),
	}
}

func delta(content, finish string) string {
	return `{"id":"chatcmpl-0","object":"chat.completion.chunk",` + fields +
		`"choices":[{"index":0,"delta":` + content + `,"logprobs":null,"finish_reason":` + finish + `}]}`
}

// event is a server-sent event in an HTTP chunk of its own.
func event(data string) string {
	return fmt.Sprintf("%x\r\ndata: %s\n\n\r\n", len(data)+len("data: \n\n"), data)
}
