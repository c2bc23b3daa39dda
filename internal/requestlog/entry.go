// Package requestlog defines the log entry of a request with its attempts, the filters for reading entries, and the figures computed from
// entries. Packages spool and store save the entries.
package requestlog

import (
	"encoding/json"
	"fmt"
	"time"

	"fairlead.dev/internal/catalog"
	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/money"
	"fairlead.dev/internal/outline"
	"fairlead.dev/internal/route"
)

// Outcome is the result of a request.
type Outcome string

// The outcomes of a request.
const (
	OK            Outcome = "ok"
	ClientError   Outcome = "client_error"
	UpstreamError Outcome = "upstream_error"
	Rejected      Outcome = "rejected"  // the request was rejected because of key permissions, a limit, a budget or a policy
	Cancelled     Outcome = "cancelled" // the client disconnected
	Partial       Outcome = "partial"   // the response ended with an error after content had been delivered
	Interrupted   Outcome = "interrupted"
	GatewayError  Outcome = "gateway_error"
)

// IsError reports whether the outcome is a provider error or a gateway error.
func (o Outcome) IsError() bool {
	return o == UpstreamError || o == GatewayError || o == Partial || o == Interrupted
}

// Entry is the log entry of one request. Zero values mean "unknown" or "did not happen". Groups of fields are embedded structs, so that the
// JSON object is flat.
type Entry struct {
	ID string `json:"id"`
	Owner
	Timing
	Call
	Routing
	Result
	Charge
	Baseline
	Cache *Cache `json:"cache,omitempty"` // use of the response cache; nil if it was not used
	Labels
	Connection

	BodyState BodyState `json:"body_state"`
	Body      Body      `json:"-"` // request and response bodies, stored separately
	// Trace is the trace context of the request. It is not stored, and is empty if requests are not traced.
	Trace TraceContext `json:"-"`
}

// Owner identifies the workspace of a request, and the key or account that sent the request.
type Owner struct {
	WorkspaceID string `json:"workspace_id"`
	KeyID       string `json:"key_id,omitempty"`
	KeyName     string `json:"key_name,omitempty"`
	AccountID   string `json:"account_id,omitempty"` // account ID, set instead of a key for requests from the dashboard
}

// Timing holds the start of a request and its durations.
type Timing struct {
	Time     time.Time     `json:"time"`
	Latency  time.Duration `json:"latency_ns"`  // time from the first byte received to the last byte sent
	TTFT     time.Duration `json:"ttft_ns"`     // time from the first byte received to the first content sent
	Overhead time.Duration `json:"overhead_ns"` // latency minus the time in attempts and minus Wait
	// Wait is the time that the request waited for a provider or a budget while no attempt was in flight. It is the sum of the attempts' Wait
	// and the wait after the last attempt.
	Wait time.Duration `json:"wait_ns,omitempty"`
}

// Call describes the request that the client sent.
type Call struct {
	Endpoint  string `json:"endpoint"` // path of the endpoint, such as "chat/completions"
	Format    string `json:"format"`
	Stream    bool   `json:"stream"`
	Requested string `json:"requested_model"`
	Preview   string `json:"preview,omitempty"` // beginning of the prompt
}

// Routing holds the model that served a request, the decision that selected the model, and the attempts.
type Routing struct {
	Model     string   `json:"model,omitempty"`    // canonical name of the model that served the request
	Provider  string   `json:"provider,omitempty"` // provider that served the request
	ServedAs  string   `json:"served_as,omitempty"`
	Simulated bool     `json:"simulated,omitempty"`
	Policy    string   `json:"policy,omitempty"` // policy that changed the decision
	Warnings  []string `json:"warnings,omitempty"`
	Escalated string   `json:"escalated,omitempty"` // reason for routing a stuck task to a stronger model; empty for other requests

	DecisionKind route.Kind      `json:"decision,omitempty"`
	Decision     *route.Decision `json:"trace,omitempty"`
	Recorded     Recorded        `json:"-"` // JSON of the decision, if it has already been encoded
	Versions     route.Versions  `json:"versions"`
	Attempts     []Attempt       `json:"attempts"`
}

// Result is the response that the client received.
type Result struct {
	Outcome Outcome  `json:"outcome"`
	Status  int      `json:"status"` // HTTP status sent to the client
	Error   *Failure `json:"error,omitempty"`
	Finish  string   `json:"finish_reason,omitempty"`
}

// Charge holds the usage of a request and its cost.
type Charge struct {
	Usage     llm.Usage     `json:"usage"`
	UsageFlag UsageFlag     `json:"usage_flag,omitempty"` // reason why the provider's usage was not charged as reported; empty if it was
	Cost      *money.Amount `json:"cost_usd"`             // cost of the request; nil if unknown
	Bill      *catalog.Bill `json:"bill,omitempty"`
}

// Baseline is the cost of the same request on the baseline model, which is used to compute savings.
type Baseline struct {
	BaselineModel  string               `json:"baseline_model,omitempty"`
	BaselineSource route.BaselineSource `json:"baseline_source,omitempty"`
	BaselineCost   *money.Amount        `json:"baseline_cost_usd"` // cost on the baseline model; nil if unknown
	BaselineBill   *catalog.Bill        `json:"baseline_bill,omitempty"`
}

// Labels holds the session, the end user and the tags of a request.
type Labels struct {
	Session string `json:"session,omitempty"`
	// SessionSource is "given" if the client sent a session ID, and "derived" otherwise. It is empty for an entry without a session.
	SessionSource string `json:"session_source,omitempty"`
	// Subjects lists the session and the end user to which the cost is charged, if the key limits their spending.
	Subjects []string          `json:"subjects,omitempty"`
	EndUser  string            `json:"end_user,omitempty"`
	Tags     map[string]string `json:"tags,omitempty"`
	Metadata map[string]string `json:"metadata,omitempty"`
}

// Connection describes the client and the amount of data exchanged with the client.
type Connection struct {
	Client   string `json:"client,omitempty"` // user agent, truncated
	IP       string `json:"ip,omitempty"`
	TraceID  string `json:"trace_id,omitempty"`
	BytesIn  int64  `json:"bytes_in"`
	BytesOut int64  `json:"bytes_out"`
}

// Recorded is the JSON of a decision. It is valid only as long as the entry points to that decision. Code that changes a decision must
// therefore set the entry's decision to a changed copy of WholeDecision.
type Recorded struct {
	Decision *route.Decision
	JSON     []byte
	Short    bool // whether Decision was decoded without its candidates
}

// DecisionJSON returns the recorded JSON of the decision, or nil.
func (r *Routing) DecisionJSON() []byte {
	if r.Decision == nil || r.Recorded.Decision != r.Decision {
		return nil
	}
	return r.Recorded.JSON
}

// WholeDecision returns the entry's decision with all candidates, or nil if it has no decision.
func (e *Entry) WholeDecision() (*route.Decision, error) {
	text := e.DecisionJSON()
	if text == nil || !e.Recorded.Short {
		return e.Decision, nil
	}
	d := new(route.Decision)
	if err := json.Unmarshal(text, d); err != nil {
		return nil, fmt.Errorf("decode the decision of %s: %w", e.ID, err)
	}
	return d, nil
}

// Saved returns the baseline cost minus the cost. ok is false if either is unknown.
func (e *Entry) Saved() (saved money.Amount, ok bool) {
	if e.Cost == nil || e.BaselineCost == nil {
		return 0, false
	}
	return e.BaselineCost.Sub(*e.Cost), true
}

// OperatorCost returns the cost of all attempts, including those that are not charged to the client. It is nil if no cost is known.
func (r *Routing) OperatorCost() *money.Amount {
	var sum *money.Amount
	for i := range r.Attempts {
		if cost := r.Attempts[i].Cost; cost != nil && sum == nil {
			sum = new(*cost)
		} else if cost != nil {
			*sum = sum.Add(*cost)
		}
	}
	return sum
}

// CacheStatus describes whether the response cache served a request.
type CacheStatus string

// The states of a request with a response cache.
const (
	CacheHit    CacheStatus = "hit"    // served from the cache
	CacheMiss   CacheStatus = "miss"   // served by a target
	CacheBypass CacheStatus = "bypass" // the cache was requested but could not be used
)

// Cache describes a request's use of the response cache.
type Cache struct {
	Status CacheStatus `json:"status"`
	// Reason is the reason why the cache was bypassed, or why the response was not stored after a miss; empty for a stored response.
	Reason string        `json:"reason,omitempty"`
	Age    time.Duration `json:"age_ns,omitempty"`    // on a cache hit, age of the cached response
	Source string        `json:"source,omitempty"`    // on a cache hit, ID of the request that produced the cached response
	Saved  *money.Amount `json:"saved_usd,omitempty"` // cost of the cached response; nil if unknown
	Inputs int           `json:"inputs,omitempty"`    // number of embeddings inputs served from the cache
}

// CacheHit reports whether the response cache served the whole request.
func (e *Entry) CacheHit() bool { return e.Cache != nil && e.Cache.Status == CacheHit }

// Served reports whether a target served the request. The latency of other requests is not a model latency.
func (e *Entry) Served() bool {
	return e.Model != "" && !e.CacheHit() && e.Endpoint != BatchEndpoint && e.Endpoint != RealtimeEndpoint
}

// BatchEndpoint is the endpoint of requests about batches. An entry with this endpoint and a model records the usage of a batch.
const BatchEndpoint = "batches"

// RealtimeEndpoint is the endpoint of realtime sessions. Their latency is not a model latency, because the client determines their length.
const RealtimeEndpoint = "realtime"

// The sources of requests.
const (
	SourceKey        = "key"        // authenticated by an API key
	SourcePlayground = "playground" // sent from the dashboard
)

// Source returns the source of the request.
func (o *Owner) Source() string {
	if o.KeyID == "" {
		return SourcePlayground
	}
	return SourceKey
}

// BodyState describes whether the bodies are stored, or the reason why they are not.
type BodyState string

// The states of the bodies.
const (
	BodyStored            BodyState = "stored"
	BodyDisabled          BodyState = "disabled" // disabled for the workspace or the instance
	BodyDisabledForKey    BodyState = "disabled_for_key"
	BodyDisabledByPolicy  BodyState = "disabled_by_policy"
	BodyDisabledByRequest BodyState = "disabled_by_request"
	BodyExpired           BodyState = "expired"
	BodyTooLarge          BodyState = "too_large"
	BodyRedactionTimeout  BodyState = "redaction_timeout" // the redaction rules took too long
	BodyMedia             BodyState = "media"             // bodies of audio, image, rerank, realtime, file and batch requests are not stored
	BodyNone              BodyState = "none"              // the request failed before its body was read
)

// Body holds the bodies of request and response. For a stream, Response holds the events until they are assembled into one response. The
// events are joined by newlines or encoded by a Folder. A request that is not yet stored in the database may be split into an outline and
// parts: see package outline.
type Body struct {
	Request  []byte
	Response []byte
	Streamed bool // whether Response is a list of events that are not assembled yet
	Folded   bool // whether the events are encoded by a Folder

	Split   bool              // whether Request is an outline
	Parts   []byte            // parts of the outline that might not be stored yet
	Whole   int               // length of the request before it was split
	Missing []outline.Address // addresses of outline parts that are neither in Parts nor stored; set by a Writer
	Gone    int               // number of deleted parts that are replaced with outline.Gone; set by a Reader
}

// JoinedRequest returns the whole request body. In a split request, outline.Gone replaces each part that is not in Parts.
func (b *Body) JoinedRequest() []byte {
	if !b.Split {
		return b.Request
	}
	joined, _, err := outline.JoinCarried(b.Request, b.Parts)
	if err != nil {
		return nil
	}
	return joined
}

// UsageFlag is the reason why the charge of a request is not based on the usage that its provider reported.
type UsageFlag string

// The usage flags.
const (
	UsageRejected  UsageFlag = "rejected"   // the reported usage is implausible; the charge is based on the gateway's own count
	UsageAboveHold UsageFlag = "above_hold" // the usage costs more than the hold; the charge is the amount of the hold
)

// Attempt is one call to one target. Its groups of fields are embedded like those of Entry.
type Attempt struct {
	Target
	AttemptTiming
	AttemptResult
	Usage    *llm.Usage    `json:"usage,omitempty"`
	Reported *llm.Usage    `json:"reported_usage,omitempty"` // usage reported by the provider, if the gateway rejected it
	Cost     *money.Amount `json:"cost_usd,omitempty"`
	Bytes    int64         `json:"bytes"`
	PromptCache
}

// Target identifies the target of an attempt and the credential used.
type Target struct {
	Provider   string `json:"provider"`
	Model      string `json:"model"`
	Upstream   string `json:"upstream"`
	Credential string `json:"credential,omitempty"`
}

// AttemptTiming holds the start of an attempt and its durations.
type AttemptTiming struct {
	Start time.Duration `json:"start_ns"` // time since the start of the request
	// Wait is the waiting time before the attempt: for a budget, a backoff or a provider slot, or because traffic ramps up after an outage.
	Wait       time.Duration `json:"wait_ns,omitempty"`
	BudgetWait time.Duration `json:"budget_wait_ns,omitempty"` // part of Wait spent waiting for money that other requests reserved
	Connect    time.Duration `json:"connect_ns"`               // time until the connection was ready
	Headers    time.Duration `json:"headers_ns"`               // time until the response headers arrived
	FirstToken time.Duration `json:"first_token_ns"`
	Duration   time.Duration `json:"duration_ns"`
}

// AttemptResult describes the target's response or the failure of the attempt.
type AttemptResult struct {
	Status     int           `json:"status,omitempty"`
	Class      llm.Kind      `json:"class,omitempty"` // kind of failure; empty if the attempt served the request
	Message    string        `json:"message,omitempty"`
	RetryAfter time.Duration `json:"retry_after_ns,omitempty"`
}

// PromptCache describes how the gateway used the provider's prompt cache.
type PromptCache struct {
	// CacheMark is the lifetime of the prompt-cache breakpoint that the gateway set, 5m or 1h; empty for none.
	CacheMark string `json:"cache_mark,omitempty"`
	// CacheKey is the prompt_cache_key that the gateway set; empty for none.
	CacheKey string `json:"cache_key,omitempty"`
	// CacheSaved is the cost of the attempt without a prompt cache minus its cost with the breakpoint. It is negative if the cache write costs
	// more than the cache read saves, and nil if unknown.
	CacheSaved *money.Amount `json:"cache_saved_usd,omitempty"`
}

// Failed reports whether the provider failed. A disconnected client and an invalid request are not provider failures.
func (r *AttemptResult) Failed() bool { return r.Class != "" && r.Class.Origin() == llm.FromProvider }

// Failure is the error that the client received.
type Failure struct {
	Code    string     `json:"code"`
	Message string     `json:"message"`
	Origin  llm.Origin `json:"origin"`
}
