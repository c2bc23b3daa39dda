package replay

import (
	"time"

	"fairlead/internal/money"
	"fairlead/internal/route"
)

// Report says what a backtest found. Costs are for the tokens that were really used: another model might have written
// more or less. It says nothing about the answers themselves beyond what the predictor expects of them.
type Report struct {
	From       time.Time `json:"from,omitzero"` // when the oldest and
	To         time.Time `json:"to,omitzero"`   // the newest of the requests came in
	Considered int64     `json:"considered"`    // requests that the filter selects
	Decided    int64     `json:"decided"`       // of these, decided anew
	Skipped    []Skip    `json:"skipped"`       // the others, by reason; most frequent first
	Limited    bool      `json:"limited"`       // there are older ones that the limit left out

	Draft Rulebook `json:"draft"` // what was decided by
	Live  Rulebook `json:"live"`  // what is in force
	Same  bool     `json:"same"`  // there is no draft: both are what is in force

	Logged Comparison  `json:"versus_logged"`         // the draft against what was really chosen
	InLive *Comparison `json:"versus_live,omitempty"` // the draft against what is in force; absent without a draft

	Policies []PolicyFigures `json:"policies"` // of the draft, in order
}

// Rulebook names rules that requests were decided by.
type Rulebook struct {
	Versions  route.Versions   `json:"versions"`
	Objective *route.Objective `json:"objective,omitempty"` // in place of the requests' own
}

// Reason is a code for why a request cannot be decided anew.
type Reason string

// The reasons for which requests are skipped.
const (
	NoTrace        Reason = "no_trace"
	Explicit       Reason = "explicit_model"
	Embeddings     Reason = "embeddings"
	Moderations    Reason = "moderations"
	OtherPredictor Reason = "other_predictor"
	Unreadable     Reason = "unreadable"
)

// Words say what a reason means.
func (r Reason) Words() string {
	switch r {
	case NoTrace:
		return "refused before a decision was made"
	case Explicit:
		return "the caller named the model"
	case Embeddings:
		return "embeddings keep their model"
	case Moderations:
		return "moderations keep their model"
	case OtherPredictor:
		return "another predictor saw the prompt"
	case Unreadable:
		return "the record cannot be read"
	}
	return string(r)
}

// Skip is how many requests were left out for one reason.
type Skip struct {
	Reason   Reason `json:"reason"`
	Words    string `json:"words"`
	Requests int64  `json:"requests"`
}

// Comparison is what changes from one way of choosing to another.
type Comparison struct {
	Changed   int64     `json:"changed"`   // requests that go to another model
	Moved     int64     `json:"moved"`     // that go to the same model at another provider
	Unchanged int64     `json:"unchanged"` // that go to the same target
	Refused   []Refusal `json:"rejected"`  // that are refused and were not; most frequent first
	Accepted  int64     `json:"accepted"`  // that were refused and are not
	Routes    []Flow    `json:"routes"`    // from model to model where they differ, most frequent first, the rest as one
	Cost      Costs     `json:"cost"`
	Quality   Quality   `json:"quality"`
	ByCost    []Change  `json:"largest_by_cost"`
	ByQuality []Change  `json:"largest_by_quality"`
}

// Refusal is how many requests are refused for one reason.
type Refusal struct {
	Code     string `json:"code"`             // as clients are told
	Policy   string `json:"policy,omitempty"` // that refuses
	Requests int64  `json:"requests"`
}

// Flow is how many requests go from one model to another. An empty name stands for a refusal; both are Others where many
// rare flows are taken together.
type Flow struct {
	From     string       `json:"from"`
	To       string       `json:"to"`
	Requests int64        `json:"requests"`
	Priced   int64        `json:"priced"` // of these, requests whose costs are known on both sides
	Change   money.Amount `json:"change_usd"`
}

// Others stands for all models in a Flow that joins many.
const Others = "*"

// Costs compare what the same tokens cost. Only requests whose costs are known on both sides count.
type Costs struct {
	Priced   int64         `json:"priced"`
	Coverage float64       `json:"coverage"` // share of the requests that were served before and would be now
	Before   money.Amount  `json:"before_usd"`
	After    money.Amount  `json:"after_usd"`
	Change   money.Amount  `json:"change_usd"` // after less before
	Baseline *money.Amount `json:"baseline_usd,omitempty"`
	Based    int64         `json:"baseline_known"` // of the priced ones, those whose baseline cost is known and is in Baseline
}

// Quality compares predicted chances of a good answer, as the predictor and the feedback of today see them.
type Quality struct {
	Requests int64   `json:"requests"` // with a chance on both sides
	Before   float64 `json:"before"`   // their mean
	After    float64 `json:"after"`
	Change   float64 `json:"change"` // mean of after less before
	Low      float64 `json:"low"`    // the 95 % interval of that mean
	High     float64 `json:"high"`
}

// Change is one request that goes somewhere else. Targets are written provider/model.
type Change struct {
	RequestID     string        `json:"request_id"`
	Time          time.Time     `json:"time"`
	From          string        `json:"from"`
	To            string        `json:"to"`
	CostBefore    *money.Amount `json:"cost_before_usd"` // nil when unknown
	CostAfter     *money.Amount `json:"cost_after_usd"`
	SuccessBefore *float64      `json:"success_probability_before"`
	SuccessAfter  *float64      `json:"success_probability_after"`
	Policy        string        `json:"policy,omitempty"` // of the draft, that makes the choice
}

// PolicyFigures are what one policy does to the requests.
type PolicyFigures struct {
	Name    string       `json:"name"`
	Source  string       `json:"source,omitempty"` // name of the document it is in
	Matched int64        `json:"matched"`
	Decided int64        `json:"decided"` // requests that it sends elsewhere than the router alone would
	Denied  int64        `json:"denied"`
	Priced  int64        `json:"priced"`    // of the decided ones, those whose costs are known on both sides
	Saved   money.Amount `json:"saved_usd"` // the router's own choice less the policy's, for the same tokens; may be negative
}

// Progress says how far a backtest is.
type Progress struct {
	Done  int64 `json:"done"`  // requests looked at
	Total int64 `json:"total"` // 0 when not known
}
