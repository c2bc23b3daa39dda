package conversation

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"fairlead.dev/internal/llm"
)

// BenchmarkRead measures Read with requests of agents. Most of each conversation consists of tool results.
func BenchmarkRead(b *testing.B) {
	for _, size := range []int{1 << 10, 10 << 10, 100 << 10, 1 << 20} {
		b.Run(fmt.Sprintf("%dKB", size>>10), func(b *testing.B) {
			body := agentBody(b, size)
			req := &llm.Request{Op: llm.Chat, Payload: llm.Payload{Body: body, Fields: []llm.Field{{Name: "messages", Value: len(`{"messages":`), End: len(body) - 1}}}, Needs: llm.Tools}
			b.SetBytes(int64(len(body)))
			b.ReportAllocs()
			for b.Loop() {
				if Read(req).Text == "" {
					b.Fatal("no task")
				}
			}
		})
	}
}

// BenchmarkReadChat measures Read with chats without tools. The long user turns contain escapes and characters outside ASCII.
func BenchmarkReadChat(b *testing.B) {
	for _, size := range []int{10 << 10, 100 << 10} {
		b.Run(fmt.Sprintf("%dKB", size>>10), func(b *testing.B) {
			turn := strings.Repeat("Please explain why this \"test\" fails on my machine, only when the cache is cold → déjà vu.\n\n* C:\\Users\\me \n", 25)
			var messages []map[string]string
			for i := range size / len(turn) {
				messages = append(messages, map[string]string{"role": []string{"user", "assistant"}[i%2], "content": fmt.Sprint(i, " ", turn)})
			}
			body, err := json.Marshal(map[string]any{"messages": messages})
			if err != nil {
				b.Fatal(err)
			}
			req := &llm.Request{Op: llm.Chat, Payload: llm.Payload{Body: body, Fields: []llm.Field{{Name: "messages", Value: len(`{"messages":`), End: len(body) - 1}}}}
			b.SetBytes(int64(len(body)))
			b.ReportAllocs()
			for b.Loop() {
				if Read(req).Text == "" {
					b.Fatal("no task")
				}
			}
		})
	}
}

func agentBody(b *testing.B, size int) []byte {
	b.Helper()
	var messages []map[string]any
	add := func(m map[string]any) { messages = append(messages, m) }
	add(map[string]any{"role": "system", "content": strings.Repeat("Follow the conventions of the code base and keep answers short. ", 60)[:min(size/4, 3000)]})
	add(map[string]any{"role": "user", "content": "<system-reminder>\nUse tabs.\n</system-reminder>\nFind out why the importer drops the last row of every file and fix it."})
	source := strings.Repeat("func parse(line string) (Row, error) {\n\tif line == \"\" {\n\t\treturn Row{}, errors.New(\"empty\")\n\t}\n}\n", 30)
	for i, written := 0, 0; written < size; i++ {
		id := fmt.Sprint(i)
		add(map[string]any{"role": "assistant", "content": nil, "tool_calls": []any{map[string]any{"id": id, "type": "function", "function": map[string]any{"name": "bash", "arguments": fmt.Sprintf(`{"command":"sed -n %d,%dp importer.go"}`, i, i+90)}}}})
		text := source[:min(len(source), size)]
		if i%4 == 3 {
			text = "--- FAIL: TestImport (0.02s)\n    importer_test.go:41: got 11 rows, want 12"
		}
		add(map[string]any{"role": "tool", "tool_call_id": id, "content": text})
		written += len(text) + 150
	}
	body, err := json.Marshal(map[string]any{"messages": messages})
	if err != nil {
		b.Fatal(err)
	}
	return body
}
