package admin

import (
	"context"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"fairlead/internal/account"
	"fairlead/internal/requestlog"
	"fairlead/internal/route"
)

// facetRows bounds the values listed for one facet.
const facetRows = 100

// Facets are the values that requests can be filtered by, with how many there are of each.
type Facets struct {
	Decision []Facet `json:"decision"`
	Outcome  []Facet `json:"outcome"`
	Provider []Facet `json:"provider"`
	Model    []Facet `json:"model"`
	Key      []Facet `json:"key"`
	Policy   []Facet `json:"policy"`
}

// Facet is one value.
type Facet struct {
	Value string `json:"value" doc:"What to filter by."`
	Label string `json:"label" doc:"What to show."`
	Count *int64 `json:"count" doc:"Requests in the period; null when roll-ups do not know."`
}

// Histogram is the volume of requests over time.
type Histogram struct {
	From   time.Time      `json:"from"`
	To     time.Time      `json:"to"`
	StepMS int64          `json:"step_ms"`
	Bins   []HistogramBin `json:"bins"`
}

// HistogramBin is one bar.
type HistogramBin struct {
	Start     time.Time `json:"start"`
	Requests  int64     `json:"requests"`
	Errors    int64     `json:"errors"`
	Fallbacks int64     `json:"fallbacks"`
}

func (a *API) registerRequestFigures() {
	tags := []string{"requests"}
	register(a, account.ReadFigures, huma.Operation{
		OperationID: "get-request-facets", Method: http.MethodGet, Path: "/requests/facets", Tags: tags,
		Summary: "List the values that requests can be filtered by", Description: "From roll-ups: nothing is scanned.",
	}, a.getFacets)
	register(a, account.ReadFigures, huma.Operation{
		OperationID: "get-request-histogram", Method: http.MethodGet, Path: "/requests/histogram", Tags: tags,
		Summary:     "Get the volume of requests over time",
		Description: "From roll-ups, so only the filters listed here count.",
	}, a.getHistogram)
}

func (a *API) getFacets(ctx context.Context, c *call, in *FigureFilters) (*output[Facets], error) {
	rollup, err := a.rollup(c, in, a.Now())
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
	return &output[Facets]{Facets{
		Decision: decisionFacets(total), Outcome: outcomeFacets(total),
		Provider: facets(groups.Provider), Model: facets(groups.Model), Key: facets(groups.Key), Policy: facets(groups.Policy),
	}}, nil
}

func decisionFacets(f FigureSet) []Facet {
	return []Facet{
		{string(route.Expected), string(route.Expected), &f.Expected},
		{string(route.Fallback), string(route.Fallback), &f.Fallbacks},
		{string(route.Policy), string(route.Policy), &f.Policies},
	}
}

// outcomeFacets lists every outcome; roll-ups count only the refused ones by themselves.
func outcomeFacets(f FigureSet) []Facet {
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
	list := make([]Facet, 0, min(len(groups), facetRows))
	for _, g := range groups {
		if g.Name != "" && len(list) < facetRows {
			list = append(list, Facet{Value: g.Name, Label: g.Label, Count: new(g.Requests)})
		}
	}
	return list
}

func (a *API) getHistogram(ctx context.Context, c *call, in *FigureFilters) (*output[Histogram], error) {
	rollup, err := a.rollup(c, in, a.Now())
	if err != nil {
		return nil, err
	}
	step := stepFor(rollup.To.Sub(rollup.From))
	buckets, err := a.Requests.Series(ctx, requestlog.SeriesQuery{RollupFilter: rollup, Step: step})
	if err != nil {
		return nil, err
	}
	answer := Histogram{From: rollup.From.UTC(), To: rollup.To.UTC(), StepMS: step.Milliseconds(), Bins: make([]HistogramBin, 0, len(buckets))}
	for i := range buckets {
		b := &buckets[i]
		answer.Bins = append(answer.Bins, HistogramBin{Start: b.Start.UTC(), Requests: b.Requests, Errors: b.Errors, Fallbacks: b.Fallbacks})
	}
	return &output[Histogram]{answer}, nil
}
