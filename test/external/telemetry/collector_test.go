// Package telemetry tests the OTLP export of the gateway binary against the receiver of the OpenTelemetry Collector.
package telemetry

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/component/componenttest"
	"go.opentelemetry.io/collector/confmap"
	"go.opentelemetry.io/collector/consumer/consumertest"
	"go.opentelemetry.io/collector/pdata/ptrace"
	"go.opentelemetry.io/collector/receiver/otlpreceiver"
	"go.opentelemetry.io/collector/receiver/receivertest"

	"fairlead.dev/internal/simulator"
	"fairlead.dev/test/faults/scenario"
	"fairlead.dev/test/harness"
)

// collector is an OTLP receiver that stores the received telemetry.
type collector struct {
	traces  consumertest.TracesSink
	metrics consumertest.MetricsSink
	stop    func()
}

// receive starts a collector for one protocol at an address.
func receive(t *testing.T, protocol, address string) *collector {
	t.Helper()
	c := &collector{}
	factory := otlpreceiver.NewFactory()
	settings := receivertest.NewNopSettings(factory.Type())
	config := factory.CreateDefaultConfig()
	if err := confmap.NewFromStringMap(map[string]any{"protocols": map[string]any{protocol: map[string]any{"endpoint": address}}}).Unmarshal(config); err != nil {
		t.Fatal(err)
	}
	traces, err := factory.CreateTraces(t.Context(), settings, config, &c.traces)
	if err != nil {
		t.Fatal(err)
	}
	metrics, err := factory.CreateMetrics(t.Context(), settings, config, &c.metrics)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range []component.Component{traces, metrics} {
		if err := r.Start(t.Context(), componenttest.NewNopHost()); err != nil {
			t.Fatal(err)
		}
	}
	c.stop = sync.OnceFunc(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		for _, r := range []component.Component{traces, metrics} {
			if err := r.Shutdown(ctx); err != nil {
				t.Error(err)
			}
		}
	})
	t.Cleanup(c.stop)
	return c
}

// metricNames returns the names of the received metrics.
func (c *collector) metricNames() map[string]bool {
	names := map[string]bool{}
	for _, received := range c.metrics.AllMetrics() {
		for _, resource := range received.ResourceMetrics().All() {
			for _, scope := range resource.ScopeMetrics().All() {
				for _, m := range scope.Metrics().All() {
					names[m.Name()] = true
				}
			}
		}
	}
	return names
}

// start runs a gateway with two providers of the same model. alpha is cheaper. lines are added to the configuration.
func start(t *testing.T, lines ...string) (g *harness.Gateway, alpha, beta *simulator.Mock) {
	t.Helper()
	alpha, alphaURL := harness.Upstream(t)
	beta, betaURL := harness.Upstream(t)
	config := harness.Config(t, []harness.Provider{
		{Name: "alpha", BaseURL: alphaURL, APIKeys: []string{"sk-alpha-0123456789"}, Models: []harness.Model{harness.Chat("m", 2, 8, 0.6)}},
		{Name: "beta", BaseURL: betaURL, APIKeys: []string{"sk-beta-0123456789"}, Models: []harness.Model{harness.Chat("m", 4, 16, 0.6)}},
	}, append([]string{"retries: {backoff: 1ms}"}, lines...)...)
	return harness.Start(t, harness.Options{Config: config, Env: []string{"OTEL_BSP_SCHEDULE_DELAY=100", "OTEL_METRIC_EXPORT_INTERVAL=500", "OTEL_SERVICE_NAME=gateway-under-test"}}), alpha, beta
}

func TestCollectorReceivesTraceOfFallback(t *testing.T) {
	t.Parallel()
	for protocol, scheme := range map[string]string{"http": "http/protobuf", "grpc": "grpc"} {
		t.Run(protocol, func(t *testing.T) {
			t.Parallel()
			address := harness.FreeAddress(t)
			c := receive(t, protocol, address)
			g, alpha, beta := start(t, fmt.Sprintf("telemetry: {endpoint: 'http://%s', protocol: %s, content: true, propagate: [beta]}", address, scheme), "log: {redact: [email]}")
			key := g.Key(t)
			alpha.Always(simulator.Behaviour{Status: http.StatusServiceUnavailable})
			const parent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
			a := g.Call(t, harness.Request{
				Key: key, Header: http.Header{"Traceparent": {parent}},
				Body: `{"model":"m","messages":[{"role":"user","content":"I am ann@example.com"}],"provider":{"order":["alpha","beta"]}}`,
			})
			if a.Status != http.StatusOK {
				t.Fatalf("request: status %d, want 200: %s", a.Status, a.Body)
			}
			harness.Eventually(t, "the collector has three spans and the metrics", func() bool {
				return c.traces.SpanCount() >= 3 && c.metricNames()["fairlead_requests_total"]
			})
			checkTrace(t, c, a)
			for name, calls := range map[string][]*simulator.Call{"alpha": alpha.Calls(), "beta": beta.Calls()} {
				sent := calls[0].Header.Get("Traceparent")
				if allowed := name == "beta"; allowed != strings.HasPrefix(sent, "00-4bf92f3577b34da6a3ce929d0e0e4736-") || strings.Contains(sent, "00f067aa0ba902b7") {
					t.Errorf("%s received the trace context %q; only beta may receive the trace ID, and no provider the caller's span ID",
						name, sent)
				}
			}
		})
	}
}

// checkTrace checks the three spans of the request with the response a.
func checkTrace(t *testing.T, c *collector, a harness.Answer) {
	t.Helper()
	var request ptrace.Span
	attempts := map[string]ptrace.Span{}
	for _, received := range c.traces.AllTraces() {
		for _, resource := range received.ResourceSpans().All() {
			if name, _ := resource.Resource().Attributes().Get("service.name"); name.AsString() != "gateway-under-test" {
				t.Errorf("service.name is %q, want gateway-under-test", name.AsString())
			}
			for _, scope := range resource.ScopeSpans().All() {
				for _, s := range scope.Spans().All() {
					if s.Kind() == ptrace.SpanKindServer {
						request = s
						continue
					}
					provider, _ := s.Attributes().Get("fairlead.provider")
					attempts[provider.AsString()] = s
				}
			}
		}
	}
	text := func(s ptrace.Span, name string) string {
		v, _ := s.Attributes().Get(name)
		return v.AsString()
	}
	if request.TraceID().String() != "4bf92f3577b34da6a3ce929d0e0e4736" || request.ParentSpanID().String() != "00f067aa0ba902b7" {
		t.Errorf("the request span has the trace ID %v and the parent %v, want those of the caller",
			request.TraceID(), request.ParentSpanID())
	}
	if id := a.Header.Get("X-Request-Id"); text(request, "fairlead.request.id") != id || text(request, "fairlead.decision") != a.Header.Get("X-Fairlead-Decision") {
		t.Errorf("the request span has the attributes %v, want the request ID %s and the decision %s",
			request.Attributes().AsRaw(), id, a.Header.Get("X-Fairlead-Decision"))
	}
	var response struct {
		Usage struct {
			Prompt     int64 `json:"prompt_tokens"`
			Completion int64 `json:"completion_tokens"`
		} `json:"usage"`
	}
	if err := json.Unmarshal(a.Body, &response); err != nil {
		t.Fatal(err)
	}
	input, _ := request.Attributes().Get("gen_ai.usage.input_tokens")
	output, _ := request.Attributes().Get("gen_ai.usage.output_tokens")
	cost, _ := request.Attributes().Get("fairlead.cost_usd")
	if input.Int() != response.Usage.Prompt || output.Int() != response.Usage.Completion || fmt.Sprintf("%.9f", cost.Double()) != pad(a.Header.Get("X-Fairlead-Cost")) {
		t.Errorf("the span has %d input and %d output tokens and the cost %v, want %+v and %s",
			input.Int(), output.Int(), cost.Double(), response.Usage, a.Header.Get("X-Fairlead-Cost"))
	}
	if messages := text(request, "gen_ai.input.messages"); strings.Contains(messages, "ann@") || !strings.Contains(messages, "I am ") {
		t.Errorf("gen_ai.input.messages is %s, want the text with the address redacted", messages)
	}
	failed, ok := attempts["alpha"], attempts["beta"]
	if len(attempts) != 2 || failed.Status().Code() != ptrace.StatusCodeError || ok.Status().Code() != ptrace.StatusCodeUnset || failed.ParentSpanID() != request.SpanID() || ok.ParentSpanID() != request.SpanID() {
		t.Fatalf("got %d attempts with the statuses %v and %v and the parents %v and %v, want 2 with error and unset below %v",
			len(attempts), failed.Status().Code(), ok.Status().Code(), failed.ParentSpanID(), ok.ParentSpanID(), request.SpanID())
	}
	if failed.StartTimestamp() > ok.StartTimestamp() || ok.EndTimestamp() > request.EndTimestamp() || request.StartTimestamp() > failed.StartTimestamp() {
		t.Errorf("the spans are not in order: request %v to %v, alpha from %v, beta %v to %v", request.StartTimestamp(), request.EndTimestamp(),
			failed.StartTimestamp(), ok.StartTimestamp(), ok.EndTimestamp())
	}
	t.Logf("request %v\nfailed %v\nserved %v", request.Attributes().AsRaw(), failed.Attributes().AsRaw(), ok.Attributes().AsRaw())
}

// pad returns a decimal number with nine decimal places.
func pad(text string) string {
	whole, fraction, _ := strings.Cut(text, ".")
	return whole + "." + (fraction + "000000000")[:9]
}

func TestUnavailableCollectorDoesNotDelayRequests(t *testing.T) { //nolint:paralleltest // the test measures times
	address := harness.FreeAddress(t)
	receive(t, "http", address).stop()
	stalled := harness.Serve(t, http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body) // the server detects a closed connection only after the body was read
		<-r.Context().Done()
	}))
	off, _, _ := start(t)
	_, without := measure(t, off)
	for _, c := range []struct{ name, endpoint, reason string }{{"stopped", "http://" + address, "export_failed"}, {"stalled", stalled, "queue_full"}} {
		on, _, _ := start(t, fmt.Sprintf("telemetry: {endpoint: '%s'}", c.endpoint))
		key, with := measure(t, on)
		t.Logf("%d requests: p99 %v without telemetry, %v with a %s collector", requests, without, with, c.name)
		if with > without+time.Second {
			t.Errorf("p99 is %v with a %s collector, want at most 1 s more than %v without telemetry", with, c.name, without)
		}
		if dropped := scenario.Metric(t, on, key, `fairlead_otlp_dropped_spans_total{reason="`+c.reason+`"}`); dropped == 0 {
			t.Errorf("%s: fairlead_otlp_dropped_spans_total with the reason %s is 0", c.name, c.reason)
		}
		began := time.Now()
		on.Stop(t)
		if took := time.Since(began); took > 15*time.Second {
			t.Errorf("%s: the gateway took %v to stop, want at most 15 s", c.name, took)
		}
	}
}

// requests is the number of requests to send: more than the export queue and one batch can hold.
const requests = 3000

// measure sends requests and returns the 99th percentile of their times.
func measure(t *testing.T, g *harness.Gateway) (key string, p99 time.Duration) {
	t.Helper()
	key = g.Key(t, "--scopes", "read,inference")
	times := make([]time.Duration, requests)
	scenario.Together(8, requests, func(i int) {
		began := time.Now()
		if a := g.Call(t, harness.Request{Key: key, Body: scenario.Chat("m")}); a.Status != http.StatusOK {
			t.Errorf("request %d: status %d, want 200: %s", i, a.Status, a.Body)
		}
		times[i] = time.Since(began)
	})
	return key, scenario.Quantile(times, 0.99)
}
