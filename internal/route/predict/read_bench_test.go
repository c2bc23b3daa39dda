package predict

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

func BenchmarkRead(b *testing.B) {
	prompt := strings.Repeat("Please check whether the retry logic of our importer may write a row twice. ", 14)
	var long strings.Builder
	long.WriteString(`{"tools":[{"type":"function","function":{"name":"sh"}}],"messages":[{"role":"user","content":"Fix the importer and add a test."}`)
	for i := range 25 {
		text, _ := json.Marshal(strings.Repeat("func part() error {\n\treturn errors.New(\"closed\")\n}\n", 75))
		fmt.Fprintf(&long, `,{"role":"assistant","tool_calls":[{"id":"c%d","type":"function","function":{"name":"sh","arguments":"{\"c\":\"cat %d.go\"}"}}]},{"role":"tool","tool_call_id":"c%d","content":%s}`, i, i, i, text)
	}
	small, _ := json.Marshal(map[string]any{"messages": []map[string]string{{"role": "user", "content": prompt}}})
	for name, body := range map[string][]byte{"prompt of 1 KB": small, "conversation of 100 KB": []byte(long.String() + "]}")} {
		b.Run(name, func(b *testing.B) {
			req := request(b, body)
			b.SetBytes(int64(len(body)))
			b.ReportAllocs()
			for b.Loop() {
				Read(req)
			}
		})
	}
}
