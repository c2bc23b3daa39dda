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
	// Next counts a response towards the key's limits and holds its maximum cost. parallel means that other responses are in progress.
	Next func(ctx context.Context, parallel bool) (responseHold, error)
	// Transcribe holds the maximum cost of one transcription. held is the amount that is already held for a response. t is nil for an
	// unknown model. Transcribe returns an error if the price of the model is unknown and the key may not use such models.
	Transcribe func(ctx context.Context, model string, t *provider.Target, held money.Amount) (*ledger.Hold, error)
	// Charge charges a cost for which there is no hold.
	Charge func(ctx context.Context, cost money.Amount)
}

// responseHold is the reservation for one response.
type responseHold struct {
	turn *limit.Slot // counts the tokens of the response
	cost *ledger.Hold
}

// realtimeMeter implements realtime.Meter. It holds the maximum cost of each response and of one transcription at a time.
type realtimeMeter struct {
	admission realtimeAdmission
	snapshot  *route.Snapshot
	start     time.Time // start of the session, which determines the prices
	target    *provider.Target
	reserving sync.Mutex // locked by Reserve

	mu         sync.Mutex
	holds      []responseHold
	transcript *ledger.Hold // hold for the next transcription; nil if the session has no transcription model
	charge     bill.Charge
	baseline   *catalog.Price // price of the baseline model; may be nil
	estimated  int64          // number of responses whose usage is estimated
}

// newRealtimeMeter returns a meter for a session. first is the reservation for the first response.
func newRealtimeMeter(a realtimeAdmission, snap *route.Snapshot, start time.Time, first responseHold) *realtimeMeter {
	return &realtimeMeter{admission: a, snapshot: snap, start: start, holds: []responseHold{first}}
}

// Begin sets the target of the session and starts the charge. baseline is the price of the baseline model and may be nil.
func (m *realtimeMeter) Begin(t *provider.Target, baseline *catalog.Price) {
	m.target = t
	m.charge.Bill = m.empty(t.Price)
	m.baseline = baseline
	m.charge.Baseline = m.empty(m.baseline)
}

// Charge returns the charge of the session so far, and the number of responses whose usage is estimated.
func (m *realtimeMeter) Charge() (charge bill.Charge, estimated int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	charge = m.charge
	if charge.Bill != nil {
		charge.Attempt = new(charge.Bill.Total)
	}
	return charge, m.estimated
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

// Reserve implements realtime.Meter. It does not keep Response from settling a hold, which may free the amount that it waits for.
func (m *realtimeMeter) Reserve(ctx context.Context, responses int) error {
	m.reserving.Lock()
	defer m.reserving.Unlock()
	for {
		m.mu.Lock()
		held := len(m.holds)
		m.mu.Unlock()
		if held >= responses {
			return nil
		}
		next, err := m.admission.Next(ctx, held > 0)
		if err != nil {
			return err
		}
		m.mu.Lock()
		m.holds = append(m.holds, next)
		m.mu.Unlock()
	}
}

// Response implements realtime.Meter. It charges the response and counts it towards the key's limits. A response without a hold, which the
// provider started after the budget was spent, is charged directly.
func (m *realtimeMeter) Response(ctx context.Context, u llm.Usage) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if u.Estimated {
		m.estimated++
	}
	if len(m.holds) == 0 {
		if cost := m.add(m.target.Price, u, nil, m.baseline); cost != 0 {
			m.admission.Charge(ctx, cost)
		}
		return
	}
	held := m.holds[0]
	m.holds = m.holds[1:]
	held.cost.Settle(m.add(m.target.Price, u, held.cost, m.baseline))
	held.turn.Settle(u.Total())
}

// held returns the amount that is held for responses.
func (m *realtimeMeter) held() (sum money.Amount) {
	for _, h := range m.holds {
		sum = sum.Add(h.cost.Amount())
	}
	return sum
}

// transcriber returns the target of a transcription model at the provider of the session, or nil for an unknown model.
func (m *realtimeMeter) transcriber(model string) *provider.Target {
	targets := m.snapshot.Named(m.target.Provider + "/" + model)
	if model == "" || len(targets) == 0 || !targets[0].Serves(llm.Transcribe) {
		return nil
	}
	return targets[0]
}

// Transcriber implements realtime.Meter. It replaces the hold of the previous model.
func (m *realtimeMeter) Transcriber(ctx context.Context, model string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	hold, err := m.admission.Transcribe(ctx, model, m.transcriber(model), m.held())
	if err != nil {
		return err
	}
	if m.transcript != nil {
		m.transcript.Release()
	}
	m.transcript = hold
	return nil
}

// Transcription implements realtime.Meter. It uses the price of the transcription model at the session's provider.
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
		cost = m.add(target.Price, llm.Usage{}, m.transcript, target.Price)
	default:
		cost = m.add(target.Price, *u, m.transcript, target.Price)
	}
	if m.transcript == nil { // a transcription can end after its hold was released
		if cost != 0 {
			m.admission.Charge(ctx, cost)
		}
		return nil
	}
	m.transcript.Settle(cost)
	var err error
	m.transcript, err = m.admission.Transcribe(ctx, model, target, m.held())
	return err
}

// add adds usage to the charge and returns its cost, which is limited to the amount of the hold. hold may be nil. baseline is the price of
// the same usage without routing and may be nil.
func (m *realtimeMeter) add(p *catalog.Price, u llm.Usage, hold *ledger.Hold, baseline *catalog.Price) money.Amount {
	sum := &m.charge.Usage
	sum.Estimated = sum.Estimated || u.Estimated
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
	if m.charge.Baseline != nil && baseline != nil {
		m.charge.Baseline.Add(bill.Realtime(baseline.At(m.start), u))
	}
	return cost
}

// Check implements realtime.Meter.
func (m *realtimeMeter) Check() error { return m.admission.Check() }

// Release releases the holds of the next response and the next transcription.
func (m *realtimeMeter) Release() {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, h := range m.holds {
		h.turn.Settle(0)
		h.cost.Release()
	}
	m.holds = nil
	if m.transcript != nil {
		m.transcript.Release()
	}
}
