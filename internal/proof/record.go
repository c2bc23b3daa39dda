package proof

import (
	"time"

	"fairlead.dev/internal/money"
)

// State is how the comparison of a request ended.
type State string

// The states of a comparison.
const (
	Compared State = "compared" // Difference, Method and Reason are valid
	Unjudged State = "unjudged" // both responses exist, and neither a check nor a judge decided
	Failed   State = "failed"   // the shadow call gave no response
)

// Record is a request that was chosen for comparison, with the entry of its shadow call. Entries of shadow calls are stored only
// here, so no list, figure or export of the request log contains them.
type Record struct {
	Sample           // Reason explains a missing verdict in states other than Compared
	Workspace string // id
	Holdout   bool   // the baseline served the client, and the routed model made the shadow call
	State     State
	Cost      money.Amount // cost of the shadow call and the judge
	Versions  string       // version of the judge's prompt; empty if no judge was asked
	Entry     string       // log entry of the shadow call as JSON, without bodies
	Response  string       // response of the shadow call in the chat format; empty unless texts are stored
}

// Charge is the cost of one call of a comparison.
type Charge struct {
	Budget string // id of the budget
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
