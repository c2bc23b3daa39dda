package anthropic

import (
	"strings"

	"fairlead.dev/internal/llm"
)

// Events of a response that consists of one text block.
const (
	Start     = `{"type":"message_start","message":{"id":"msg_1","model":"claude-1","usage":{"input_tokens":10,"cache_read_input_tokens":3,"cache_creation_input_tokens":7,"cache_creation":{"ephemeral_1h_input_tokens":5},"output_tokens":1}}}`
	TextStart = `{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}`
	Text      = `{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"Ahoy"}}`
	TextStop  = `{"type":"content_block_stop","index":0}`
	EndTurn   = `{"type":"message_delta","delta":{"stop_reason":"end_turn","stop_sequence":null},"usage":{"output_tokens":4,"output_tokens_details":{"thinking_tokens":2}}}`
	Stop      = `{"type":"message_stop"}`
)

// Usage returns the usage that the events report at the end.
func Usage() *llm.Usage {
	return &llm.Usage{Input: 10, CacheRead: 3, CacheWrite: 7, CacheWriteLong: 5, Output: 4, Reasoning: 2}
}

// Stream formats the events as server-sent events with CRLF line ends, which some providers send.
func Stream(events ...string) string {
	var b strings.Builder
	for _, data := range events {
		b.WriteString("event: x\r\ndata:" + data + "\r\n\r\n")
	}
	return b.String()
}
