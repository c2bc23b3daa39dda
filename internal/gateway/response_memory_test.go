//go:build !race

package gateway_test

import (
	"bytes"
	"io"
	"net/http"
	"runtime"
	"strings"
	"testing"

	"fairlead.dev/internal/catalog"
	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/provider"
	"fairlead.dev/internal/provider/anthropic"
	"fairlead.dev/internal/provider/bedrock"
	"fairlead.dev/internal/provider/compatible"
	"fairlead.dev/internal/provider/gemini"
	"fairlead.dev/internal/wire"
	"fairlead.dev/internal/wire/chat"
	"fairlead.dev/internal/wire/messages"
)

// egresses lists one provider for each provider format.
var egresses = []struct {
	format string
	vendor provider.Vendor
	model  string
}{
	{"chat", compatible.Plain("plain", "Plain"), "m"},
	{"messages", anthropic.Vendor, "claude-sonnet-4-5"},
	{"gemini", gemini.Vendor, "gemini-2.5-pro"},
	{"converse", bedrock.Vendor, "anthropic.claude-sonnet-4-5"},
}

// singleTarget returns a provider with one target.
func singleTarget(vendor provider.Vendor, model string, op llm.Op) *provider.Provider {
	return vendor.New(provider.Settings{BaseURL: "http://p.invalid", Options: map[string]string{"region": "us-east-1"}, Targets: []*provider.Target{{
		Provider: vendor.Name, Upstream: model,
		Model: &catalog.Model{Name: model, Op: op, Abilities: catalog.Common, Context: 1_000_000, MaxOutput: 64_000},
	}}})
}

// TestResponsesOfManyPartsUseLittleMemory reads responses of 8 MiB that consist of the smallest possible parts. Every
// allocated byte counts, even if it is freed immediately, so the test does not depend on the garbage collector.
func TestResponsesOfManyPartsUseLittleMemory(t *testing.T) { //nolint:paralleltest // counts the allocations of the process
	const size, most = 8 << 20, 8
	list := func(head, element, tail string) string {
		return head + strings.Repeat(element+",", (size-len(head)-len(tail))/(len(element)+1)) + element + tail
	}
	answers := map[string]map[string]string{
		"chat": {
			"choices":    list(`{"choices":[`, `{}`, `]}`),
			"tool calls": list(`{"choices":[{"message":{"role":"assistant","tool_calls":[`, `{}`, `]},"finish_reason":"stop"}]}`),
			"error":      list(`{"error":{"message":[`, `1`, `]}}`),
			"vectors":    list(`{"data":[`, `0`, `]}`),
		},
		"messages": {
			"content": list(`{"type":"message","content":[`, `{}`, `],"stop_reason":"end_turn"}`),
			"error":   list(`{"type":"error","error":{"message":[`, `1`, `]}}`),
		},
		"gemini": {
			"candidates": list(`{"candidates":[`, `{}`, `]}`),
			"parts":      list(`{"candidates":[{"content":{"parts":[`, `{}`, `]},"finishReason":"STOP"}]}`),
			"events":     list(`[`, `{}`, `]`),
			"vectors":    list(`{"embeddings":[`, `{}`, `]}`),
		},
		"converse": {
			"content": list(`{"stopReason":"end_turn","output":{"message":{"content":[`, `{}`, `]}}}`),
		},
	}
	for _, out := range egresses {
		for name, body := range answers[out.format] {
			op := llm.Chat
			if name == "vectors" {
				op = llm.Embed
			}
			for _, stream := range []bool{false, true} {
				for _, client := range []wire.Format{chat.Format{}, messages.Format{}} {
					if client.Name() != chat.Name && op != llm.Chat || stream && op != llm.Chat {
						continue
					}
					p := singleTarget(out.vendor, out.model, op)
					call := &provider.Call{Target: p.Targets[0], Access: provider.Access{Secret: "s"}, Client: client, Request: &llm.Request{
						Op: op, Payload: llm.Payload{Format: client.Name(), Body: []byte("{}")}, EmbeddingOptions: llm.EmbeddingOptions{Inputs: 2}, ResponseOptions: llm.ResponseOptions{Choices: 1, Stream: stream},
					}}
					resp := &http.Response{
						StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"application/json"}},
						ContentLength: int64(len(body)), Body: io.NopCloser(bytes.NewReader([]byte(body))),
					}
					before := allocated()
					events := p.Exchange(op).Events(call, resp)
					for range llm.All(events) {
					}
					events.Close()
					if got := (allocated() - before) / uint64(len(body)); got > most {
						t.Errorf("%s of %s for %s, stream %v: allocated %d times its size, want at most %d", name, out.format, client.Name(), stream, got, most)
					}
				}
			}
		}
	}
}

// allocated returns how many bytes the process has allocated in total.
func allocated() uint64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.TotalAlloc
}
