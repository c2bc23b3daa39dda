package proof

import "fairlead.dev/internal/money"

// Traffic describes the recent traffic of a workspace, from which a forecast is computed.
type Traffic struct {
	Days         float64 `json:"days" doc:"Number of days that were counted."`
	Routed       int64   `json:"routed" doc:"Requests that named auto."`
	Served       int64   `json:"served" doc:"Requests that a model served, for the mean length."`
	InputTokens  int64   `json:"input_tokens"`
	OutputTokens int64   `json:"output_tokens"`
}

// Forecast is the expected monthly cost of comparisons.
type Forecast struct {
	Traffic  Traffic      `json:"traffic"`
	Samples  int64        `json:"samples" doc:"Expected comparisons in 30 days."`
	Shadow   money.Amount `json:"shadow_usd" doc:"Expected cost of the shadow calls."`
	Judge    money.Amount `json:"judge_usd" doc:"Expected cost of the judge model."`
	Total    money.Amount `json:"total_usd" doc:"Expected cost, at most the budget."`
	Exceeds  bool         `json:"exceeds_budget" doc:"Whether comparisons would stop before the end of the month because the budget is spent."`
	Unpriced bool         `json:"unpriced" doc:"Whether the price of the baseline or the judge is unknown. Models without a price are not called."`
}
