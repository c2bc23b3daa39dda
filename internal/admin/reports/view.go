package reports

import (
	"cmp"
	"encoding/csv"
	"io"
	"slices"
	"strconv"
	"time"

	"fairlead.dev/internal/account"
	"fairlead.dev/internal/admin/adminapi"
	"fairlead.dev/internal/admin/requests"
	"fairlead.dev/internal/money"
	"fairlead.dev/internal/report"
	"fairlead.dev/internal/requestlog"
)

// Report holds the figures of a time range, grouped by one or two dimensions.
type Report struct {
	From         time.Time      `json:"from" doc:"Start of the range that the figures cover. Earlier than requested if the range was rounded."`
	To           time.Time      `json:"to"`
	By           string         `json:"by"`
	Then         string         `json:"then"`
	Measure      string         `json:"measure" enum:"spend,savings,requests,latency,errors"`
	Total        ReportFigures  `json:"total" doc:"All requests of the range, including requests in no group."`
	Groups       []ReportGroup  `json:"groups" doc:"Highest measure first."`
	Rest         *ReportFigures `json:"rest,omitempty" doc:"Requests in no listed group. Absent if there are none. Latencies are not known."`
	GroupedSince *time.Time     `json:"grouped_since" doc:"Requests before this time are in total and uncovered only. null if all requests are grouped."`
	Uncovered    *ReportFigures `json:"uncovered,omitempty" doc:"Requests before grouped_since. Absent if there are none or if their number is not known."`
	Sampled      bool           `json:"sampled" doc:"Whether the figures of the groups are estimates from a sample. If then is set, only the second level is estimated. total is exact."`
	Notes        []ReportNote   `json:"notes" doc:"Limits of the report: requests that it does not cover, and estimated figures."`
}

// ReportNote describes a limitation of a report, such as an estimated figure.
type ReportNote struct {
	Code    string `json:"code" enum:"range_rounded,top_values,sampled,not_covered,latency_estimated"`
	Message string `json:"message"`
}

// ReportGroup holds the results for one value of the first dimension.
type ReportGroup struct {
	ReportValue
	Groups []ReportValue  `json:"groups" doc:"Groups of the second level, highest measure first. Empty without then."`
	Rest   *ReportFigures `json:"rest,omitempty" doc:"Requests of the group that are in none of the listed groups. Absent if there are none."`
}

// ReportValue holds the figures for one value of a dimension.
type ReportValue struct {
	Value  string            `json:"value" doc:"Value of the dimension. Empty for requests without one."`
	Label  string            `json:"label" doc:"Display name."`
	Filter map[string]string `json:"filter,omitempty" doc:"Filter parameters of list-requests that select the value. Absent if the request log cannot select it."`
	ReportFigures
}

// ReportFigures holds the figures of a group of requests. Amounts cover only requests with a known cost.
type ReportFigures struct {
	Requests       int64        `json:"requests"`
	Served         int64        `json:"served" doc:"Requests served by a target. Costs and latencies are known only for these."`
	Errors         int64        `json:"errors" doc:"Failed requests. A failure counts for the model and provider of the last attempt."`
	ErrorPercent   *float64     `json:"error_percent"`
	Rejected       int64        `json:"rejected"`
	Fallbacks      int64        `json:"fallbacks"`
	Priced         int64        `json:"priced" doc:"Requests with a known cost."`
	Compared       int64        `json:"compared" doc:"Requests with a known cost and a known baseline cost. saved_usd covers only these."`
	Cost           money.Amount `json:"cost_usd"`
	BaselineCost   money.Amount `json:"baseline_cost_usd"`
	Saved          money.Amount `json:"saved_usd"`
	SavedPercent   *float64     `json:"saved_percent"`
	CoveredPercent *float64     `json:"coverage_percent" doc:"Compared requests as a share of served requests."`
	InputTokens    int64        `json:"input_tokens"`
	CachedTokens   int64        `json:"cached_tokens"`
	OutputTokens   int64        `json:"output_tokens"`
	CacheHits      int64        `json:"cache_hits"`
	CacheSaved     money.Amount `json:"cache_saved_usd"`
	LatencyP50MS   *int64       `json:"latency_p50_ms"`
	LatencyP95MS   *int64       `json:"latency_p95_ms"`
	TTFTP50MS      *int64       `json:"ttft_p50_ms"`
}

func figuresOf(f *requestlog.Figures) ReportFigures {
	saved := f.Saved()
	return ReportFigures{
		Requests: f.Requests, Served: f.Served, Errors: f.Errors, ErrorPercent: adminapi.Share(f.Errors, f.Requests), Rejected: f.Rejected, Fallbacks: f.Fallbacks,
		Priced: f.Priced, Compared: f.Compared, Cost: f.Cost, BaselineCost: f.BaselineCost, Saved: saved, SavedPercent: money.SavedPercent(saved, f.BaselineCost),
		CoveredPercent: adminapi.Share(f.Compared, f.Served), InputTokens: f.InputTokens, CachedTokens: f.CachedTokens, OutputTokens: f.OutputTokens,
		CacheHits: f.CacheHits, CacheSaved: f.CacheSaved,
		LatencyP50MS: adminapi.Measured(f.LatencyP50), LatencyP95MS: adminapi.Measured(f.LatencyP95), TTFTP50MS: adminapi.Measured(f.TTFTP50),
	}
}

func someFigures(f *requestlog.Figures) *ReportFigures {
	if f == nil {
		return nil
	}
	return new(figuresOf(f))
}

// names maps IDs to keys and members.
type names struct {
	keys    map[string]account.Key
	members map[string]account.Member
}

func (n *names) label(d report.Dimension, value string) string {
	switch {
	case d == report.Key && value == "":
		return "dashboard"
	case d == report.Key:
		return cmp.Or(n.keys[value].Name, value)
	case d == report.Member:
		return cmp.Or(n.members[value].Name, n.members[value].Email, n.keys[value].Name, value)
	}
	return value
}

// keysOf returns the IDs of the keys that a member created. The requests of a key with an unknown creator are grouped by the key ID,
// so member can also be a key ID.
func (n *names) keysOf(member string) []string {
	var all []string
	for id := range n.keys {
		if n.keys[id].CreatedBy == member || id == member {
			all = append(all, id)
		}
	}
	slices.Sort(all)
	return all
}

func (n *names) value(d report.Dimension, g *report.Group) ReportValue {
	v := ReportValue{Value: g.Value, Label: n.label(d, g.Value), ReportFigures: figuresOf(&g.Figures)}
	if f, ok := d.Selects(g.Value, n.keysOf); ok {
		v.Filter = map[string]string{}
		for name, values := range f.Values() {
			v.Filter[name] = values[0]
		}
	}
	return v
}

func newReport(q *report.Query, r *report.Result, n *names) *Report {
	out := &Report{
		From: r.From.UTC(), To: r.To.UTC(), By: string(q.By), Then: string(q.Then), Measure: string(q.Measure),
		Total: figuresOf(&r.Total), Groups: make([]ReportGroup, 0, len(r.Groups)), Rest: someFigures(r.Rest),
		GroupedSince: adminapi.Time(r.Since), Uncovered: someFigures(r.Uncovered), Sampled: r.Sampled, Notes: []ReportNote{},
	}
	for i := range r.Groups {
		g := &r.Groups[i]
		group := ReportGroup{ReportValue: n.value(q.By, g), Groups: []ReportValue{}, Rest: someFigures(g.Rest)}
		for k := range g.Groups {
			group.Groups = append(group.Groups, n.value(q.Then, &g.Groups[k]))
		}
		out.Groups = append(out.Groups, group)
	}
	for _, note := range r.Notes {
		out.Notes = append(out.Notes, ReportNote{note.Code, note.Message})
	}
	return out
}

// ReportSeries holds the figures for each bin of a time range, grouped by one dimension.
type ReportSeries struct {
	From   time.Time           `json:"from"`
	To     time.Time           `json:"to"`
	StepMS int64               `json:"step_ms" doc:"Width of a bin. Days can be longer or shorter when clocks change."`
	Zone   string              `json:"zone" doc:"Time zone of daily bins."`
	Groups []ReportSeriesGroup `json:"groups" doc:"Values with the highest measure in the whole range, highest first."`
	Bins   []ReportBin         `json:"bins" doc:"Oldest first. Bins without requests are included."`
}

// ReportSeriesGroup describes a group of a series: one value of the dimension.
type ReportSeriesGroup struct {
	Value string `json:"value" doc:"Value of the dimension. Empty for requests without one."`
	Label string `json:"label" doc:"Display name."`
}

// ReportBin holds the figures of a time span.
type ReportBin struct {
	Start  time.Time          `json:"start"`
	Total  ReportBinFigures   `json:"total"`
	Groups []ReportBinFigures `json:"groups" doc:"Figures of the groups of the series, in their order."`
}

// ReportBinFigures holds the measures of a group of requests. Amounts cover only requests with a known cost.
type ReportBinFigures struct {
	Requests     int64        `json:"requests"`
	Errors       int64        `json:"errors"`
	Priced       int64        `json:"priced"`
	Compared     int64        `json:"compared"`
	Cost         money.Amount `json:"cost_usd"`
	Saved        money.Amount `json:"saved_usd"`
	LatencyP95MS *int64       `json:"latency_p95_ms"`
}

func newSeries(q *report.Query, s *report.Series, n *names) ReportSeries {
	out := ReportSeries{
		From: s.From.UTC(), To: s.To.UTC(), StepMS: s.Step.Milliseconds(), Zone: "UTC",
		Groups: make([]ReportSeriesGroup, 0, len(s.Groups)), Bins: make([]ReportBin, 0, len(s.Bins)),
	}
	if s.Zone != nil {
		out.Zone = s.Zone.String()
	}
	for _, value := range s.Groups {
		out.Groups = append(out.Groups, ReportSeriesGroup{value, n.label(q.By, value)})
	}
	figures := func(f *requestlog.Figures) ReportBinFigures {
		return ReportBinFigures{f.Requests, f.Errors, f.Priced, f.Compared, f.Cost, f.Saved(), adminapi.Measured(f.LatencyP95)}
	}
	for i := range s.Bins {
		bin := ReportBin{Start: s.Bins[i].Start.UTC(), Total: figures(&s.Bins[i].Total), Groups: make([]ReportBinFigures, 0, len(s.Groups))}
		for k := range s.Bins[i].Groups {
			bin.Groups = append(bin.Groups, figures(&s.Bins[i].Groups[k]))
		}
		out.Bins = append(out.Bins, bin)
	}
	return out
}

// WriteCSV writes one row per group of the last dimension. The column "row" contains group, estimate (a group from a sample),
// rest, uncovered or total.
func (r *Report) WriteCSV(to io.Writer) error {
	w := csv.NewWriter(to)
	head := []string{"row", "by", "by_label", "then", "then_label"}
	for _, c := range csvColumns() {
		head = append(head, c.name)
	}
	_ = w.Write(head) // w.Error returns the error later
	write := func(kind string, by, then *ReportValue, f *ReportFigures) {
		if f == nil {
			return
		}
		row := []string{kind, "", "", "", ""}
		for i, v := range []*ReportValue{by, then} {
			if v != nil {
				row[1+2*i], row[2+2*i] = requests.Neutral(v.Value), requests.Neutral(v.Label)
			}
		}
		for _, c := range csvColumns() {
			row = append(row, c.value(f))
		}
		_ = w.Write(row)
	}
	kind := "group"
	if r.Sampled {
		kind = "estimate"
	}
	for i := range r.Groups {
		g := &r.Groups[i]
		if r.Then == "" {
			write(kind, &g.ReportValue, nil, &g.ReportFigures)
		}
		for k := range g.Groups {
			write(kind, &g.ReportValue, &g.Groups[k], &g.Groups[k].ReportFigures)
		}
		write("rest", &g.ReportValue, nil, g.Rest)
	}
	write("rest", nil, nil, r.Rest)
	write("uncovered", nil, nil, r.Uncovered)
	write("total", nil, nil, &r.Total)
	w.Flush()
	return w.Error()
}

type csvColumn struct {
	name  string
	value func(*ReportFigures) string
}

func csvColumns() []csvColumn {
	count := func(name string, of func(*ReportFigures) int64) csvColumn {
		return csvColumn{name, func(f *ReportFigures) string { return strconv.FormatInt(of(f), 10) }}
	}
	dollars := func(name string, of func(*ReportFigures) money.Amount) csvColumn {
		return csvColumn{name, func(f *ReportFigures) string { return of(f).String() }}
	}
	compared := func(name string, of func(*ReportFigures) money.Amount) csvColumn { // empty without a baseline
		return csvColumn{name, func(f *ReportFigures) string {
			if f.Compared == 0 {
				return ""
			}
			return of(f).String()
		}}
	}
	millis := func(name string, of func(*ReportFigures) *int64) csvColumn {
		return csvColumn{name, func(f *ReportFigures) string {
			if n := of(f); n != nil {
				return strconv.FormatInt(*n, 10)
			}
			return ""
		}}
	}
	return []csvColumn{
		count("requests", func(f *ReportFigures) int64 { return f.Requests }),
		count("served", func(f *ReportFigures) int64 { return f.Served }),
		count("errors", func(f *ReportFigures) int64 { return f.Errors }),
		count("rejected", func(f *ReportFigures) int64 { return f.Rejected }),
		count("fallbacks", func(f *ReportFigures) int64 { return f.Fallbacks }),
		count("priced", func(f *ReportFigures) int64 { return f.Priced }),
		count("compared", func(f *ReportFigures) int64 { return f.Compared }),
		dollars("cost_usd", func(f *ReportFigures) money.Amount { return f.Cost }),
		compared("baseline_cost_usd", func(f *ReportFigures) money.Amount { return f.BaselineCost }),
		compared("saved_usd", func(f *ReportFigures) money.Amount { return f.Saved }),
		count("input_tokens", func(f *ReportFigures) int64 { return f.InputTokens }),
		count("cached_tokens", func(f *ReportFigures) int64 { return f.CachedTokens }),
		count("output_tokens", func(f *ReportFigures) int64 { return f.OutputTokens }),
		millis("latency_p50_ms", func(f *ReportFigures) *int64 { return f.LatencyP50MS }),
		millis("latency_p95_ms", func(f *ReportFigures) *int64 { return f.LatencyP95MS }),
		millis("ttft_p50_ms", func(f *ReportFigures) *int64 { return f.TTFTP50MS }),
	}
}
