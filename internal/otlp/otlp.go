// Package otlp exports the requests of the log as OpenTelemetry traces, and the metrics of the process, over OTLP. Spans are created from
// finished log entries, outside of the request path: Record copies an entry to a bounded queue and never waits.
package otlp

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	bridge "go.opentelemetry.io/contrib/bridges/prometheus"
	"go.opentelemetry.io/otel"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"fairlead.dev/internal/requestlog"
)

// maxContent is the maximum total size in bytes of the bodies in the queue. Above this size, spans are exported without content.
const maxContent = 64 << 20

// Parts holds the dependencies of an Exporter.
type Parts struct {
	// Redact redacts an entry and its bodies, which are in the client's format.
	Redact func(*requestlog.Entry)
	// Vendor returns the vendor of a provider; empty if it is unknown.
	Vendor   func(provider string) string
	Metrics  prometheus.Gatherer
	Logger   *slog.Logger
	Instance string // id of this process
}

// Exporter exports traces and metrics until it is closed. Its methods are safe for concurrent use.
type Exporter struct {
	parts    Parts
	settings Settings
	traces   sdktrace.SpanExporter // span exporter; nil if traces are not exported
	tracer   trace.Tracer
	provider *sdktrace.TracerProvider
	meters   *sdkmetric.MeterProvider // meter provider; nil if metrics are not exported

	queue   chan requestlog.Entry
	content atomic.Int64 // total size in bytes of the bodies in the queue
	batch   []sdktrace.ReadOnlySpan
	closing chan struct{}
	cancel  context.CancelFunc // ends a running export
	worker  sync.WaitGroup

	counts counts
	failed failureLog
}

// New returns an exporter, or nil if the settings select neither traces nor metrics. Call Close to stop it.
func New(ctx context.Context, s Settings, p Parts) (*Exporter, error) {
	if !s.Traces && !s.Metrics {
		return nil, nil //nolint:nilnil // a nil exporter means that telemetry is off
	}
	var spans sdktrace.SpanExporter
	var metrics sdkmetric.Exporter
	var err error
	if s.Traces {
		if spans, err = s.traceExporter(ctx); err != nil {
			return nil, fmt.Errorf("export traces: %w", err)
		}
	}
	if s.Metrics {
		if metrics, err = s.metricExporter(ctx); err != nil {
			return nil, fmt.Errorf("export metrics: %w", err)
		}
	}
	return start(ctx, s, p, spans, metrics)
}

// start returns an exporter that uses the given exporters. Each may be nil.
func start(ctx context.Context, s Settings, p Parts, spans sdktrace.SpanExporter, metrics sdkmetric.Exporter) (*Exporter, error) {
	service, err := s.resource(ctx, p.Instance)
	if err != nil {
		return nil, err
	}
	x := &Exporter{
		parts: p, settings: s, traces: spans, queue: make(chan requestlog.Entry, s.queue), closing: make(chan struct{}),
		counts: newCounts(), failed: failureLog{log: p.Logger},
	}
	// The exporters report partially rejected batches only to the global error handler.
	otel.SetErrorHandler(otel.ErrorHandlerFunc(func(err error) { x.failed.report("", err) }))
	if spans != nil {
		x.provider = sdktrace.NewTracerProvider(sdktrace.WithResource(service), sdktrace.WithSampler(s.sampler), sdktrace.WithIDGenerator(ids{}), sdktrace.WithSpanProcessor(collector{x}))
		x.tracer = x.provider.Tracer("fairlead", trace.WithInstrumentationVersion(s.Version))
		exporting, cancel := context.WithCancel(context.WithoutCancel(ctx))
		x.cancel = cancel
		x.worker.Go(func() { x.run(exporting) })
	}
	if metrics != nil {
		producer := bridge.NewMetricProducer(bridge.WithGatherer(p.Metrics))
		reader := sdkmetric.NewPeriodicReader(countedMetrics{metrics, x}, sdkmetric.WithProducer(producer))
		x.meters = sdkmetric.NewMeterProvider(sdkmetric.WithResource(service), sdkmetric.WithReader(reader))
	}
	return x, nil
}

// Begin returns the trace context of a request: the one in its headers, or a new trace if traces are exported.
func (x *Exporter) Begin(requestID string, c requestlog.TraceContext) requestlog.TraceContext {
	if c.TraceID == "" && x.traces != nil {
		c.TraceID = requestlog.TraceID(requestID)
	}
	return c
}

// Propagate adds the trace context to a provider call, if the configuration allows it. attempt is the index of the attempt in the request's
// entry.
func (x *Exporter) Propagate(h http.Header, e *requestlog.Entry, provider string, attempt int) {
	if x.traces == nil || !slices.Contains(x.settings.Config.Propagate, provider) {
		return
	}
	c := e.Trace
	c.Sampled = x.sampled(c)
	c.Write(h, requestlog.SpanID(e.ID, attempt+1))
}

// Record queues a finished request. If the queue is full, the request is dropped and counted.
func (x *Exporter) Record(e *requestlog.Entry) {
	if x.traces == nil || !x.sampled(e.Trace) {
		return
	}
	queued := *e
	queued.Decision, queued.Recorded, queued.Body = nil, requestlog.Recorded{}, requestlog.Body{}
	queued.Attempts = slices.Clone(e.Attempts)
	var size int64
	if x.settings.Config.Content && e.BodyState == requestlog.BodyStored {
		size = int64(len(e.Body.Request) + len(e.Body.Response))
		if x.content.Add(size) > maxContent {
			x.content.Add(-size)
			x.counts.omitted.Inc()
			size = 0
		} else {
			queued.Body = e.Body
			queued.Body.Request, queued.Body.Response = bytes.Clone(e.Body.Request), bytes.Clone(e.Body.Response) // the gateway reuses the memory
		}
	}
	select {
	case x.queue <- queued:
	default:
		x.content.Add(-size)
		x.counts.queueFull.Add(float64(1 + len(e.Attempts)))
	}
}

// run creates and exports the spans of queued requests until the exporter is closed.
func (x *Exporter) run(ctx context.Context) {
	tick := time.NewTicker(x.settings.delay)
	defer tick.Stop()
	for {
		select {
		case e := <-x.queue:
			x.addSpans(ctx, &e)
			if len(x.batch) >= x.settings.batch {
				x.export(ctx)
			}
		case <-tick.C:
			x.export(ctx)
		case <-x.closing:
			for {
				select {
				case e := <-x.queue:
					x.addSpans(ctx, &e)
					if len(x.batch) >= x.settings.batch {
						x.export(ctx)
					}
					continue
				default:
				}
				x.export(ctx)
				return
			}
		}
	}
}

// addSpans adds the spans of a request to the batch.
func (x *Exporter) addSpans(ctx context.Context, e *requestlog.Entry) {
	x.content.Add(-int64(len(e.Body.Request) + len(e.Body.Response)))
	x.record(ctx, e)
}

// export sends the batch. A batch that still fails after the exporter's retries is dropped.
func (x *Exporter) export(ctx context.Context) {
	if len(x.batch) == 0 {
		return
	}
	n := float64(len(x.batch))
	limited, cancel := context.WithTimeout(ctx, x.settings.timeout)
	defer cancel()
	if err := x.traces.ExportSpans(limited, x.batch); err != nil {
		x.counts.exportFailed.Add(n)
		x.failed.report("traces", err)
	} else {
		x.counts.exported.Add(n)
	}
	clear(x.batch)
	x.batch = x.batch[:0]
}

// Close exports the queued requests and stops. It waits for the export until ctx is done.
func (x *Exporter) Close(ctx context.Context) error {
	var errs []error
	if x.traces != nil {
		close(x.closing)
		stop := context.AfterFunc(ctx, x.cancel)
		x.worker.Wait()
		stop()
		x.cancel()
		errs = append(errs, x.provider.Shutdown(ctx), x.traces.Shutdown(ctx))
	}
	if x.meters != nil {
		errs = append(errs, x.meters.Shutdown(ctx))
	}
	return errors.Join(errs...)
}

// Describe returns the settings as log attributes.
func (s Settings) Describe() []any {
	endpoint := s.Config.Endpoint
	if endpoint == "" {
		endpoint = "from OTEL_EXPORTER_OTLP_*"
	}
	return []any{"traces", s.Traces, "metrics", s.Metrics, "endpoint", endpoint, "protocol", s.traceProtocol, "content", s.Config.Content}
}

// collector is a span processor that adds ended spans to the batch.
type collector struct{ to *Exporter }

func (collector) OnStart(context.Context, sdktrace.ReadWriteSpan) {}
func (c collector) OnEnd(s sdktrace.ReadOnlySpan)                 { c.to.batch = append(c.to.batch, s) }
func (collector) Shutdown(context.Context) error                  { return nil }
func (collector) ForceFlush(context.Context) error                { return nil }
