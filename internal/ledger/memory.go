package ledger

import (
	"context"
	"errors"
	"maps"
	"sync"
	"time"

	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/money"
)

// Options configures a ledger.
type Options struct {
	// Spent returns the total charged to a budget by requests since the given time (zero for all time). The total must
	// include entries that are still in the spool.
	Spent func(ctx context.Context, budgetID string, since time.Time) (money.Amount, error)
	Now   func() time.Time
	// OnWarn is called once per window when a budget passes its warning level. No lock is held during the call.
	OnWarn func(b Budget, s Status)
	// OthersReachRedis reports whether another replica reaches Redis while this replica does not. Without this check, the two
	// replicas could spend the same money. Only Shared calls it. If it is nil, no other replica is assumed to reach Redis.
	OthersReachRedis func(ctx context.Context) (bool, error)
	// LoadTimeout is the time limit for one call of Spent; default 2 s.
	LoadTimeout time.Duration
	// LoadRetry is the time for which an error of Spent is cached before Spent is called again; default 250 ms.
	LoadRetry time.Duration
	// MaxIdle is the number of budgets above which budgets unused for an hour are removed; default 100,000.
	MaxIdle int
}

// Memory is a Ledger within one process.
type Memory struct {
	o     Options
	wait  time.Duration // maximum wait for reserved money
	queue waitQueue

	mu      sync.Mutex
	budgets map[string]*window
	zones   zones
	pruned  time.Time // time at which unused budgets were last removed
}

func (o Options) withDefaults() Options {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.LoadTimeout == 0 {
		o.LoadTimeout = 2 * time.Second
	}
	if o.LoadRetry == 0 {
		o.LoadRetry = 250 * time.Millisecond
	}
	if o.MaxIdle == 0 {
		o.MaxIdle = 100_000
	}
	return o
}

// New returns a ledger that loads its initial sums with Spent.
func New(o Options) *Memory {
	return &Memory{o: o.withDefaults(), wait: reservedWait, budgets: map[string]*window{}, zones: zones{}}
}

// Hold implements Ledger.
func (m *Memory) Hold(ctx context.Context, budgets []Budget, amount money.Amount) (*Hold, error) {
	return m.queue.hold(ctx, budgets, m.wait, 0, func() (*Hold, error) { return m.reserve(ctx, budgets, amount) })
}

// TryHold implements Ledger.
func (m *Memory) TryHold(ctx context.Context, budgets []Budget, amount money.Amount) (*Hold, error) {
	if at := m.queue.occupied(budgets); at >= 0 {
		m.mu.Lock()
		zone, err := m.zones.load(budgets[at].Zone)
		m.mu.Unlock()
		if err != nil {
			return nil, err
		}
		return nil, forClient(budgetError(&budgets[at], m.Status(budgets[at]), amount, zone))
	}
	hold, err := m.reserve(ctx, budgets, amount)
	return hold, forClient(err)
}

// reserve makes one attempt to hold the amount. It loads the sums that it needs.
func (m *Memory) reserve(ctx context.Context, budgets []Budget, amount money.Amount) (*Hold, error) {
	amount = max(amount, 0)
	if len(budgets) == 0 {
		return NewHold(amount, func(money.Amount) {}), nil
	}
	for {
		hold, missing, err := m.tryHold(budgets, amount)
		if hold != nil || err != nil {
			return hold, err
		}
		if err := m.load(ctx, missing); err != nil {
			return nil, err
		}
	}
}

// tryHold reserves the amount, returns an error, or returns a window that must be loaded first.
func (m *Memory) tryHold(budgets []Budget, amount money.Amount) (*Hold, *window, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	now := m.o.Now()
	windows := make([]*window, len(budgets))
	for i := range budgets {
		w, err := m.window(&budgets[i], now)
		if err != nil {
			return nil, nil, err
		}
		if !w.loaded {
			return nil, w, nil
		}
		windows[i] = w
	}
	var reserved error
	for i, w := range windows {
		taken := w.spent.Add(w.held)
		if w.budget.WarnOnly || taken < w.budget.Amount && taken.Add(amount) <= w.budget.Amount {
			continue
		}
		err := budgetError(&budgets[i], w.status(budgets[i].Amount), amount, w.zone)
		if _, ok := errors.AsType[*reservedError](err); !ok {
			return nil, nil, err
		}
		reserved = err
	}
	if reserved != nil {
		return nil, nil, reserved
	}
	for _, w := range windows {
		w.held, w.used = w.held.Add(amount), now
	}
	return NewHold(amount, func(cost money.Amount) { m.end(windows, amount, cost) }), nil, nil
}

// end releases a hold and charges the cost in the windows in which the hold was admitted.
func (m *Memory) end(windows []*window, amount, cost money.Amount) {
	m.mu.Lock()
	var warned []*window
	for _, w := range windows {
		warned = w.settle(amount, cost, warned)
	}
	type warning struct {
		budget Budget
		status Status
	}
	warnings := make([]warning, 0, len(warned))
	for _, w := range warned {
		warnings = append(warnings, warning{w.budget, w.status(w.budget.Amount)})
	}
	m.mu.Unlock()
	for _, w := range windows {
		m.queue.released(w.id)
	}
	if m.o.OnWarn == nil {
		return
	}
	for _, w := range warnings {
		m.o.OnWarn(w.budget, w.status)
	}
}

// Status implements Ledger.
func (m *Memory) Status(b Budget) Status {
	m.mu.Lock()
	defer m.mu.Unlock()
	now := m.o.Now()
	w := m.current(&b, now)
	if w == nil {
		zone, err := m.zones.load(b.Zone)
		if err != nil {
			return Status{}
		}
		w = newWindow(&b, zone, now, nil)
		if old := m.budgets[b.ID]; old != nil && old.sameSpans(&b) {
			w.loaded = old.loaded // the old window has ended, and nothing has been spent since
		}
	}
	return w.status(b.Amount)
}

// window returns the budget's current window. It begins a new window when the old window has ended or the budget was edited. If the
// ledger then has MaxIdle budgets, window also removes budgets that were unused for an hour. Their sums can be loaded again.
func (m *Memory) window(b *Budget, now time.Time) (*window, error) {
	w := m.current(b, now)
	if w == nil {
		zone, err := m.zones.load(b.Zone)
		if err != nil {
			return nil, err
		}
		w = newWindow(b, zone, now, m.budgets[b.ID])
		if len(m.budgets) >= m.o.MaxIdle && now.Sub(m.pruned).Abs() >= pruneEvery {
			m.pruned = now
			maps.DeleteFunc(m.budgets, func(_ string, w *window) bool { return w.held == 0 && now.Sub(w.used) > time.Hour })
		}
		m.budgets[b.ID] = w
	}
	w.budget = *b
	return w, nil
}

// current returns the window in use, or nil when the budget is new, its window has ended, or its period or zone has
// changed. If the clock steps back, the window stays in use.
func (m *Memory) current(b *Budget, now time.Time) *window {
	w := m.budgets[b.ID]
	if w == nil || !w.end.IsZero() && !now.Before(w.end) || !w.sameSpans(b) {
		return nil
	}
	return w
}

// pruneEvery is the time between two searches for unused budgets, each of which visits all budgets.
const pruneEvery = 10 * time.Second

// load calls Spent once for all waiting requests. The call continues if the first client disconnects and is limited by
// LoadTimeout.
func (m *Memory) load(ctx context.Context, w *window) error {
	m.mu.Lock()
	if w.loading != nil {
		loading := w.loading
		m.mu.Unlock()
		select {
		case <-loading:
			return m.loadFailure(w)
		case <-ctx.Done():
			return &llm.Error{Kind: llm.ClientCancelled, Message: "The client disconnected before its budget was loaded.", Err: ctx.Err()}
		}
	}
	if w.loaded || (w.failure != nil && m.o.Now().Before(w.retry)) {
		m.mu.Unlock()
		return m.loadFailure(w)
	}
	w.loading = make(chan struct{})
	m.mu.Unlock()
	m.loadSpent(ctx, w)
	return m.loadFailure(w)
}

// loadSpent calls Spent. It completes the load even after a panic, because other requests wait for it.
func (m *Memory) loadSpent(ctx context.Context, w *window) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), m.o.LoadTimeout)
	defer cancel()
	spent, err := money.Amount(0), errors.New("loading the amount spent did not complete")
	defer func() {
		m.mu.Lock()
		defer m.mu.Unlock()
		close(w.loading)
		w.loading = nil
		w.failure, w.retry = err, m.o.Now().Add(m.o.LoadRetry)
		if err != nil {
			return
		}
		w.spent = w.spent.Add(max(spent, 0)) // adds to the charges made during the load
		w.loaded = true
		w.warned = w.atWarning() // a warning level that was already passed is not reported again
	}()
	spent, err = m.o.Spent(ctx, w.id, w.start)
}

func (m *Memory) loadFailure(w *window) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if w.failure == nil {
		return nil
	}
	return unknownSpending(w.failure)
}
