package policies

import (
	"time"

	"fairlead.dev/internal/money"
	"fairlead.dev/internal/replay"
	"fairlead.dev/internal/route"
)

// BacktestReport defines the API schema of replay.Report.
type BacktestReport struct {
	From       *time.Time     `json:"from,omitempty" doc:"Time of the oldest request. Absent if there are none."`
	To         *time.Time     `json:"to,omitempty" doc:"Time of the newest request."`
	Considered int64          `json:"considered" doc:"Requests that match the filter."`
	Decided    int64          `json:"decided" doc:"Requests that were routed again."`
	Skipped    []BacktestSkip `json:"skipped" doc:"Skipped requests by reason, most frequent first."`
	Limited    bool           `json:"limited" doc:"Whether older requests were not considered because of the limit."`

	Draft BacktestRules `json:"draft" doc:"Rules that were tested."`
	Live  BacktestRules `json:"live" doc:"Active rules."`
	Same  bool          `json:"same" doc:"Whether the tested rules are the active rules."`

	Logged BacktestComparison  `json:"versus_logged" doc:"Comparison with the logged decisions."`
	InLive *BacktestComparison `json:"versus_live,omitempty" doc:"Comparison with the active rules. Absent without a draft."`

	Policies []BacktestPolicy `json:"policies" doc:"Policies of the draft, in evaluation order."`
}

// BacktestRules defines the API schema of replay.RuleSet.
type BacktestRules struct {
	Versions  route.Versions   `json:"versions"`
	Objective *route.Objective `json:"objective,omitempty" doc:"Objective that replaces the objective of the requests."`
}

// BacktestSkip defines the API schema of replay.Skip.
type BacktestSkip struct {
	Reason   replay.Reason `json:"reason" doc:"no_trace, explicit_model, embeddings, moderations, other_predictor or unreadable."`
	Words    string        `json:"words" doc:"Readable description."`
	Requests int64         `json:"requests"`
}

// BacktestComparison defines the API schema of replay.Comparison.
type BacktestComparison struct {
	Changed   int64               `json:"changed" doc:"Requests routed to another model."`
	Moved     int64               `json:"moved" doc:"Requests routed to the same model at another provider."`
	Unchanged int64               `json:"unchanged" doc:"Requests routed to the same target."`
	Rejected  []BacktestRejection `json:"rejected" doc:"Requests that would now be rejected, most frequent reason first."`
	Accepted  int64               `json:"accepted" doc:"Rejected requests that would now be served."`
	Routes    []BacktestRoute     `json:"routes" doc:"Changes from model to model, most frequent first. Rare changes are combined."`
	Cost      BacktestCost        `json:"cost"`
	Quality   BacktestQuality     `json:"quality"`
	ByCost    []BacktestChange    `json:"largest_by_cost"`
	ByQuality []BacktestChange    `json:"largest_by_quality"`
}

// BacktestRejection defines the API schema of replay.Rejection.
type BacktestRejection struct {
	Code     string `json:"code" doc:"Error code returned to the client."`
	Policy   string `json:"policy,omitempty" doc:"Policy that rejects the request."`
	Requests int64  `json:"requests"`
}

// BacktestRoute defines the API schema of replay.Flow.
type BacktestRoute struct {
	From     string       `json:"from" doc:"Model. Empty for a rejected request, * for combined rare changes."`
	To       string       `json:"to" doc:"Model, as in from."`
	Requests int64        `json:"requests"`
	Priced   int64        `json:"priced" doc:"Requests with known costs before and after."`
	Change   money.Amount `json:"change_usd" doc:"Cost difference. Negative if cheaper."`
}

// BacktestCost defines the API schema of replay.Costs.
type BacktestCost struct {
	Priced   int64         `json:"priced" doc:"Requests with known costs before and after. Only these are included."`
	Coverage float64       `json:"coverage" doc:"Priced requests as a share of all requests served before and after, from 0 to 1."`
	Before   money.Amount  `json:"before_usd"`
	After    money.Amount  `json:"after_usd" doc:"Cost for the logged number of tokens. Another model may generate more or fewer."`
	Change   money.Amount  `json:"change_usd" doc:"After minus before."`
	Baseline *money.Amount `json:"baseline_usd,omitempty"`
	Based    int64         `json:"baseline_known" doc:"Priced requests with a known baseline cost."`
}

// BacktestQuality defines the API schema of replay.Quality.
type BacktestQuality struct {
	Requests int64   `json:"requests" doc:"Requests with a predicted quality before and after."`
	Before   float64 `json:"before" doc:"Mean success probability, from 0 to 1."`
	After    float64 `json:"after"`
	Change   float64 `json:"change" doc:"Mean difference of after and before."`
	Low      float64 `json:"low" doc:"Lower bound of the 95 % confidence interval of the mean difference."`
	High     float64 `json:"high"`
}

// BacktestChange defines the API schema of replay.Change.
type BacktestChange struct {
	RequestID     string        `json:"request_id"`
	Time          time.Time     `json:"time"`
	From          string        `json:"from" doc:"provider/model."`
	To            string        `json:"to"`
	CostBefore    *money.Amount `json:"cost_before_usd" nullable:"true"`
	CostAfter     *money.Amount `json:"cost_after_usd" nullable:"true"`
	SuccessBefore *float64      `json:"success_probability_before"`
	SuccessAfter  *float64      `json:"success_probability_after"`
	Policy        string        `json:"policy,omitempty" doc:"Policy of the draft that changed the decision."`
}

// BacktestPolicy defines the API schema of replay.PolicyFigures.
type BacktestPolicy struct {
	Name    string       `json:"name"`
	Source  string       `json:"source,omitempty" doc:"instance or workspace."`
	Matched int64        `json:"matched"`
	Decided int64        `json:"decided" doc:"Requests for which the policy changed the target."`
	Denied  int64        `json:"denied"`
	Priced  int64        `json:"priced" doc:"Decided requests with known costs with and without the policy."`
	Saved   money.Amount `json:"saved_usd" doc:"Cost without the policy minus cost with the policy, for the same tokens. Can be negative."`
}
