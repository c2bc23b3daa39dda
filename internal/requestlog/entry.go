// Package requestlog owns the record of a request: the Entry with its attempts, the filters for reading entries,
// and the figures summed up from them. Where entries are kept is the matter of spool and store.
package requestlog

import (
	"encoding/json"
	"fmt"
	"time"

	"fairlead/internal/catalog"
	"fairlead/internal/llm"
	"fairlead/internal/money"
	"fairlead/internal/route"
)

// Outcome says how a request ended, whatever the decision was.
type Outcome string

// The outcomes of a request.
const (
	OK            Outcome = "ok"
	ClientError   Outcome = "client_error"
	UpstreamError Outcome = "upstream_error"
	Rejected      Outcome = "rejected"  // refused by a key's rights, a limit, a budget or a policy
	Cancelled     Outcome = "cancelled" // the client left
	Partial       Outcome = "partial"   // ended with an error after content had been delivered
	Interrupted   Outcome = "interrupted"
	GatewayError  Outcome = "gateway_error"
)

// IsError reports whether the outcome is an error of a provider or of ours, and not the client's doing.
func (o Outcome) IsError() bool {
	return o == UpstreamError || o == GatewayError || o == Partial || o == Interrupted
}

// Entry is the record of one request. Zero values mean "not known" or "did not come to that".
type Entry struct {
	ID          string `json:"id"`
	WorkspaceID string `json:"workspace_id"`
	KeyID       string `json:"key_id,omitempty"`
	KeyName     string `json:"key_name,omitempty"`
	AccountID   string `json:"account_id,omitempty"` // set instead of a key when a dashboard session sent it

	Time     time.Time     `json:"time"`
	Latency  time.Duration `json:"latency_ns"`  // from first byte in to last byte out
	TTFT     time.Duration `json:"ttft_ns"`     // to the first content out
	Overhead time.Duration `json:"overhead_ns"` // latency less the time in attempts and less Wait
	// Wait is the time without an attempt in flight that was spent waiting for a provider: the sum of the attempts' Wait, and
	// a wait after the last attempt.
	Wait time.Duration `json:"wait_ns,omitempty"`

	Endpoint  string   `json:"endpoint"` // such as "chat/completions"
	Format    string   `json:"format"`
	Stream    bool     `json:"stream"`
	Requested string   `json:"requested_model"`
	Model     string   `json:"model,omitempty"`    // canonical name of the model that served
	Provider  string   `json:"provider,omitempty"` // that served
	ServedAs  string   `json:"served_as,omitempty"`
	Simulated bool     `json:"simulated,omitempty"`
	Policy    string   `json:"policy,omitempty"` // that shaped the decision
	Warnings  []string `json:"warnings,omitempty"`
	Signals   []string `json:"signals,omitempty"` // what the answer shows by itself: truncation, refusal, retry

	DecisionKind route.Kind      `json:"decision,omitempty"`
	Decision     *route.Decision `json:"trace,omitempty"`
	Attempts     []Attempt       `json:"attempts"`

	Outcome        Outcome              `json:"outcome"`
	Status         int                  `json:"status"` // HTTP status sent to the client
	Error          *Failure             `json:"error,omitempty"`
	Finish         string               `json:"finish_reason,omitempty"`
	Usage          llm.Usage            `json:"usage"`
	UsageFlag      UsageFlag            `json:"usage_flag,omitempty"` // set where the provider's usage was not charged as reported
	Cost           *money.Amount        `json:"cost_usd"`             // nil when unknown
	Bill           *catalog.Bill        `json:"bill,omitempty"`
	BaselineModel  string               `json:"baseline_model,omitempty"`
	BaselineSource route.BaselineSource `json:"baseline_source,omitempty"`
	BaselineCost   *money.Amount        `json:"baseline_cost_usd"` // nil when unknown
	BaselineBill   *catalog.Bill        `json:"baseline_bill,omitempty"`

	Preview  string            `json:"preview,omitempty"`
	Session  string            `json:"session,omitempty"`
	EndUser  string            `json:"end_user,omitempty"`
	Tags     map[string]string `json:"tags,omitempty"`
	Metadata map[string]string `json:"metadata,omitempty"`
	Client   string            `json:"client,omitempty"` // user agent, shortened
	IP       string            `json:"ip,omitempty"`
	TraceID  string            `json:"trace_id,omitempty"`
	Versions route.Versions    `json:"versions"`
	BytesIn  int64             `json:"bytes_in"`
	BytesOut int64             `json:"bytes_out"`

	BodyState BodyState `json:"body_state"`
	Body      Body      `json:"-"` // kept apart from the rest
	Recorded  Recorded  `json:"-"` // what need not be written as JSON again
}

// Recorded is a decision as JSON. It is good for as long as an entry has that very decision: whoever changes one makes another, out of
// the whole one.
type Recorded struct {
	Decision *route.Decision
	JSON     []byte
	Short    bool // the decision itself lacks its candidates
}

// DecisionJSON is the entry's decision as it was recorded; nil where it was not.
func (e *Entry) DecisionJSON() []byte {
	if e.Decision == nil || e.Recorded.Decision != e.Decision {
		return nil
	}
	return e.Recorded.JSON
}

// WholeDecision is the entry's decision with all of its candidates; nil when it has none.
func (e *Entry) WholeDecision() (*route.Decision, error) {
	text := e.DecisionJSON()
	if text == nil || !e.Recorded.Short {
		return e.Decision, nil
	}
	d := new(route.Decision)
	if err := json.Unmarshal(text, d); err != nil {
		return nil, fmt.Errorf("decision of %s: %w", e.ID, err)
	}
	return d, nil
}

// Saved is the baseline cost less the cost; ok is false when either is unknown.
func (e *Entry) Saved() (saved money.Amount, ok bool) {
	if e.Cost == nil || e.BaselineCost == nil {
		return 0, false
	}
	return e.BaselineCost.Sub(*e.Cost), true
}

// OperatorCost is what all attempts have cost, those included that the client does not pay for; nil when none is known.
func (e *Entry) OperatorCost() *money.Amount {
	var sum *money.Amount
	for i := range e.Attempts {
		if cost := e.Attempts[i].Cost; cost != nil && sum == nil {
			sum = new(*cost)
		} else if cost != nil {
			*sum = sum.Add(*cost)
		}
	}
	return sum
}

// Served reports whether a target served the request. One that was refused, or that every target failed, has a latency
// too, but it says nothing about models.
func (e *Entry) Served() bool { return e.Model != "" }

// SampleKey stands for the key of sample traffic, which nobody holds. It comes in like the traffic of any other key, is
// always simulated, and no budget pays for it.
const (
	SampleKey     = "key_sample"
	SampleKeyName = "sample traffic"
)

// The ways in which requests come in.
const (
	SourceKey        = "key"        // by an API key
	SourcePlayground = "playground" // by somebody signed in to the dashboard
)

// Source says how the request came in.
func (e *Entry) Source() string {
	if e.KeyID == "" {
		return SourcePlayground
	}
	return SourceKey
}

// BodyState says whether the request's text is stored, and if not, why not.
type BodyState string

// The states of a stored body.
const (
	BodyStored            BodyState = "stored"
	BodyDisabled          BodyState = "disabled" // storing is off for the workspace or the instance
	BodyDisabledForKey    BodyState = "disabled_for_key"
	BodyDisabledByPolicy  BodyState = "disabled_by_policy"
	BodyDisabledByRequest BodyState = "disabled_by_request"
	BodyExpired           BodyState = "expired"
	BodyTooLarge          BodyState = "too_large"
	BodyRedactionTimeout  BodyState = "redaction_timeout" // the redaction rules took too long for it
	BodyNone              BodyState = "none"              // the request failed before there was one
)

// formerBodyStates maps the states that older entries store to today's.
var formerBodyStates = map[string]BodyState{
	"off":                BodyDisabled,
	"off_for_key":        BodyDisabledForKey,
	"off_by_policy":      BodyDisabledByPolicy,
	"refused_by_request": BodyDisabledByRequest,
	"withheld":           BodyRedactionTimeout,
}

// UnmarshalText reads a stored state, former ones included.
func (s *BodyState) UnmarshalText(text []byte) error {
	*s = BodyState(text)
	if renamed, ok := formerBodyStates[string(text)]; ok {
		*s = renamed
	}
	return nil
}

// Body is the text of request and answer. Response holds the bytes of a whole answer, or the events of a stream until they are
// assembled: joined by newlines, or as a Folder writes them.
type Body struct {
	Request  []byte
	Response []byte
	Streamed bool // Response is still a list of events
	Folded   bool // they are as a Folder wrote them
}

// UsageFlag says why a request was not charged by the usage that its provider reported.
type UsageFlag string

// The usage flags.
const (
	UsageRejected  UsageFlag = "rejected"   // the report cannot be true; the charge is by our own count
	UsageAboveHold UsageFlag = "above_hold" // the usage costs more than was held; the charge is the hold
)

// Attempt is one try at one target.
type Attempt struct {
	Provider   string        `json:"provider"`
	Model      string        `json:"model"`
	Upstream   string        `json:"upstream"`
	Credential string        `json:"credential,omitempty"`
	Start      time.Duration `json:"start_ns"` // after the request's start
	// Wait is the time spent waiting before the attempt: backoff, a provider slot, returning traffic after an outage.
	Wait       time.Duration `json:"wait_ns,omitempty"`
	Connect    time.Duration `json:"connect_ns"` // until the connection was ready
	Headers    time.Duration `json:"headers_ns"` // until the answer's headers
	FirstToken time.Duration `json:"first_token_ns"`
	Duration   time.Duration `json:"duration_ns"`
	Status     int           `json:"status,omitempty"`
	Class      llm.Kind      `json:"class,omitempty"` // of its failure; empty when it served
	Message    string        `json:"message,omitempty"`
	RetryAfter time.Duration `json:"retry_after_ns,omitempty"`
	Usage      *llm.Usage    `json:"usage,omitempty"`
	Reported   *llm.Usage    `json:"reported_usage,omitempty"` // what the provider reported, where that was rejected
	Cost       *money.Amount `json:"cost_usd,omitempty"`
	Bytes      int64         `json:"bytes"`
	Hedge      bool          `json:"hedge,omitempty"` // made beside another one that kept silent
}

// Failed reports whether the attempt failed by the provider's doing. That a client left, or sent what no provider takes,
// is nobody's failure.
func (a *Attempt) Failed() bool { return a.Class != "" && a.Class.Origin() == llm.FromProvider }

// Failure is the error a client was given.
type Failure struct {
	Code    string     `json:"code"`
	Message string     `json:"message"`
	Origin  llm.Origin `json:"origin"`
}
