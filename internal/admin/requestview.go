package admin

import (
	"time"

	"fairlead/internal/account"
	"fairlead/internal/catalog"
	"fairlead/internal/llm"
	"fairlead/internal/money"
	"fairlead/internal/requestlog"
	"fairlead/internal/route"
)

// RequestRow is one request as lists and tails show it.
type RequestRow struct {
	ID        string    `json:"id" doc:"Request id, as x-request-id gave it."`
	Time      time.Time `json:"time"`
	State     string    `json:"state" enum:"running,done" doc:"A running request has no outcome, cost or latency yet."`
	Outcome   *string   `json:"outcome" doc:"How it ended: ok, client_error, upstream_error, rejected, cancelled, partial, interrupted or gateway_error."`
	Status    *int      `json:"status" doc:"HTTP status the client got."`
	Endpoint  string    `json:"endpoint"`
	Stream    bool      `json:"stream"`
	Preview   string    `json:"preview" doc:"How the last user message begins; empty when texts are not stored or you may not read them."`
	Requested string    `json:"requested_model"`
	Model     *string   `json:"model" doc:"The model that served."`
	Provider  *string   `json:"provider" doc:"The provider that served."`
	Simulated bool      `json:"simulated"`
	Decision  *string   `json:"decision" doc:"expected, fallback or policy; null for a request that no target served."`
	Policy    *string   `json:"policy"`
	Fallback  *string   `json:"fallback_reason" doc:"Why the first choice did not serve, in words; null unless the decision is fallback."`
	Error     *Failure  `json:"error,omitempty"`
	Attempts  int       `json:"attempt_count" doc:"How many targets were tried."`
	Finish    *string   `json:"finish_reason"`

	Tokens        Tokens        `json:"tokens"`
	Cost          *money.Amount `json:"cost_usd" nullable:"true" doc:"Estimated cost; null when unknown."`
	BaselineModel *string       `json:"baseline_model"`
	BaselineCost  *money.Amount `json:"baseline_cost_usd" nullable:"true"`
	Saved         *money.Amount `json:"saved_usd" nullable:"true" doc:"Baseline cost less cost; negative when routing cost more."`
	SavedPercent  *float64      `json:"saved_percent" doc:"Saved as a share of the baseline cost."`

	LatencyMS  *int64 `json:"latency_ms"`
	TTFTMS     *int64 `json:"ttft_ms" doc:"Time to the first content."`
	OverheadUS *int64 `json:"overhead_us" doc:"Microseconds of the latency that were the gateway's own."`
	WaitMS     *int64 `json:"wait_ms" doc:"Time spent waiting for a provider without an attempt in flight: backoff between attempts, a provider slot, returning traffic after an outage. Overhead, waiting and the time in attempts add up to the latency."`

	KeyID     *string           `json:"key_id"`
	KeyName   *string           `json:"key_name"`
	Source    string            `json:"source" enum:"key,playground" doc:"How it came in: by an API key, or from the dashboard's playground."`
	AccountID *string           `json:"account_id" doc:"Set instead of a key when a dashboard session sent it."`
	Session   *string           `json:"session"`
	EndUser   *string           `json:"end_user"`
	Tags      map[string]string `json:"tags"`
	Client    string            `json:"client"`
	IP        string            `json:"ip"`
}

// Tokens are the token counts of a request, in classes that exclude each other; reasoning is a part of output.
type Tokens struct {
	Input      int64 `json:"input" doc:"Fresh input: neither read from nor written to a cache."`
	CacheRead  int64 `json:"cache_read"`
	CacheWrite int64 `json:"cache_write"`
	Output     int64 `json:"output"`
	Reasoning  int64 `json:"reasoning"`
	Estimated  bool  `json:"estimated" doc:"Our own count, because the provider told none or an absurd one."`
}

// Failure is the error that a client was given.
type Failure struct {
	Code    string `json:"code"`
	Message string `json:"message" doc:"Replaced by a fixed text for callers without read_bodies where it can quote the request."`
	Origin  string `json:"origin" enum:"client,gateway,policy,provider"`
}

// RequestDetail is one request with its trace, attempts and bills.
type RequestDetail struct {
	RequestRow
	Trace          *route.Decision   `json:"trace,omitempty" doc:"How the decision was made; absent when it did not come to one."`
	Tries          []AttemptView     `json:"attempts" doc:"The attempts in order."`
	Bill           *BillView         `json:"bill,omitempty"`
	BaselineBill   *BillView         `json:"baseline_bill,omitempty"`
	BaselineSource *string           `json:"baseline_source" doc:"Who named the baseline: caller, header, policy, key, default or priciest."`
	Metadata       map[string]string `json:"metadata"`
	Warnings       []string          `json:"warnings"`
	UsageFlag      *string           `json:"usage_flag" nullable:"true" enum:"rejected,above_hold" doc:"Why the request was not charged by the usage that the provider reported. rejected: the report cannot be true, and our own count was charged. above_hold: the usage costs more than was held, and the hold was charged. null when it was."`
	ServedAs       *string           `json:"served_as" doc:"The model name that the provider reported."`
	TraceID        *string           `json:"trace_id"`
	Versions       route.Versions    `json:"versions"`
	BytesIn        int64             `json:"bytes_in"`
	BytesOut       int64             `json:"bytes_out"`
	OperatorCost   *money.Amount     `json:"operator_cost_usd,omitempty" doc:"Cost of all attempts, including those that the client does not pay for. Only for callers who manage providers, and absent when unknown."`
	BodyState      string            `json:"body_state" doc:"stored, or why the texts are not there."`
}

// AttemptView is one try at one target. Times run from the start of the attempt, start_ms from that of the request.
type AttemptView struct {
	Provider     string        `json:"provider"`
	Model        string        `json:"model"`
	Upstream     string        `json:"upstream" doc:"The name the provider knows the model by."`
	Credential   string        `json:"credential" doc:"Id of the credential that was used, never the secret. Empty for callers who do not manage providers."`
	StartMS      int64         `json:"start_ms"`
	WaitMS       int64         `json:"wait_ms" doc:"Time spent waiting directly before the attempt: backoff, a provider slot, returning traffic after an outage."`
	ConnectMS    *int64        `json:"connect_ms"`
	HeadersMS    *int64        `json:"headers_ms"`
	FirstTokenMS *int64        `json:"first_token_ms"`
	DurationMS   int64         `json:"duration_ms"`
	Status       *int          `json:"status" doc:"The provider's HTTP status; null when none came."`
	Class        *string       `json:"class" doc:"Class of the failure; null for the attempt that served."`
	Message      *string       `json:"message" doc:"Message of the provider. null for callers without read_bodies, because it can quote the request."`
	RetryAfterMS *int64        `json:"retry_after_ms"`
	Tokens       *Tokens       `json:"tokens,omitempty"`
	Reported     *Tokens       `json:"reported_tokens,omitempty" doc:"What the provider reported, where that was rejected."`
	Cost         *money.Amount `json:"cost_usd" nullable:"true" doc:"What the attempt cost the operator. null when unknown, and for callers who do not manage providers."`
	Bytes        int64         `json:"bytes"`
	Hedge        bool          `json:"hedge,omitempty" doc:"Made beside another attempt that kept silent; whoever had content first served."`
}

// BillView prices a request row by row; the rows sum to the total exactly.
type BillView struct {
	Rows   []BillRow    `json:"rows"`
	Total  money.Amount `json:"total_usd"`
	Kind   string       `json:"price_source" enum:"list,override,provider-reported,local" doc:"What kind of prices these are; local ones are of a server on this machine."`
	Source string       `json:"source" doc:"Exactly where the prices come from, such as the lists they were read from."`
	AsOf   string       `json:"as_of" doc:"The day the prices were read."`
	Card   string       `json:"card" doc:"Which card of the price was used, such as a tier for long prompts, a service tier or a promotion; empty for the usual one."`
}

// BillRow is one line of a bill.
type BillRow struct {
	Class   string        `json:"class" doc:"input, cache_read, cache_write, output or request."`
	Tokens  *int64        `json:"tokens"`
	PerMtok *money.Amount `json:"per_mtok_usd" nullable:"true" doc:"Dollars per million tokens."`
	Amount  money.Amount  `json:"amount_usd"`
}

// requestRow leaves out the beginning of the prompt for those who may not read texts.
func requestRow(e *requestlog.Entry, by account.Actor) RequestRow {
	row := RequestRow{
		ID: e.ID, Time: e.Time.UTC(), State: "done",
		Outcome: text(string(e.Outcome)), Status: positive(e.Status),
		Endpoint: e.Endpoint, Stream: e.Stream, Preview: e.Preview, Requested: e.Requested,
		Model: text(e.Model), Provider: text(e.Provider), Simulated: e.Simulated,
		Decision: text(string(e.DecisionKind)), Policy: text(e.Policy), Fallback: text(fallbackReason(e)), Attempts: len(e.Attempts), Finish: text(e.Finish),
		Tokens: tokens(e.Usage), Cost: e.Cost, BaselineModel: text(e.BaselineModel), BaselineCost: e.BaselineCost,
		LatencyMS: millis(e.Latency), TTFTMS: millis(e.TTFT),
		KeyID: text(e.KeyID), KeyName: text(e.KeyName), Source: e.Source(), AccountID: text(e.AccountID),
		Session: text(e.Session), EndUser: text(e.EndUser), Tags: e.Tags, Client: e.Client, IP: e.IP,
	}
	if e.Latency > 0 {
		row.OverheadUS = new(e.Overhead.Microseconds())
		row.WaitMS = new(e.Wait.Milliseconds())
	}
	if e.Error != nil {
		row.Error = &Failure{Code: e.Error.Code, Message: e.Error.Message, Origin: string(e.Error.Origin)}
	}
	if saved, ok := e.Saved(); ok {
		row.Saved, row.SavedPercent = &saved, percent(saved, *e.BaselineCost)
	}
	if !by.May(account.ReadBodies) {
		row.Preview = ""
		if row.Error != nil {
			row.Error.Message = withoutText(row.Error)
		}
	}
	return row
}

// withoutText returns the message of a failure without text of the request. Providers quote prompts in their errors, and
// so do the messages about malformed requests.
func withoutText(f *Failure) string {
	switch llm.Origin(f.Origin) {
	case llm.FromGateway, llm.FromPolicy:
		return f.Message
	default:
		return "Hidden, because it can quote the request and your role does not include read_bodies."
	}
}

func requestDetail(e *requestlog.Entry, by account.Actor) RequestDetail {
	d := RequestDetail{
		RequestRow: requestRow(e, by), Trace: e.Decision, Tries: make([]AttemptView, 0, len(e.Attempts)),
		Bill: billView(e.Bill), BaselineBill: billView(e.BaselineBill), BaselineSource: text(e.BaselineSource),
		Metadata: e.Metadata, Warnings: e.Warnings, UsageFlag: text(string(e.UsageFlag)), ServedAs: text(e.ServedAs), TraceID: text(e.TraceID),
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

// attemptView leaves out what concerns only the operator, and text of the request that the actor may not read.
func attemptView(t *requestlog.Attempt, by account.Actor) AttemptView {
	v := AttemptView{
		Provider: t.Provider, Model: t.Model, Upstream: t.Upstream, Credential: t.Credential,
		StartMS: t.Start.Milliseconds(), WaitMS: t.Wait.Milliseconds(), ConnectMS: millis(t.Connect), HeadersMS: millis(t.Headers),
		FirstTokenMS: millis(t.FirstToken), DurationMS: t.Duration.Milliseconds(), Status: positive(t.Status),
		Class: text(string(t.Class)), Message: text(t.Message), RetryAfterMS: millis(t.RetryAfter), Cost: t.Cost, Bytes: t.Bytes, Hedge: t.Hedge,
	}
	if t.Usage != nil {
		v.Tokens = new(tokens(*t.Usage))
	}
	if !by.May(account.ManageProviders) { // the costs of all attempts add up to the operator's cost
		v.Credential, v.Cost = "", nil
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
	v := &BillView{Rows: make([]BillRow, 0, len(b.Rows)), Total: b.Total, Kind: priceSource(b.Source), Source: b.Source, AsOf: b.AsOf, Card: b.Card}
	for _, row := range b.Rows {
		line := BillRow{Class: row.Class, Amount: row.Amount}
		if row.Class != "request" && row.Class != "above_hold" {
			line.Tokens, line.PerMtok = new(row.Tokens), new(money.Amount(row.Rate))
		}
		v.Rows = append(v.Rows, line)
	}
	return v
}

func tokens(u llm.Usage) Tokens {
	return Tokens{
		Input: u.Input, CacheRead: u.CacheRead, CacheWrite: u.CacheWrite,
		Output: u.Output, Reasoning: u.Reasoning, Estimated: u.Estimated,
	}
}
