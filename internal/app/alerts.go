package app

import (
	"context"
	"time"

	"fairlead.dev/internal/account"
	"fairlead.dev/internal/alert"
	"fairlead.dev/internal/budget"
	"fairlead.dev/internal/settings"
)

// alertParts holds the alert components.
type alertParts struct {
	service *alert.Service
	engine  *alert.Engine
}

// openAlerts creates the alert components.
func (a *App) openAlerts() {
	sender := &alert.Sender{
		HTTP: a.tenantEgress, Sealer: a.vault, Version: a.version,
		Mail:      func() alert.Mail { return settings.Mail(a.loaded().Config.Alerts.SMTP) },
		Dashboard: func() string { return a.loaded().Config.PublicURL },
	}
	facts, wake := alertFacts{a}, make(chan struct{}, 1)
	a.alerts = alertParts{
		service: &alert.Service{
			Rules: a.db.Alerts, Channels: a.db.Alerts, History: a.db.Alerts, Sender: sender, Keys: a.accounts, Members: a.accounts, CheckURL: a.tenantEgress.CheckURL, Limits: a.limits, Now: time.Now,
			Changed: func() {
				select {
				case wake <- struct{}{}:
				default: // an evaluation is already requested
				}
			},
		},
		engine: &alert.Engine{
			Store: a.db.Alerts, Reports: a.db.Alerts, Sender: sender, Expire: a.db.Alerts.Expire, Report: a.report, Now: time.Now,
			Meter:   alert.NewMeter(alert.Sources{Figures: a.db.Figures, Samples: a.db.Proof, Facts: facts, Reports: a.db.Alerts}),
			Replica: alert.NewReplica(time.Now()), Wake: wake,
			Local: func() []alert.Report {
				var open []string
				for _, h := range a.health.Snapshot() {
					if circuitName(h) == "open" {
						open = append(open, h.Target)
					}
				}
				return []alert.Report{alert.CircuitReport(open), alert.SpoolReport(a.spool.Stats().Bytes, int64(a.loaded().Config.Spool.Limit))}
			},
		},
	}
}

// alertFacts implements alert.Facts.
type alertFacts struct{ app *App }

// Keys lists the keys of a workspace.
func (f alertFacts) Keys(ctx context.Context, workspaceID string) ([]account.Key, error) {
	return f.app.accounts.Keys(ctx, workspaceID)
}

// Operators returns the ID of the workspace whose members operate the gateway.
func (f alertFacts) Operators(ctx context.Context) (string, error) {
	w, err := f.app.accounts.FirstWorkspace(ctx)
	return w.ID, err
}

// Budgets returns the budgets of a workspace and its keys, as the admin API shows them.
func (f alertFacts) Budgets(ctx context.Context, workspaceID string) ([]budget.Item, error) {
	return f.app.budgets.Owned(ctx, workspaceID)
}
