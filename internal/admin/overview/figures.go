package overview

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"fairlead.dev/internal/account"
	"fairlead.dev/internal/admin/adminapi"
	"fairlead.dev/internal/admin/requests"
	"fairlead.dev/internal/id"
	"fairlead.dev/internal/requestlog"
	"fairlead.dev/internal/route"
)

// histogramTime is the time limit for counting individual requests.
const histogramTime = 600 * time.Millisecond

// Facets lists the filter values of requests with their counts.
type Facets struct {
	Decision []Facet `json:"decision"`
	Outcome  []Facet `json:"outcome"`
	Provider []Facet `json:"provider"`
	Model    []Facet `json:"model"`
	Key      []Facet `json:"key"`
	Policy   []Facet `json:"policy"`
}

// Facet is a filter value with its number of requests.
type Facet struct {
	Value string `json:"value" doc:"Filter value."`
	Label string `json:"label" doc:"Display name."`
	Count *int64 `json:"count" doc:"Requests in the period. null if not available from roll-ups."`
}

// Histogram holds the number of requests over time.
type Histogram struct {
	From        time.Time      `json:"from"`
	To          time.Time      `json:"to"`
	StepMS      int64          `json:"step_ms"`
	Days        *DayView       `json:"days,omitempty" doc:"Start of daily bins. Absent for shorter bins."`
	Bins        []HistogramBin `json:"bins"`
	Counted     string         `json:"counted" enum:"rollups,requests" doc:"rollups, or requests if the filter is not supported by roll-ups."`
	Partial     bool           `json:"partial" doc:"Whether counting stopped at the time limit. Bins before counted_from are incomplete."`
	CountedFrom *time.Time     `json:"counted_from" doc:"Start of the counted bins. null if all bins are counted."`
}

// HistogramBin holds the counts of one bin.
type HistogramBin struct {
	Start     time.Time `json:"start"`
	Requests  int64     `json:"requests"`
	Errors    int64     `json:"errors"`
	Fallbacks int64     `json:"fallbacks"`
}

func (a *handlers) registerRequestFigures() {
	tags := []string{"requests"}
	adminapi.Register(a.Server, account.ReadFigures, huma.Operation{
		OperationID: "get-request-facets", Method: http.MethodGet, Path: "/requests/facets", Tags: tags,
		Summary: "List filter values with request counts", Description: "Computed from roll-ups.",
	}, func(ctx context.Context, c *adminapi.Call, in *requests.FigureFilters) (*adminapi.Output[Facets], error) {
		rollup, err := requests.ParseRollup(c, in, a.Now())
		if err != nil {
			return nil, err
		}
		groups, err := a.breakdowns(ctx, rollup, 0)
		if err != nil {
			return nil, err
		}
		total, err := a.total(ctx, rollup)
		if err != nil {
			return nil, err
		}
		return adminapi.Respond(Facets{
			Decision: []Facet{
				{string(route.Expected), string(route.Expected), &total.Expected},
				{string(route.Fallback), string(route.Fallback), &total.Fallbacks},
				{string(route.Policy), string(route.Policy), &total.Policies},
			},
			Outcome:  outcomeFacets(total),
			Provider: facets(groups.Provider), Model: facets(groups.Model), Key: facets(groups.Key), Policy: facets(groups.Policy),
		}), nil
	})
	adminapi.Register(a.Server, account.ReadFigures, huma.Operation{
		OperationID: "get-request-histogram", Method: http.MethodGet, Path: "/requests/histogram", Tags: tags,
		Summary: "Get the number of requests over time",
		Description: "Computed from roll-ups if the filter uses only from, to, model, provider, policy, key, simulated and source. Other filters count " +
			"individual requests, newest first, for at most one second. If that is not enough, partial is true.",
	}, a.getHistogram)
}

// outcomeFacets lists all outcomes. It sets a count only for rejected requests, because roll-ups do not count other outcomes.
func outcomeFacets(f requests.FigureSet) []Facet {
	list := []Facet{}
	for _, o := range []requestlog.Outcome{
		requestlog.OK, requestlog.ClientError, requestlog.UpstreamError, requestlog.Rejected,
		requestlog.Cancelled, requestlog.Partial, requestlog.Interrupted, requestlog.GatewayError,
	} {
		facet := Facet{Value: string(o), Label: string(o)}
		if o == requestlog.Rejected {
			facet.Count = &f.Rejected
		}
		list = append(list, facet)
	}
	return list
}

func facets(groups []FigureGroup) []Facet {
	list := make([]Facet, 0, len(groups))
	for _, g := range groups {
		if g.Name != "" && g.Requests > 0 { // omit groups that have only attempts: a filter by their name finds no requests
			list = append(list, Facet{Value: g.Name, Label: g.Label, Count: new(g.Requests)})
		}
	}
	return list
}

// histogramInput selects the requests of a histogram.
type histogramInput struct {
	requests.Filters
	requests.ZoneChoice
}

func (a *handlers) getHistogram(ctx context.Context, c *adminapi.Call, in *histogramInput) (*adminapi.Output[Histogram], error) {
	for name, usual := range map[string]string{"from": "now-24h", "to": "now"} {
		if c.Params.Get(name) == "" {
			c.Params.Set(name, usual)
		}
	}
	f, _, err := requests.ParseFilter(c, a.Now())
	if err != nil {
		return nil, err
	}
	if !f.From.Before(f.To) {
		return nil, adminapi.Invalid("query", "from", "must be earlier than \"to\"")
	}
	zone, err := in.Location()
	if err != nil {
		return nil, err
	}
	others := f // filters that roll-ups do not support
	others.From, others.To = time.Time{}, time.Time{}
	others.Key, others.Model, others.Provider, others.Policy, others.Simulated, others.Source = nil, nil, nil, nil, nil, ""
	if len(others.Values()) == 0 {
		return a.rolledHistogram(ctx, &f, zone)
	}
	if !c.Actor.May(account.ReadRequests) {
		return nil, adminapi.Denied(c.Actor, account.ReadRequests) // counts with arbitrary filters reveal request contents
	}
	return a.countedHistogram(ctx, &f, zone)
}

func newHistogram(f *requestlog.Filter, counted string) Histogram {
	return Histogram{
		From: f.From.UTC(), To: f.To.UTC(), StepMS: stepFor(f.To.Sub(f.From)).Milliseconds(), Bins: []HistogramBin{}, Counted: counted,
	}
}

func (a *handlers) rolledHistogram(ctx context.Context, f *requestlog.Filter, zone *time.Location) (*adminapi.Output[Histogram], error) {
	step := stepFor(f.To.Sub(f.From))
	buckets, err := a.Figures.Series(ctx, requestlog.SeriesQuery{RollupFilter: requests.RollupFilter(f), Step: step, Zone: zone})
	if err != nil {
		return nil, err
	}
	result := newHistogram(f, "rollups")
	result.Days = daysOf(starts(buckets), step, zone)
	for i := range buckets {
		b := &buckets[i]
		result.Bins = append(result.Bins, HistogramBin{Start: b.Start.UTC(), Requests: b.Requests, Errors: b.Errors, Fallbacks: b.Fallbacks})
	}
	return adminapi.Respond(result), nil
}

func (a *handlers) countedHistogram(ctx context.Context, f *requestlog.Filter, zone *time.Location) (*adminapi.Output[Histogram], error) {
	step := stepFor(f.To.Sub(f.From))
	volumes, err := a.Requests.Volumes(ctx, requestlog.VolumeQuery{Filter: *f, Step: step, Zone: zone, Within: histogramTime})
	unfinished, partial := errors.AsType[*requestlog.UnfinishedError](err)
	if err != nil && !partial {
		return nil, err
	}
	result := newHistogram(f, "requests")
	begins := make([]time.Time, 0, len(volumes))
	for _, v := range volumes {
		begins = append(begins, v.Start)
		result.Bins = append(result.Bins, HistogramBin{Start: v.Start.UTC(), Requests: v.Requests, Errors: v.Errors, Fallbacks: v.Fallbacks})
	}
	result.Days = daysOf(begins, step, zone)
	if partial {
		from, ok := id.Time(unfinished.Before)
		if !ok {
			from = f.To // the range contains no complete bin
		}
		result.Partial, result.CountedFrom = true, adminapi.Time(from)
	}
	return adminapi.Respond(result), nil
}
