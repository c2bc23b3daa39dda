package otlp

import (
	"cmp"
	"context"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/money"
	"fairlead.dev/internal/requestlog"
	"fairlead.dev/internal/transcript"
)

// record creates the spans of a finished request: one for the request, and one for each attempt.
func (x *Exporter) record(ctx context.Context, e *requestlog.Entry) {
	x.parts.Redact(e)
	end := e.Time.Add(e.Latency)
	ctx = context.WithValue(parent(ctx, e.Trace), idKey{}, spanIDs{e.Trace.TraceID, requestlog.SpanID(e.ID, 0)})
	ctx, span := x.tracer.Start(ctx, name(operation(e.Endpoint), e.Requested), trace.WithTimestamp(e.Time), trace.WithSpanKind(trace.SpanKindServer))
	defer span.End(trace.WithTimestamp(end))
	span.SetAttributes(x.requestAttributes(e)...)
	if x.settings.Config.Content {
		request, response := e.Body.Request, e.Body.Response
		if asked, answered := transcript.ToChat(e.Format, e.Body); asked != nil || answered != nil { //nolint:contextcheck // decoding is not cancelled
			request, response = asked, answered
		}
		var content attributes // bodies that cannot be decoded are omitted
		content.text("gen_ai.input.messages", encode(inputMessages(request)))
		content.text("gen_ai.output.messages", encode(outputMessages(response)))
		span.SetAttributes(content...)
	}
	if e.Outcome.IsError() {
		description := string(e.Outcome)
		if e.Error != nil {
			description = e.Error.Code
			if x.settings.Config.Content && e.Error.Message != "" { // the message may quote the prompt
				description = e.Error.Message
			}
		}
		span.SetStatus(codes.Error, description)
	}
	for i := range e.Attempts {
		x.recordAttempt(ctx, e, i)
	}
}

// recordAttempt creates the span of an attempt.
func (x *Exporter) recordAttempt(ctx context.Context, e *requestlog.Entry, i int) {
	a := &e.Attempts[i]
	begin := e.Time.Add(a.Start)
	ctx = context.WithValue(ctx, idKey{}, spanIDs{e.Trace.TraceID, requestlog.SpanID(e.ID, i+1)})
	_, span := x.tracer.Start(ctx, name(operation(e.Endpoint), a.Upstream), trace.WithTimestamp(begin), trace.WithSpanKind(trace.SpanKindClient))
	defer span.End(trace.WithTimestamp(begin.Add(a.Duration)))
	span.SetAttributes(x.attemptAttributes(e, i)...)
	if a.Class != "" && a.Class != llm.ClientCancelled {
		description := ""
		if x.settings.Config.Content {
			description = a.Message
		}
		span.SetStatus(codes.Error, description)
	}
}

// sampled reports whether the trace of a request is recorded. The tracer later makes the same decision.
func (x *Exporter) sampled(c requestlog.TraceContext) bool {
	id, err := trace.TraceIDFromHex(c.TraceID)
	if err != nil || x.settings.sampler == nil {
		return false
	}
	result := x.settings.sampler.ShouldSample(sdktrace.SamplingParameters{ParentContext: parent(context.Background(), c), TraceID: id, Kind: trace.SpanKindServer})
	return result.Decision == sdktrace.RecordAndSample
}

// parent returns a context with the caller's span, if there is one.
func parent(ctx context.Context, c requestlog.TraceContext) context.Context {
	traceID, err := trace.TraceIDFromHex(c.TraceID)
	spanID, spanErr := trace.SpanIDFromHex(c.SpanID)
	if err != nil || spanErr != nil {
		return ctx
	}
	state, _ := trace.ParseTraceState(c.State) // an invalid state is ignored
	return trace.ContextWithRemoteSpanContext(ctx, trace.NewSpanContext(trace.SpanContextConfig{
		TraceID: traceID, SpanID: spanID, TraceFlags: trace.TraceFlags(0).WithSampled(c.Sampled), TraceState: state, Remote: true,
	}))
}

func name(operation, model string) string {
	if model == "" {
		return operation
	}
	return operation + " " + model
}

// operation returns the name of an endpoint's operation in the semantic conventions.
func operation(endpoint string) string {
	switch endpoint {
	case "chat/completions", "responses", "messages":
		return "chat"
	case "completions":
		return "text_completion"
	case "messages/count_tokens", "responses/input_tokens":
		return "count_tokens"
	}
	return endpoint // other operations, such as embeddings, have the name of the endpoint
}

// providerNames maps vendors to their names in the semantic conventions, where these differ.
var providerNames = map[string]string{
	"azure": "azure.ai.openai", "bedrock": "aws.bedrock", "gemini": "gcp.gemini", "vertex": "gcp.vertex_ai", "mistral": "mistral_ai", "xai": "x_ai",
}

func (x *Exporter) providerName(provider string) string {
	vendor := x.parts.Vendor(provider)
	return cmp.Or(providerNames[vendor], vendor, provider)
}

// attributes collects the attributes of a span. Its methods skip empty strings, false, nil amounts, and counts and durations of zero.
type attributes []attribute.KeyValue

func (a *attributes) text(key, value string) {
	if value != "" {
		*a = append(*a, attribute.String(key, value))
	}
}

func (a *attributes) count(key string, n int64) {
	if n > 0 {
		*a = append(*a, attribute.Int64(key, n))
	}
}

func (a *attributes) flag(key string, value bool) {
	if value {
		*a = append(*a, attribute.Bool(key, true))
	}
}

func (a *attributes) dollars(key string, amount *money.Amount) {
	if amount != nil {
		*a = append(*a, attribute.Float64(key, float64(*amount)/float64(money.Dollar)))
	}
}

func (a *attributes) seconds(key string, d time.Duration) {
	if d > 0 {
		*a = append(*a, attribute.Float64(key, d.Seconds()))
	}
}

// usage adds the token counts. Input includes cached tokens and output includes reasoning tokens, as the conventions require.
func (a *attributes) usage(u llm.Usage) {
	if u.Total() == 0 {
		return
	}
	*a = append(*a, attribute.Int64("gen_ai.usage.input_tokens", u.Prompt()), attribute.Int64("gen_ai.usage.output_tokens", u.Output))
	a.count("gen_ai.usage.cache_read.input_tokens", u.CacheRead)
	a.count("gen_ai.usage.cache_creation.input_tokens", u.CacheWrite)
	a.count("gen_ai.usage.reasoning.output_tokens", u.Reasoning)
}

func (x *Exporter) requestAttributes(e *requestlog.Entry) []attribute.KeyValue {
	a := make(attributes, 0, 40)
	a.text("gen_ai.operation.name", operation(e.Endpoint))
	a.text("gen_ai.request.model", e.Requested)
	if e.Provider != "" {
		a.text("gen_ai.provider.name", x.providerName(e.Provider))
	}
	a.text("gen_ai.response.model", cmp.Or(e.ServedAs, e.Model))
	a.flag("gen_ai.request.stream", e.Stream)
	if e.Finish != "" {
		a = append(a, attribute.StringSlice("gen_ai.response.finish_reasons", []string{e.Finish}))
	}
	if e.Stream {
		a.seconds("gen_ai.response.time_to_first_chunk", e.TTFT)
	}
	a.text("gen_ai.conversation.id", e.Session)
	a.usage(e.Usage)
	method := "POST"
	if e.Endpoint == requestlog.RealtimeEndpoint {
		method = "GET"
	}
	a.text("http.request.method", method)
	a.text("http.route", "/proxy/v1/"+e.Endpoint)
	a.count("http.response.status_code", int64(e.Status))
	a.text("user_agent.original", e.Client)
	if e.Error != nil {
		a.text("error.type", e.Error.Code)
	}
	a.text("fairlead.request.id", e.ID)
	a.text("fairlead.workspace.id", e.WorkspaceID)
	a.text("fairlead.key.id", e.KeyID)
	a.text("fairlead.account.id", e.AccountID)
	a.text("fairlead.session.id", e.Session)
	a.text("fairlead.outcome", string(e.Outcome))
	a.text("fairlead.decision", string(e.DecisionKind))
	a.text("fairlead.policy", e.Policy)
	a.text("fairlead.model", e.Model)
	a.text("fairlead.provider", e.Provider)
	a.text("fairlead.baseline.model", e.BaselineModel)
	a.dollars("fairlead.cost_usd", e.Cost)
	a.dollars("fairlead.baseline.cost_usd", e.BaselineCost)
	a = append(a, attribute.Int("fairlead.attempts", len(e.Attempts)))
	a.seconds("fairlead.overhead", e.Overhead)
	a.seconds("fairlead.wait", e.Wait)
	a.flag("fairlead.simulated", e.Simulated)
	return a
}

func (x *Exporter) attemptAttributes(e *requestlog.Entry, i int) []attribute.KeyValue {
	at := &e.Attempts[i]
	a := make(attributes, 0, 24)
	a.text("gen_ai.operation.name", operation(e.Endpoint))
	a.text("gen_ai.provider.name", x.providerName(at.Provider))
	a.text("gen_ai.request.model", at.Upstream)
	a.flag("gen_ai.request.stream", e.Stream)
	if e.Stream {
		a.seconds("gen_ai.response.time_to_first_chunk", at.FirstToken)
	}
	if at.Class == "" {
		a.text("gen_ai.response.model", cmp.Or(e.ServedAs, at.Model))
		if e.Finish != "" {
			a = append(a, attribute.StringSlice("gen_ai.response.finish_reasons", []string{e.Finish}))
		}
	}
	if at.Usage != nil {
		a.usage(*at.Usage)
	}
	a.count("http.response.status_code", int64(at.Status))
	a.text("error.type", string(at.Class))
	a = append(a, attribute.Int("fairlead.attempt.index", i))
	a.text("fairlead.provider", at.Provider)
	a.text("fairlead.model", at.Model)
	a.text("fairlead.credential.id", at.Credential)
	a.dollars("fairlead.attempt.cost_usd", at.Cost)
	a.seconds("fairlead.wait", at.Wait)
	a.seconds("fairlead.attempt.connect", at.Connect)
	return a
}

// ids is an ID generator that returns the ids in the context.
type ids struct{}

type idKey struct{}

type spanIDs struct{ trace, span string }

// NewIDs implements sdktrace.IDGenerator.
func (g ids) NewIDs(ctx context.Context) (trace.TraceID, trace.SpanID) {
	want, _ := ctx.Value(idKey{}).(spanIDs)
	id, _ := trace.TraceIDFromHex(want.trace) // cannot fail, because sampled() has parsed the same ID
	return id, g.NewSpanID(ctx, id)
}

// NewSpanID implements sdktrace.IDGenerator.
func (ids) NewSpanID(ctx context.Context, _ trace.TraceID) trace.SpanID {
	want, _ := ctx.Value(idKey{}).(spanIDs)
	id, _ := trace.SpanIDFromHex(want.span) // cannot fail, because the gateway has generated the ID
	return id
}
