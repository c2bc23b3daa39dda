package replay

import (
	"time"

	"fairlead.dev/internal/money"
	"fairlead.dev/internal/route"
)

// Report holds the results of a backtest. Costs are computed from the recorded token counts, although another model might have produced a
// different number of tokens. Quality contains predictions.
type Report struct {
	From       time.Time `json:"from,omitzero"` // time of the oldest request
	To         time.Time `json:"to,omitzero"`   // time of the newest request
	Considered int64     `json:"considered"`    // requests that match the filter
	Decided    int64     `json:"decided"`       // requests whose decision was recomputed
	Skipped    []Skip    `json:"skipped"`       // skipped requests by reason, most frequent first
	Limited    bool      `json:"limited"`       // whether the limit excluded older requests

	Draft RuleSet `json:"draft"`
	Live  RuleSet `json:"live"` // rules that are active now
	Same  bool    `json:"same"` // whether Draft and Live are equal because no draft is given

	Logged Comparison  `json:"versus_logged"`         // comparison of the draft with the recorded choices
	InLive *Comparison `json:"versus_live,omitempty"` // comparison of the draft with the active rules; nil if there is no draft

	Policies []PolicyFigures `json:"policies"` // statistics for the policies of the draft, in order
}

// RuleSet identifies the rules on which decisions are based.
type RuleSet struct {
	Versions  route.Versions   `json:"versions"`
	Objective *route.Objective `json:"objective,omitempty"` // objective that replaces the objective of the requests
}

// Reason is a code for the reason why the decision of a request was not recomputed.
type Reason string

// Reasons for which requests are skipped.
const (
	NoTrace        Reason = "no_trace"
	Explicit       Reason = "explicit_model"
	Embeddings     Reason = "embeddings"
	Moderations    Reason = "moderations"
	OtherPredictor Reason = "other_predictor"
	Unreadable     Reason = "unreadable"
)

// Words returns a description of the reason.
func (r Reason) Words() string {
	switch r {
	case NoTrace:
		return "rejected before a decision was made"
	case Explicit:
		return "the caller named the model"
	case Embeddings:
		return "embeddings keep their model"
	case Moderations:
		return "moderations keep their model"
	case OtherPredictor:
		return "features are from another version of the predictor"
	case Unreadable:
		return "the record is unreadable"
	}
	return string(r)
}

// Skip counts the requests that were skipped for one reason.
type Skip struct {
	Reason   Reason `json:"reason"`
	Words    string `json:"words"`
	Requests int64  `json:"requests"`
}

// Comparison compares two sets of choices.
type Comparison struct {
	Changed   int64       `json:"changed"`   // requests that get a different model
	Moved     int64       `json:"moved"`     // requests that get the same model at a different provider
	Unchanged int64       `json:"unchanged"` // requests that keep their target or stay rejected
	Rejected  []Rejection `json:"rejected"`  // requests that are rejected only after the change, most frequent reason first
	Accepted  int64       `json:"accepted"`  // requests that are rejected only before the change
	Routes    []Flow      `json:"routes"`    // model changes, most frequent first; rare changes are summed
	Cost      Costs       `json:"cost"`
	Quality   Quality     `json:"quality"`
	ByCost    []Change    `json:"largest_by_cost"`
	ByQuality []Change    `json:"largest_by_quality"`
}

// Rejection counts the requests that are rejected for one reason.
type Rejection struct {
	Code     string `json:"code"`             // error code
	Policy   string `json:"policy,omitempty"` // policy that rejects the requests
	Requests int64  `json:"requests"`
}

// Flow counts the requests that change from one model to another. An empty name means that the request is rejected. In the sum of
// rare flows, both names are Others.
type Flow struct {
	From     string       `json:"from"`
	To       string       `json:"to"`
	Requests int64        `json:"requests"`
	Priced   int64        `json:"priced"` // requests with a known cost for both choices
	Change   money.Amount `json:"change_usd"`
}

// Others represents all models in a Flow that sums several flows.
const Others = "*"

// Costs compares the costs of two sets of choices for the same tokens. It includes requests with a known cost for both choices.
type Costs struct {
	Priced   int64         `json:"priced"`
	Coverage float64       `json:"coverage"` // share of priced requests among the requests that are served before and after the change
	Before   money.Amount  `json:"before_usd"`
	After    money.Amount  `json:"after_usd"`
	Change   money.Amount  `json:"change_usd"` // After minus Before
	Baseline *money.Amount `json:"baseline_usd,omitempty"`
	Based    int64         `json:"baseline_known"` // number of priced requests included in Baseline
}

// Quality compares success probabilities, predicted with the current predictor and feedback.
type Quality struct {
	Requests int64   `json:"requests"` // requests with a prediction for both choices
	Before   float64 `json:"before"`   // mean probability before the change
	After    float64 `json:"after"`
	Change   float64 `json:"change"` // mean of the differences between after and before
	Low      float64 `json:"low"`    // lower bound of the 95 % confidence interval of Change
	High     float64 `json:"high"`
}

// Change describes a request whose target changes. Targets are written provider/model.
type Change struct {
	RequestID     string        `json:"request_id"`
	Time          time.Time     `json:"time"`
	From          string        `json:"from"`
	To            string        `json:"to"`
	CostBefore    *money.Amount `json:"cost_before_usd"` // cost before the change; nil if unknown
	CostAfter     *money.Amount `json:"cost_after_usd"`
	SuccessBefore *float64      `json:"success_probability_before"`
	SuccessAfter  *float64      `json:"success_probability_after"`
	Policy        string        `json:"policy,omitempty"` // draft policy that made the choice
}

// PolicyFigures holds statistics about the effects of one policy.
type PolicyFigures struct {
	Name    string       `json:"name"`
	Source  string       `json:"source,omitempty"` // name of the policy document
	Matched int64        `json:"matched"`
	Decided int64        `json:"decided"` // requests whose target the policy changed
	Denied  int64        `json:"denied"`
	Priced  int64        `json:"priced"`    // decided requests with a known cost for both choices
	Saved   money.Amount `json:"saved_usd"` // cost of the router's choice minus cost of the policy's choice; may be negative
}

// Progress reports how many requests of a backtest have been processed.
type Progress struct {
	Done  int64 `json:"done"`  // number of processed requests
	Total int64 `json:"total"` // total number of requests; 0 if unknown
}
