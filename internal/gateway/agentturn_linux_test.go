package gateway_test

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"syscall"
	"testing"
	"time"

	"fairlead.dev/bench/agent"
	"fairlead.dev/internal/catalog"
	"fairlead.dev/internal/gateway"
	"fairlead.dev/internal/modelapi"
	"fairlead.dev/internal/predict"
	"fairlead.dev/internal/promptcache"
	"fairlead.dev/internal/provider"
	"fairlead.dev/internal/provider/anthropic"
	"fairlead.dev/internal/provider/compatible"
	"fairlead.dev/internal/route"
)

// BenchmarkAgentTurn measures the CPU time of one turn of a coding agent in the gateway, without HTTP, storage and the provider. It
// reports three means: over all turns, over the first ten turns and over the last ten turns.
func BenchmarkAgentTurn(b *testing.B) {
	for _, format := range agent.Formats() {
		b.Run(format, func(b *testing.B) {
			turn := agentGateway(b, format)
			b.ReportAllocs()
			var first, last, all time.Duration
			n := 0
			for seed := uint64(0); b.Loop(); seed++ {
				b.StopTimer()
				s := agent.New(format, "auto", "", "", seed)
				for i := range agent.Turns {
					body := s.Next()
					b.StartTimer()
					began := processCPU(b)
					turn(body)
					took := processCPU(b) - began
					b.StopTimer()
					all += took
					if i < 10 {
						first += took
					} else if i >= agent.Turns-10 {
						last += took
					}
				}
				n++
				b.StartTimer()
			}
			report := func(d time.Duration, turns int, unit string) {
				b.ReportMetric(float64(d.Microseconds())/float64(n*turns), unit)
			}
			report(all, agent.Turns, "cpu-µs/turn")
			report(first, 10, "first-µs/turn")
			report(last, 10, "last-µs/turn")
		})
	}
}

func processCPU(b *testing.B) time.Duration {
	b.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// agentGateway returns a function that sends one turn to a gateway with a predictor, an estimate of prompt caches and a provider of
// the same format.
func agentGateway(t testing.TB, format string) func(body []byte) {
	t.Helper()
	predictor, err := predict.Embedded()
	if err != nil {
		t.Fatal(err)
	}
	g := silentGateway(t, canned{})
	parts := g.Parts
	parts.Routing = gateway.Routing{Predictor: predictor, Prefixes: promptcache.NewMemory(0)}
	parts.Snapshot = route.NewSnapshot(benchCatalog(t), []*provider.Provider{providerOf(format)}, nil)
	g = gateway.New(parts)
	same := httptest.NewRequestWithContext(t.Context(), http.MethodPost, modelapi.Prefix+agent.Path(format), http.NoBody)
	same.Header.Set("Authorization", "Bearer good")
	same.Header.Set("Content-Type", "application/json")
	return func(body []byte) {
		req := same.WithContext(t.Context())
		req.Body = io.NopCloser(bytes.NewReader(body))
		req.ContentLength = int64(len(body))
		w := &sink{header: http.Header{}}
		g.ServeHTTP(w, req)
		if w.status != http.StatusOK {
			t.Fatalf("status %d, want 200", w.status)
		}
	}
}

// providerOf returns a provider of a format that always sends the same stream.
func providerOf(format string) *provider.Provider {
	targets := []*provider.Target{target("large", 2, 8), target("small", 0.1, 0.4)}
	for _, one := range targets {
		one.Provider = "alpha"
		one.Model.Context, one.Model.MaxOutput = 1_000_000, 64_000
	}
	settings := provider.Settings{
		Name: "alpha", BaseURL: "http://alpha.invalid/v1", Targets: targets, Credentials: []provider.Credential{{ID: "alpha#1", Secret: "s", Source: "test"}},
	}
	row := compatible.Row{Name: "alpha", ChatPath: "/chat/completions"}
	reply := chunks(`{"id":"c","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":0,"delta":{"content":"Aye. "},"finish_reason":null}]}`,
		`{"id":"c","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":0,"delta":{},"finish_reason":"stop"}],"usage":{"prompt_tokens":9000,"completion_tokens":20,"total_tokens":9020}}`, `[DONE]`)
	var p *provider.Provider
	switch format {
	case agent.Messages:
		p = anthropic.Vendor.New(settings)
		reply = chunks(`{"type":"message_start","message":{"id":"m","type":"message","role":"assistant","model":"m","content":[],"stop_reason":null,"usage":{"input_tokens":9000,"output_tokens":1}}}`,
			`{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}`,
			`{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"Aye."}}`, `{"type":"content_block_stop","index":0}`,
			`{"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":20}}`, `{"type":"message_stop"}`)
	case agent.Responses:
		row = compatible.Row{Name: "alpha", ResponsesPath: "/responses"}
		p = compatible.New(row, settings)
		reply = chunks(`{"type":"response.created","response":{"id":"r","object":"response","status":"in_progress","model":"m","output":[]}}`,
			`{"type":"response.output_text.delta","item_id":"i","output_index":0,"content_index":0,"delta":"Aye."}`,
			`{"type":"response.completed","response":{"id":"r","object":"response","status":"completed","model":"m","output":[],"usage":{"input_tokens":9000,"output_tokens":20,"total_tokens":9020}}}`)
	default:
		p = compatible.New(row, settings)
	}
	p.Transport = canned{reply, "text/event-stream"}
	return p
}

// chunks returns a stream of events with the given data.
func chunks(data ...string) string { return "data: " + strings.Join(data, "\n\ndata: ") + "\n\n" }

func benchCatalog(t testing.TB) *catalog.Catalog {
	t.Helper()
	cat, err := readCatalog()
	if err != nil {
		t.Fatal(err)
	}
	return cat
}
