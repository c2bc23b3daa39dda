package gateway

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"fairlead.dev/internal/bill"
	"fairlead.dev/internal/gateway/upstream"
	"fairlead.dev/internal/ledger"
	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/provider"
	"fairlead.dev/internal/requestlog"
	"fairlead.dev/internal/route"
	"fairlead.dev/internal/wire/show"
)

// newRun returns a run with the active settings and targets, and with an entry that describes the call.
func (g *Gateway) newRun(c *Call, sink Sink) *run {
	e := &requestlog.Entry{
		ID: c.ID, Timing: requestlog.Timing{Time: c.Start}, BodyState: requestlog.BodyNone,
		Routing:    requestlog.Routing{Attempts: []requestlog.Attempt{}},
		Connection: requestlog.Connection{Client: c.Client, IP: c.IP, TraceID: c.Trace.TraceID},
		Owner:      requestlog.Owner{WorkspaceID: c.Grant.Workspace.ID, AccountID: c.AccountID},
		Labels:     requestlog.Labels{Tags: c.Tags},
	}
	if c.AccountID == "" {
		e.KeyID, e.KeyName = c.Grant.Key.ID, c.Grant.Key.Name
	}
	if c.Route.Format != nil {
		e.Endpoint, e.Format = strings.TrimPrefix(c.Route.Path, "/"), c.Route.Format.Name()
	}
	if g.Tracing != nil {
		e.Trace = g.Tracing.Begin(c.ID, c.Trace)
		e.TraceID = e.Trace.TraceID
	}
	return &run{Gateway: g, call: c, settings: g.settings.Load(), snapshot: g.snapshot.Load(), sink: sink, entry: e}
}

// logged reports whether the call appears in the log.
func (r *run) logged() bool { return !r.call.DryRun }

// streams reports whether the response is a stream.
func (r *run) streams() bool { return r.req.Stream && bill.Generates(r.req.Op) }

// storesText reports whether the bodies of the request are stored in the log.
func (r *run) storesText() bool { return r.entry.BodyState == requestlog.BodyStored }

// bodyState returns whether the bodies of the call may be stored, and the reason if not.
func (r *run) bodyState() requestlog.BodyState {
	key, workspace := r.call.Grant.Key, r.call.Grant.Workspace
	switch {
	case r.call.NoStore:
		return requestlog.BodyDisabledByRequest
	case !r.settings.LogBodies:
		return requestlog.BodyDisabled
	case key.LogBodies != nil && !*key.LogBodies:
		return requestlog.BodyDisabledForKey
	case key.LogBodies == nil && !workspace.LogBodies:
		return requestlog.BodyDisabled
	}
	return requestlog.BodyStored
}

// recordRequest records the decoded request.
func (r *run) recordRequest(req *llm.Request, body []byte) {
	r.req = req
	e := r.entry
	e.BytesIn, e.Requested, e.Stream = int64(len(body)), req.Model, req.Stream
	e.EndUser, e.Metadata, e.Session = req.EndUser, req.Metadata, req.Controls.SessionID
	e.BodyState = r.bodyState()
	if req.Op.Media() {
		e.BodyState = requestlog.BodyMedia
	}
	if r.storesText() && int64(len(req.Body)) > r.settings.BodyLimit {
		e.BodyState = requestlog.BodyTooLarge
	}
	if r.storesText() {
		e.Preview, e.Body = req.Preview, requestlog.Body{Request: body}
	}
}

// recordSession records the session, which is known once the prompt has been read, and the budgets of the session and the end user.
func (r *run) recordSession(p *prompt) {
	r.entry.Session, r.entry.SessionSource = p.req.Controls.SessionID, string(p.session)
	for _, b := range p.budgets {
		r.entry.Subjects = append(r.entry.Subjects, b.ID)
	}
	if p.downgrade != "" {
		r.warnings = append(r.warnings, "served by auto:cost: "+p.downgrade)
	}
}

// recordDecision records the decision, which may be nil. recordTarget records the kind of the decision.
func (r *run) recordDecision(d *route.Decision) {
	if d == nil {
		return
	}
	e := r.entry
	e.Decision, e.Versions, e.Policy = d, d.Versions, d.Policy
	if d.OmitBodies && r.storesText() {
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

// limitDelivered sets the size of the response that is kept for the log or to continue an interrupted stream.
func (r *run) limitDelivered() {
	switch {
	case r.storesText():
		r.delivered.Limit = r.settings.BodyLimit
	case r.settings.Rescue && upstream.CanContinue(r.req):
		r.delivered.Limit = upstream.MaxContinued
	}
}

// propagate adds the trace context of the call to the headers of a provider call.
func (r *run) propagate(h http.Header, provider string, attempt int) {
	r.Tracing.Propagate(h, r.entry, provider, attempt)
}

// releaseHold releases the hold of a call unless a background task will settle it. It has no effect after settlement.
func (r *run) releaseHold(hold *ledger.Hold) {
	if r.background == nil {
		hold.Release()
	}
}

// recordTarget records the target of the response. If the target is not the first in the plan, the decision becomes a fallback.
func (r *run) recordTarget(t *provider.Target, d *route.Decision) {
	e := r.entry
	e.Model, e.Provider, e.Simulated = t.Model.Name, t.Provider, t.Simulated
	if t != d.Plan[0] {
		d.Kind = route.Fallback
	}
	e.DecisionKind = d.Kind
}

// recordWarnings sets the warnings of the entry: those recorded so far, followed by the warnings of the attempt.
func (r *run) recordWarnings(a *upstream.Attempt) {
	r.entry.Warnings = slices.Concat(r.warnings, a.Warnings())
}

// start passes the entry with the attempts so far to the sink.
func (r *run) start() {
	r.recordAttempts()
	r.entry.Overhead = r.overhead()
	r.sink.Start(r.entry)
}

// recordEvent records an event that the client receives.
func (r *run) recordEvent(ev *llm.Event) {
	if r.entry.TTFT == 0 && ev.Content {
		r.entry.TTFT = time.Since(r.call.Start)
	}
	if r.delivered.Limit == 0 || r.delivered.Full {
		return
	}
	r.delivered.Add(ev, r.streams())
	if !r.storesText() {
		return
	}
	r.entry.Body.Streamed, r.entry.Body.Folded = r.req.Stream, r.streams()
	if r.delivered.Full {
		stored := "nothing"
		if r.streams() {
			stored = "only the beginning"
		}
		r.warnings = append(r.warnings, "the log stores "+stored+" of the response, which is longer than log.body_limit")
	}
}

// recordCharge records the usage and the cost. If rejected is true, the provider's usage was implausible.
func (r *run) recordCharge(c bill.Charge, rejected bool) {
	e := r.entry
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

// recordResponse records a complete response.
func (r *run) recordResponse(received *bill.UsageCounter) {
	e := r.entry
	e.Finish, e.ServedAs = show.Shorten(received.Finish), show.ShortenName(received.Model)
	e.Outcome, e.Status = requestlog.OK, http.StatusOK
}

// recordError records an error. If started is true, part of the response was sent.
func (r *run) recordError(e *llm.Error, started bool) {
	entry := r.entry
	entry.Status = e.Status()
	entry.Error = &requestlog.Failure{Code: e.Kind.Code(), Message: e.Message, Origin: e.Kind.Origin()}
	entry.Outcome = outcomeOf(e.Kind)
	if !r.storesText() && e.Kind.FromUpstream() {
		entry.Error.Message = "" // a provider may quote the prompt
	}
	invalid := r.req == nil && (e.Kind == llm.InvalidJSON || e.Kind == llm.InvalidRequest)
	if invalid && (r.bodyState() != requestlog.BodyStored || entry.BodyState == requestlog.BodyMedia) { // the message may quote the request
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

// complete sets the times, the sizes and the response body of the entry. It may be called again if writing the log failed.
func (r *run) complete() {
	e := r.entry
	e.Latency = time.Since(r.call.Start)
	e.Overhead = r.overhead()
	e.BytesOut = r.sink.Sent()
	r.recordAttempts()
	if r.storesText() {
		if r.text == nil {
			r.text = textBuffers.Get().(*[]byte)
		}
		e.Body.Response = r.delivered.Bytes((*r.text)[:0])
	}
}

// writeEntry completes the entry and writes it durably.
func (r *run) writeEntry() error {
	r.complete()
	if err := r.Log.End(r.entry); err != nil {
		return err
	}
	r.releaseText()
	return nil
}

// releaseText frees the memory of the stored response after the log has recorded it.
func (r *run) releaseText() {
	if r.text == nil {
		return
	}
	if r.delivered.InBlocks() {
		*r.text, r.entry.Body.Response = r.entry.Body.Response, nil
		r.delivered.Reset()
	}
	if cap(*r.text) <= maxTextBuffer {
		textBuffers.Put(r.text)
	}
	r.text = nil
}

func (r *run) recordAttempts() {
	if r.series == nil {
		return
	}
	r.entry.Wait = r.series.Clock.Waited
	if len(r.series.Attempts) > 0 {
		r.entry.Attempts = r.series.Attempts
	}
}

// overhead returns the time spent in the gateway so far.
func (r *run) overhead() time.Duration {
	spent := time.Since(r.call.Start)
	if r.series == nil {
		return max(0, spent-r.entry.Wait)
	}
	return max(0, spent-r.series.Clock.Upstream())
}

// observe passes a complete entry to Observe. It logs a warning if the usage was not charged as the provider reported it.
func (r *run) observe(ctx context.Context) {
	if r.entry.UsageFlag != "" {
		r.warnUsage(ctx)
	}
	if r.logged() {
		r.Observe(r.entry)
	}
}

func (r *run) warnUsage(ctx context.Context) {
	e := r.entry
	attrs := []any{
		"request_id", e.ID, "provider", e.Provider, "model", e.Model, "flag", string(e.UsageFlag),
		"charged_input", e.Usage.Prompt(), "charged_output", e.Usage.Output,
	}
	if i := slices.IndexFunc(e.Attempts, func(a requestlog.Attempt) bool { return a.Reported != nil }); i >= 0 {
		reported := e.Attempts[i].Reported
		attrs = append(attrs, "reported_input", reported.Prompt(), "reported_output", reported.Output)
	}
	r.Logger.WarnContext(ctx, "provider usage was not charged as reported", attrs...)
}

func (g *Gateway) logInternal(ctx context.Context, requestID string, e *llm.Error) {
	if e.Kind == llm.Internal {
		g.Logger.ErrorContext(ctx, "internal error", "request_id", requestID, "error", e.Error())
	}
}
