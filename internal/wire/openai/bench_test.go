package openai

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"fairlead.dev/internal/llm"
)

// conversation returns a chat request of about size bytes, similar to a request of a coding agent.
func conversation(size int) []byte {
	const prose = `The harbour master asked why the line chafed.\nWe moved it through the \"other\" lead, and it held: `
	var b strings.Builder
	b.WriteString(`{"model":"auto","stream":true,"temperature":0.2,"max_tokens":512,"messages":[{"role":"system","content":"You are terse."}`)
	for b.Len() < size {
		fmt.Fprintf(&b, `,{"role":"user","content":"%s"},{"role":"assistant","content":"%s"}`,
			strings.Repeat(prose, 1+size/10_000), prose)
	}
	b.WriteString(`,{"role":"user","content":[{"type":"text","text":"And now?"}]}],"tools":[{"type":"function","function":{"name":"look",` +
		`"description":"Looks at the line","parameters":{"type":"object","properties":{"where":{"type":"string"}},"required":["where"]}}}],"user":"u1"}`)
	return []byte(b.String())
}

func sizes(b *testing.B, run func(b *testing.B, body []byte)) {
	for _, size := range []int{1_000, 10_000, 100_000} {
		body := conversation(size)
		b.Run(fmt.Sprintf("%dKB", size/1000), func(b *testing.B) {
			b.SetBytes(int64(len(body)))
			b.ReportAllocs()
			run(b, body)
		})
	}
}

func BenchmarkDecodeRequest(b *testing.B) {
	sizes(b, func(b *testing.B, body []byte) {
		for b.Loop() {
			if _, err := (Format{}).DecodeRequest(b.Context(), llm.Chat, body); err != nil {
				b.Fatal(err)
			}
		}
	})
}

func BenchmarkRender(b *testing.B) {
	sizes(b, func(b *testing.B, body []byte) {
		req, err := Format{}.DecodeRequest(b.Context(), llm.Chat, body)
		if err != nil {
			b.Fatal(err)
		}
		for b.Loop() {
			Render(req, Edit{Model: "gpt-4.1-mini", IncludeUsage: true, Rename: nil})
		}
	})
}

func BenchmarkEvents(b *testing.B) {
	const chunk = `data: {"id":"chatcmpl-1","object":"chat.completion.chunk","created":1700000000,"model":"gpt-4o-mini-2024-07-18","service_tier":"default",` +
		`"system_fingerprint":"fp_1","choices":[{"index":0,"delta":{"content":" word"},"logprobs":null,"finish_reason":null}],"usage":null}` + "\n\n"
	const end = `data: {"id":"chatcmpl-1","choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}` + "\n\n" +
		`data: {"id":"chatcmpl-1","choices":[],"usage":{"prompt_tokens":9,"completion_tokens":100}}` + "\n\ndata: [DONE]\n\n"
	stream := []byte(strings.Repeat(chunk, 100) + end)
	b.SetBytes(int64(len(stream)))
	b.ReportAllocs()
	for b.Loop() {
		for _, err := range llm.All(Read(bytes.NewReader(stream), EventOptions{Stream: true, Model: "gpt-4o-mini"})) {
			if err != nil {
				b.Fatal(err)
			}
		}
	}
}

func BenchmarkEventsWhole(b *testing.B) {
	whole := fmt.Appendf(nil, `{"id":"chatcmpl-1","object":"chat.completion","created":1700000000,"model":"gpt-4o-mini-2024-07-18","choices":[{"index":0,`+
		`"message":{"role":"assistant","content":"%s","refusal":null},"logprobs":null,"finish_reason":"stop"}],"usage":{"prompt_tokens":9,"completion_tokens":100,"total_tokens":109}}`,
		strings.Repeat("a word ", 150))
	b.SetBytes(int64(len(whole)))
	b.ReportAllocs()
	for b.Loop() {
		for _, err := range llm.All(Read(bytes.NewReader(whole), EventOptions{Model: "gpt-4o-mini", SizeHint: int64(len(whole))})) {
			if err != nil {
				b.Fatal(err)
			}
		}
	}
}

// BenchmarkAssemble joins a stream of 50 chunks, as the log stores it.
func BenchmarkAssemble(b *testing.B) {
	var events bytes.Buffer
	for i := range 50 {
		fmt.Fprintf(&events, `{"id":"chatcmpl-1","object":"chat.completion.chunk","created":1790000000,"model":"m","choices":[{"index":0,"delta":{"content":" word %d"},"logprobs":null,"finish_reason":null}]}`+"\n", i)
	}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Assemble(events.Bytes()); err != nil {
			b.Fatal(err)
		}
	}
}
