package proof

import (
	"time"

	"fairlead.dev/internal/money"
)

// State is the result of comparing a request.
type State string

// The states of a comparison.
const (
	Compared State = "compared" // Difference, Method and Reason are valid
	Unjudged State = "unjudged" // both responses exist, and neither a check nor a judge decided
	Failed   State = "failed"   // the shadow call returned no response
)

// Record is a request that was chosen for comparison, with the log entry of its shadow call. The log entries of shadow calls are stored
// only in records, so they do not appear in lists, statistics or exports of the request log.
type Record struct {
	Sample           // sample of the comparison; in states other than Compared, Reason explains why there is no verdict
	Workspace string // ID of the workspace
	Holdout   bool   // whether the baseline served the client and the routed model served the shadow call
	State     State
	Cost      money.Amount // total cost of the shadow call and the judge
	Versions  string       // version of the judge's prompt; empty if no judge was called
	Entry     string       // log entry of the shadow call as JSON, without bodies
	Response  string       // response of the shadow call in the chat format; empty unless bodies are stored
}

// Charge is the cost of one call of a comparison.
type Charge struct {
	Budget string // ID of the budget
	ID     string // ID of the call
	At     time.Time
	Amount money.Amount
}

// Tally counts the records of a workspace.
type Tally struct {
	Compared int64
	Unjudged int64
	Failed   int64
	Cost     money.Amount
}
