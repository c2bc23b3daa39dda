package otlp

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
)

// counts holds metrics about the export itself.
type counts struct {
	exported, queueFull, exportFailed, omitted, metricsFailed prometheus.Counter
}

func newCounts() counts {
	counter := func(name, help string, labels prometheus.Labels) prometheus.Counter {
		return prometheus.NewCounter(prometheus.CounterOpts{Name: name, Help: help, ConstLabels: labels})
	}
	const dropped, droppedHelp = "fairlead_otlp_dropped_spans_total", "Spans that were not exported."
	return counts{
		exported:      counter("fairlead_otlp_exported_spans_total", "Spans that the collector has accepted.", nil),
		queueFull:     counter(dropped, droppedHelp, prometheus.Labels{"reason": "queue_full"}),
		exportFailed:  counter(dropped, droppedHelp, prometheus.Labels{"reason": "export_failed"}),
		omitted:       counter("fairlead_otlp_omitted_content_total", "Requests whose content was omitted because too much content was queued.", nil),
		metricsFailed: counter("fairlead_otlp_failed_metric_exports_total", "Exports of metrics that failed.", nil),
	}
}

// Collectors returns the metrics about the export.
func (x *Exporter) Collectors() []prometheus.Collector {
	return []prometheus.Collector{x.counts.exported, x.counts.queueFull, x.counts.exportFailed, x.counts.omitted, x.counts.metricsFailed}
}

// countedMetrics wraps a metric exporter and counts its failures.
type countedMetrics struct {
	sdkmetric.Exporter
	to *Exporter
}

// Export implements sdkmetric.Exporter.
func (c countedMetrics) Export(ctx context.Context, m *metricdata.ResourceMetrics) error {
	if err := c.Exporter.Export(ctx, m); err != nil {
		c.to.counts.metricsFailed.Inc()
		c.to.failed.report("metrics", err)
	}
	return nil // a failure has been counted and reported above
}

// failureLog logs export failures, at most once a minute.
type failureLog struct {
	log  *slog.Logger
	mu   sync.Mutex
	last time.Time
}

func (f *failureLog) report(signal string, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if now := time.Now(); f.last.IsZero() || now.Sub(f.last) >= time.Minute {
		f.last = now
		f.log.Warn("telemetry export failed", "signal", signal, "error", err.Error())
	}
}
