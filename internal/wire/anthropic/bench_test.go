package anthropic

import (
	"strings"
	"testing"

	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/wire/upstream"
)

// BenchmarkDecodeRequest decodes requests of 1 KB and of 100 KB.
func BenchmarkDecodeRequest(b *testing.B) {
	tools := `"tools":[{"name":"look","description":"Look at a file.","input_schema":{"type":"object","properties":{"path":{"type":"string"}}}}]`
	text := strings.Repeat("Some text with a few words. ", 30)
	turn := `{"role":"assistant","content":[{"type":"text","text":"` + text + `"},{"type":"tool_use","id":"t1","name":"look","input":{"path":"a/b.go"}}]},` +
		`{"role":"user","content":[{"type":"tool_result","tool_use_id":"t1","content":"` + text + `\n` + text + `"}]},`
	for name, n := range map[string]int{"1KB": 0, "100KB": 38} {
		body := []byte(`{"model":"m","max_tokens":9,"system":"` + text + `",` + tools + `,"messages":[` + strings.Repeat(turn, n) + `{"role":"user","content":"And now?"}]}`)
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(body)))
			b.ReportAllocs()
			for b.Loop() {
				req, err := Format{}.DecodeRequest(b.Context(), llm.Chat, body)
				if err != nil {
					b.Fatal(err)
				}
				if _, err := req.Translate(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkForwardStream forwards a stream of 205 events.
func BenchmarkForwardStream(b *testing.B) {
	var in strings.Builder
	add := func(name, data string) { in.WriteString("event: " + name + "\ndata: " + data + "\n\n") }
	add("message_start", `{"type":"message_start","message":{"id":"msg_1","type":"message","role":"assistant","model":"claude-1","content":[],"stop_reason":null,"stop_sequence":null,"usage":{"input_tokens":10,"cache_read_input_tokens":3,"cache_creation_input_tokens":7,"output_tokens":1}}}`)
	add("content_block_start", `{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}`)
	for range 200 {
		add("content_block_delta", `{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"Ahoy there, \"sailor\""}}`)
	}
	add("content_block_stop", `{"type":"content_block_stop","index":0}`)
	add("message_delta", `{"type":"message_delta","delta":{"stop_reason":"end_turn","stop_sequence":null},"usage":{"output_tokens":4}}`)
	add("message_stop", `{"type":"message_stop"}`)
	data := in.String()
	b.ReportAllocs()
	for b.Loop() {
		n := 0
		for _, err := range llm.All(Read(strings.NewReader(data), EventOptions{Reading: upstream.Reading{Stream: true}, Model: "m"})) {
			if err != nil {
				b.Fatal(err)
			}
			n++
		}
		if n != 205 {
			b.Fatal(n)
		}
	}
}
