package gateway

import (
	"encoding/json"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"fairlead.dev/internal/attempt"
	"fairlead.dev/internal/bill"
	"fairlead.dev/internal/ledger"
	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/modelapi"
	"fairlead.dev/internal/provider"
	"fairlead.dev/internal/requestlog"
	"fairlead.dev/internal/rescue"
	"fairlead.dev/internal/response"
	"fairlead.dev/internal/route"
	"fairlead.dev/internal/session"
	"fairlead.dev/internal/wire/show"
)

// recorder builds the log entry of a request from the results of its steps.
type recorder struct {
	Entry    *requestlog.Entry
	start    time.Time
	settings *modelapi.Settings
	out      *response.Writer
	Caller   modelapi.Caller
	dryRun   bool
	storage  requestlog.BodyState // storage state of the bodies, copied to the entry once the request is decoded
	Req      *llm.Request         // decoded request; nil before it is decoded
	series   *attempt.Series      // attempts of the request; nil before the first attempt
	Buffer   response.Buffer      // delivered response
	Warnings []string             // warnings from interrupted attempts and the recorder
	text     *[]byte              // pooled buffer of the stored response
	Task     func()               // completes the entry later; nil unless the response is generated in the background
	Cache    cacheUse             // records the response for the cache
	Capture  *capture             // captures the response for a comparison; nil if the request is not compared
}

// capture records the response of a request for a comparison with another model.
type capture struct {
	Other      string // name of the model to compare with; empty for a shadow call
	Propensity float64
	Buffer     response.Buffer
}

// newRecorder returns a recorder for a request.
func newRecorder(in *modelapi.Request, out *response.Writer) *recorder {
	r := in.HTTP
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		host = r.RemoteAddr
	}
	traceparent := r.Header.Get("Traceparent")
	_, rest, _ := strings.Cut(traceparent, "-")
	traceID, _, _ := strings.Cut(rest, "-")
	if strings.Count(traceparent, "-") != 3 || len(traceID) != 32 {
		traceID = ""
	}
	return &recorder{
		start: in.Start, settings: in.Settings, out: out,
		Entry: &requestlog.Entry{
			ID: in.ID, Timing: requestlog.Timing{Time: in.Start},
			Call:    requestlog.Call{Endpoint: strings.TrimPrefix(in.Route.Path, "/"), Format: in.Route.Format.Name()},
			Routing: requestlog.Routing{Attempts: []requestlog.Attempt{}}, BodyState: requestlog.BodyNone,
			Connection: requestlog.Connection{Client: show.Shorten(r.UserAgent()), IP: host, TraceID: traceID},
		},
	}
}

// RecordCaller records the caller, whose grant may be nil.
func (r *recorder) RecordCaller(c modelapi.Caller) {
	r.Caller = c
	if c.Grant == nil {
		return
	}
	e := r.Entry
	e.WorkspaceID, e.AccountID, e.Tags = c.Grant.Workspace.ID, c.AccountID, c.Tags
	if c.AccountID == "" {
		e.KeyID, e.KeyName = c.Grant.Key.ID, c.Grant.Key.Name
	}
}

// RecordFlags records the options of the request, and whether its bodies may be stored.
func (r *recorder) RecordFlags(f modelapi.Flags) {
	r.dryRun = f.DryRun
	key, workspace := r.Caller.Grant.Key, r.Caller.Grant.Workspace
	switch {
	case f.NoStore:
		r.storage = requestlog.BodyDisabledByRequest
	case !r.settings.LogBodies:
		r.storage = requestlog.BodyDisabled
	case key.LogBodies != nil && !*key.LogBodies:
		r.storage = requestlog.BodyDisabledForKey
	case key.LogBodies == nil && !workspace.LogBodies:
		r.storage = requestlog.BodyDisabled
	default:
		r.storage = requestlog.BodyStored
	}
}

// Logged reports whether the request appears in the log: the caller is authenticated and the request is not a dry run.
func (r *recorder) Logged() bool { return r.Caller.Grant != nil && !r.dryRun }

// StoresText reports whether the bodies of the request are stored.
func (r *recorder) StoresText() bool { return r.Entry.BodyState == requestlog.BodyStored }

// RecordRequest records the request.
func (r *recorder) RecordRequest(req *llm.Request, body []byte) {
	r.Req = req
	e := r.Entry
	e.BytesIn, e.Requested, e.Stream = int64(len(body)), req.Model, req.Stream
	e.EndUser, e.Metadata, e.Session = req.EndUser, req.Metadata, req.Controls.SessionID
	e.BodyState = r.storage
	if req.Op.Media() {
		e.BodyState = requestlog.BodyMedia
	}
	if r.StoresText() && int64(len(req.Body)) > r.settings.BodyLimit {
		e.BodyState = requestlog.BodyTooLarge
	}
	if r.StoresText() {
		e.Preview, e.Body = req.Preview, requestlog.Body{Request: body}
	}
}

// RecordSession records the session, which is known once the prompt has been read, and the budgets of the session and the end user.
// downgrade is the reason for routing the request by auto:cost, or empty if it is routed as requested.
func (r *recorder) RecordSession(name string, source session.Source, budgets []ledger.Budget, downgrade string) {
	r.Entry.Session, r.Entry.SessionSource = name, string(source)
	for _, b := range budgets {
		r.Entry.Subjects = append(r.Entry.Subjects, b.ID)
	}
	if downgrade != "" {
		r.Warnings = append(r.Warnings, "served by auto:cost: "+downgrade)
	}
}

// RecordDecision records the decision, which may be nil. RecordTarget records the kind of the decision.
func (r *recorder) RecordDecision(d *route.Decision) {
	if d == nil {
		return
	}
	e := r.Entry
	e.Decision, e.Versions, e.Policy = d, d.Versions, d.Policy
	if d.OmitBodies && r.StoresText() {
		e.BodyState, e.Preview, e.Body = requestlog.BodyDisabledByPolicy, "", requestlog.Body{}
	}
	if i := slices.IndexFunc(d.Adjustments, func(a route.Adjustment) bool { return a.Code == route.Escalated }); i >= 0 {
		e.Escalated = d.Adjustments[i].Reason
	}
	if len(d.Plan) > 0 {
		e.Simulated = d.Plan[0].Simulated
	}
	if d.Baseline != nil {
		e.BaselineModel, e.BaselineSource = d.Baseline.Model, d.Baseline.Source
	}
}

// Begin records the start of the series of attempts. It limits the size of the response that is kept for the log or to continue an
// interrupted stream.
func (r *recorder) Begin(s *attempt.Series) {
	r.series = s
	switch {
	case r.StoresText():
		r.Buffer.Limit = r.settings.BodyLimit
	case r.settings.Rescue && rescue.Supports(r.Req):
		r.Buffer.Limit = rescue.MaxBytes
	}
}

// ReleaseHold releases the hold of a request unless a background task will settle it.
func (r *recorder) ReleaseHold(hold *ledger.Hold) {
	if r.Task == nil {
		hold.Release()
	}
}

// RecordTarget records the target of the response. If the target is not the first in the plan, the decision becomes a fallback.
func (r *recorder) RecordTarget(t *provider.Target, d *route.Decision) {
	e := r.Entry
	e.Model, e.Provider, e.Simulated = t.Model.Name, t.Provider, t.Simulated
	if t != d.Plan[0] {
		d.Kind = route.Fallback
	}
	e.DecisionKind = d.Kind
}

// RecordWarnings sets the warnings of the entry: those recorded so far, followed by the warnings of the attempt.
func (r *recorder) RecordWarnings(a *attempt.Attempt) {
	r.Entry.Warnings = slices.Concat(r.Warnings, a.Warnings())
}

// RecordEvent records an event that the client receives.
func (r *recorder) RecordEvent(ev *llm.Event) {
	if r.Entry.TTFT == 0 && ev.Content {
		r.Entry.TTFT = time.Since(r.start)
	}
	if r.Capture != nil {
		r.Capture.Buffer.Add(ev, r.out.Streams())
	}
	r.Cache.Flight.Add(ev)
	if r.Buffer.Limit == 0 || r.Buffer.Full {
		return
	}
	r.Buffer.Add(ev, r.out.Streams())
	if !r.StoresText() {
		return
	}
	r.Entry.Body.Streamed, r.Entry.Body.Folded = r.Req.Stream, r.out.Streams()
	if r.Buffer.Full {
		stored := "nothing"
		if r.out.Streams() {
			stored = "only the beginning"
		}
		r.Warnings = append(r.Warnings, "the log stores "+stored+" of the response, which is longer than log.body_limit")
	}
}

// RecordCharge records the usage and the cost. If rejected is true, the provider's usage was implausible.
func (r *recorder) RecordCharge(c bill.Charge, rejected bool) {
	e := r.Entry
	e.Usage = c.Usage
	if rejected {
		e.UsageFlag = requestlog.UsageRejected
	}
	if c.Flag != "" {
		e.UsageFlag = c.Flag
	}
	if c.Bill != nil {
		e.Bill, e.Cost = c.Bill, &c.Bill.Total
	}
	if c.Baseline != nil {
		e.BaselineBill, e.BaselineCost = c.Baseline, &c.Baseline.Total
	}
}

// RecordResponse records a complete response.
func (r *recorder) RecordResponse(received *bill.UsageCounter) {
	e := r.Entry
	e.Finish, e.ServedAs = show.Shorten(received.Finish), show.ShortenName(received.Model)
	e.Outcome, e.Status = requestlog.OK, http.StatusOK
}

// RecordError records an error. If started is true, part of the response was sent.
func (r *recorder) RecordError(e *llm.Error, started bool) {
	entry := r.Entry
	entry.Status = e.Status()
	entry.Error = &requestlog.Failure{Code: e.Kind.Code(), Message: e.Message, Origin: e.Kind.Origin()}
	entry.Outcome = outcomeOf(e.Kind)
	if !r.StoresText() && e.Kind.FromUpstream() {
		entry.Error.Message = "" // a provider may quote the prompt
	}
	invalid := r.Req == nil && (e.Kind == llm.InvalidJSON || e.Kind == llm.InvalidRequest)
	if invalid && r.storage != requestlog.BodyStored { // the message may quote the request
		entry.Error.Message = "The request was invalid. The error message is not stored because it may quote the request."
	}
	if started {
		entry.Status = http.StatusOK // status that was sent before the stream was interrupted
		if entry.Outcome != requestlog.Cancelled {
			entry.Outcome = requestlog.Partial
		}
	}
}

// outcomeOf returns the outcome of a request that ended with an error.
func outcomeOf(k llm.Kind) requestlog.Outcome {
	switch k {
	case llm.ClientCancelled:
		return requestlog.Cancelled
	case llm.ScopeDenied, llm.ModelNotAllowed, llm.PolicyRejected, llm.RateLimited, llm.BudgetExceeded, llm.RevokedAPIKey,
		llm.Overloaded, llm.LedgerUnavailable, llm.ServerShutdown:
		return requestlog.Rejected
	case llm.Internal:
		return requestlog.GatewayError
	default:
		if k.Origin() == llm.FromProvider {
			return requestlog.UpstreamError
		}
		return requestlog.ClientError
	}
}

// textBuffers is a pool of buffers in which the blocks of a streamed response are joined for the log.
var textBuffers = sync.Pool{New: func() any { return new([]byte) }}

// maxTextBuffer is the maximum size in bytes of a buffer that is returned to the pool.
const maxTextBuffer = 64 << 10

// Complete sets the times, the sizes and the response body of the entry and returns the entry. It may be called again if writing the log
// failed.
func (r *recorder) Complete() *requestlog.Entry {
	e := r.Entry
	e.Latency = time.Since(r.start)
	e.Overhead = r.overhead()
	e.BytesOut = r.out.Size()
	r.copyAttempts()
	if r.StoresText() {
		if r.text == nil {
			r.text = textBuffers.Get().(*[]byte)
		}
		e.Body.Response = r.Buffer.Bytes((*r.text)[:0])
	}
	return e
}

// ReleaseText frees the memory of the stored response after the log has recorded it.
func (r *recorder) ReleaseText() {
	if r.text == nil {
		return
	}
	if r.Buffer.InBlocks() {
		*r.text, r.Entry.Body.Response = r.Entry.Body.Response, nil
		r.Buffer.Reset()
	}
	if cap(*r.text) <= maxTextBuffer {
		textBuffers.Put(r.text)
	}
	r.text = nil
}

func (r *recorder) copyAttempts() {
	if r.series == nil {
		return
	}
	r.Entry.Wait = r.series.Clock.Waited
	if len(r.series.Attempts) > 0 {
		r.Entry.Attempts = r.series.Attempts
	}
}

// overhead returns the time spent in the gateway so far.
func (r *recorder) overhead() time.Duration {
	spent := time.Since(r.start)
	if r.series == nil {
		return max(0, spent-r.Entry.Wait)
	}
	return max(0, spent-r.series.Clock.Upstream())
}

// Trace implements response.Summary.
func (r *recorder) Trace() []byte {
	r.copyAttempts()
	e := r.Entry
	data, err := json.Marshal(map[string]any{
		"request_id":        e.ID,
		"decision":          e.DecisionKind,
		"model":             e.Model,
		"provider":          e.Provider,
		"trace":             e.Decision,
		"attempts":          e.Attempts,
		"usage":             e.Usage,
		"cost_usd":          e.Cost,
		"baseline_model":    e.BaselineModel,
		"baseline_cost_usd": e.BaselineCost,
		"cache":             e.Cache,
		"warnings":          e.Warnings,
	})
	if err != nil {
		return []byte(`null`) // a trace that cannot be encoded must not fail the response
	}
	return data
}

// SetHeaders implements response.Summary.
func (r *recorder) SetHeaders(h http.Header) {
	r.copyAttempts()
	e := r.Entry
	values := make([]string, 0, 13) // a single allocation for all values
	set := func(name, value string) {
		values = append(values, value)
		h[name] = values[len(values)-1 : len(values) : len(values)] // names are in canonical form, so Header.Set is not needed
	}
	set("X-Fairlead-Decision", string(e.DecisionKind))
	set("X-Fairlead-Model", e.Model)
	set("X-Fairlead-Provider", e.Provider)
	set("X-Fairlead-Attempts", strconv.Itoa(len(e.Attempts)))
	if e.Policy != "" {
		set("X-Fairlead-Policy", headerText(e.Policy))
	}
	if e.BaselineModel != "" {
		set("X-Fairlead-Baseline-Model", e.BaselineModel)
	}
	if e.Cost != nil {
		set("X-Fairlead-Cost", e.Cost.String())
	}
	if e.BaselineCost != nil {
		set("X-Fairlead-Baseline-Cost", e.BaselineCost.String())
	}
	if e.Simulated {
		set("X-Fairlead-Simulated", "true")
	}
	if len(e.Warnings) > 0 {
		set("X-Fairlead-Warnings", headerText(strings.Join(e.Warnings, "; ")))
	}
	if e.Cache != nil {
		set("X-Fairlead-Cache", string(e.Cache.Status))
		if e.CacheHit() {
			set("Age", strconv.FormatInt(int64(e.Cache.Age/time.Second), 10))
		}
		if e.Cache.Status == requestlog.CacheBypass {
			set("X-Fairlead-Cache-Reason", e.Cache.Reason)
		}
	}
	set("X-Fairlead-Overhead-Us", strconv.FormatInt(r.overhead().Microseconds(), 10))
	if e.Wait > 0 {
		set("X-Fairlead-Wait-Us", strconv.FormatInt(e.Wait.Microseconds(), 10))
	}
}

// headerText converts s to a header value: printable ASCII of limited length.
func headerText(s string) string {
	if len(s) > 1000 {
		s = s[:1000]
	}
	return strings.Map(func(r rune) rune {
		if r < ' ' || r > '~' {
			return '?'
		}
		return r
	}, s)
}
