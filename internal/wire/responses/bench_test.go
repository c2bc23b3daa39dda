package responses

import (
	"strings"
	"testing"

	"fairlead.dev/internal/llm"
)

// BenchmarkDecodeRequest decodes requests of 1 KB and of 100 KB, similar to those of a coding agent.
func BenchmarkDecodeRequest(b *testing.B) {
	tools := `"tools":[{"type":"function","name":"look","description":"Look at a file.","parameters":{"type":"object","properties":{"path":{"type":"string"}}}}]`
	text := strings.Repeat("Some text with a few words. ", 30)
	turn := `{"type":"message","role":"assistant","id":"msg_1","status":"completed","content":[{"type":"output_text","text":"` + text + `","annotations":[],"logprobs":[]}]},` +
		`{"type":"function_call","id":"fc_1","status":"completed","call_id":"t1","name":"look","arguments":"{\"path\":\"a/b.go\"}"},` +
		`{"type":"function_call_output","call_id":"t1","output":"` + text + `\n` + text + `"},`
	for name, n := range map[string]int{"1KB": 0, "100KB": 35} {
		body := []byte(`{"model":"m","max_output_tokens":9,"instructions":"` + text + `",` + tools + `,"input":[` + strings.Repeat(turn, n) + `{"role":"user","content":"And now?"}]}`)
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(body)))
			b.ReportAllocs()
			for b.Loop() {
				if _, err := (Format{}).DecodeRequest(b.Context(), llm.Chat, body); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
