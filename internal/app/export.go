package app

import (
	"context"
	"time"

	"fairlead.dev/internal/config"
	"fairlead.dev/internal/id"
	"fairlead.dev/internal/otlp"
	"fairlead.dev/internal/redaction"
	"fairlead.dev/internal/requestlog"
	"fairlead.dev/internal/spool"
	"fairlead.dev/internal/telemetry"
	"fairlead.dev/internal/transcript"
)

// exportTime limits how long the export of the last traces and metrics delays the shutdown.
const exportTime = 3 * time.Second

// exportedLog exports the entries of the request log after they are on disk.
type exportedLog struct {
	*spool.Spool
	to *otlp.Exporter
}

// End implements gateway.Log.
func (l exportedLog) End(e *requestlog.Entry) error {
	err := l.Spool.End(e)
	if err == nil {
		l.to.Record(e)
	}
	return err
}

// exportParts holds the metrics and the trace exporter.
type exportParts struct {
	metrics *telemetry.Metrics
	traces  *otlp.Exporter // trace exporter; nil if nothing is exported over OTLP
}

// openExport creates the metrics. If OTLP is configured, it starts the export of traces and metrics.
func (a *App) openExport(ctx context.Context, c config.Config) error {
	a.metrics = telemetry.NewMetrics(telemetry.Build{Version: a.version}, a.gauges())
	s, err := otlp.Resolve(c.Telemetry, a.options.Env)
	if err != nil {
		return err
	}
	s.Version = a.version
	// The export has its own filter. A filter redacts one batch of a workspace at a time, so with a shared filter the writes to the
	// database would wait for the export.
	filter := redaction.New(a.keyring.Workspace, func() []string { return a.loaded().Config.Log.Redact }, a.log)
	a.traces, err = otlp.New(ctx, s, otlp.Parts{
		Redact: func(e *requestlog.Entry) {
			transcript.AssembleResponse(e)
			batch := []requestlog.Entry{*e}
			filter.RedactBatch(batch)
			*e = batch[0]
		},
		Vendor: func(name string) string {
			if p, ok := a.providers.Load().Snapshot().Provider(name); ok && len(p.Targets) > 0 {
				return p.Targets[0].Vendor
			}
			return ""
		},
		Metrics: a.metrics, Logger: a.log, Instance: id.New("gw", a.started),
	})
	if err != nil || a.traces == nil {
		return err
	}
	a.metrics.Register(a.traces.Collectors()...)
	a.log.InfoContext(ctx, "exporting telemetry", s.Describe()...)
	return nil
}
