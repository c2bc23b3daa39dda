package gateway_test

import (
	"context"
	"io"
	"log/slog"
	"math"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"fairlead.dev/internal/attempt"
	"fairlead.dev/internal/gateway"
	"fairlead.dev/internal/health"
	"fairlead.dev/internal/ledger"
	"fairlead.dev/internal/limit"
	"fairlead.dev/internal/modelapi"
	"fairlead.dev/internal/money"
	"fairlead.dev/internal/provider"
	"fairlead.dev/internal/provider/compatible"
	"fairlead.dev/internal/requestlog"
	"fairlead.dev/internal/route"
	"fairlead.dev/internal/upload"
)

// Allocations of one request in the gateway and the formats, with a provider and a client that allocate nothing. Lower the
// number after an improvement; raise it only with a reason.
const (
	allocsWhole  = 135 // 11 of them for reading the conversation
	allocsStream = 158 // allocations of a stream of 50 chunks
)

func TestRequestAllocatesNoMoreThanRecorded(t *testing.T) { //nolint:paralleltest // counts the allocations of the process
	for name, c := range map[string]struct {
		stream bool
		most   float64
	}{"whole": {false, allocsWhole}, "stream": {true, allocsStream}} {
		t.Run(name, func(t *testing.T) {
			ask := asker(t, c.stream)
			// Use the smallest of several measurements, because background work of the process can only add allocations.
			got := math.Inf(1)
			for range 5 {
				got = min(got, testing.AllocsPerRun(50, ask))
			}
			if got > c.most+slack || got < c.most/2 {
				t.Errorf("a request makes %.0f allocations, want about %.0f", got, c.most)
			}
		})
	}
}

func BenchmarkRequest(b *testing.B) {
	for name, stream := range map[string]bool{"whole": false, "stream": true} {
		b.Run(name, func(b *testing.B) {
			ask := asker(b, stream)
			b.ReportAllocs()
			for b.Loop() {
				ask()
			}
		})
	}
}

// asker returns a function that sends the same request to a provider that always sends the same response.
func asker(t testing.TB, stream bool) func() {
	t.Helper()
	reply, media := `{"id":"c","object":"chat.completion","created":1,"model":"m","choices":[{"index":0,"message":{"role":"assistant","content":"Aye."},"finish_reason":"stop"}],`+
		`"usage":{"prompt_tokens":250,"completion_tokens":3,"total_tokens":253}}`, "application/json"
	body := `{"model":"auto","messages":[{"role":"user","content":"` + strings.Repeat("Heave the line, all hands. ", 40) + `"}]}`
	if stream {
		const chunk = `data: {"id":"c","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":0,"delta":{"content":"Aye. "},"finish_reason":null}]}` + "\n\n"
		reply, media = strings.Repeat(chunk, 49)+strings.Replace(chunk, "null", `"stop"`, 1)+"data: [DONE]\n\n", "text/event-stream"
		body = strings.Replace(body, `"model"`, `"stream":true,"model"`, 1)
	}
	return askerOf(t, "/chat/completions", body, canned{reply, media})
}

// askerOf returns a function that sends a body to an endpoint whose provider always sends the same response.
func askerOf(t testing.TB, endpoint, body string, reply canned) func() {
	t.Helper()
	g := silentGateway(t, reply)
	same := httptest.NewRequestWithContext(t.Context(), http.MethodPost, modelapi.Prefix+endpoint, strings.NewReader(body))
	same.Header.Set("Authorization", "Bearer good")
	same.Header.Set("Content-Type", "application/json")
	return func() {
		req := same.WithContext(t.Context()) // the HTTP server would parse the request, so parsing is not measured
		req.Body = io.NopCloser(strings.NewReader(body))
		w := &sink{header: http.Header{}}
		g.ServeHTTP(w, req)
		if w.status != http.StatusOK {
			t.Fatalf("status %d, want 200", w.status)
		}
	}
}

// silentGateway returns a gateway with one provider and without a log.
func silentGateway(t testing.TB, reply http.RoundTripper) *gateway.Gateway {
	t.Helper()
	cat, err := readCatalog()
	if err != nil {
		t.Fatal(err)
	}
	targets := []*provider.Target{target("large", 2, 8), target("small", 0.1, 0.4)}
	for _, one := range targets {
		one.Provider = "alpha"
	}
	p := compatible.New(compatible.Row{Name: "alpha", ChatPath: "/chat/completions", ResponsesPath: "/responses"}, provider.Settings{
		BaseURL: "http://alpha.invalid/v1", Targets: targets, Credentials: []provider.Credential{{ID: "alpha#1", Secret: "s", Source: "test"}},
	})
	p.Transport = reply
	tracker := health.New(health.Options{})
	return gateway.New(gateway.Parts{
		Routes: routes(), Health: tracker,
		Access: gateway.Access{
			Keys: newFakeKeys(), Limits: limit.NewMemory(time.Now),
			Ledger: ledger.New(ledger.Options{
				Spent: func(context.Context, string, time.Time) (money.Amount, error) { return 0, nil }, Now: time.Now,
			}),
		},
		Dispatcher: &attempt.Dispatcher{Admission: tracker, Health: tracker, Random: func() float64 { return 0.5 }, SealID: storedIDs.Seal},
		Recording: gateway.Recording{
			Log: noLog{}, Logger: slog.New(slog.DiscardHandler),
			Observe: func(*requestlog.Entry) {}, Started: func(*requestlog.Entry) {},
		},
		Snapshot: route.NewSnapshot(cat, []*provider.Provider{p}, nil),
		Settings: modelapi.Settings{
			LogBodies: true, BodyLimit: 1 << 20, MaxConcurrent: 100,
			Upload:   upload.Limits{Body: 1 << 20, Total: 8 << 20, Pause: time.Minute},
			Attempts: attempt.Settings{Attempts: 3, Idle: 5 * time.Second, Total: time.Minute},
			Hold:     10 * time.Second, Ping: 15 * time.Second, ReadPause: time.Minute,
		},
	})
}

// noLog stores no entries.
type noLog struct{}

func (noLog) Begin(*requestlog.Entry) error { return nil }
func (noLog) End(*requestlog.Entry) error   { return nil }

// canned is a provider that always sends the same response.
type canned struct{ reply, media string }

func (c canned) RoundTrip(req *http.Request) (*http.Response, error) {
	return &http.Response{
		StatusCode: http.StatusOK, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Request: req,
		Header: http.Header{"Content-Type": {c.media}}, Body: io.NopCloser(strings.NewReader(c.reply)), ContentLength: -1,
	}, nil
}

// sink is a client that discards the response.
type sink struct {
	header http.Header
	status int
}

func (s *sink) Header() http.Header         { return s.header }
func (s *sink) Write(p []byte) (int, error) { return len(p), nil }
func (s *sink) WriteHeader(status int)      { s.status = status }
func (s *sink) FlushError() error           { return nil }

func (s *sink) SetWriteDeadline(time.Time) error { return nil }
func (s *sink) SetReadDeadline(time.Time) error  { return nil }
