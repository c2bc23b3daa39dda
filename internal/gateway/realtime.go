package gateway

import (
	"context"
	"encoding/base64"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"

	"github.com/coder/websocket"

	"fairlead/internal/account"
	"fairlead/internal/attempt"
	"fairlead/internal/bill"
	"fairlead/internal/budget"
	"fairlead/internal/catalog"
	"fairlead/internal/ledger"
	"fairlead/internal/limit"
	"fairlead/internal/llm"
	"fairlead/internal/modelapi"
	"fairlead/internal/money"
	"fairlead/internal/provider"
	"fairlead/internal/realtime"
	"fairlead/internal/recording"
	"fairlead/internal/requestlog"
	"fairlead/internal/response"
	"fairlead/internal/route"
	"fairlead/internal/session"
	"fairlead/internal/wire/show"
	"fairlead/internal/wire/strict"
)

const (
	// realtimeProtocol is the WebSocket subprotocol of a session.
	realtimeProtocol = "realtime"
	// keyProtocol and betaProtocol are the beginnings of subprotocols in which browsers send headers, because they cannot set any.
	keyProtocol, betaProtocol = "openai-insecure-api-key.", "openai-beta."
)

// checkUpgrade rejects a request that does not open a WebSocket.
func (g *Gateway) checkUpgrade(w http.ResponseWriter, r *http.Request, requestID string) bool {
	has := func(header, token string) bool {
		return slices.ContainsFunc(offers(r.Header, header), func(s string) bool { return strings.EqualFold(s, token) })
	}
	switch key, err := base64.StdEncoding.DecodeString(strings.TrimSpace(r.Header.Get("Sec-Websocket-Key"))); {
	case r.ProtoMajor != 1 || !has("Connection", "upgrade") || !has("Upgrade", "websocket") || !has("Sec-Websocket-Version", "13"):
		w.Header().Set("Upgrade", "websocket")
		w.Header().Set("Sec-Websocket-Version", "13")
		g.reject(w, r, requestID, llm.Errorf(llm.UpgradeRequired, "%s is a WebSocket. Connect with a WebSocket client over HTTP/1.1.", show.Shorten(r.URL.Path)))
	case err != nil || len(key) != 16 || len(r.Header.Values("Sec-Websocket-Key")) > 1:
		g.reject(w, r, requestID, strict.Reject(strict.Problem{Param: "Sec-WebSocket-Key", Message: "Sec-WebSocket-Key must be 16 bytes in base64."}))
	default:
		return true
	}
	return false
}

// offers returns the elements of a header with a list of values.
func offers(h http.Header, name string) []string {
	var all []string
	for _, value := range h.Values(name) {
		for one := range strings.SplitSeq(value, ",") {
			all = append(all, strings.TrimSpace(one))
		}
	}
	return all
}

// withProtocols returns the request with the API key and the beta of its subprotocols in headers. Headers of the client take precedence.
func withProtocols(r *http.Request) *http.Request {
	moved := r.Clone(r.Context())
	var rest []string
	for _, one := range offers(r.Header, "Sec-Websocket-Protocol") {
		if key, ok := strings.CutPrefix(one, keyProtocol); ok {
			if moved.Header.Get("Authorization") == "" {
				moved.Header.Set("Authorization", "Bearer "+key)
			}
		} else if beta, ok := strings.CutPrefix(one, betaProtocol); ok {
			if moved.Header.Get("Openai-Beta") == "" {
				moved.Header.Set("Openai-Beta", strings.Replace(beta, "-", "=", 1)) // realtime-v1 is realtime=v1
			}
		} else {
			rest = append(rest, one)
		}
	}
	moved.Header.Del("Sec-Websocket-Protocol") // the key must not appear in a response or in a log
	if len(rest) > 0 {
		moved.Header.Set("Sec-Websocket-Protocol", strings.Join(rest, ", "))
	}
	return moved
}

// realtimeRequest returns the request of a handshake, whose query names the model.
func realtimeRequest(r *http.Request, format string) (*llm.Request, error) {
	query := r.URL.Query()
	var problems []strict.Problem
	for name := range query {
		if name != "model" { // call_id, for example, would join the call of another workspace
			problems = append(problems, strict.Problem{Param: show.Shorten(name), Message: fmt.Sprintf("The parameter %s is not supported. Configure the session with session.update.", show.Shorten(name))})
		}
	}
	req := &llm.Request{
		Op: llm.Realtime, Format: format, Model: query.Get("model"), Choices: 1, Unsized: 1, Beta: strings.Join(r.Header.Values("Openai-Beta"), ","),
	}
	switch {
	case len(query["model"]) != 1 || req.Model == "":
		problems = append(problems, strict.Problem{Param: "model", Message: "model is required once. Name a model in the query: /realtime?model=NAME."})
	case route.IsAuto(route.AsAuto(req.Model)):
		problems = append(problems, strict.Problem{Param: "model", Message: "This endpoint has no automatic choice of the model. Name a model."})
	}
	if len(problems) > 0 {
		slices.SortFunc(problems, func(a, b strict.Problem) int { return strings.Compare(a.Param, b.Param) })
		return nil, strict.Reject(problems...)
	}
	if slices.Contains(offers(r.Header, "Sec-Websocket-Protocol"), realtimeProtocol) {
		req.Subprotocol = realtimeProtocol
	}
	req.Controls.SessionID = session.Named(req, r.Header)
	return req, nil
}

// serveRealtime handles a WebSocket session: the steps of serve up to the handshake with a provider, then the upgrade of the client's
// connection and the session. Errors after the upgrade are events of the session.
func (g *Gateway) serveRealtime(ctx context.Context, in *incoming, identify identifier, out *response.Writer, rec *recording.Recorder) error {
	who, err := identify(in)
	rec.RecordCaller(who)
	if err != nil {
		return err
	}
	flags, err := modelapi.ReadFlags(in.HTTP.Header)
	rec.RecordFlags(flags)
	if err != nil {
		return err
	}
	ctx, leave, err := g.inflight.Enter(ctx, who.Grant.Key.ID, in.Settings.MaxConcurrent)
	if err != nil {
		return err
	}
	defer leave()
	req, err := realtimeRequest(in.HTTP, in.Route.Format.Name())
	if err != nil {
		return err
	}
	rec.RecordRequest(req, nil, nil)
	slot, err := g.Limits.Take(ctx, who.Grant.Key.ID, limit.Limits(who.Grant.Key.Limits), 0)
	if err != nil {
		return err
	}
	defer slot.Release()
	p := &prompt{req: req}
	plan, err := g.decide(ctx, in, who, p, flags.DryRun)
	rec.RecordSession(p.req.Controls.SessionID, p.session, p.budgets, p.downgrade)
	rec.RecordDecision(plan.decision)
	if err != nil {
		return err
	}
	if err := requireAudioPrice(in, who.Grant, plan); err != nil {
		return err
	}
	if flags.DryRun {
		return respondDryRun(in, out, plan.decision)
	}
	hold, terms, err := g.hold(ctx, in, who.Grant, plan)
	if err != nil {
		return err
	}
	m := &realtimeMeter{Gateway: g, in: in, plan: plan, hold: hold, turn: slot}
	defer m.release()
	series := g.newSeries(in, who.Grant, plan, terms, false)
	if err := g.begin(rec, series); err != nil {
		return err
	}
	opening, stop := series.WithDeadline(ctx)
	a, err := series.First(opening)
	stop()
	if err != nil {
		return err
	}
	defer a.Close()
	m.begin(a.Target())
	rec.RecordTarget(a.Target(), plan.decision)
	rec.RecordWarnings(a)
	rec.SetHeaders(in.W.Header())
	// The key authenticates the client, not a cookie, so that the origin needs no check here: identify has rejected web pages unless the
	// operator allows them.
	client, err := websocket.Accept(in.W, in.HTTP, &websocket.AcceptOptions{Subprotocols: []string{realtimeProtocol}, InsecureSkipVerify: true})
	if err != nil {
		a.Finish(nil, bill.Charge{})
		return &llm.Error{Kind: llm.ClientCancelled, Message: "The client closed the connection before the session began.", Err: err}
	}
	limits := in.Settings.Realtime
	limits.Ping, limits.Write = in.Settings.Ping, in.Settings.ReadPause
	g.endSession(ctx, rec, a, m, realtime.Run(ctx, client, a.Socket(), limits, m))
	return nil
}

// requireAudioPrice removes targets without a price for audio if a budget can reject the request, because their cost cannot be reserved.
func requireAudioPrice(in *incoming, grant *account.Grant, p plan) error {
	if !budget.CanReject(grant) && !p.limited {
		return nil
	}
	unknown := func(t *provider.Target) bool { return t.Price == nil || !bill.PricesAudio(t.Price.At(in.Start)) }
	first := p.decision.Plan[0]
	p.decision.Plan = slices.DeleteFunc(p.decision.Plan, unknown)
	if len(p.decision.Plan) > 0 {
		return nil
	}
	return llm.Errorf(llm.NoRoute, "The audio price of %s is unknown, and a budget applies. Set audio_input_per_mtok and audio_output_per_mtok for the model, or use a key without a budget.", first.ID())
}

// endSession records a session that has ended.
func (g *Gateway) endSession(ctx context.Context, rec *recording.Recorder, a *attempt.Attempt, m *realtimeMeter, r realtime.Result) {
	m.mu.Lock()
	charge := m.charge
	m.mu.Unlock()
	if charge.Bill != nil {
		charge.Attempt = new(charge.Bill.Total)
	}
	var failure *llm.Error
	if r.Err != nil && r.Err.Kind.FromUpstream() {
		failure = r.Err
	}
	a.Finish(failure, charge)
	e := rec.Entry
	rec.RecordCharge(charge, false)
	e.Finish, e.Outcome, e.Status = r.Reason, requestlog.OK, http.StatusSwitchingProtocols
	if r.Err != nil {
		g.logInternal(ctx, e.ID, r.Err)
		rec.RecordError(r.Err, true)
		e.Status = http.StatusSwitchingProtocols
	}
	if n := r.Unfinished + m.unreported; n > 0 {
		e.Warnings = append(e.Warnings, fmt.Sprintf("the provider reported no usage for %d responses, whose cost is unknown", n))
	}
	rec.Complete()
	e.BytesIn, e.BytesOut = r.Sent, r.Received
	if err := g.Log.End(e); err != nil { // the client has received the session
		g.Logger.ErrorContext(ctx, "realtime session was not recorded", "request_id", e.ID, "error", err.Error())
	}
}

// realtimeMeter implements realtime.Meter. It holds the maximum cost of one response at a time.
type realtimeMeter struct {
	*Gateway
	in     *incoming
	plan   plan
	target *provider.Target

	mu         sync.Mutex
	hold       *ledger.Hold
	turn       *limit.Slot  // counts the tokens of the next response
	owed       money.Amount // transcriptions, charged with the next response
	charge     bill.Charge
	baseline   *catalog.Price // nil for none
	unreported int64          // responses without usage
}

// begin starts the charge of a session at a target.
func (m *realtimeMeter) begin(t *provider.Target) {
	m.target = t
	m.charge.Bill = m.empty(t.Price)
	m.baseline = m.plan.baseline(m.in.Snapshot).Price
	m.charge.Baseline = m.empty(m.baseline)
}

// empty returns a bill without rows; nil for an unknown price.
func (m *realtimeMeter) empty(p *catalog.Price) *catalog.Bill {
	if p == nil {
		return nil
	}
	b := p.At(m.in.Start).Bill(llm.Usage{})
	b.Rows, b.Total = b.Rows[:0], 0
	return &b
}

// Response implements realtime.Meter. It charges the response, counts it on the limits of the key and holds the cost of the next one.
func (m *realtimeMeter) Response(ctx context.Context, u *llm.Usage) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	var cost money.Amount
	var used llm.Usage
	if u == nil {
		m.unreported++
	} else {
		used = *u
		cost = m.add(m.target.Price, used, true)
	}
	m.hold.Settle(cost.Add(m.owed))
	m.owed = 0
	m.turn.Settle(used.Total())
	grant, err := m.authenticate()
	if err != nil {
		return err
	}
	limits := limit.Limits(grant.Key.Limits)
	limits.Concurrent = 0 // the session is one concurrent request
	turn, err := m.Limits.Take(ctx, grant.Key.ID, limits, 1)
	if err != nil {
		return err
	}
	turn.Release()
	m.turn = turn
	hold, _, err := m.Gateway.hold(ctx, m.in, grant, m.plan)
	if err != nil {
		return err
	}
	m.hold = hold
	return nil
}

// Transcription implements realtime.Meter. The price is that of the model at the same provider.
func (m *realtimeMeter) Transcription(_ context.Context, model string, u *llm.Usage) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	var price *catalog.Price
	if targets := m.in.Snapshot.Named(m.target.Provider + "/" + model); model != "" && len(targets) > 0 && targets[0].Serves(llm.Transcribe) {
		price = targets[0].Price
	}
	switch {
	case price == nil, u == nil && price.At(m.in.Start).PerRequest == 0:
		if m.charge.Bill != nil {
			m.charge.Bill.Add(catalog.Bill{Excluded: []string{bill.Transcription}})
		}
	case u == nil:
		m.owed = m.owed.Add(m.add(price, llm.Usage{}, false))
	default:
		m.owed = m.owed.Add(m.add(price, *u, false))
	}
	return nil
}

// add adds a usage at a price to the charge, and returns its cost. A response costs at most the hold.
func (m *realtimeMeter) add(p *catalog.Price, u llm.Usage, response bool) money.Amount {
	sum := &m.charge.Usage
	sum.Input, sum.CacheRead, sum.Output = sum.Input+u.Input, sum.CacheRead+u.CacheRead, sum.Output+u.Output
	sum.AudioInput, sum.AudioOutput = sum.AudioInput+u.AudioInput, sum.AudioOutput+u.AudioOutput
	var cost money.Amount
	if p != nil && m.charge.Bill != nil {
		b := bill.Realtime(p.At(m.in.Start), u)
		if held := m.hold.Amount(); response && b.Total > held {
			b.Rows = append(b.Rows, catalog.Row{Class: "above_hold", Amount: held.Sub(b.Total)})
			b.Total, m.charge.Flag = held, requestlog.UsageAboveHold
		}
		b.Rows = slices.DeleteFunc(b.Rows, func(r catalog.Row) bool { return r.Tokens == 0 && r.Amount == 0 })
		cost = b.Total
		m.charge.Bill.Add(b)
	}
	if m.baseline != nil {
		at := m.baseline
		if !response {
			at = p
		}
		if at != nil {
			m.charge.Baseline.Add(bill.Realtime(at.At(m.in.Start), u))
		}
	}
	return cost
}

// Check implements realtime.Meter. It authenticates the key again, so that an expired or rotated key ends its sessions.
func (m *realtimeMeter) Check() error {
	_, err := m.authenticate()
	return err
}

func (m *realtimeMeter) authenticate() (*account.Grant, error) {
	grant, err := m.Keys.Authenticate(m.in.HTTP.Header)
	if err != nil {
		return nil, err
	}
	return grant, modelapi.CheckScope(grant)
}

// release frees what the next response would have used, and charges the last transcriptions.
func (m *realtimeMeter) release() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.turn.Settle(0)
	m.hold.Settle(m.owed)
}
