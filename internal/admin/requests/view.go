package requests

import (
	"slices"
	"time"

	"fairlead.dev/internal/account"
	"fairlead.dev/internal/admin/adminapi"
	"fairlead.dev/internal/catalog"
	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/money"
	"fairlead.dev/internal/requestlog"
	"fairlead.dev/internal/route"
)

// RequestRow is a request in a list.
type RequestRow struct {
	ID        string    `json:"id" doc:"Request ID, as returned in x-request-id."`
	Time      time.Time `json:"time"`
	State     string    `json:"state" enum:"running,done" doc:"A running request has no outcome, cost or latency."`
	Outcome   *string   `json:"outcome" doc:"ok, client_error, upstream_error, rejected, cancelled, partial, interrupted or gateway_error."`
	Status    *int      `json:"status" doc:"HTTP status returned to the client."`
	Endpoint  string    `json:"endpoint"`
	Stream    bool      `json:"stream"`
	Preview   string    `json:"preview" doc:"Start of the last user message. Empty if bodies are not stored or the caller lacks read_bodies."`
	Requested string    `json:"requested_model"`
	Model     *string   `json:"model" doc:"Model that served the request."`
	Provider  *string   `json:"provider" doc:"Provider that served the request."`
	Simulated bool      `json:"simulated"`
	Decision  *string   `json:"decision" doc:"expected, fallback or policy. null if no target served the request."`
	Policy    *string   `json:"policy"`
	Fallback  *string   `json:"fallback_reason" doc:"Why the first choice was not used. null unless the decision is fallback."`
	Escalated *string   `json:"escalated" doc:"Why the request was escalated to a stronger model: its task was stuck. null if it was not."`
	Error     *Failure  `json:"error,omitempty"`
	Attempts  int       `json:"attempt_count" doc:"Number of attempts."`
	Finish    *string   `json:"finish_reason"`
	Cache     *string   `json:"cache" doc:"hit, miss or bypass: how the request used the response cache. null if it did not."`
	CacheUse  *CacheUse `json:"cache_use,omitempty" doc:"Details of the response cache. Omitted if the request did not use it."`

	Tokens        Tokens        `json:"tokens"`
	Cost          *money.Amount `json:"cost_usd" nullable:"true" doc:"Estimated cost. null if unknown."`
	BaselineModel *string       `json:"baseline_model"`
	BaselineCost  *money.Amount `json:"baseline_cost_usd" nullable:"true"`
	Saved         *money.Amount `json:"saved_usd" nullable:"true" doc:"Baseline cost minus cost. Negative if routing was more expensive."`
	SavedPercent  *float64      `json:"saved_percent" doc:"Savings as a share of the baseline cost."`

	LatencyMS  *int64 `json:"latency_ms"`
	TTFTMS     *int64 `json:"ttft_ms" doc:"Time to the first content."`
	OverheadUS *int64 `json:"overhead_us" doc:"Latency added by the gateway, in microseconds."`
	WaitMS     *int64 `json:"wait_ms" doc:"Time without an attempt in flight: waiting for a budget, backoff between attempts, waiting for a provider slot, and gradual recovery after an outage. Overhead, waiting and attempts add up to the latency."`

	KeyID     *string `json:"key_id"`
	KeyName   *string `json:"key_name"`
	Source    string  `json:"source" enum:"key,playground" doc:"Origin of the request: an API key or the dashboard's playground."`
	AccountID *string `json:"account_id" doc:"Account ID. Set instead of key_id for requests from the dashboard."`
	Session   *string `json:"session"`
	// SessionSource is null for a request without a session.
	SessionSource *string           `json:"session_source" doc:"given or derived: whether the client named the session."`
	EndUser       *string           `json:"end_user"`
	Tags          map[string]string `json:"tags"`
	Client        string            `json:"client"`
	IP            string            `json:"ip"`
}

// CacheUse describes how a request used the response cache.
type CacheUse struct {
	Status     string        `json:"status" enum:"hit,miss,bypass" doc:"hit: served from the cache. miss: served by a target. bypass: the cache could not be used."`
	Reason     *string       `json:"reason" doc:"Why the cache was bypassed, or why the response of a miss was not stored. null if it was stored."`
	AgeSeconds *int64        `json:"age_seconds" doc:"Age of the cached response. null unless the request is a hit."`
	Source     *string       `json:"source" doc:"Request that the cached response was made for. null unless the request is a hit."`
	Saved      *money.Amount `json:"saved_usd" nullable:"true" doc:"Cost of that request, which the hit saved. Not part of the savings of routing."`
	Inputs     *int          `json:"cached_inputs" doc:"Inputs of an embeddings request that were served from the cache."`
}

// Tokens holds the token counts of a request. Each token is counted in one class, except that output includes reasoning.
type Tokens struct {
	Input      int64 `json:"input" doc:"Uncached input tokens."`
	CacheRead  int64 `json:"cache_read"`
	CacheWrite int64 `json:"cache_write"`
	Output     int64 `json:"output"`
	Reasoning  int64 `json:"reasoning"`
	Searches   int64 `json:"searches" doc:"Web searches that the provider ran for the request. They are not tokens and have their own fee."`
	Estimated  bool  `json:"estimated" doc:"Whether the gateway counted the tokens because the provider reported no usage or implausible usage."`
}

// Failure is the error returned to a client.
type Failure struct {
	Code    string `json:"code"`
	Message string `json:"message" doc:"Error message. Replaced by a fixed text for callers without read_bodies if it can quote the request."`
	Origin  string `json:"origin" enum:"client,gateway,policy,provider"`
}

// RequestDetail is a request with its trace, attempts and cost breakdown.
type RequestDetail struct {
	RequestRow
	Trace          *route.Decision   `json:"trace,omitempty" doc:"Trace of the decision. Absent if no decision was made."`
	Tries          []AttemptView     `json:"attempts" doc:"Attempts in order."`
	Bill           *BillView         `json:"bill,omitempty"`
	BaselineBill   *BillView         `json:"baseline_bill,omitempty"`
	BaselineSource *string           `json:"baseline_source" doc:"Origin of the baseline model: caller, header, policy, key or default."`
	Metadata       map[string]string `json:"metadata"`
	Warnings       []string          `json:"warnings"`
	UsageFlag      *string           `json:"usage_flag" nullable:"true" enum:"rejected,above_hold" doc:"Why the request was not charged by the reported usage. rejected: the reported usage was implausible and the gateway's count was charged. above_hold: the usage costs more than the hold, and the hold was charged. null otherwise."`
	ServedAs       *string           `json:"served_as" doc:"Model name reported by the provider."`
	TraceID        *string           `json:"trace_id"`
	Versions       route.Versions    `json:"versions"`
	BytesIn        int64             `json:"bytes_in"`
	BytesOut       int64             `json:"bytes_out"`
	OperatorCost   *money.Amount     `json:"operator_cost_usd,omitempty" doc:"Cost of all attempts, including those not charged to the client. Absent if unknown, and for callers without manage_providers."`
	BodyState      string            `json:"body_state" doc:"stored, or why the bodies are not available."`
}

// AttemptView is an attempt. start_ms is relative to the start of the request. All other times are relative to the start of the
// attempt.
type AttemptView struct {
	Provider     string        `json:"provider"`
	Model        string        `json:"model"`
	Upstream     string        `json:"upstream" doc:"Model name used by the provider."`
	Credential   string        `json:"credential" doc:"Credential ID. Empty for callers without manage_providers."`
	StartMS      int64         `json:"start_ms"`
	WaitMS       int64         `json:"wait_ms" doc:"Time spent waiting before the attempt: a budget, backoff, a provider slot, and gradual recovery after an outage."`
	BudgetWaitMS int64         `json:"budget_wait_ms" doc:"Part of wait_ms spent waiting for money that other requests had reserved on a budget."`
	ConnectMS    *int64        `json:"connect_ms"`
	HeadersMS    *int64        `json:"headers_ms"`
	FirstTokenMS *int64        `json:"first_token_ms"`
	DurationMS   int64         `json:"duration_ms"`
	Status       *int          `json:"status" doc:"HTTP status of the provider. null if no response was received."`
	Class        *string       `json:"class" doc:"Failure class. null for the attempt that served the request."`
	Message      *string       `json:"message" doc:"Error message of the provider. null for callers without read_bodies because it can quote the request."`
	RetryAfterMS *int64        `json:"retry_after_ms"`
	Tokens       *Tokens       `json:"tokens,omitempty"`
	Reported     *Tokens       `json:"reported_tokens,omitempty" doc:"Usage reported by the provider, if it was rejected."`
	Cost         *money.Amount `json:"cost_usd" nullable:"true" doc:"Cost of the attempt. null if unknown, and for callers without manage_providers."`
	Bytes        int64         `json:"bytes"`
	CacheMark    string        `json:"cache_mark,omitempty" doc:"Lifetime of the prompt-cache marker that Fairlead set for this attempt: 5m or 1h."`
	CacheKey     string        `json:"cache_key,omitempty" doc:"prompt_cache_key that Fairlead set for this attempt, so that the turns of a session reach the same prompt cache."`
	CacheSaved   *money.Amount `json:"cache_saved_usd,omitempty" doc:"How much less the attempt cost with this marker than without a prompt cache. Negative when the prompt was written to the cache."`
}

// BillView is the cost breakdown of a request. The rows add up exactly to the total.
type BillView struct {
	Rows   []BillRow    `json:"rows"`
	Total  money.Amount `json:"total_usd"`
	Kind   string       `json:"price_source" enum:"list,override,provider-reported,local" doc:"Kind of price. local is the price of a model server on this machine."`
	Source string       `json:"source" doc:"Source of the prices, such as the published lists they were read from."`
	AsOf   string       `json:"as_of" doc:"Date of the prices."`
	Card   string       `json:"card" doc:"Price tier that was applied, such as long prompts, a service tier or a promotion. Empty for the standard price."`
	// Excluded is empty unless the request used something without a known price.
	Excluded []string `json:"excluded" doc:"Classes that the request used and that have no known price, such as web_search. The total does not include them."`
}

// BillRow is one row of a cost breakdown.
type BillRow struct {
	Class   string        `json:"class" doc:"input, cache_read, cache_write, output, web_search or request."`
	Tokens  *int64        `json:"tokens"`
	PerMtok *money.Amount `json:"per_mtok_usd" nullable:"true" doc:"US dollars per million tokens."`
	Amount  money.Amount  `json:"amount_usd"`

	Searches *int64        `json:"searches" doc:"Charged web searches. null except for the class web_search."`
	Per1000  *money.Amount `json:"per_1k_searches_usd" nullable:"true" doc:"US dollars per 1,000 web searches. null except for the class web_search."`
}

// requestRow returns the row of an entry. It omits the preview for callers without read_bodies.
func requestRow(e *requestlog.Entry, by account.Actor) RequestRow {
	row := RequestRow{
		ID: e.ID, Time: e.Time.UTC(), State: "done",
		Outcome: adminapi.NonEmpty(string(e.Outcome)), Status: adminapi.Positive(e.Status),
		Endpoint: e.Endpoint, Stream: e.Stream, Preview: e.Preview, Requested: e.Requested,
		Model: adminapi.NonEmpty(e.Model), Provider: adminapi.NonEmpty(e.Provider), Simulated: e.Simulated,
		Decision: adminapi.NonEmpty(string(e.DecisionKind)), Policy: adminapi.NonEmpty(e.Policy), Fallback: adminapi.NonEmpty(fallbackReason(e)), Escalated: adminapi.NonEmpty(e.Escalated), Attempts: len(e.Attempts), Finish: adminapi.NonEmpty(e.Finish),
		Tokens: tokens(e.Usage), Cost: e.Cost, BaselineModel: adminapi.NonEmpty(e.BaselineModel), BaselineCost: e.BaselineCost,
		LatencyMS: adminapi.Millis(e.Latency), TTFTMS: adminapi.Millis(e.TTFT),
		KeyID: adminapi.NonEmpty(e.KeyID), KeyName: adminapi.NonEmpty(e.KeyName), Source: e.Source(), AccountID: adminapi.NonEmpty(e.AccountID),
		Session: adminapi.NonEmpty(e.Session), SessionSource: adminapi.NonEmpty(e.SessionSource), EndUser: adminapi.NonEmpty(e.EndUser), Tags: e.Tags, Client: e.Client, IP: e.IP,
	}
	if e.Latency > 0 {
		row.OverheadUS = new(e.Overhead.Microseconds())
		row.WaitMS = new(e.Wait.Milliseconds())
	}
	if c := e.Cache; c != nil {
		row.Cache = new(string(c.Status))
		row.CacheUse = &CacheUse{Status: string(c.Status), Reason: adminapi.NonEmpty(c.Reason), Source: adminapi.NonEmpty(c.Source), Saved: c.Saved, Inputs: adminapi.Positive(c.Inputs)}
		if c.Status == requestlog.CacheHit {
			row.CacheUse.AgeSeconds = new(int64(c.Age / time.Second))
		}
	}
	if e.Error != nil {
		row.Error = &Failure{Code: e.Error.Code, Message: e.Error.Message, Origin: string(e.Error.Origin)}
	}
	if saved, ok := e.Saved(); ok {
		row.Saved, row.SavedPercent = &saved, money.SavedPercent(saved, *e.BaselineCost)
	}
	if !by.May(account.ReadBodies) {
		row.Preview = ""
		if f := row.Error; f != nil && f.Origin != string(llm.FromGateway) && f.Origin != string(llm.FromPolicy) {
			// Errors from providers and errors about malformed requests can quote the request.
			f.Message = "Hidden because it can quote the request and you do not have the \"read_bodies\" permission."
		}
	}
	return row
}

func requestDetail(e *requestlog.Entry, by account.Actor) RequestDetail {
	d := RequestDetail{
		RequestRow: requestRow(e, by), Trace: e.Decision, Tries: make([]AttemptView, 0, len(e.Attempts)),
		Bill: billView(e.Bill), BaselineBill: billView(e.BaselineBill), BaselineSource: adminapi.NonEmpty(string(e.BaselineSource)),
		Metadata: e.Metadata, Warnings: e.Warnings, UsageFlag: adminapi.NonEmpty(string(e.UsageFlag)), ServedAs: adminapi.NonEmpty(e.ServedAs), TraceID: adminapi.NonEmpty(e.TraceID),
		Versions: e.Versions, BytesIn: e.BytesIn, BytesOut: e.BytesOut, BodyState: string(e.BodyState),
	}
	if by.May(account.ManageProviders) {
		d.OperatorCost = e.OperatorCost()
	}
	for i := range e.Attempts {
		d.Tries = append(d.Tries, attemptView(&e.Attempts[i], by))
	}
	return d
}

// attemptView returns an attempt. It omits operator data and messages that the actor may not read.
func attemptView(t *requestlog.Attempt, by account.Actor) AttemptView {
	v := AttemptView{
		Provider: t.Provider, Model: t.Model, Upstream: t.Upstream, Credential: t.Credential,
		StartMS: t.Start.Milliseconds(), WaitMS: t.Wait.Milliseconds(), BudgetWaitMS: t.BudgetWait.Milliseconds(), ConnectMS: adminapi.Millis(t.Connect), HeadersMS: adminapi.Millis(t.Headers),
		FirstTokenMS: adminapi.Millis(t.FirstToken), DurationMS: t.Duration.Milliseconds(), Status: adminapi.Positive(t.Status),
		Class: adminapi.NonEmpty(string(t.Class)), Message: adminapi.NonEmpty(t.Message), RetryAfterMS: adminapi.Millis(t.RetryAfter), Cost: t.Cost, Bytes: t.Bytes,
		CacheMark: t.CacheMark, CacheKey: t.CacheKey, CacheSaved: t.CacheSaved,
	}
	if t.Usage != nil {
		v.Tokens = new(tokens(*t.Usage))
	}
	if !by.May(account.ManageProviders) { // the costs of individual attempts reveal what the operator pays
		v.Credential, v.Cost, v.CacheSaved = "", nil, nil
	}
	if !by.May(account.ReadBodies) {
		v.Message = nil
	}
	if t.Reported != nil {
		v.Reported = new(tokens(*t.Reported))
	}
	return v
}

func billView(b *catalog.Bill) *BillView {
	if b == nil {
		return nil
	}
	v := &BillView{Rows: make([]BillRow, 0, len(b.Rows)), Total: b.Total, Kind: PriceSource(b.Source), Source: b.Source, AsOf: b.AsOf, Card: b.Card, Excluded: slices.Concat([]string{}, b.Excluded)}
	for _, row := range b.Rows {
		line := BillRow{Class: row.Class, Amount: row.Amount}
		switch row.Class {
		case "request", "above_hold":
		case catalog.WebSearch:
			line.Searches, line.Per1000 = new(row.Tokens), new(catalog.SearchPrice(row.Rate))
		default:
			line.Tokens, line.PerMtok = new(row.Tokens), new(money.Amount(row.Rate))
		}
		v.Rows = append(v.Rows, line)
	}
	return v
}

func tokens(u llm.Usage) Tokens {
	return Tokens{
		Input: u.Input, CacheRead: u.CacheRead, CacheWrite: u.CacheWrite,
		Output: u.Output, Reasoning: u.Reasoning, Searches: u.Searches, Estimated: u.Estimated,
	}
}
