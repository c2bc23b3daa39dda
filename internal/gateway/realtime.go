package gateway

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"sync/atomic"

	"github.com/coder/websocket"

	"fairlead.dev/internal/account"
	"fairlead.dev/internal/bill"
	"fairlead.dev/internal/budget"
	"fairlead.dev/internal/gateway/upstream"
	"fairlead.dev/internal/ledger"
	"fairlead.dev/internal/limit"
	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/money"
	"fairlead.dev/internal/provider"
	"fairlead.dev/internal/realtime"
	"fairlead.dev/internal/requestlog"
	"fairlead.dev/internal/response"
	"fairlead.dev/internal/wire/show"
	"fairlead.dev/internal/wire/strict"
)

// checkUpgrade rejects a request that does not open a WebSocket.
func (g *Gateway) checkUpgrade(w http.ResponseWriter, r *http.Request, requestID string) bool {
	err := realtime.CheckUpgrade(r)
	if err == nil {
		return true
	}
	if llm.AsError(err).Kind == llm.UpgradeRequired {
		w.Header().Set("Upgrade", "websocket")
		w.Header().Set("Sec-Websocket-Version", "13")
	}
	g.reject(w, r, requestID, err)
	return false
}

// realtimeSession is a WebSocket session in progress.
type realtimeSession struct {
	*run
	w    http.ResponseWriter
	http *http.Request
}

// serve handles the session: the steps of a call up to the handshake with a provider, then the upgrade of the client's connection and the
// session. Errors after the upgrade are events of the session.
func (r *realtimeSession) serve(ctx context.Context) error {
	grant := r.call.Grant
	if err := checkScope(grant); err != nil {
		return err
	}
	if r.call.Invalid != nil {
		return r.call.Invalid
	}
	ctx, leave, err := r.Enter(ctx, grant.Key.ID, r.settings.MaxConcurrent)
	if err != nil {
		return err
	}
	defer leave()
	req, err := realtime.ReadRequest(r.http, r.call.Route.Format.Name())
	if err != nil {
		return err
	}
	p := r.newPrompt(req)
	r.recordRequest(req, nil)
	slot, err := r.Limits.Take(ctx, grant.Key.ID, limit.Limits(grant.Key.Limits), 0)
	if err != nil {
		return err
	}
	defer slot.Release()
	if req.Routed {
		return strict.Reject(strict.Problem{Param: "model", Message: "This endpoint cannot select a model automatically. Name a model."})
	}
	plan, err := r.decide(ctx, p)
	r.recordSession(p)
	r.recordDecision(plan.decision)
	if err != nil {
		return err
	}
	if err := r.requireAudioPrice(plan); err != nil || r.call.DryRun {
		return err
	}
	held, err := r.hold(ctx, grant, plan)
	if err != nil {
		return err
	}
	m := newRealtimeMeter(r.admission(plan), r.snapshot, r.call.Start, responseHold{slot, held.hold})
	defer m.Release() // Release has no effect after the end of the session
	series := r.newSeries(plan, held)
	if err := r.begin(series); err != nil {
		return err
	}
	opening, stop := series.WithDeadline(ctx)
	a, err := series.TryInOrder(opening)
	stop()
	if err != nil {
		return err
	}
	defer a.Close()
	m.Begin(a.Target(), plan.baseline(r.snapshot).Price)
	r.recordTarget(a.Target(), plan.decision)
	r.recordWarnings(a)
	r.start()
	response.SetHeaders(r.w.Header(), r.entry)
	// The client authenticates with a key and not with a cookie, so the origin needs no check here. authenticateKey has already
	// rejected calls from web pages, unless the operator allows them.
	client, err := websocket.Accept(r.w, r.http, &websocket.AcceptOptions{Subprotocols: []string{realtime.Protocol}, InsecureSkipVerify: true})
	if err != nil {
		a.Finish(nil, bill.Charge{})
		return &llm.Error{Kind: llm.ClientCancelled, Message: "The client closed the connection before the session began.", Err: err}
	}
	limits := r.settings.Realtime
	limits.Ping, limits.Write = r.settings.Ping, r.settings.ReadPause
	r.endSession(ctx, a, m, realtime.Run(ctx, client, a.Socket(), limits, m, a.Mask))
	return nil
}

// admission returns the functions that decide whether a session may continue. They apply the limits and budgets of the key.
func (r *realtimeSession) admission(p plan) realtimeAdmission {
	var latest atomic.Pointer[account.Grant] // the functions are called concurrently
	latest.Store(r.call.Grant)
	authenticate := func() (*account.Grant, error) {
		grant, err := r.Keys.Authenticate(r.http.Header)
		if err != nil {
			return nil, err
		}
		return grant, checkScope(grant)
	}
	check := func() error {
		_, err := authenticate()
		return err
	}
	next := func(ctx context.Context, parallel bool) (held responseHold, err error) {
		grant, err := authenticate()
		if err != nil {
			return held, err
		}
		limits := limit.Limits(grant.Key.Limits)
		limits.Concurrent = 0 // the session already counts as a concurrent request
		if held.turn, err = r.Limits.Take(ctx, grant.Key.ID, limits, 1); err != nil {
			return held, err
		}
		held.turn.Release()
		p := p
		p.immediate = parallel // waiting does not free the amounts that the session itself holds
		cost, err := r.hold(ctx, grant, p)
		if err != nil {
			held.turn.Settle(0)
			return held, err
		}
		held.cost = cost.hold
		latest.Store(grant)
		return held, nil
	}
	transcribe := func(ctx context.Context, model string, t *provider.Target, held money.Amount) (*ledger.Hold, error) {
		grant := latest.Load()
		if (t == nil || !bill.PricesTranscription(t.Price, r.call.Start)) && (p.limited || !r.settings.AllowsUnpriced(grant)) {
			return nil, llm.Errorf(llm.NoRoute, "The price of the transcription model %s is unknown. Add the model to the provider with kind transcription and its prices, or use a key without a budget that allows models without a price.", show.Quote(show.ShortenName(model)))
		}
		req := &llm.Request{
			Op: llm.Transcribe, Model: model, Payload: llm.Payload{Format: r.call.Route.Format.Name()},
			ResponseOptions: llm.ResponseOptions{Choices: 1}, Attachments: llm.Attachments{Unsized: 1},
		}
		terms := bill.Terms{Request: req, At: r.call.Start}
		var maxCost money.Amount
		if t != nil {
			maxCost = terms.MaxCost([]*provider.Target{t})
		}
		return r.countOnSession(ctx, grant, p, func() (*ledger.Hold, error) {
			budgets := append(budget.Applied(grant), p.budgets...)
			hold, err := r.Ledger.TryHold(ctx, budgets, maxCost)
			if !insufficient(err) {
				return hold, err
			}
			// The session itself holds an amount for a response, and waiting does not free it. If the budget cannot pay for the response
			// and the transcription, return the error now.
			if own, err := r.Ledger.TryHold(ctx, budgets, maxCost.Add(held)); err == nil {
				own.Release()
			} else if llm.AsError(err).Kind == llm.BudgetExceeded {
				return nil, err
			}
			return r.Ledger.Hold(ctx, budgets, maxCost)
		})
	}
	charge := func(ctx context.Context, cost money.Amount) {
		grant := latest.Load()
		budgets := append(budget.Applied(grant), p.budgets...)
		for i := range budgets {
			budgets[i].WarnOnly = true
		}
		ctx = context.WithoutCancel(ctx)
		reserve := func() (*ledger.Hold, error) { return r.Ledger.Hold(ctx, budgets, 0) }
		hold, err := r.countOnSession(ctx, grant, p, reserve)
		if err != nil && llm.AsError(err).Kind == llm.RateLimited { // the session is at its limit, so only the count is skipped
			hold, err = reserve()
		}
		if err != nil { // the cost is not lost: it is in the log entry, and budgets are rebuilt from the log
			r.Logger.ErrorContext(ctx, "cost of a realtime session was not charged", "key", grant.Key.ID, "error", err.Error())
			return
		}
		hold.Settle(cost)
	}
	return realtimeAdmission{Check: check, Next: next, Transcribe: transcribe, Charge: charge}
}

// requireAudioPrice removes targets without an audio price if a budget can reject the request, because their cost cannot be reserved.
func (r *realtimeSession) requireAudioPrice(p plan) error {
	if !budget.CanReject(r.call.Grant) && !p.limited {
		return nil
	}
	unknown := func(t *provider.Target) bool { return t.Price == nil || !bill.PricesAudio(t.Price.At(r.call.Start)) }
	first := p.decision.Plan[0]
	p.decision.Plan = slices.DeleteFunc(p.decision.Plan, unknown)
	if len(p.decision.Plan) > 0 {
		return nil
	}
	return llm.Errorf(llm.NoRoute, "The audio price of %s is unknown, and a budget applies. Set audio_input_per_mtok and audio_output_per_mtok for the model, or use a key without a budget.", first.ID())
}

// endSession records a session that has ended.
func (r *realtimeSession) endSession(ctx context.Context, a *upstream.Attempt, m *realtimeMeter, ended realtime.Result) {
	m.Release() // budgets are released before the entry is visible
	charge, estimated := m.Charge()
	var failure *llm.Error
	if ended.Err != nil && ended.Err.Kind.FromUpstream() {
		failure = ended.Err
	}
	a.Finish(failure, charge)
	e := r.entry
	r.recordCharge(charge, false)
	e.Finish, e.Outcome, e.Status = ended.Reason, requestlog.OK, http.StatusSwitchingProtocols
	if ended.Err != nil {
		r.logInternal(ctx, e.ID, ended.Err)
		r.recordError(ended.Err, true)
		e.Status = http.StatusSwitchingProtocols
	}
	if estimated > 0 {
		e.Warnings = append(e.Warnings, fmt.Sprintf("the provider reported no usage for %d responses, whose cost is estimated", estimated))
	}
	r.complete()
	e.BytesIn, e.BytesOut = ended.Sent, ended.Received
	if err := r.Log.End(e); err != nil { // the session has ended, so the client cannot receive the error
		r.Logger.ErrorContext(ctx, "realtime session was not recorded", "request_id", e.ID, "error", err.Error())
	}
}
