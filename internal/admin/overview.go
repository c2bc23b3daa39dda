package admin

import (
	"context"
	"net/http"
	"slices"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"fairlead/internal/account"
	"fairlead/internal/money"
	"fairlead/internal/requestlog"
)

// FigureFilters are the query parameters that figures can be narrowed by: those that roll-ups know.
type FigureFilters struct {
	From      string `query:"from" default:"now-24h" doc:"Inclusive start: RFC 3339 or relative, such as now-24h."`
	To        string `query:"to" default:"now" doc:"Exclusive end: RFC 3339 or relative, such as now."`
	Model     string `query:"model" doc:"Models that served the request, comma-separated."`
	Provider  string `query:"provider" doc:"Providers that served the request."`
	Policy    string `query:"policy" doc:"Policies that determined the decision."`
	Key       string `query:"key" doc:"Key IDs."`
	Simulated string `query:"simulated" doc:"true or false. Defaults to both."`
	Source    string `query:"source" enum:"key,playground,all" doc:"Origin of the request: an API key or the dashboard's playground."`
}

// ZoneChoice is the query parameter that says where days begin.
type ZoneChoice struct {
	Zone string `query:"zone" maxLength:"100" doc:"IANA time zone for daily figures. Defaults to UTC." example:"Europe/Paris"`
}

// location reads the zone; nil is UTC.
func (z ZoneChoice) location() (*time.Location, error) {
	if z.Zone == "" || z.Zone == "UTC" {
		return nil, nil
	}
	zone, err := time.LoadLocation(z.Zone)
	if err != nil || z.Zone == "Local" { // the machine's own zone is nobody's choice
		return nil, invalid("query", "zone", "must be an IANA time zone name, such as Europe/Paris")
	}
	return zone, nil
}

// DayView says where the days of a series begin.
type DayView struct {
	Zone    string `json:"zone" doc:"Time zone of the days. UTC if hourly data is no longer stored."`
	ShiftMS int64  `json:"shift_ms" doc:"Largest offset of the start of a day from local midnight. Figures are stored per UTC hour, so zones with a fractional offset deviate by up to 30 minutes."`
}

// daysOf looks at what a series has: buckets of a day, and where they begin. It is nil for shorter buckets.
func daysOf(starts []time.Time, step time.Duration, zone *time.Location) *DayView {
	if step < 24*time.Hour || len(starts) == 0 {
		return nil
	}
	if zone == nil {
		return &DayView{Zone: "UTC"}
	}
	view := DayView{Zone: zone.String()}
	for _, start := range starts {
		if !requestlog.DayStart(start, zone).Equal(start) {
			return &DayView{Zone: "UTC"}
		}
		if shift := requestlog.DayShift(start, zone).Milliseconds(); max(shift, -shift) > max(view.ShiftMS, -view.ShiftMS) {
			view.ShiftMS = shift
		}
	}
	return &view
}

type overviewInput struct {
	FigureFilters
	ZoneChoice
}

// Overview is everything the first page shows.
type Overview struct {
	From             time.Time   `json:"from"`
	To               time.Time   `json:"to"`
	StepMS           int64       `json:"step_ms" doc:"Bucket width of the series. Days can be longer or shorter when clocks change."`
	Days             *DayView    `json:"days,omitempty" doc:"Start of daily buckets. Absent for shorter buckets."`
	Current          FigureSet   `json:"current"`
	Previous         FigureSet   `json:"previous" doc:"Preceding period of equal length."`
	PreviousComplete bool        `json:"previous_complete" doc:"Whether data exists for the whole previous period. If false, the periods cannot be compared."`
	Series           []FigureBin `json:"series" doc:"Cost, baseline cost and decisions over time."`
	Breakdowns       Breakdowns  `json:"breakdowns"`
	Attention        []Attention `json:"attention" doc:"Items that need action, most urgent first."`
}

// FigureSet are sums over requests. Amounts cover only the requests whose cost is known.
type FigureSet struct {
	Requests        int64        `json:"requests"`
	Served          int64        `json:"served" doc:"Requests served by a target. Costs and latencies are known only for these."`
	Attempts        int64        `json:"attempts" doc:"Calls to providers. For a single model or provider, calls to it regardless of which target served the request."`
	FailedAttempts  int64        `json:"failed_attempts"`
	Errors          int64        `json:"errors"`
	Rejected        int64        `json:"rejected"`
	Expected        int64        `json:"expected"`
	Fallbacks       int64        `json:"fallbacks"`
	Policies        int64        `json:"policies"`
	Priced          int64        `json:"priced" doc:"Requests with a known cost."`
	Compared        int64        `json:"compared" doc:"Requests with a known cost and a known baseline cost. saved_usd covers only these."`
	Cost            money.Amount `json:"cost_usd"`
	BaselineCost    money.Amount `json:"baseline_cost_usd" doc:"Cost of the compared requests at the baseline model."`
	Saved           money.Amount `json:"saved_usd" doc:"Baseline cost minus cost of the compared requests."`
	SavedPercent    *float64     `json:"saved_percent"`
	CoveredPercent  *float64     `json:"coverage_percent" doc:"Compared requests as a share of served requests."`
	PricedPercent   *float64     `json:"priced_percent" doc:"Priced requests as a share of served requests."`
	ErrorPercent    *float64     `json:"error_percent" doc:"Share of failed requests. For a single model or provider, the share of failed attempts."`
	FailedPercent   *float64     `json:"failed_attempt_percent" doc:"Share of failed attempts."`
	FallbackPercent *float64     `json:"fallback_percent"`
	InputTokens     int64        `json:"input_tokens"`
	CachedTokens    int64        `json:"cached_tokens"`
	OutputTokens    int64        `json:"output_tokens"`
	LatencyP50MS    *int64       `json:"latency_p50_ms" doc:"Median latency of served requests. Quantiles are computed from histograms with an error of at most 10 %."`
	LatencyP95MS    *int64       `json:"latency_p95_ms"`
	TTFTP50MS       *int64       `json:"ttft_p50_ms"`
}

// FigureBin is a span of time.
type FigureBin struct {
	Start time.Time `json:"start"`
	FigureSet
}

// FigureGroup is one model, provider, key or policy.
type FigureGroup struct {
	Name         string   `json:"name" doc:"Filter value."`
	Label        string   `json:"label" doc:"Display name."`
	SharePercent *float64 `json:"share_percent" doc:"Share of all requests."`
	FigureSet
}

// Breakdowns are the same figures by each dimension, for those with the most requests.
type Breakdowns struct {
	Model    []FigureGroup `json:"model"`
	Provider []FigureGroup `json:"provider"`
	Key      []FigureGroup `json:"key"`
	Policy   []FigureGroup `json:"policy"`
}

func (a *API) registerOverview() {
	register(a, account.ReadFigures, huma.Operation{
		OperationID: "get-overview", Method: http.MethodGet, Path: "/overview", Tags: []string{"overview"},
		Summary:     "Get totals, time series, breakdowns and items that need attention",
		Description: "Computed from roll-ups. All parts use the same filters. Playground requests are excluded unless source is set.",
	}, a.getOverview)
}

// breakdownRows bounds each breakdown, and so the values of a facet.
const breakdownRows = 200

func (a *API) getOverview(ctx context.Context, c *call, in *overviewInput) (*output[Overview], error) {
	now := a.Now()
	zone, err := in.location()
	if err != nil {
		return nil, err
	}
	rollup, err := a.rollup(c, &in.FigureFilters, now)
	if err != nil {
		return nil, err
	}
	if in.Source == "" {
		rollup.Source = requestlog.SourceKey // people trying things out are not the traffic
	}
	span := rollup.To.Sub(rollup.From)
	step := stepFor(span)
	before := rollup
	before.From, before.To = rollup.From.Add(-span), rollup.From
	answer := Overview{From: rollup.From.UTC(), To: rollup.To.UTC(), StepMS: step.Milliseconds(), Series: []FigureBin{}}

	if answer.Current, err = a.total(ctx, rollup); err != nil {
		return nil, err
	}
	if answer.Previous, err = a.total(ctx, before); err != nil {
		return nil, err
	}
	earlier := before
	earlier.From, earlier.To = before.From.Add(-span), before.From
	earliest, err := a.total(ctx, earlier)
	if err != nil {
		return nil, err
	}
	answer.PreviousComplete = earliest.Requests > 0
	buckets, err := a.Figures.Series(ctx, requestlog.SeriesQuery{RollupFilter: rollup, Step: step, Zone: zone})
	if err != nil {
		return nil, err
	}
	answer.Days = daysOf(starts(buckets), step, zone)
	for i := range buckets {
		answer.Series = append(answer.Series, FigureBin{Start: buckets[i].Start.UTC(), FigureSet: figureSet(&buckets[i].Figures)})
	}
	if answer.Breakdowns, err = a.breakdowns(ctx, rollup, answer.Current.Requests); err != nil {
		return nil, err
	}
	if answer.Attention, err = a.attention(ctx, c, now); err != nil {
		return nil, err
	}
	return &output[Overview]{answer}, nil
}

func starts(buckets []requestlog.Bucket) []time.Time {
	list := make([]time.Time, len(buckets))
	for i := range buckets {
		list[i] = buckets[i].Start
	}
	return list
}

// rollup reads the part of the filters that roll-ups can answer.
func (a *API) rollup(c *call, in *FigureFilters, now time.Time) (requestlog.RollupFilter, error) {
	query := onlyFilters(c.query)
	query.Set("from", in.From)
	query.Set("to", in.To)
	f, _, err := requestlog.ParseFilter(query, now)
	if err != nil {
		return requestlog.RollupFilter{}, err
	}
	if !f.From.Before(f.To) {
		return requestlog.RollupFilter{}, invalid("query", "from", "must be before to")
	}
	f.WorkspaceID = c.workspaceID
	return rollupFilter(&f), nil
}

func rollupFilter(f *requestlog.Filter) requestlog.RollupFilter {
	return requestlog.RollupFilter{
		WorkspaceID: f.WorkspaceID, From: f.From, To: f.To,
		Key: f.Key, Model: f.Model, Provider: f.Provider, Policy: f.Policy, Simulated: f.Simulated, Source: f.Source,
	}
}

// total is the sum over everything that matches: quantiles cannot be added up, so it is a question of its own.
func (a *API) total(ctx context.Context, f requestlog.RollupFilter) (FigureSet, error) {
	groups, err := a.Figures.Breakdown(ctx, requestlog.BreakdownQuery{RollupFilter: f, Limit: 1})
	if err != nil || len(groups) == 0 {
		return FigureSet{}, err
	}
	return figureSet(&groups[0].Figures), nil
}

func (a *API) breakdowns(ctx context.Context, f requestlog.RollupFilter, requests int64) (Breakdowns, error) {
	var b Breakdowns
	parts := []struct {
		by   string
		into *[]FigureGroup
	}{{"model", &b.Model}, {"provider", &b.Provider}, {"key", &b.Key}, {"policy", &b.Policy}}
	for _, part := range parts {
		groups, err := a.Figures.Breakdown(ctx, requestlog.BreakdownQuery{RollupFilter: f, By: part.by, Limit: breakdownRows})
		if err != nil {
			return b, err
		}
		*part.into = make([]FigureGroup, 0, len(groups))
		for i := range groups {
			group := figureGroup(&groups[i], requests)
			if part.by == "model" || part.by == "provider" {
				group.FigureSet = triedSet(&groups[i].Figures)
			}
			*part.into = append(*part.into, group)
		}
	}
	return b, a.nameKeys(ctx, f.WorkspaceID, b.Key)
}

// nameKeys labels the groups of keys with their names: roll-ups know only ids.
func (a *API) nameKeys(ctx context.Context, workspaceID string, groups []FigureGroup) error {
	if len(groups) == 0 {
		return nil
	}
	keys, err := a.Keys.Keys(ctx, workspaceID)
	if err != nil {
		return err
	}
	for i := range groups {
		at := slices.IndexFunc(keys, func(k account.Key) bool { return k.ID == groups[i].Name })
		switch {
		case at >= 0:
			groups[i].Label = keys[at].Name
		case groups[i].Name == requestlog.SampleKey:
			groups[i].Label = requestlog.SampleKeyName
		case groups[i].Name == "":
			groups[i].Label = "dashboard"
		}
	}
	return nil
}

func figureGroup(g *requestlog.Group, requests int64) FigureGroup {
	v := FigureGroup{Name: g.Name, Label: g.Label, FigureSet: figureSet(&g.Figures), SharePercent: share(g.Requests, requests)}
	if v.Label == "" {
		v.Label = g.Name
	}
	return v
}

// triedSet are the figures of one model or provider: its errors are the attempts that failed there, also when another
// served the request. Roll-ups of earlier versions have not counted attempts.
func triedSet(f *requestlog.Figures) FigureSet {
	v := figureSet(f)
	if f.Attempts > 0 {
		v.ErrorPercent = v.FailedPercent
	}
	return v
}

func figureSet(f *requestlog.Figures) FigureSet {
	saved := f.BaselineCost.Sub(f.ComparedCost)
	return FigureSet{
		Requests: f.Requests, Served: f.Served, Attempts: f.Attempts, FailedAttempts: f.Failed, Errors: f.Errors, Rejected: f.Rejected,
		Expected: f.Expected, Fallbacks: f.Fallbacks, Policies: f.Policies,
		Priced: f.Priced, Compared: f.Compared, Cost: f.Cost, BaselineCost: f.BaselineCost, Saved: saved,
		SavedPercent: percent(saved, f.BaselineCost), ErrorPercent: share(f.Errors, f.Requests), FailedPercent: share(f.Failed, f.Attempts),
		CoveredPercent: share(f.Compared, f.Served), PricedPercent: share(f.Priced, f.Served),
		FallbackPercent: share(f.Fallbacks, f.Requests),
		InputTokens:     f.InputTokens, CachedTokens: f.CachedTokens, OutputTokens: f.OutputTokens,
		LatencyP50MS: measured(f.LatencyP50), LatencyP95MS: measured(f.LatencyP95), TTFTP50MS: measured(f.TTFTP50),
	}
}

func measured(ms int64) *int64 {
	if ms <= 0 {
		return nil
	}
	return &ms
}

// stepFor keeps a chart between a few dozen and a few hundred buckets.
func stepFor(span time.Duration) time.Duration {
	switch {
	case span <= 3*time.Hour:
		return time.Minute
	case span <= 8*24*time.Hour:
		return time.Hour
	}
	return 24 * time.Hour
}
