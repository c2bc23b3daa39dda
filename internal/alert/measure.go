package alert

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"fairlead.dev/internal/account"
	"fairlead.dev/internal/budget"
	"fairlead.dev/internal/money"
	"fairlead.dev/internal/proof"
	"fairlead.dev/internal/requestlog"
)

// Report holds a figure of one replica: the number of its open circuits or the used share of its spool.
type Report struct {
	Replica string
	Kind    Kind
	Value   float64
	Detail  string
	At      time.Time
}

// Sources are the stores and readers from which a Meter reads figures.
type Sources struct {
	Figures requestlog.FigureReader
	Samples proof.Source
	Facts   Facts
	Reports ReportStore
}

// Facts reads keys, budgets and workspaces.
type Facts interface {
	Keys(ctx context.Context, workspaceID string) ([]account.Key, error)
	// Budgets returns the budgets of a workspace and its keys with their use and forecast.
	Budgets(ctx context.Context, workspaceID string) ([]budget.Item, error)
	// Operators returns the ID of the workspace whose members operate the gateway.
	Operators(ctx context.Context) (string, error)
}

// ReportStore shares the figures of replicas.
type ReportStore interface {
	// SaveReport replaces the earlier report of the same replica and kind.
	SaveReport(ctx context.Context, r Report) error
	// Reports returns the reports made since the given time.
	Reports(ctx context.Context, since time.Time) ([]Report, error)
	// HasRules reports whether an enabled rule has one of the given kinds.
	HasRules(ctx context.Context, kinds ...Kind) (bool, error)
}

const (
	minRequests = 20               // minimum number of requests in a window; with fewer, rates and latencies are unknown
	reportAge   = 90 * time.Second // minimum age at which the report of a replica is ignored
	qualityAge  = 5 * time.Minute  // time for which a computed quality difference is used
	expiredAge  = 7 * 24 * time.Hour
	maxListed   = 5 // maximum number of names in a detail
)

// Meter measures the figures of rules.
type Meter struct {
	sources Sources

	mu      sync.Mutex
	quality map[string]quality // computed quality differences by workspace and window
}

type quality struct {
	at      time.Time
	samples int
	found   *proof.Estimate
}

// NewMeter returns a meter.
func NewMeter(s Sources) *Meter { return &Meter{sources: s, quality: map[string]quality{}} }

// round is one evaluation of all rules. It reads each figure once.
type round struct {
	*Meter
	now     time.Time
	figures map[requestKey]requestlog.Figures
	keys    map[string][]account.Key
	budgets map[string][]budget.Item
	reports []Report
	read    bool // whether reports were read
}

type requestKey struct {
	workspace, key string
	from           time.Time
}

func (m *Meter) begin(now time.Time) *round {
	return &round{Meter: m, now: now, figures: map[requestKey]requestlog.Figures{}, keys: map[string][]account.Key{}, budgets: map[string][]budget.Item{}}
}

// measure returns the current values of a rule.
func (m *round) measure(ctx context.Context, r *Rule) ([]Measurement, error) {
	switch r.Kind {
	case Budget, Forecast:
		return m.measureBudgets(ctx, r)
	case KeyExpiry:
		return m.measureKeys(ctx, r)
	case Quality, QualityRisk:
		return m.measureQuality(ctx, r)
	case OpenCircuits, SpoolSize:
		return m.measureReplicas(ctx, r)
	case Spend, ErrorRate, LatencyP95, FallbackRate, Requests, Savings:
	}
	figures, err := m.traffic(ctx, r.WorkspaceID, r.KeyID, r.Window.Start(m.now))
	if err != nil {
		return nil, err
	}
	one := fromFigures(r.Kind, &figures)
	if r.Kind == Requests && m.now.Sub(r.CreatedAt) < r.Window.Duration() {
		one.Known = false // a rule that is added before the first request must not fire immediately
	}
	if r.KeyID != "" {
		one.Subject, one.Label = r.KeyID, r.KeyID
		keys, err := m.workspaceKeys(ctx, r.WorkspaceID)
		if err != nil {
			return nil, err
		}
		for i := range keys {
			if keys[i].ID == r.KeyID {
				one.Label = keys[i].Name
			}
		}
	}
	return []Measurement{one}, nil
}

// fromFigures computes a value from the requests of a window.
func fromFigures(k Kind, f *requestlog.Figures) Measurement {
	one := Measurement{Known: f.Requests >= minRequests}
	share := func(part, whole float64) float64 {
		if whole == 0 {
			one.Known = false
			return 0
		}
		return 100 * part / whole
	}
	switch k { //nolint:exhaustive // the other kinds are not computed from requests
	case Spend:
		one.Value, one.Known = f.Cost.Dollars(), true
	case ErrorRate:
		one.Value = share(float64(f.Errors), float64(f.Requests))
		one.Detail = fmt.Sprintf("%d of %d requests failed.", f.Errors, f.Requests)
	case FallbackRate:
		one.Value = share(float64(f.Fallbacks), float64(f.Served))
		one.Detail = fmt.Sprintf("%d of %d served requests used a fallback.", f.Fallbacks, f.Served)
	case Requests:
		one.Value, one.Known = float64(f.Requests), true
	case LatencyP95:
		one.Value, one.Known = float64(f.LatencyP95), f.Served >= minRequests
	case Savings:
		one.Known = f.Compared >= minRequests
		if percent := money.SavedPercent(f.Saved(), f.BaselineCost); percent != nil {
			one.Value = *percent
		}
		one.Detail = fmt.Sprintf("Cost %s, baseline %s.", f.ComparedCost.Display(), f.BaselineCost.Display())
	}
	return one
}

// traffic returns the figures of real requests since the given time. Like the overview, it excludes the playground and the simulator.
func (m *round) traffic(ctx context.Context, workspace, key string, from time.Time) (requestlog.Figures, error) {
	at := requestKey{workspace, key, from}
	if known, ok := m.figures[at]; ok {
		return known, nil
	}
	filter := requestlog.RollupFilter{WorkspaceID: workspace, From: from, To: m.now, Source: requestlog.SourceKey, Simulated: new(bool)}
	if key != "" {
		filter.Key = []string{key}
	}
	groups, err := m.sources.Figures.Breakdown(ctx, requestlog.BreakdownQuery{RollupFilter: filter, Limit: 1})
	if err != nil {
		return requestlog.Figures{}, err
	}
	var f requestlog.Figures
	if len(groups) > 0 {
		f = groups[0].Figures
	}
	m.figures[at] = f
	return f, nil
}

func (m *round) workspaceKeys(ctx context.Context, workspace string) ([]account.Key, error) {
	if known, ok := m.keys[workspace]; ok {
		return known, nil
	}
	keys, err := m.sources.Facts.Keys(ctx, workspace)
	m.keys[workspace] = keys
	return keys, err
}

func (m *round) measureKeys(ctx context.Context, r *Rule) ([]Measurement, error) {
	keys, err := m.workspaceKeys(ctx, r.WorkspaceID)
	if err != nil {
		return nil, err
	}
	var list []Measurement
	for i := range keys {
		k := &keys[i]
		left := k.ExpiresAt.Sub(m.now)
		if k.ExpiresAt.IsZero() || !k.RevokedAt.IsZero() || left < -expiredAge || (r.KeyID != "" && k.ID != r.KeyID) {
			continue
		}
		list = append(list, Measurement{
			Subject: k.ID, Label: k.Name, Value: left.Hours() / 24, Known: true, Detail: "The key expires at " + k.ExpiresAt.UTC().Format(time.RFC3339) + ".",
		})
	}
	return list, nil
}

func (m *round) measureBudgets(ctx context.Context, r *Rule) ([]Measurement, error) {
	budgets, ok := m.budgets[r.WorkspaceID]
	if !ok {
		var err error
		if budgets, err = m.sources.Facts.Budgets(ctx, r.WorkspaceID); err != nil {
			return nil, err
		}
		m.budgets[r.WorkspaceID] = budgets
	}
	var list []Measurement
	for i := range budgets {
		b := &budgets[i]
		amount, spent := b.Budget.Amount, b.Status.Spent
		if amount <= 0 || (r.KeyID != "" && b.KeyID != r.KeyID) {
			continue
		}
		one := Measurement{Subject: b.ID, Label: b.Budget.Name, Known: true, Detail: fmt.Sprintf("Spent %s of %s.", spent.Display(), amount.Display())}
		if r.Kind == Forecast {
			if b.Status.End.IsZero() {
				continue
			}
			// Without enough data, the forecast is the amount spent, so the rule fires when the amount spent reaches the threshold.
			spent = b.Forecast.Expected
			if b.Forecast.Outlook == budget.Unknown {
				one.Detail += " Not enough data for a forecast."
			} else {
				one.Detail += fmt.Sprintf(" Expected at the end of the period: %s.", spent.Display())
			}
			if b.Forecast.Outlook == budget.RunsOut {
				one.Detail += " Runs out around " + b.Forecast.UsedUp.UTC().Format("2 January 15:04 UTC") + "."
			}
		}
		one.Value = 100 * spent.Dollars() / amount.Dollars()
		list = append(list, one)
	}
	return list, nil
}

func (m *round) measureQuality(ctx context.Context, r *Rule) ([]Measurement, error) {
	name := r.WorkspaceID + " " + string(r.Window)
	m.mu.Lock()
	known, ok := m.quality[name]
	m.mu.Unlock()
	if !ok || m.now.Sub(known.at) >= qualityAge || m.now.Before(known.at) {
		samples, err := m.sources.Samples.Samples(ctx, r.WorkspaceID, r.Window.Start(m.now), m.now)
		if err != nil {
			return nil, err
		}
		known = quality{at: m.now}
		known.samples, known.found = proof.Difference(samples)
		m.mu.Lock()
		m.quality[name] = known
		m.mu.Unlock()
	}
	if known.found == nil {
		return []Measurement{{}}, nil
	}
	one := Measurement{
		Value: 100 * known.found.High, Known: true,
		Detail: fmt.Sprintf("Estimate %s, 95 %% interval from %s to %s, %d comparisons.", trim(100*known.found.Value, 2), trim(100*known.found.Low, 2), trim(100*known.found.High, 2), known.samples),
	}
	if r.Kind == QualityRisk {
		one.Value = 100 * known.found.Low
	}
	return []Measurement{one}, nil
}

// measureReplicas returns the largest value that a replica has reported.
func (m *round) measureReplicas(ctx context.Context, r *Rule) ([]Measurement, error) {
	operators, err := m.sources.Facts.Operators(ctx)
	if err != nil || operators != r.WorkspaceID {
		return nil, err
	}
	if !m.read {
		if m.reports, err = m.sources.Reports.Reports(ctx, m.now.Add(-reportAge)); err != nil {
			return nil, err
		}
		m.read = true
	}
	var one Measurement
	var details []string
	for _, report := range m.reports {
		if report.Kind != r.Kind {
			continue
		}
		one.Value, one.Known = max(one.Value, report.Value), true
		if report.Detail != "" && !slices.Contains(details, report.Detail) {
			details = append(details, report.Detail)
		}
	}
	slices.Sort(details)
	one.Detail = strings.Join(details, " ")
	return []Measurement{one}, nil
}

// CircuitReport returns the report of a replica with the given open circuits.
func CircuitReport(targets []string) Report {
	r := Report{Kind: OpenCircuits, Value: float64(len(targets))}
	if len(targets) == 0 {
		return r
	}
	slices.Sort(targets)
	shown := targets[:min(len(targets), maxListed)]
	r.Detail = "Open: " + strings.Join(shown, ", ")
	if more := len(targets) - len(shown); more > 0 {
		r.Detail += fmt.Sprintf(" and %d more", more)
	}
	r.Detail += "."
	return r
}

// SpoolReport returns the report of a replica with the given queue size.
func SpoolReport(bytes, limit int64) Report {
	r := Report{Kind: SpoolSize}
	if limit > 0 && bytes > 0 {
		r.Value = 100 * float64(bytes) / float64(limit)
	}
	return r
}
