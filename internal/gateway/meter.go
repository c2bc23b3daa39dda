package gateway

import (
	"context"
	"slices"
	"sync"
	"time"

	"fairlead.dev/internal/bill"
	"fairlead.dev/internal/catalog"
	"fairlead.dev/internal/ledger"
	"fairlead.dev/internal/limit"
	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/money"
	"fairlead.dev/internal/provider"
	"fairlead.dev/internal/requestlog"
	"fairlead.dev/internal/route"
)

// realtimeAdmission holds the gateway functions that decide whether a session may continue.
type realtimeAdmission struct {
	// Check authenticates the key again, so that an expired or rotated key ends its sessions.
	Check func() error
	// Next counts the next response towards the key's limits and holds its maximum cost. It may return the slot of the next response
	// together with an error.
	Next func(ctx context.Context) (*limit.Slot, *ledger.Hold, error)
	// Transcribe holds the maximum cost of one transcription. held is the amount that is already held for a response. t is nil for an
	// unknown model. Transcribe returns an error if the price of the model is unknown and the key may not use such models.
	Transcribe func(ctx context.Context, model string, t *provider.Target, held money.Amount) (*ledger.Hold, error)
	// Charge charges a cost for which there is no hold. It is never called concurrently with the functions above.
	Charge func(ctx context.Context, cost money.Amount)
}

// realtimeMeter implements realtime.realtimeMeter. It holds the maximum cost of one response and one transcription at a time.
type realtimeMeter struct {
	admission realtimeAdmission
	snapshot  *route.Snapshot
	start     time.Time // start of the session, which determines the prices
	target    *provider.Target

	mu         sync.Mutex
	hold       *ledger.Hold
	settled    bool         // whether the hold is settled and has not been renewed
	turn       *limit.Slot  // slot that counts the tokens of the next response
	transcript *ledger.Hold // hold for the next transcription; nil if the session has no transcription model
	charge     bill.Charge
	baseline   *catalog.Price // price of the baseline model; may be nil
	unreported int64          // number of responses without usage
}

// newRealtimeMeter returns a meter for a session. turn and hold are the slot and the hold of the first response.
func newRealtimeMeter(a realtimeAdmission, snap *route.Snapshot, start time.Time, turn *limit.Slot, hold *ledger.Hold) *realtimeMeter {
	return &realtimeMeter{admission: a, snapshot: snap, start: start, turn: turn, hold: hold}
}

// Begin sets the target of the session and starts the charge. baseline is the price of the baseline model and may be nil.
func (m *realtimeMeter) Begin(t *provider.Target, baseline *catalog.Price) {
	m.target = t
	m.charge.Bill = m.empty(t.Price)
	m.baseline = baseline
	m.charge.Baseline = m.empty(m.baseline)
}

// Charge returns the charge of the session so far, and the number of responses without usage.
func (m *realtimeMeter) Charge() (charge bill.Charge, unreported int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	charge = m.charge
	if charge.Bill != nil {
		charge.Attempt = new(charge.Bill.Total)
	}
	return charge, m.unreported
}

// empty returns a bill without rows, or nil for an unknown price.
func (m *realtimeMeter) empty(p *catalog.Price) *catalog.Bill {
	if p == nil {
		return nil
	}
	b := p.At(m.start).Bill(llm.Usage{})
	b.Rows, b.Total = b.Rows[:0], 0
	return &b
}

// Response implements realtime.realtimeMeter. It charges the response, counts it towards the key's limits and holds the maximum cost of the next
// response.
func (m *realtimeMeter) Response(ctx context.Context, u *llm.Usage) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	var cost money.Amount
	var used llm.Usage
	if u == nil {
		m.unreported++
	} else {
		used = *u
		cost = m.add(m.target.Price, used, m.hold)
	}
	m.settle(ctx, cost)
	m.turn.Settle(used.Total())
	turn, hold, err := m.admission.Next(ctx)
	if turn != nil {
		m.turn = turn
	}
	if err != nil {
		return err
	}
	m.hold, m.settled = hold, false
	return nil
}

// settle charges a cost to the budgets. The first call settles the hold. Later costs are charged directly, because a response can
// end after its hold was settled.
func (m *realtimeMeter) settle(ctx context.Context, cost money.Amount) {
	switch {
	case !m.settled:
		m.hold.Settle(cost)
		m.settled = true
	case cost != 0:
		m.admission.Charge(ctx, cost)
	}
}

// transcriber returns the target of a transcription model at the provider of the session, or nil for an unknown model.
func (m *realtimeMeter) transcriber(model string) *provider.Target {
	targets := m.snapshot.Named(m.target.Provider + "/" + model)
	if model == "" || len(targets) == 0 || !targets[0].Serves(llm.Transcribe) {
		return nil
	}
	return targets[0]
}

// Transcriber implements realtime.realtimeMeter. It replaces the hold of the previous model.
func (m *realtimeMeter) Transcriber(ctx context.Context, model string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	hold, err := m.admission.Transcribe(ctx, model, m.transcriber(model), m.hold.Amount())
	if err != nil {
		return err
	}
	if m.transcript != nil {
		m.transcript.Release()
	}
	m.transcript = hold
	return nil
}

// Transcription implements realtime.realtimeMeter. It uses the price of the transcription model at the session's provider.
func (m *realtimeMeter) Transcription(ctx context.Context, model string, u *llm.Usage) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	target := m.transcriber(model)
	var cost money.Amount
	switch {
	case target == nil || target.Price == nil, u == nil && target.Price.At(m.start).PerRequest == 0:
		if m.charge.Bill != nil {
			m.charge.Bill.Add(catalog.Bill{Excluded: []string{bill.Transcription}})
		}
	case u == nil:
		cost = m.add(target.Price, llm.Usage{}, m.transcript)
	default:
		cost = m.add(target.Price, *u, m.transcript)
	}
	if m.transcript == nil { // a transcription can end after its hold was released
		if cost != 0 {
			m.admission.Charge(ctx, cost)
		}
		return nil
	}
	m.transcript.Settle(cost)
	var err error
	m.transcript, err = m.admission.Transcribe(ctx, model, target, m.hold.Amount())
	return err
}

// add adds usage to the charge and returns its cost, which is limited to the amount of the hold. hold may be nil for a transcription.
func (m *realtimeMeter) add(p *catalog.Price, u llm.Usage, hold *ledger.Hold) money.Amount {
	response := hold == m.hold
	sum := &m.charge.Usage
	sum.Input, sum.CacheRead, sum.Output = sum.Input+u.Input, sum.CacheRead+u.CacheRead, sum.Output+u.Output
	sum.AudioInput, sum.AudioOutput = sum.AudioInput+u.AudioInput, sum.AudioOutput+u.AudioOutput
	var cost money.Amount
	if p != nil && m.charge.Bill != nil {
		b := bill.Realtime(p.At(m.start), u)
		if hold != nil && b.Total > hold.Amount() {
			b.Rows = append(b.Rows, catalog.Row{Class: "above_hold", Amount: hold.Amount().Sub(b.Total)})
			b.Total, m.charge.Flag = hold.Amount(), requestlog.UsageAboveHold
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
			m.charge.Baseline.Add(bill.Realtime(at.At(m.start), u))
		}
	}
	return cost
}

// Check implements realtime.realtimeMeter.
func (m *realtimeMeter) Check() error { return m.admission.Check() }

// Release releases the holds of the next response and the next transcription.
func (m *realtimeMeter) Release(ctx context.Context) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.turn.Settle(0)
	m.settle(ctx, 0)
	if m.transcript != nil {
		m.transcript.Release()
	}
}
