package admin

import (
	"time"

	"fairlead/internal/money"
	"fairlead/internal/replay"
	"fairlead/internal/route"
)

// BacktestReport documents replay.Report.
type BacktestReport struct {
	From       *time.Time     `json:"from,omitempty" doc:"When the oldest of the requests came in; absent without any."`
	To         *time.Time     `json:"to,omitempty" doc:"When the newest of the requests came in."`
	Considered int64          `json:"considered" doc:"Requests that the filter selects."`
	Decided    int64          `json:"decided" doc:"Of these, decided anew."`
	Skipped    []BacktestSkip `json:"skipped" doc:"The others by reason, most frequent first."`
	Limited    bool           `json:"limited" doc:"There are older ones that the limit left out."`

	Draft BacktestRules `json:"draft" doc:"What was decided by."`
	Live  BacktestRules `json:"live" doc:"What is in force."`
	Same  bool          `json:"same" doc:"There is no draft: both are what is in force."`

	Logged BacktestComparison  `json:"versus_logged" doc:"The draft against what was really chosen."`
	InLive *BacktestComparison `json:"versus_live,omitempty" doc:"The draft against what is in force; absent without a draft."`

	Policies []BacktestPolicy `json:"policies" doc:"Of the draft, in the order of evaluation."`
}

// BacktestRules documents replay.Rulebook.
type BacktestRules struct {
	Versions  route.Versions   `json:"versions"`
	Objective *route.Objective `json:"objective,omitempty" doc:"In place of what requests ask for."`
}

// BacktestSkip documents replay.Skip.
type BacktestSkip struct {
	Reason   replay.Reason `json:"reason" doc:"no_trace, explicit_model, embeddings, moderations, other_predictor or unreadable."`
	Words    string        `json:"words" doc:"The same in words."`
	Requests int64         `json:"requests"`
}

// BacktestComparison documents replay.Comparison.
type BacktestComparison struct {
	Changed   int64             `json:"changed" doc:"Requests that go to another model."`
	Moved     int64             `json:"moved" doc:"That go to the same model at another provider."`
	Unchanged int64             `json:"unchanged" doc:"That go to the same target."`
	Refused   []BacktestRefusal `json:"refused" doc:"That are refused and were not, most frequent first."`
	Accepted  int64             `json:"accepted" doc:"That were refused and are not."`
	Routes    []BacktestRoute   `json:"routes" doc:"From model to model where they differ, most frequent first, the rest as one."`
	Cost      BacktestCost      `json:"cost"`
	Quality   BacktestQuality   `json:"quality"`
	ByCost    []BacktestChange  `json:"largest_by_cost"`
	ByQuality []BacktestChange  `json:"largest_by_quality"`
}

// BacktestRefusal documents replay.Refusal.
type BacktestRefusal struct {
	Code     string `json:"code" doc:"As clients are told."`
	Policy   string `json:"policy,omitempty" doc:"That refuses."`
	Requests int64  `json:"requests"`
}

// BacktestRoute documents replay.Flow.
type BacktestRoute struct {
	From     string       `json:"from" doc:"Model; empty for a refusal, * where many rare routes are taken together."`
	To       string       `json:"to" doc:"Likewise."`
	Requests int64        `json:"requests"`
	Priced   int64        `json:"priced" doc:"Of these, requests whose costs are known on both sides."`
	Change   money.Amount `json:"change_usd" doc:"Negative when it becomes cheaper."`
}

// BacktestCost documents replay.Costs.
type BacktestCost struct {
	Priced   int64         `json:"priced" doc:"Requests whose costs are known on both sides: only they count."`
	Coverage float64       `json:"coverage" doc:"Their share of the requests that were served before and would be now, 0 to 1."`
	Before   money.Amount  `json:"before_usd"`
	After    money.Amount  `json:"after_usd" doc:"For as many tokens: another model might have written more or less."`
	Change   money.Amount  `json:"change_usd" doc:"After less before."`
	Baseline *money.Amount `json:"baseline_usd,omitempty"`
	Based    int64         `json:"baseline_known" doc:"Of the priced ones, those whose baseline cost is known and counted."`
}

// BacktestQuality documents replay.Quality.
type BacktestQuality struct {
	Requests int64   `json:"requests" doc:"Requests with a predicted chance on both sides."`
	Before   float64 `json:"before" doc:"Mean predicted chance of a good answer, 0 to 1."`
	After    float64 `json:"after"`
	Change   float64 `json:"change" doc:"Mean of after less before."`
	Low      float64 `json:"low" doc:"The 95 % interval of that mean."`
	High     float64 `json:"high"`
}

// BacktestChange documents replay.Change.
type BacktestChange struct {
	RequestID    string        `json:"request_id"`
	Time         time.Time     `json:"time"`
	From         string        `json:"from" doc:"provider/model."`
	To           string        `json:"to"`
	CostBefore   *money.Amount `json:"cost_before_usd" nullable:"true"`
	CostAfter    *money.Amount `json:"cost_after_usd" nullable:"true"`
	ChanceBefore *float64      `json:"chance_before"`
	ChanceAfter  *float64      `json:"chance_after"`
	Policy       string        `json:"policy,omitempty" doc:"Of the draft, that makes the choice."`
}

// BacktestPolicy documents replay.PolicyFigures.
type BacktestPolicy struct {
	Name    string       `json:"name"`
	Source  string       `json:"source,omitempty" doc:"instance or workspace"`
	Matched int64        `json:"matched"`
	Decided int64        `json:"decided" doc:"Requests that it sends elsewhere than the router alone would."`
	Denied  int64        `json:"denied"`
	Priced  int64        `json:"priced" doc:"Of the decided ones, those whose costs are known on both sides."`
	Saved   money.Amount `json:"saved_usd" doc:"The router's own choice less the policy's, for the same tokens; may be negative."`
}
