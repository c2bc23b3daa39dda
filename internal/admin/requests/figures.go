package requests

import (
	"time"

	"fairlead.dev/internal/admin/adminapi"
	"fairlead.dev/internal/money"
	"fairlead.dev/internal/requestlog"
)

// FigureFilters are the filters that roll-ups support.
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

// ZoneChoice is the query parameter for the time zone of daily figures.
type ZoneChoice struct {
	Zone string `query:"zone" maxLength:"100" doc:"IANA time zone for daily figures. Defaults to UTC." example:"Europe/Paris"`
}

// Location returns the time zone. nil means UTC.
func (z ZoneChoice) Location() (*time.Location, error) {
	if z.Zone == "" || z.Zone == "UTC" {
		return nil, nil
	}
	zone, err := time.LoadLocation(z.Zone)
	if err != nil || z.Zone == "Local" { // do not expose the server's time zone
		return nil, adminapi.Invalid("query", "zone", "must be an IANA time zone name, such as Europe/Paris")
	}
	return zone, nil
}

// FigureSet holds the figures of a group of requests. Amounts cover only requests with a known cost.
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
	CacheHits       int64        `json:"cache_hits" doc:"Requests that the response cache served. They are not among the served requests."`
	CacheSaved      money.Amount `json:"cache_saved_usd" doc:"Known cost that the response cache saved. Not part of saved_usd, which is the effect of routing."`
	LatencyP50MS    *int64       `json:"latency_p50_ms" doc:"Median latency of served requests. Quantiles are computed from histograms with an error of at most 10 %."`
	LatencyP95MS    *int64       `json:"latency_p95_ms"`
	TTFTP50MS       *int64       `json:"ttft_p50_ms"`
}

// ParseRollup parses the filters that roll-ups support.
func ParseRollup(c *adminapi.Call, in *FigureFilters, now time.Time) (requestlog.RollupFilter, error) {
	query := OnlyFilters(c.Params)
	query.Set("from", in.From)
	query.Set("to", in.To)
	f, _, err := requestlog.ParseFilter(query, now)
	if err != nil {
		return requestlog.RollupFilter{}, err
	}
	if !f.From.Before(f.To) {
		return requestlog.RollupFilter{}, adminapi.Invalid("query", "from", "must be earlier than \"to\"")
	}
	f.WorkspaceID = c.WorkspaceID
	return RollupFilter(&f), nil
}

// RollupFilter returns the part of a filter that roll-ups support.
func RollupFilter(f *requestlog.Filter) requestlog.RollupFilter {
	return requestlog.RollupFilter{
		WorkspaceID: f.WorkspaceID, From: f.From, To: f.To,
		Key: f.Key, Model: f.Model, Provider: f.Provider, Policy: f.Policy, Simulated: f.Simulated, Source: f.Source,
	}
}

// AttemptFigures returns the figures of one model or provider. Errors are failed attempts, even if another target served the request.
// Without attempts, for example if all responses came from the cache, errors are failed requests.
func AttemptFigures(f *requestlog.Figures) FigureSet {
	v := FiguresOf(f)
	if f.Attempts > 0 {
		v.ErrorPercent = v.FailedPercent
	}
	return v
}

// FiguresOf converts stored figures to their API representation.
func FiguresOf(f *requestlog.Figures) FigureSet {
	saved := f.BaselineCost.Sub(f.ComparedCost)
	return FigureSet{
		Requests: f.Requests, Served: f.Served, Attempts: f.Attempts, FailedAttempts: f.Failed, Errors: f.Errors, Rejected: f.Rejected,
		Expected: f.Expected, Fallbacks: f.Fallbacks, Policies: f.Policies,
		Priced: f.Priced, Compared: f.Compared, Cost: f.Cost, BaselineCost: f.BaselineCost, Saved: saved,
		SavedPercent: money.SavedPercent(saved, f.BaselineCost), ErrorPercent: adminapi.Share(f.Errors, f.Requests), FailedPercent: adminapi.Share(f.Failed, f.Attempts),
		CoveredPercent: adminapi.Share(f.Compared, f.Served), PricedPercent: adminapi.Share(f.Priced, f.Served),
		FallbackPercent: adminapi.Share(f.Fallbacks, f.Requests),
		InputTokens:     f.InputTokens, CachedTokens: f.CachedTokens, OutputTokens: f.OutputTokens, CacheHits: f.CacheHits, CacheSaved: f.CacheSaved,
		LatencyP50MS: adminapi.Measured(f.LatencyP50), LatencyP95MS: adminapi.Measured(f.LatencyP95), TTFTP50MS: adminapi.Measured(f.TTFTP50),
	}
}
