package alert

import (
	"context"
	"errors"
	"math"
	"sync"
	"time"

	"fairlead.dev/internal/id"
)

// EngineStore stores the states of rules and the deliveries of events. Both are changed with compare-and-set, so that several replicas
// can evaluate and deliver at the same time.
type EngineStore interface {
	// EnabledRules returns the enabled rules of all workspaces.
	EnabledRules(ctx context.Context) ([]Rule, error)
	// States returns the states of all rules.
	States(ctx context.Context) ([]State, error)
	// Apply stores a change with its event and deliveries in one transaction. It returns false, and changes nothing, if another replica
	// has changed the state since it was read.
	Apply(ctx context.Context, c *Change, deliveries []Delivery) (bool, error)
	// Due returns pending deliveries whose next attempt is due, oldest first.
	Due(ctx context.Context, now time.Time, limit int) ([]Delivery, error)
	// Update stores a delivery if its stored number of attempts equals the given number. Otherwise it returns false.
	Update(ctx context.Context, d *Delivery, attempts int) (bool, error)
	// Notification returns the event and the channel of a delivery. It returns ErrNoChannel if the channel was deleted.
	Notification(ctx context.Context, d *Delivery) (Event, Channel, error)
}

// ErrNoChannel is returned for a delivery whose channel was deleted.
var ErrNoChannel = errors.New("the channel was deleted")

// Engine evaluates rules and delivers notifications.
type Engine struct {
	Store   EngineStore
	Meter   *Meter
	Reports ReportStore
	Sender  *Sender
	Expire  func(ctx context.Context, before time.Time) error // deletes old events
	Local   func() []Report                                   // returns the figures of this replica
	Report  func(task string, err error)
	Now     func() time.Time
	Replica string        // ID of this process
	Wake    chan struct{} // channel that starts an evaluation immediately; may be nil
}

const (
	evaluateEvery = 30 * time.Second
	deliverEvery  = 2 * time.Second
	reportEvery   = 15 * time.Second
	expireEvery   = time.Hour
	evaluateTime  = 25 * time.Second // time limit of one evaluation
	parallel      = 8                // maximum number of concurrent deliveries
	batch         = 64               // maximum number of deliveries in one call of Deliver

	// Retention is the time for which events are stored.
	Retention = 90 * 24 * time.Hour
)

// NewReplica returns an ID for this process.
func NewReplica(now time.Time) string { return id.New("rep", now) }

// Lead evaluates rules and delivers notifications until ctx is done. It runs on the elected replica.
func (e *Engine) Lead(ctx context.Context) {
	var all sync.WaitGroup
	all.Go(func() { repeat(ctx, evaluateEvery, e.Wake, func() { e.Report("evaluate alerts", e.Evaluate(ctx)) }) })
	all.Go(func() { repeat(ctx, deliverEvery, nil, func() { e.Report("deliver alerts", e.Deliver(ctx)) }) })
	all.Go(func() {
		repeat(ctx, expireEvery, nil, func() { e.Report("delete old alerts", e.Expire(ctx, e.Now().Add(-Retention))) })
	})
	all.Wait()
}

// Follow reports the figures of this replica until ctx is done. It runs on every replica.
func (e *Engine) Follow(ctx context.Context) {
	repeat(ctx, reportEvery, nil, func() { e.Report("report to alerts", e.ReportLocal(ctx)) })
}

// repeat calls the function do immediately, then periodically and whenever wake receives a value, until ctx is done.
func repeat(ctx context.Context, every time.Duration, wake <-chan struct{}, do func()) {
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		do()
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		case <-wake:
		}
	}
}

// ReportLocal stores the figures of this replica if a rule needs them.
func (e *Engine) ReportLocal(ctx context.Context) error {
	used, err := e.Reports.HasRules(ctx, OpenCircuits, SpoolSize)
	if err != nil || !used {
		return err
	}
	for _, r := range e.Local() {
		r.Replica, r.At = e.Replica, e.Now()
		if err := e.Reports.SaveReport(ctx, r); err != nil {
			return err
		}
	}
	return nil
}

// Evaluate evaluates all enabled rules once. A rule that cannot be measured keeps its state.
func (e *Engine) Evaluate(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, evaluateTime)
	defer cancel()
	rules, err := e.Store.EnabledRules(ctx)
	if err != nil || len(rules) == 0 {
		return err
	}
	all, err := e.Store.States(ctx)
	if err != nil {
		return err
	}
	states := map[string][]State{}
	for _, s := range all {
		states[s.RuleID] = append(states[s.RuleID], s)
	}
	now := e.Now()
	round := e.Meter.begin(now)
	var errs []error
	// Start with a different rule each time, so that timeouts caused by a slow database do not always skip the same rules.
	first := int(now.Unix()/int64(evaluateEvery/time.Second)) % len(rules)
	for i := range rules {
		r := &rules[(first+i)%len(rules)]
		if ctx.Err() != nil {
			return errors.Join(append(errs, ctx.Err())...)
		}
		errs = append(errs, e.evaluate(ctx, round, r, states[r.ID], now))
	}
	return errors.Join(errs...)
}

func (e *Engine) evaluate(ctx context.Context, round *round, r *Rule, states []State, now time.Time) error {
	measured, err := round.measure(ctx, r)
	if err != nil {
		return err
	}
	old := map[string]State{}
	for _, s := range states {
		old[s.Subject] = s
	}
	for _, change := range Evaluate(r, states, measured, now) {
		const refresh = 5 * time.Minute // interval at which an unchanged value is stored
		previous, next := old[change.Next.Subject], &change.Next
		same := change.Event == nil && !change.Remove && previous.Revision != 0 && previous.Detail == next.Detail && previous.Label == next.Label
		if same && !(math.Abs(previous.Value-next.Value) > 0.01*math.Abs(previous.Value)) && next.SeenAt.Sub(previous.SeenAt) < refresh {
			continue
		}
		var deliveries []Delivery
		if change.Event != nil && !change.Event.Muted {
			for _, channel := range r.Channels {
				deliveries = append(deliveries, newDelivery(change.Event, channel))
			}
		}
		// If Apply returns false, another replica has evaluated the rule at the same time and has recorded the same crossing.
		if _, err := e.Store.Apply(ctx, &change, deliveries); err != nil {
			return err
		}
	}
	return nil
}

func newDelivery(e *Event, channel string) Delivery {
	return Delivery{ID: id.New("dlv", e.At), EventID: e.ID, WorkspaceID: e.WorkspaceID, ChannelID: channel, State: Pending, NextAt: e.At, UpdatedAt: e.At}
}

// Deliver makes one attempt for every delivery that is due.
func (e *Engine) Deliver(ctx context.Context) error {
	due, err := e.Store.Due(ctx, e.Now(), batch)
	if err != nil {
		return err
	}
	var all sync.WaitGroup
	slots := make(chan struct{}, parallel)
	errs := make([]error, len(due))
	for i := range due {
		slots <- struct{}{}
		all.Go(func() {
			defer func() { <-slots }()
			errs[i] = e.attempt(ctx, &due[i])
		})
	}
	all.Wait()
	return errors.Join(errs...)
}

// attempt claims a delivery, makes one attempt and stores the result. If the process ends in between, the attempt is repeated after the
// lease, with the same event ID.
func (e *Engine) attempt(ctx context.Context, d *Delivery) error {
	before, now := d.Attempts, e.Now()
	d.Attempts, d.NextAt, d.UpdatedAt = before+1, now.Add(lease), now
	claimed, err := e.Store.Update(ctx, d, before)
	if err != nil || !claimed {
		return err
	}
	event, channel, err := e.Store.Notification(ctx, d)
	switch {
	case errors.Is(err, ErrNoChannel):
		d.State, d.Error, d.UpdatedAt = Failed, "The channel was deleted.", now
	case err != nil:
		return err
	default:
		d.finish(e.Sender.Send(ctx, &channel, &event, now), e.Now())
	}
	_, err = e.Store.Update(context.WithoutCancel(ctx), d, d.Attempts)
	return err
}
