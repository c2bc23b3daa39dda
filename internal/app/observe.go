package app

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"fairlead.dev/internal/health"
	"fairlead.dev/internal/money"
	"fairlead.dev/internal/requestlog"
	"fairlead.dev/internal/session"
	"fairlead.dev/internal/telemetry"
)

// observe handles every finished request. The log line, the metrics and the live view are derived from its entry.
func (a *App) observe(e *requestlog.Entry) {
	a.metrics.Observe(e)
	a.keeper.Add(e)
	a.lengths.Observe(e)
	telemetry.LogEntry(a.log, e)
	a.feed.Publish(requestlog.Update{Entry: a.redaction.RedactRow(e)})
}

// observeStart publishes a request in the live view when it is sent to a provider.
func (l *logParts) observeStart(e *requestlog.Entry) {
	begun := l.redaction.RedactRow(e)
	begun.Attempts = nil // the gateway is still modifying them
	l.feed.Publish(requestlog.Update{Entry: begun, Running: true})
}

// spent returns the costs charged to a budget, from the entries in the spool and in the database. The spool is read first, so
// that an entry that is delivered in between is not missed. An entry that is in both is counted once.
func (a *App) spent(ctx context.Context, budgetID string, since time.Time) (money.Amount, error) {
	kind, owner, _ := strings.Cut(budgetID, ":")
	subject := kind == string(session.OfSession) || kind == string(session.OfUser) || kind == "compare"
	var waiting money.Amount
	var ids []string
	err := a.spool.Pending(func(e *requestlog.Entry) {
		ours := e.KeyID == owner || (kind == "ws" && e.WorkspaceID == owner) || (subject && slices.Contains(e.Subjects, budgetID))
		if ours && e.Cost != nil && !e.Time.Before(since) {
			waiting, ids = waiting.Add(*e.Cost), append(ids, e.ID)
		}
	})
	if err != nil {
		return 0, fmt.Errorf("read the spool: %w", err)
	}
	stored, err := a.db.Charged(ctx, budgetID, since, ids...)
	if err != nil {
		return 0, err
	}
	return stored.Add(waiting), nil
}

// gauges returns the functions that metrics call when they are scraped.
func (a *App) gauges() telemetry.Sources {
	return telemetry.Sources{
		InFlight:     func() int64 { return int64(a.gateway.InFlight()) },
		SpoolEntries: func() int64 { return a.spool.Stats().Entries },
		SpoolBytes:   func() int64 { return a.spool.Stats().Bytes },
		Rejected:     func() int64 { return a.spool.Stats().Rejected },
		Circuits: func() []telemetry.Circuit {
			var list []telemetry.Circuit
			for _, h := range a.health.Snapshot() {
				name, model, _ := strings.Cut(h.Target, "/")
				list = append(list, telemetry.Circuit{Provider: name, Model: model, State: telemetry.CircuitState(circuitName(h))})
			}
			return list
		},
		ModelLists: func() []telemetry.ModelList {
			fresh := map[string]int{}
			for _, m := range a.providers.Load().NewModels(a.loader.Listed.Seen()) {
				fresh[m.Provider]++
			}
			var list []telemetry.ModelList
			for _, s := range a.loader.Listed.States() {
				list = append(list, telemetry.ModelList{Provider: s.Provider, Models: s.Models, New: fresh[s.Provider], Failing: s.Failing})
			}
			return list
		},
		Export:             a.exportFigures,
		DroppedComparisons: func() int64 { return a.comparer.Dropped() },
	}
}

// circuitName returns the name of a circuit state in metrics and the admin API.
func circuitName(h health.TargetHealth) string { return strings.ReplaceAll(h.Circuit, "-", "_") }
