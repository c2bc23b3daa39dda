package app

import (
	"context"
	"errors"
	"time"

	"fairlead.dev/internal/admin/requests"
	"fairlead.dev/internal/config"
	"fairlead.dev/internal/export"
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
	traces  *otlp.Exporter   // trace exporter; nil if nothing is exported over OTLP
	records *export.Exporter // exporter of the audit log and the request log; nil if they are not exported
}

// openRecords prepares the export of the audit log and the request log. From then on, new changes and requests are recorded for it.
func (a *App) openRecords(ctx context.Context, c config.Config) error {
	if !c.Export.Enabled() {
		return nil
	}
	a.records = &export.Exporter{Source: a.db, Sink: export.NewSink(c.Export, a.version), Log: a.log, View: a.exportView}
	return a.db.StartExport(ctx)
}

// exportView returns the exported form of a request: the object of the admin API, with the bodies if they are exported.
func (a *App) exportView(ctx context.Context, e *requestlog.Entry) (any, error) {
	bodies := a.loaded().Config.Export.Bodies
	view := struct {
		requests.RequestDetail
		Bodies *requests.RequestBody `json:"bodies,omitempty"`
	}{RequestDetail: requests.ExportOf(e, bodies)}
	if !bodies {
		return view, nil
	}
	var body requestlog.Body
	if e.BodyState == requestlog.BodyStored {
		stored, err := a.db.Log.EntryBody(ctx, e.WorkspaceID, e.ID)
		switch {
		case errors.Is(err, requestlog.ErrNotFound):
			e.BodyState = requestlog.BodyExpired // deleted since the entry was read
		case err != nil:
			return nil, err
		}
		body = stored
	}
	shown := requests.BodyOf(e.BodyState, body)
	view.Bodies = &shown
	return view, nil
}

// leadExport exports until ctx is cancelled. Without a receiver, it discards what was recorded for an earlier configuration.
func (a *App) leadExport(ctx context.Context) {
	if a.records != nil {
		a.records.Lead(ctx)
		return
	}
	waiting, err := a.db.StopExport(ctx)
	a.report("stop the export", err)
	if waiting > 0 {
		a.log.WarnContext(ctx, "export removed from the configuration, discarding records that were not exported", "records", waiting)
	}
}

// exportFigures returns the figures of the export for metrics.
func (a *App) exportFigures() *telemetry.Export {
	if a.records == nil {
		return nil
	}
	s, ok := a.records.State()
	if !ok {
		return nil
	}
	figures := &telemetry.Export{Sent: s.Sent, Deleted: s.Deleted, Failing: s.Error != ""}
	if !s.Oldest.IsZero() {
		figures.Lag = max(time.Since(s.Oldest), 0)
	}
	return figures
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
