package upstream

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"time"

	"github.com/coder/websocket"

	"fairlead.dev/internal/bill"
	"fairlead.dev/internal/egress"
	"fairlead.dev/internal/health"
	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/provider"
	"fairlead.dev/internal/requestlog"
)

// Attempt is one call to one target. An attempt has content once the target has sent an event with llm.Event.Content set, or a complete
// response. Before that, the client receives nothing.
type Attempt struct {
	series    *Series
	provider  *provider.Provider
	call      *provider.Call
	lifetime                 // the timer applies the first-token timeout, then the idle timeout
	timing    *egress.Timing // timings of the call; nil before the call
	body      countingReader
	out       Output // output to flush before reading from the provider; see FlushBeforeWait
	stream    llm.Stream
	socket    *websocket.Conn // connection of a realtime session; nil for all other calls
	pending   []llm.Event     // events up to and including the first content
	joiner    *joiner         // joins the response to an interrupted one; nil if the attempt does not continue a response
	Prefilled int64           // tokens of the partial response that was sent to the target as a prefill
	began     time.Time
	note      note
	state     state
}

// lifetime cancels a call that is abandoned or exceeds a timeout.
type lifetime struct {
	ctx    context.Context //nolint:containedctx // the context belongs to one call only
	cancel context.CancelCauseFunc
	timer  *time.Timer   // cancels the call
	idle   time.Duration // maximum time between two events of the response
}

// note is the log record of a running attempt. It is copied to the series when the attempt ends.
type note struct {
	requestlog.Attempt
	index int  // index of the attempt in the series
	probe bool // whether the call probes an open circuit
}

type state int

const (
	waiting state = iota
	responding
	complete // the response was read to its end
	closed
)

// resumption holds the parameters of an attempt that continues an interrupted response.
type resumption struct {
	request   *llm.Request
	maxOutput int64 // output limit, as in provider.Call
	joiner    *joiner
	prefilled bool // whether the request ends with the partial response
}

// try makes one call and reads the response up to the first content for the client. last is true when no other target remains. c is nil
// unless the attempt continues an interrupted response.
func (s *Series) try(ctx context.Context, t *provider.Target, last bool, c *resumption) (*Attempt, error) {
	a, err := s.prepare(ctx, t, last, c)
	if err != nil {
		return nil, err
	}
	if err := a.open(); err != nil { //nolint:contextcheck // an attempt has its own context
		return nil, a.fail(err)
	}
	return a, nil
}

// prepare acquires a concurrency slot and a credential for a call and adds the attempt to the series.
func (s *Series) prepare(ctx context.Context, t *provider.Target, last bool, c *resumption) (*Attempt, error) {
	p, _ := s.Snapshot.Provider(t.Provider)
	if err := s.acquireSlot(ctx, p, last); err != nil {
		return nil, err
	}
	pass, err := s.admit(ctx, p, t, last)
	if err != nil {
		s.releaseSlot(p)
		return nil, err
	}
	secret := ""
	if i := slices.IndexFunc(p.Credentials, func(c provider.Credential) bool { return c.ID == pass.Credential }); i >= 0 {
		secret = p.Credentials[i].Secret
	}
	client := provider.Client(s.Format)
	if s.Client != nil {
		client = s.Client(t)
	}
	ctx, cancel := context.WithCancelCause(ctx)
	a := &Attempt{
		series: s, provider: p, began: time.Now(),
		lifetime: lifetime{ctx: ctx, cancel: cancel, idle: cmp.Or(t.Waits.Idle, s.Settings.Idle)},
		call: &provider.Call{
			Target: t, Access: provider.Access{Secret: secret, Credential: pass.Credential, Secrets: p.Secrets(secret)}, Request: s.Terms.Request, Client: client, MaxOutput: s.Terms.OutputLimit(t),
			Sealing: provider.Sealing{Workspace: s.Workspace, Session: s.Session, SealID: s.Dispatcher.SealID},
		},
		note: note{index: len(s.Attempts), probe: pass.Probe, Attempt: requestlog.Attempt{
			Target:        requestlog.Target{Provider: t.Provider, Model: t.Model.Name, Upstream: t.Upstream, Credential: pass.Credential},
			AttemptTiming: requestlog.AttemptTiming{Start: time.Since(s.Terms.At), Wait: s.Clock.paused, BudgetWait: s.Clock.budget},
		}},
	}
	a.call.Counter = a
	if s.Cache != nil {
		a.call.Cache = s.Cache(t)
	}
	s.Dispatcher.Health.Spend(t.ID(), pass.Credential, s.Prompt)
	s.Clock.paused, s.Clock.budget = 0, 0
	s.Attempts = append(s.Attempts, a.note.Attempt)
	s.Clock.start(a.began)
	if c != nil {
		a.joiner = c.joiner
		a.joiner.c.onDelta = a.markActivity
		a.call.Request, a.call.Client, a.call.MaxOutput = c.request, c.joiner, c.maxOutput
		a.call.Joins, a.call.Prefilled = true, c.prefilled
	}
	if s.Request != nil {
		a.call.Request = s.Request(a.call.Request, t)
	}
	if !last {
		limit := t.FirstToken
		if !a.streams() {
			limit *= wholeFactor
		}
		a.timer = time.AfterFunc(limit, func() { cancel(errFirstToken) })
	}
	return a, nil
}

// acquireSlot takes one of the provider's concurrency slots. It waits only when no other target remains.
func (s *Series) acquireSlot(ctx context.Context, p *provider.Provider, last bool) error {
	if p.Concurrent == 0 {
		return nil
	}
	var wait time.Duration
	if last {
		wait = s.Settings.SlotWait
	}
	defer s.Clock.blocked(time.Now())
	if !s.Dispatcher.slots.of(p.Name).Acquire(ctx, s.KeyID, p.Concurrent, wait) {
		return skipped(llm.UpstreamOverloaded, "%s is at its limit of %d concurrent requests", p.Name, p.Concurrent)
	}
	return nil
}

func (s *Series) releaseSlot(p *provider.Provider) {
	if p.Concurrent > 0 {
		s.Dispatcher.slots.of(p.Name).Release(s.KeyID)
	}
}

// admit returns the pass that permits a call to the target. While traffic ramps up after an outage, a call to the last target may be
// delayed.
func (s *Series) admit(ctx context.Context, p *provider.Provider, t *provider.Target, last bool) (health.Pass, error) {
	pass, ok := s.Dispatcher.Admission.Admit(t.ID(), s.credentialIDs(p), last)
	if ok && pass.Delay > 0 {
		ok = s.Clock.sleep(ctx, pass.Delay) && s.Dispatcher.Admission.Closed(t.ID(), pass)
	}
	switch {
	case ok:
		return pass, nil
	case pass.Rejected:
		return pass, skipped(llm.UpstreamAuth, "%s has rejected the credential or the model", t.ID())
	case pass.BackingOff > 0:
		e := skipped(llm.UpstreamRateLimited, "%s is rate limited for %s more", t.ID(), pass.BackingOff.Round(time.Second))
		e.RetryAfter = pass.BackingOff
		return pass, e
	}
	return pass, skipped(llm.UpstreamOverloaded, "the circuit of %s is open", t.ID())
}

// skipped returns the error for a target that was skipped without a call. kind classifies the reason.
func skipped(kind llm.Kind, format string, args ...any) *llm.Error {
	return &llm.Error{Kind: kind, Message: fmt.Sprintf(format, args...), Err: errSkipped}
}

// credentialIDs returns the credentials that can serve the request. A request that refers to a stored response or a
// file needs the credential of the account that stores the response or the file.
func (s *Series) credentialIDs(p *provider.Provider) []string {
	holder := s.Terms.Request.Holder
	ids := make([]string, 0, len(p.Credentials))
	for _, c := range p.Credentials {
		if holder == nil || holder.Credential == c.ID {
			ids = append(ids, c.ID)
		}
	}
	return ids
}

// open makes the call and reads events up to the first content. Until then, the gateway can call another target without affecting the
// client.
func (a *Attempt) open() error {
	p, op := a.provider, a.series.Terms.Request.Op
	exchange := p.Exchange(op)
	if exchange == nil {
		return llm.Errorf(llm.Untranslatable, "%s does not offer %s.", p.Name, op)
	}
	ctx, timing := egress.Trace(a.ctx)
	a.timing = timing
	stop := a.limitStart(timing)
	defer stop()
	if p.Login != nil {
		token, err := p.Login(ctx, a.call.Secret)
		if err != nil {
			return err
		}
		a.call.Secret = token
	}
	if op == llm.Realtime {
		return a.openSocket(ctx, exchange)
	}
	if limit := a.call.Target.EmbedBatch; op == llm.Embed && limit > 0 && a.call.Request.Inputs > limit {
		return a.openBatches(ctx)
	}
	req, err := exchange.NewRequest(ctx, a.call)
	if err != nil {
		return err
	}
	a.note.CacheMark, a.note.CacheKey = a.call.Cache.Mark, a.call.Cache.Key
	if err := a.call.RequireParameters(); err != nil {
		return err
	}
	resp, err := a.send(req) //nolint:bodyclose // Close closes the response body
	if err != nil {
		return err
	}
	stop()
	a.body.ReadCloser = resp.Body
	resp.Body = &a.body
	a.note.Status = resp.StatusCode
	a.note.Headers = time.Since(a.began)
	if at := timing.Connected(); !at.IsZero() {
		a.note.Connect = at.Sub(a.began)
	}
	a.series.Dispatcher.Health.ReportQuota(a.call.Target.ID(), a.note.Credential, health.ReadQuota(resp.Header, time.Now()))
	if resp.StatusCode < 200 || resp.StatusCode > 299 {
		return exchange.Failure(a.call, resp)
	}
	a.stream = redactStream(exchange.Events(a.call, resp), a.call.Access)
	for {
		ev, ok, err := a.stream.Next()
		if err != nil {
			return err
		}
		if !ok {
			break // an empty response with a finish reason is valid
		}
		if ev.Content {
			a.pending = append(a.pending, ev) // the event is not cloned, because it is delivered before the next event is read
			break
		}
		a.pending = append(a.pending, ev.Clone())
	}
	a.markActivity()
	resp.Header = nil // frees the headers: the body keeps a reference to resp while the stream is open
	return nil
}

func (a *Attempt) send(req *http.Request) (*http.Response, error) {
	if propagate := a.series.Propagate; propagate != nil {
		propagate(req.Header, a.provider.Name, a.note.index)
	}
	if a.provider.Transport != nil {
		return a.provider.Transport.RoundTrip(req.WithContext(a.timing.Trace(req.Context())))
	}
	return a.series.Dispatcher.Egress.Do(req)
}

// limitStart cancels the call when connecting or receiving the response headers exceeds the target's timeouts. stop
// stops the timers.
func (a *Attempt) limitStart(timing *egress.Timing) (stop func()) {
	connect, headers := a.call.Target.Waits.Connect, a.call.Target.Waits.Headers
	if !a.streams() {
		headers = 0 // disables the headers timeout: without streaming, the headers arrive with the body
	}
	if connect == 0 && headers == 0 {
		return func() {}
	}
	var timers []*time.Timer
	if connect > 0 {
		timers = append(timers, time.AfterFunc(connect, func() {
			if timing.Connected().IsZero() {
				a.cancel(errConnect)
			}
		}))
	}
	if headers > 0 {
		timers = append(timers, time.AfterFunc(headers, func() { a.cancel(errHeaders) }))
	}
	return func() {
		for _, t := range timers {
			t.Stop()
		}
	}
}

// markActivity records that the target has sent data. The idle timeout applies after the first content.
func (a *Attempt) markActivity() {
	if a.state == responding {
		a.timer.Reset(a.idle)
		return
	}
	a.state = responding
	a.note.FirstToken = time.Since(a.began)
	a.limitSilence()
}

func (l *lifetime) limitSilence() {
	if l.timer != nil && !l.timer.Stop() {
		return // the first-token timeout has just expired: the next read returns the timeout error
	}
	l.timer = time.AfterFunc(l.idle, func() { l.cancel(errIdle) })
}

// streams reports whether the target sends a streamed response.
func (a *Attempt) streams() bool { return a.series.Terms.Request.Stream && !a.call.Target.NoStream }

// Target returns the target of the attempt.
func (a *Attempt) Target() *provider.Target { return a.call.Target }

// Credential returns the id of the credential that the attempt uses.
func (a *Attempt) Credential() string { return a.note.Credential }

// Output writes the response to the client.
type Output interface {
	// Unflushed reports whether written events have not been sent yet.
	Unflushed() bool
	Flush()
}

// FlushBeforeWait makes the attempt flush the output before each read from the provider. Events that arrive together are then sent
// together.
func (a *Attempt) FlushBeforeWait(out Output) { a.out, a.body.attempt = out, a }

// Next returns the next event, whose bytes are valid until the following call. ok is false at the end. The idle timeout
// runs only while Next reads, so a slow client does not count against the provider.
func (a *Attempt) Next() (ev llm.Event, ok bool, err error) {
	if len(a.pending) > 0 {
		a.timer.Stop()
		ev, a.pending = a.pending[0], a.pending[1:]
		if len(a.pending) == 0 {
			a.pending = nil // free the memory: the stream may stay open for a long time
		}
		return ev, true, nil
	}
	a.timer.Reset(a.idle)
	ev, ok, err = a.stream.Next()
	if err != nil {
		return ev, false, a.translate(err)
	}
	if ok {
		a.timer.Stop()
	}
	return ev, ok, nil
}

// fail ends an attempt that produced no content and records the error.
func (a *Attempt) fail(err error) error {
	err = a.translate(err)
	e := llm.AsError(err)
	a.note.RetryAfter = e.RetryAfter
	a.abandon(e, e.Kind == llm.ClientCancelled) // the prompt is charged when the client disconnects
	return err
}

// abandon ends an attempt that produced no content for the client and records its cost. With chargePrompt, a prompt
// that was sent is charged even when the provider has not reported its usage.
func (a *Attempt) abandon(e *llm.Error, chargePrompt bool) {
	a.recordFailure(e)
	terms, target := a.series.Terms, a.call.Target
	var usage *llm.Usage
	if a.joiner != nil && a.state == responding {
		usage = new(terms.Estimate(target, a.hiddenTokens()))
	} else {
		for _, ev := range a.pending {
			if ev.Usage != nil && bill.Plausible(*ev.Usage, a.call) {
				usage = new(*ev.Usage)
			}
		}
	}
	chargePrompt = chargePrompt && terms.Request.Op != llm.Realtime // a handshake has no prompt
	if chargePrompt && usage == nil && a.timing != nil && !a.timing.Connected().IsZero() {
		var received bill.UsageCounter
		for i := range a.pending {
			received.Add(&a.pending[i])
		}
		usage = new(terms.Estimate(target, terms.OutputTokens(target, received.ASCII, received.NonASCII)))
	}
	if usage != nil {
		a.note.Usage, a.note.Cost = usage, terms.Cost(target, *usage)
	}
	a.end(e, 0)
	a.Close()
}

// Finish records the result of an attempt that delivered content. e is nil when the response is complete.
func (a *Attempt) Finish(e *llm.Error, c bill.Charge) {
	a.note.Usage, a.note.Cost = new(c.Usage), c.Attempt
	if a.note.CacheMark != "" {
		a.note.CacheSaved = a.series.Terms.CacheSaved(a.call.Target, c.Usage)
	}
	if e != nil {
		a.recordFailure(e)
	} else {
		a.state = complete
	}
	a.end(e, c.Usage.Output)
}

// recordFailure records the error of the attempt.
func (a *Attempt) recordFailure(e *llm.Error) {
	a.note.Class, a.note.Message = e.Kind, e.Message
	if !a.series.StoresText && e.Kind != llm.Untranslatable {
		a.note.Message = "" // a provider may quote the prompt; the gateway's own messages do not
	}
}

// end reports the attempt to health and copies its record to the series.
func (a *Attempt) end(e *llm.Error, output int64) {
	a.note.Duration = time.Since(a.began)
	a.note.Bytes = a.body.bytes
	a.series.Clock.stop()
	a.series.Attempts[a.note.index] = a.note.Attempt
	if a.socket != nil && e == nil {
		return // openSocket has reported the success
	}
	report := health.Report{
		Target: a.call.Target.ID(), Credential: a.note.Credential, Err: e, Probe: a.note.probe && a.socket == nil, Duration: a.note.Duration, OutputTokens: output,
	}
	if a.streams() {
		report.TTFT = a.note.FirstToken
	}
	a.series.Dispatcher.Health.Report(report)
}

// Usage returns the usage that the provider reported, or an estimate when the report is missing or implausible.
// rejected is true when an implausible report was replaced; the attempt's log record keeps the original.
func (a *Attempt) Usage(received *bill.UsageCounter) (u llm.Usage, rejected bool) {
	if received.Valid(a.call) {
		return *received.Reported, false
	}
	a.note.Reported = received.Reported
	return a.Count(received.ASCII, received.NonASCII), received.Reported != nil
}

// Count implements llm.Counter. It estimates the usage of a response with the given number of text bytes.
func (a *Attempt) Count(ascii, nonASCII int64) llm.Usage {
	terms, target := a.series.Terms, a.call.Target
	u := terms.Estimate(target, terms.OutputTokens(target, ascii, nonASCII)+a.hiddenTokens())
	u.Input += a.Prefilled
	return u
}

// hiddenTokens estimates the output tokens that are not sent to the client.
func (a *Attempt) hiddenTokens() int64 {
	if a.joiner == nil {
		return 0
	}
	hidden := a.joiner.c.hidden
	return a.series.Terms.OutputTokens(a.call.Target, hidden.ascii, hidden.nonASCII)
}

// Spent returns the tokens and the cost of the attempt. An unknown cost counts as 0.
func (a *Attempt) Spent() bill.Spent {
	spent := bill.Spent{Tokens: a.note.Usage.Total()}
	if a.note.Cost != nil {
		spent.Cost = *a.note.Cost
	}
	return spent
}

// Warnings describes the changes that the provider's adapter made to the request and the response. Credentials are masked.
func (a *Attempt) Warnings() []string {
	if len(a.call.Warnings) > 0 { // warnings may quote the response, which may contain credentials
		masker := newMasker(a.call.Access)
		for i, w := range a.call.Warnings {
			a.call.Warnings[i] = masker.Text(w)
		}
	}
	return a.call.Warnings
}

// translate converts the error of a call to an *llm.Error. If the call was cancelled, the cancellation cause determines
// the kind.
func (a *Attempt) translate(err error) error {
	switch cause := context.Cause(a.ctx); {
	case cause == nil:
	case errors.Is(cause, errConnect):
		return &llm.Error{Kind: llm.UpstreamConnect, Message: cause.Error(), Err: err}
	case errors.Is(cause, errFirstToken), errors.Is(cause, errIdle), errors.Is(cause, errHeaders):
		return &llm.Error{Kind: llm.UpstreamTimeout, Message: cause.Error(), Err: err}
	default:
		return a.series.Ended(a.ctx)
	}
	if _, ok := errors.AsType[*llm.Error](err); ok {
		return redactError(err, newMasker(a.call.Access))
	}
	return &llm.Error{Kind: llm.UpstreamConnect, Message: "the connection failed", Err: err}
}

const (
	drainTime  = 100 * time.Millisecond
	drainBytes = 1 << 10
)

// Close releases the attempt's resources.
func (a *Attempt) Close() {
	if a.state == closed {
		return
	}
	whole := a.state == complete
	a.state = closed
	if a.timer != nil {
		a.timer.Stop()
	}
	if a.stream != nil {
		a.stream.Close()
	}
	if a.socket != nil {
		_ = a.socket.CloseNow() // CloseNow has no effect after a close handshake
	}
	if whole && a.body.ReadCloser != nil {
		// Read to the end so that the connection can be reused. If the provider does not end its response in time, the
		// connection is closed.
		a.timer.Reset(drainTime)
		_, _ = io.CopyN(io.Discard, &a.body, drainBytes)
		a.timer.Stop()
	}
	a.cancel(nil)
	if a.body.ReadCloser != nil {
		_ = a.body.Close() // the error is ignored, because nothing reads the response afterwards
	}
	a.series.releaseSlot(a.provider)
}
