package app

import (
	"context"
	"math/rand/v2"
	"time"

	"fairlead.dev/internal/account"
	"fairlead.dev/internal/admin/spending"
	"fairlead.dev/internal/config"
	"fairlead.dev/internal/egress"
	"fairlead.dev/internal/gateway"
	"fairlead.dev/internal/gateway/upstream"
	"fairlead.dev/internal/health"
	"fairlead.dev/internal/judge"
	"fairlead.dev/internal/limit"
	"fairlead.dev/internal/proof"
	"fairlead.dev/internal/providerset"
	"fairlead.dev/internal/reasoning"
	"fairlead.dev/internal/requestlog"
	"fairlead.dev/internal/settings"
	"fairlead.dev/internal/shadow"
	"fairlead.dev/internal/wire/openai"
)

// comparisonParts holds the components that compare the responses of two models.
type comparisonParts struct {
	comparer     *shadow.Comparer
	shadow       *gateway.Gateway // gateway that makes comparison calls
	shadowEgress *egress.Client   // client that shadow uses to call providers
}

// openComparison creates the comparer and the gateway that makes its calls. The gateway has its own limits, connections, health,
// prompt-cache estimates, sessions and request log, so that comparisons cannot affect clients.
func (a *App) openComparison(c config.Config, f *providerset.Set) {
	a.shadowEgress = egress.New(f.EgressOptions(c))
	tracker := health.New(health.Options{Failures: c.Breaker.Failures, ProbeAfter: c.Breaker.ProbeAfter})
	a.shadow = gateway.New(gateway.Parts{
		Routes: settings.Routes(), Settings: shadowSettings(c), Snapshot: f.Snapshot(), Health: tracker,
		Access:     gateway.Access{Keys: a.keyring, Limits: limit.NewMemory(time.Now), Ledger: a.ledger},
		Dispatcher: &upstream.Dispatcher{Admission: tracker, Health: tracker, Egress: a.shadowEgress, Batches: openai.Format{}, Random: rand.Float64},
		Recording:  gateway.Recording{Log: noLog{}, Observe: func(*requestlog.Entry) {}, Started: func(*requestlog.Entry) {}, Logger: a.log},
		Responses:  gateway.Responses{Reasoning: reasoning.New()},
		Routing:    gateway.Routing{Policies: a.policies, Feedback: ratings{a.feedback, a}},
	})
	a.comparer = shadow.New(shadow.Options{
		Caller: a.shadow, Store: a.db.Proof, Hooks: a.tenantEgress, Redact: a.redaction.RedactBatch, Report: a.report,
		Charged: func(c proof.Charge) {
			if a.cluster != nil {
				a.cluster.ledger.Delivered(c.Budget, c.At, c.Amount)
			}
		},
		Verdict: a.storeVerdict,
		Wait: func(ctx context.Context) bool {
			for a.shedding() {
				select {
				case <-ctx.Done():
					return false
				case <-time.After(time.Second):
				}
			}
			return ctx.Err() == nil
		},
	})
}

// shadowSettings returns the settings for shadow calls: one target after another, without continuation.
func shadowSettings(c config.Config) gateway.Settings {
	s := settings.Gateway(c)
	s.AllowUnpriced, s.Rescue = false, false
	return s
}

// noLog discards log entries, because package shadow stores the results of shadow calls.
type noLog struct{}

func (noLog) Begin(*requestlog.Entry) error { return nil }
func (noLog) End(*requestlog.Entry) error   { return nil }

// MeasureJudge implements comparison.Comparer.
func (b adminBackend) MeasureJudge(ctx context.Context, w *account.Workspace, s *account.Comparison) (judge.Bias, error) {
	return b.app.comparer.Measure(ctx, w, s)
}

// CheckJudge implements comparison.Comparer.
func (b adminBackend) CheckJudge(judging, model string) error {
	return shadow.CheckVendor(b.app.gateway.Targets(), judging, model)
}

// ComparisonUse implements comparison.Comparer.
func (b adminBackend) ComparisonUse(ctx context.Context, workspaceID string, s *account.Comparison) (spending.BudgetUse, error) {
	budget := shadow.BudgetOf(workspaceID, s)
	status := b.app.ledger.Status(budget)
	if !status.Loaded {
		var err error
		if status.Spent, err = b.app.spent(ctx, budget.ID, status.Start); err != nil {
			return spending.BudgetUse{}, err
		}
	}
	return spending.BudgetUse{Spent: status.Spent, Held: status.Held, ResetsAt: status.End}, nil
}

// DroppedComparisons implements comparison.Comparer.
func (b adminBackend) DroppedComparisons() int64 { return b.app.comparer.Dropped() }
