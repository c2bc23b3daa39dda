package overview

import (
	"cmp"
	"context"
	"net/http"
	"slices"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"fairlead.dev/internal/account"
	"fairlead.dev/internal/admin/adminapi"
	"fairlead.dev/internal/admin/requests"
	"fairlead.dev/internal/requestlog"
)

// DayView describes how the daily buckets of a series relate to calendar days.
type DayView struct {
	Zone    string `json:"zone" doc:"Time zone of the days. UTC if hourly data has expired."`
	ShiftMS int64  `json:"shift_ms" doc:"Largest offset of the start of a day from local midnight. Figures are stored per UTC hour, so zones with a fractional offset deviate by up to 30 minutes."`
}

// daysOf returns the time zone and shift of daily buckets, or nil for shorter buckets.
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
	requests.FigureFilters
	requests.ZoneChoice
}

// Overview holds the data of the overview page.
type Overview struct {
	From             time.Time          `json:"from"`
	To               time.Time          `json:"to"`
	StepMS           int64              `json:"step_ms" doc:"Bucket width of the series. Days can be longer or shorter when clocks change."`
	Days             *DayView           `json:"days,omitempty" doc:"Start of daily buckets. Absent for shorter buckets."`
	Current          requests.FigureSet `json:"current"`
	Previous         requests.FigureSet `json:"previous" doc:"Preceding period of equal length."`
	PreviousComplete bool               `json:"previous_complete" doc:"Whether data exists for the whole previous period. If false, the periods cannot be compared."`
	Series           []FigureBin        `json:"series" doc:"Cost, baseline cost and decisions over time."`
	Breakdowns       Breakdowns         `json:"breakdowns"`
	Attention        []Attention        `json:"attention" doc:"Items that need action, most urgent first."`
}

// FigureBin is a bucket of a series.
type FigureBin struct {
	Start time.Time `json:"start"`
	requests.FigureSet
}

// FigureGroup holds the figures of one model, provider, key or policy.
type FigureGroup struct {
	Name         string   `json:"name" doc:"Filter value."`
	Label        string   `json:"label" doc:"Display name."`
	SharePercent *float64 `json:"share_percent" doc:"Share of all requests."`
	requests.FigureSet
}

// Breakdowns holds the figures grouped by each dimension. Groups with the most requests come first.
type Breakdowns struct {
	Model    []FigureGroup `json:"model"`
	Provider []FigureGroup `json:"provider"`
	Key      []FigureGroup `json:"key"`
	Policy   []FigureGroup `json:"policy"`
}

func (a *handlers) registerOverview() {
	adminapi.Register(a.Server, account.ReadFigures, huma.Operation{
		OperationID: "get-overview", Method: http.MethodGet, Path: "/overview", Tags: []string{"overview"},
		Summary:     "Get totals, time series, breakdowns and items that need attention",
		Description: "Computed from roll-ups. All parts use the same filters. Playground requests are excluded unless source is set.",
	}, func(ctx context.Context, c *adminapi.Call, in *overviewInput) (*adminapi.Output[Overview], error) {
		now := a.Now()
		zone, err := in.Location()
		if err != nil {
			return nil, err
		}
		rollup, err := requests.ParseRollup(c, &in.FigureFilters, now)
		if err != nil {
			return nil, err
		}
		if in.Source == "" {
			rollup.Source = requestlog.SourceKey // exclude the playground by default
		}
		span := rollup.To.Sub(rollup.From)
		step := stepFor(span)
		before := rollup
		before.From, before.To = rollup.From.Add(-span), rollup.From
		result := Overview{From: rollup.From.UTC(), To: rollup.To.UTC(), StepMS: step.Milliseconds(), Series: []FigureBin{}}

		if result.Current, err = a.total(ctx, rollup); err != nil {
			return nil, err
		}
		if result.Previous, err = a.total(ctx, before); err != nil {
			return nil, err
		}
		earlier := before
		earlier.From, earlier.To = before.From.Add(-span), before.From
		earliest, err := a.total(ctx, earlier)
		if err != nil {
			return nil, err
		}
		result.PreviousComplete = earliest.Requests > 0
		buckets, err := a.Figures.Series(ctx, requestlog.SeriesQuery{RollupFilter: rollup, Step: step, Zone: zone})
		if err != nil {
			return nil, err
		}
		result.Days = daysOf(starts(buckets), step, zone)
		for i := range buckets {
			result.Series = append(result.Series, FigureBin{Start: buckets[i].Start.UTC(), FigureSet: requests.FiguresOf(&buckets[i].Figures)})
		}
		if result.Breakdowns, err = a.breakdowns(ctx, rollup, result.Current.Requests); err != nil {
			return nil, err
		}
		if result.Attention, err = a.attention(ctx, c, now); err != nil {
			return nil, err
		}
		return adminapi.Respond(result), nil
	})
}

// breakdownRows is the maximum number of groups of a breakdown.
const breakdownRows = 200

func starts(buckets []requestlog.Bucket) []time.Time {
	list := make([]time.Time, len(buckets))
	for i := range buckets {
		list[i] = buckets[i].Start
	}
	return list
}

// total returns the figures of all matching requests. It needs its own query because quantiles of groups cannot be added.
func (a *handlers) total(ctx context.Context, f requestlog.RollupFilter) (requests.FigureSet, error) {
	groups, err := a.Figures.Breakdown(ctx, requestlog.BreakdownQuery{RollupFilter: f, Limit: 1})
	if err != nil || len(groups) == 0 {
		return requests.FigureSet{}, err
	}
	return requests.FiguresOf(&groups[0].Figures), nil
}

func (a *handlers) breakdowns(ctx context.Context, f requestlog.RollupFilter, total int64) (Breakdowns, error) {
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
			g := &groups[i]
			group := FigureGroup{Name: g.Name, Label: cmp.Or(g.Label, g.Name), FigureSet: requests.FiguresOf(&g.Figures), SharePercent: adminapi.Share(g.Requests, total)}
			if part.by == "model" || part.by == "provider" {
				group.FigureSet = requests.AttemptFigures(&g.Figures)
			}
			*part.into = append(*part.into, group)
		}
	}
	return b, a.nameKeys(ctx, f.WorkspaceID, b.Key)
}

// nameKeys sets the labels of keys, because roll-ups contain only IDs.
func (a *handlers) nameKeys(ctx context.Context, workspaceID string, groups []FigureGroup) error {
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
		case groups[i].Name == "":
			groups[i].Label = "dashboard"
		}
	}
	return nil
}

// stepFor returns the bucket width for a chart: a minute up to 3 hours, an hour up to 8 days, and a day for longer periods.
func stepFor(span time.Duration) time.Duration {
	switch {
	case span <= 3*time.Hour:
		return time.Minute
	case span <= 8*24*time.Hour:
		return time.Hour
	}
	return 24 * time.Hour
}
