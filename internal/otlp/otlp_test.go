package otlp

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	"go.opentelemetry.io/otel/codes"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"

	"fairlead.dev/internal/config"
	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/money"
	"fairlead.dev/internal/requestlog"
	"fairlead.dev/internal/route"
)

var began = time.Date(2026, 5, 4, 12, 0, 0, 0, time.UTC)

// served returns an entry of a streamed request that failed at its first target.
func served() *requestlog.Entry {
	e := &requestlog.Entry{
		ID: "req_1", Owner: requestlog.Owner{WorkspaceID: "ws_1", KeyID: "key_1"},
		Timing: requestlog.Timing{Time: began, Latency: 3 * time.Second, TTFT: 1500 * time.Millisecond, Overhead: time.Millisecond},
		Call:   requestlog.Call{Endpoint: "chat/completions", Format: "chat", Stream: true, Requested: "auto"},
		Routing: requestlog.Routing{
			Model: "gpt-4.1", Provider: "prod", ServedAs: "gpt-4.1-2025",
			Policy: "house rule", DecisionKind: route.Fallback,
			Attempts: []requestlog.Attempt{
				{Target: requestlog.Target{Provider: "other", Model: "claude", Upstream: "claude-9"}, AttemptTiming: requestlog.AttemptTiming{Start: 10 * time.Millisecond, Duration: time.Second}, AttemptResult: requestlog.AttemptResult{Status: 529, Class: llm.UpstreamOverloaded, Message: "you said SECRET"}},
				{
					Target:        requestlog.Target{Provider: "prod", Model: "gpt-4.1", Upstream: "gpt-4.1-upstream"},
					AttemptTiming: requestlog.AttemptTiming{Start: 1100 * time.Millisecond, Duration: 1900 * time.Millisecond, FirstToken: 400 * time.Millisecond},
					AttemptResult: requestlog.AttemptResult{Status: 200},
					Usage:         &llm.Usage{Input: 10, CacheRead: 90, CacheWrite: 5, Output: 20, Reasoning: 7},
					Cost:          new(2 * money.Dollar),
				},
			},
		},
		Result:    requestlog.Result{Outcome: requestlog.OK, Status: 200, Finish: "stop"},
		Labels:    requestlog.Labels{Session: "s-1"},
		Charge:    requestlog.Charge{Usage: llm.Usage{Input: 10, CacheRead: 90, CacheWrite: 5, Output: 20, Reasoning: 7}, Cost: new(2 * money.Dollar)},
		Baseline:  requestlog.Baseline{BaselineModel: "big", BaselineCost: new(5 * money.Dollar)},
		BodyState: requestlog.BodyStored,
		Body: requestlog.Body{
			Request:  []byte(`{"model":"auto","messages":[{"role":"system","content":"Be brief."},{"role":"user","content":[{"type":"text","text":"SECRET"},{"type":"image_url","image_url":{"url":"data:x"}}]}]}`),
			Response: []byte(`{"choices":[{"message":{"role":"assistant","content":null,"tool_calls":[{"id":"c1","type":"function","function":{"name":"look","arguments":"{}"}}]},"finish_reason":"tool_calls"}]}`),
		},
	}
	e.Trace = requestlog.TraceContext{TraceID: requestlog.TraceID(e.ID)}
	return e
}

func settings(t *testing.T, c config.Telemetry, env map[string]string) Settings {
	t.Helper()
	if c.SampleRatio == 0 {
		c.SampleRatio = 1
	}
	c.Traces, c.Metrics = true, true
	s, err := Resolve(c, func(name string) string { return env[name] })
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func parts() Parts {
	return Parts{
		Redact: func(e *requestlog.Entry) {
			e.Body.Request = []byte(strings.ReplaceAll(string(e.Body.Request), "SECRET", "[removed]"))
		},
		Vendor:  func(provider string) string { return map[string]string{"prod": "azure"}[provider] },
		Metrics: prometheus.NewRegistry(), Logger: slog.New(slog.DiscardHandler), Instance: "gw_1",
	}
}

// exported returns the spans of an entry, starting with the span of the request.
func exported(t *testing.T, c config.Telemetry, e *requestlog.Entry) tracetest.SpanStubs {
	t.Helper()
	memory := tracetest.NewInMemoryExporter()
	kept := &keeper{SpanExporter: memory}
	x, err := start(t.Context(), settings(t, c, nil), parts(), kept, nil)
	if err != nil {
		t.Fatal(err)
	}
	x.Record(e)
	if err := x.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	slices.SortFunc(kept.spans, func(a, b tracetest.SpanStub) int { return a.StartTime.Compare(b.StartTime) })
	return kept.spans
}

// keeper keeps the exported spans after a shutdown.
type keeper struct {
	sdktrace.SpanExporter
	spans tracetest.SpanStubs
}

func (k *keeper) ExportSpans(_ context.Context, spans []sdktrace.ReadOnlySpan) error {
	k.spans = append(k.spans, tracetest.SpanStubsFromReadOnlySpans(spans)...)
	return nil
}

func values(s tracetest.SpanStub) map[string]any {
	m := map[string]any{}
	for _, a := range s.Attributes {
		m[string(a.Key)] = a.Value.AsInterface()
	}
	return m
}

func TestRequestBecomesSpanWithAttempts(t *testing.T) { //nolint:paralleltest // the test sets the global error handler
	spans := exported(t, config.Telemetry{}, served())
	if len(spans) != 3 {
		t.Fatalf("%d spans, want 3", len(spans))
	}
	request, failed, ok := spans[0], spans[1], spans[2]
	if request.Name != "chat auto" || request.SpanKind != trace.SpanKindServer || failed.Name != "chat claude-9" || failed.SpanKind != trace.SpanKindClient {
		t.Errorf("spans are %q and %q", request.Name, failed.Name)
	}
	if !request.StartTime.Equal(began) || !request.EndTime.Equal(began.Add(3*time.Second)) || !ok.StartTime.Equal(began.Add(1100*time.Millisecond)) || !ok.EndTime.Equal(began.Add(3*time.Second)) {
		t.Errorf("the times are %v to %v, and %v to %v", request.StartTime, request.EndTime, ok.StartTime, ok.EndTime)
	}
	for i, s := range spans {
		if s.SpanContext.TraceID().String() != requestlog.TraceID("req_1") || s.SpanContext.SpanID().String() != requestlog.SpanID("req_1", i) {
			t.Errorf("span %d has the ids %v %v", i, s.SpanContext.TraceID(), s.SpanContext.SpanID())
		}
	}
	if request.Parent.IsValid() || failed.Parent.SpanID() != request.SpanContext.SpanID() || ok.Parent.SpanID() != request.SpanContext.SpanID() {
		t.Errorf("parents are %v, %v and %v; want the request as the parent of both attempts",
			request.Parent, failed.Parent.SpanID(), ok.Parent.SpanID())
	}
	if failed.Status.Code != codes.Error || failed.Status.Description != "" || ok.Status.Code != codes.Unset || request.Status.Code != codes.Unset {
		t.Errorf("the statuses are %v %v %v", request.Status, failed.Status, ok.Status)
	}
	want := map[string]any{
		"gen_ai.operation.name": "chat", "gen_ai.request.model": "auto", "gen_ai.provider.name": "azure.ai.openai", "gen_ai.response.model": "gpt-4.1-2025", "gen_ai.request.stream": true,
		"gen_ai.response.finish_reasons": []string{"stop"}, "gen_ai.response.time_to_first_chunk": 1.5, "gen_ai.conversation.id": "s-1",
		"gen_ai.usage.input_tokens": int64(105), "gen_ai.usage.output_tokens": int64(20), "gen_ai.usage.cache_read.input_tokens": int64(90), "gen_ai.usage.cache_creation.input_tokens": int64(5), "gen_ai.usage.reasoning.output_tokens": int64(7),
		"http.request.method": "POST", "http.route": "/proxy/v1/chat/completions", "http.response.status_code": int64(200),
		"fairlead.request.id": "req_1", "fairlead.workspace.id": "ws_1", "fairlead.key.id": "key_1", "fairlead.session.id": "s-1", "fairlead.outcome": "ok", "fairlead.decision": "fallback", "fairlead.policy": "house rule",
		"fairlead.model": "gpt-4.1", "fairlead.provider": "prod", "fairlead.baseline.model": "big", "fairlead.cost_usd": 2.0, "fairlead.baseline.cost_usd": 5.0, "fairlead.attempts": int64(2), "fairlead.overhead": 0.001,
	}
	if diff := cmp.Diff(want, values(request)); diff != "" {
		t.Errorf("attributes of the request (-want +got):\n%s", diff)
	}
	wantFailed := map[string]any{
		"gen_ai.operation.name": "chat", "gen_ai.request.model": "claude-9", "gen_ai.provider.name": "other", "gen_ai.request.stream": true, "http.response.status_code": int64(529), "error.type": string(llm.UpstreamOverloaded),
		"fairlead.attempt.index": int64(0), "fairlead.provider": "other", "fairlead.model": "claude",
	}
	if diff := cmp.Diff(wantFailed, values(failed)); diff != "" {
		t.Errorf("attributes of the failed attempt (-want +got):\n%s", diff)
	}
	if v := values(ok); v["fairlead.attempt.cost_usd"] != 2.0 || v["gen_ai.usage.output_tokens"] != int64(20) || v["gen_ai.response.time_to_first_chunk"] != 0.4 {
		t.Errorf("attributes of the attempt: %v", v)
	}
	if got, _ := request.Resource.Set().Value("service.name"); got.AsString() != "fairlead" {
		t.Errorf("the service is %v", got)
	}
}

func TestContentIsExportedOnlyIfEnabledAndRedacted(t *testing.T) { //nolint:paralleltest // the test sets the global error handler
	off := exported(t, config.Telemetry{}, served())
	if text := dump(t, off); strings.Contains(text, "SECRET") || strings.Contains(text, "Be brief") {
		t.Errorf("content is exported although it is off: %s", text)
	}
	on := values(exported(t, config.Telemetry{Content: true}, served())[0])
	wantInput := `[{"role":"system","parts":[{"type":"text","content":"Be brief."}]},{"role":"user","parts":[{"type":"text","content":"[removed]"},{"type":"image_url"}]}]`
	wantOutput := `[{"role":"assistant","parts":[{"type":"tool_call","id":"c1","name":"look","arguments":"{}"}],"finish_reason":"tool_calls"}]`
	if on["gen_ai.input.messages"] != wantInput || on["gen_ai.output.messages"] != wantOutput {
		t.Errorf("the content is\n%v\n%v", on["gen_ai.input.messages"], on["gen_ai.output.messages"])
	}
	withheld := served()
	withheld.BodyState = requestlog.BodyDisabledForKey
	if v := values(exported(t, config.Telemetry{Content: true}, withheld)[0]); v["gen_ai.input.messages"] != nil {
		t.Error("content is exported although the key disables it")
	}
}

func dump(t *testing.T, v any) string {
	t.Helper()
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestTraceOfClientIsContinued(t *testing.T) { //nolint:paralleltest // the test sets the global error handler
	x, err := start(t.Context(), settings(t, config.Telemetry{Propagate: []string{"prod"}}, nil), parts(), tracetest.NewInMemoryExporter(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = x.Close(context.Background()) }()
	h := http.Header{"Traceparent": {"00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"}, "Tracestate": {"a=1"}}
	e := served()
	e.Trace = x.Begin(e.ID, requestlog.ReadTraceContext(h))
	sent := http.Header{}
	x.Propagate(sent, e, "prod", 1)
	if want := "00-4bf92f3577b34da6a3ce929d0e0e4736-" + requestlog.SpanID("req_1", 2) + "-01"; sent.Get("Traceparent") != want || sent.Get("Tracestate") != "a=1" {
		t.Errorf("sent %v, want traceparent %s and tracestate a=1", sent, want)
	}
	withheld := http.Header{}
	if x.Propagate(withheld, e, "other", 0); len(withheld) > 0 {
		t.Errorf("trace headers sent to an unlisted provider: %v", withheld)
	}
	spans := exported(t, config.Telemetry{}, e)
	if p := spans[0].Parent; p.SpanID().String() != "00f067aa0ba902b7" || !p.IsRemote() || spans[2].SpanContext.TraceID().String() != "4bf92f3577b34da6a3ce929d0e0e4736" {
		t.Errorf("parent is %v, remote %t, trace %s; want the span of the caller", p.SpanID(), p.IsRemote(), spans[2].SpanContext.TraceID())
	}
	e.Trace.Sampled = false
	if spans := exported(t, config.Telemetry{}, e); len(spans) > 0 {
		t.Error("a trace that the caller does not sample was exported")
	}
}

func TestSettingsFollowConfigurationAndVariables(t *testing.T) {
	t.Parallel()
	const endpoint = "http://collector:4318"
	for name, c := range map[string]struct {
		config  config.Telemetry
		env     map[string]string
		traces  bool
		metrics bool
		proto   string
		sampler string
	}{
		"nothing":              {env: nil, proto: protocolHTTP},
		"endpoint":             {config: config.Telemetry{Endpoint: endpoint}, traces: true, metrics: true, proto: protocolHTTP},
		"variable":             {env: map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": endpoint, "OTEL_EXPORTER_OTLP_PROTOCOL": "grpc"}, traces: true, metrics: true, proto: protocolGRPC},
		"one signal":           {env: map[string]string{"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": endpoint}, traces: true, proto: protocolHTTP},
		"exporter none":        {env: map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": endpoint, "OTEL_METRICS_EXPORTER": "none"}, traces: true, proto: protocolHTTP},
		"disabled":             {config: config.Telemetry{Endpoint: endpoint}, env: map[string]string{"OTEL_SDK_DISABLED": "true"}},
		"configured protocol":  {config: config.Telemetry{Endpoint: endpoint, Protocol: "grpc"}, env: map[string]string{"OTEL_EXPORTER_OTLP_PROTOCOL": "http/protobuf"}, traces: true, metrics: true, proto: protocolGRPC},
		"sampler of variables": {config: config.Telemetry{Endpoint: endpoint}, env: map[string]string{"OTEL_TRACES_SAMPLER": "always_off"}, traces: true, metrics: true, proto: protocolHTTP, sampler: "AlwaysOffSampler"},
		"ratio":                {config: config.Telemetry{Endpoint: endpoint, SampleRatio: 0.25}, env: map[string]string{"OTEL_TRACES_SAMPLER": "always_off"}, traces: true, metrics: true, proto: protocolHTTP, sampler: "ParentBased{root:TraceIDRatioBased{0.25}"},
	} {
		s := settings(t, c.config, c.env)
		if s.Traces != c.traces || s.Metrics != c.metrics || s.traceProtocol != c.proto {
			t.Errorf("%s: traces %v, metrics %v, protocol %q", name, s.Traces, s.Metrics, s.traceProtocol)
		}
		if c.sampler != "" && !strings.HasPrefix(s.sampler.Description(), c.sampler) {
			t.Errorf("%s: sampler %s", name, s.sampler.Description())
		}
	}
	for variable, value := range map[string]string{"OTEL_EXPORTER_OTLP_PROTOCOL": "http/json", "OTEL_TRACES_SAMPLER": "sometimes"} {
		if _, err := Resolve(config.Telemetry{Endpoint: endpoint, SampleRatio: 1}, func(name string) string { return map[string]string{variable: value}[name] }); err == nil || !strings.Contains(err.Error(), variable) {
			t.Errorf("%s=%s: %v", variable, value, err)
		}
	}
}

// stuck is an exporter that does not return before its context is done.
type stuck struct{ sdktrace.SpanExporter }

func (stuck) ExportSpans(ctx context.Context, _ []sdktrace.ReadOnlySpan) error {
	<-ctx.Done()
	return errors.New("no collector")
}

func TestRecordNeverWaitsAndCountsDroppedSpans(t *testing.T) { //nolint:paralleltest // the test sets the global error handler
	synctest.Test(t, func(t *testing.T) {
		s := settings(t, config.Telemetry{}, map[string]string{"OTEL_BSP_MAX_QUEUE_SIZE": "10", "OTEL_BSP_MAX_EXPORT_BATCH_SIZE": "3"})
		x, err := start(t.Context(), s, parts(), stuck{tracetest.NewInMemoryExporter()}, nil)
		if err != nil {
			t.Fatal(err)
		}
		before := time.Now()
		for range 100 {
			x.Record(served())
			synctest.Wait() // let the worker run until it blocks, so that the number of dropped requests is deterministic
		}
		if waited := time.Since(before); waited > 0 {
			t.Errorf("Record waited %v, want 0", waited)
		}
		if got := count(t, x.counts.queueFull); got != 89*3 {
			t.Errorf("%v spans dropped at a full queue, want %d: one request is in the export and 10 are queued", got, 89*3)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_ = x.Close(ctx)
		if waited := time.Since(before); waited > time.Second {
			t.Errorf("Close waited %v, want at most 1s", waited)
		}
		if failed, sent := count(t, x.counts.exportFailed), count(t, x.counts.exported); failed != 11*3 || sent != 0 {
			t.Errorf("%v spans failed, %v exported; want all of 11 requests failed", failed, sent)
		}
	})
}

func count(t *testing.T, c prometheus.Counter) float64 {
	t.Helper()
	var m dto.Metric
	if err := c.Write(&m); err != nil {
		t.Fatal(err)
	}
	return m.GetCounter().GetValue()
}

// metricMemory is a metric exporter that keeps the names of exported metrics and returns the error fail.
type metricMemory struct {
	sdkmetric.Exporter
	mu    sync.Mutex
	fail  error
	names []string
}

func (*metricMemory) Temporality(sdkmetric.InstrumentKind) metricdata.Temporality {
	return metricdata.CumulativeTemporality
}

func (*metricMemory) Aggregation(k sdkmetric.InstrumentKind) sdkmetric.Aggregation {
	return sdkmetric.DefaultAggregationSelector(k)
}
func (*metricMemory) ForceFlush(context.Context) error { return nil }
func (*metricMemory) Shutdown(context.Context) error   { return nil }
func (m *metricMemory) Export(_ context.Context, r *metricdata.ResourceMetrics) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, s := range r.ScopeMetrics {
		for _, one := range s.Metrics {
			m.names = append(m.names, one.Name)
		}
	}
	return m.fail
}

func TestMetricsOfRegistryAreExported(t *testing.T) { //nolint:paralleltest // the test sets the global error handler
	p := parts()
	registry := prometheus.NewRegistry()
	registry.MustRegister(prometheus.NewCounter(prometheus.CounterOpts{Name: "fairlead_requests_total"}))
	p.Metrics = registry
	memory := &metricMemory{fail: errors.New("no collector")}
	x, err := start(t.Context(), settings(t, config.Telemetry{}, nil), p, nil, memory)
	if err != nil {
		t.Fatal(err)
	}
	if err := x.Close(t.Context()); err != nil {
		t.Error(err)
	}
	if !slices.Contains(memory.names, "fairlead_requests_total") {
		t.Errorf("exported %v, want fairlead_requests_total", memory.names)
	}
	if failed := count(t, x.counts.metricsFailed); failed != 1 {
		t.Errorf("%v failed exports, want 1", failed)
	}
}

func TestRedirectsAreNotFollowed(t *testing.T) { //nolint:paralleltest // the test sets the global error handler
	other := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { t.Errorf("%s was called after a redirect", r.URL) }))
	defer other.Close()
	var calls atomic.Int64
	collector := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		calls.Add(1)
		http.Redirect(w, r, other.URL, http.StatusTemporaryRedirect)
	}))
	defer collector.Close()
	x, err := New(t.Context(), settings(t, config.Telemetry{Endpoint: collector.URL, Protocol: protocolHTTP, Headers: map[string]string{"X-Key": "secret"}}, nil), parts())
	if err != nil {
		t.Fatal(err)
	}
	x.Record(served())
	_ = x.Close(t.Context())
	if calls.Load() < 2 {
		t.Errorf("the collector received %d calls, want one for spans and one for metrics", calls.Load())
	}
}

func TestLongContentKeepsNewestMessages(t *testing.T) {
	t.Parallel()
	list := []message{{Role: "user", Parts: []part{{Type: "text", Content: "oldest"}}}}
	for range 5 {
		list = append(list, message{Role: "user", Parts: []part{{Type: "text", Content: strings.Repeat("é", 10<<10)}}})
	}
	list = append(list, message{Role: "user", Parts: []part{{Type: "text", Content: "newest"}}})
	text := encode(list)
	if len(text) > maxText+1024 || strings.Contains(text, "oldest") || !strings.Contains(text, "newest") || !json.Valid([]byte(text)) {
		t.Errorf("%d bytes, oldest %t, newest %t; want valid JSON with the newest message only",
			len(text), strings.Contains(text, "oldest"), strings.Contains(text, "newest"))
	}
	if encode(nil) != "" {
		t.Error("encode(nil) is not empty")
	}
}

func TestNullInContentIsSkipped(t *testing.T) {
	t.Parallel()
	for content, want := range map[string][]part{
		`["one",null,{"type":"text","text":"two"},null]`: {{Type: "text", Content: "one"}, {Type: "text", Content: "two"}},
		`[null]`: nil,
		`null`:   nil,
	} {
		if diff := cmp.Diff(want, texts(json.RawMessage(content))); diff != "" {
			t.Errorf("%s: %s", content, diff)
		}
	}
}
