package anthropic

import (
	"strings"
	"testing"

	"fairlead.dev/internal/llm"
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
				if _, err := (Format{}).Conversation(b.Context(), req); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
