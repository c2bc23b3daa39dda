package ledger

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/singleflight"

	"fairlead.dev/internal/cluster"
	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/money"
)

// returnTime is the maximum time that a request waits for Redis to recover when the local allowance is too small.
const returnTime = 250 * time.Millisecond

// maxAmount is the largest amount that the scripts compare exactly: about nine million dollars.
const maxAmount money.Amount = 1<<53 - 1

// Shared is a Ledger that replicas share through Redis. A hold takes one call to Redis; settlements are sent in the background.
// The database is authoritative: the sums in Redis are initialised from it, including after Redis has lost its data.
// While Redis is unavailable, each replica spends a share of the remaining budget.
type Shared struct {
	o       Options
	client  *cluster.Client
	started time.Time // start of this process

	queue waitQueue
	waits

	loads singleflight.Group
	wake  chan struct{} // signals that settlements are waiting

	mu       sync.Mutex
	budgets  map[string]*budgetState
	observed map[string]observation // totals of budgets that only other replicas use
	zones    zones

	pruned        time.Time    // time at which unused budgets were last removed
	stopping      bool         // whether the local allowances are released, because the process is shutting down
	lastHeartbeat time.Time    // time of the last heartbeat
	cursor        changeCursor // position in the list of changes; used only by the heartbeat
}

// waits holds the time limits and intervals of a shared ledger. Tests shorten them.
type waits struct {
	wait       time.Duration // maximum wait for reserved money
	outageWait time.Duration // maximum wait for Redis to recover
	askEvery   time.Duration // interval between database reads while Redis is unavailable
}

// NewShared returns a ledger that uses the cluster client. Settlements are sent only while Run is running.
func NewShared(link *cluster.Client, o Options) *Shared {
	o = o.withDefaults()
	s := &Shared{
		o: o, client: link, started: o.Now(), waits: waits{wait: reservedWait, outageWait: returnTime, askEvery: askEvery},
		wake: make(chan struct{}, 1), budgets: map[string]*budgetState{}, observed: map[string]observation{}, zones: zones{},
	}
	link.OnBeat(s.sync)
	return s
}

// Hold implements Ledger. Other replicas do not report released money, so the first waiting request polls Redis.
func (s *Shared) Hold(ctx context.Context, budgets []Budget, amount money.Amount) (*Hold, error) {
	return s.queue.hold(ctx, budgets, s.wait, pollEvery, func() (*Hold, error) { return s.reserve(ctx, budgets, amount) })
}

// TryHold implements Ledger.
func (s *Shared) TryHold(ctx context.Context, budgets []Budget, amount money.Amount) (*Hold, error) {
	if at := s.queue.occupied(budgets); at >= 0 {
		s.mu.Lock()
		zone, err := s.zones.load(budgets[at].Zone)
		s.mu.Unlock()
		if err != nil {
			return nil, err
		}
		return nil, forClient(budgetError(&budgets[at], s.Status(budgets[at]), amount, zone))
	}
	hold, err := s.reserve(ctx, budgets, amount)
	return hold, forClient(err)
}

// reserve makes one attempt to hold the amount: in Redis, or from this replica's share while Redis is unavailable.
func (s *Shared) reserve(ctx context.Context, budgets []Budget, amount money.Amount) (*Hold, error) {
	amount = min(max(amount, 0), maxAmount)
	if len(budgets) == 0 {
		return NewHold(amount, func(money.Amount) {}), nil
	}
	hold, err := s.holdShared(ctx, budgets, amount)
	if !errors.Is(err, cluster.ErrUnavailable) {
		return hold, err
	}
	hold, err = s.holdLocally(ctx, budgets, amount)
	if e, ok := errors.AsType[*llm.Error](err); !ok || e.Kind != llm.LedgerUnavailable || !s.awaitReturn(ctx) {
		return hold, err
	}
	if hold, again := s.holdShared(ctx, budgets, amount); !errors.Is(again, cluster.ErrUnavailable) {
		return hold, again
	}
	return nil, err
}

// awaitReturn waits briefly at the start of an outage and reports whether Redis is available again. On a slow machine, a late reply
// can look like an outage.
func (s *Shared) awaitReturn(ctx context.Context) bool {
	for {
		state := s.client.State()
		if state.Ready || time.Since(state.Since) > s.outageWait {
			return state.Ready
		}
		if !pause(ctx, s.outageWait/10) {
			return false
		}
	}
}

func pause(ctx context.Context, span time.Duration) bool {
	timer := time.NewTimer(span)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}

// holdShared reserves in Redis. It returns cluster.ErrUnavailable when Redis does not respond in time.
func (s *Shared) holdShared(ctx context.Context, budgets []Budget, amount money.Amount) (*Hold, error) {
	const maxTries = 20 // limits retries after changes by other replicas
	wait := max(s.outageWait/16, 1)
	for range maxTries {
		if !s.client.State().Ready {
			return nil, cluster.ErrUnavailable
		}
		hold, again, err := s.tryHold(ctx, budgets, amount)
		if errors.Is(err, errKept) { // other replicas return their allowances within a heartbeat
			if wait *= 2; wait > 2*s.outageWait || !pause(ctx, wait) {
				return nil, &llm.Error{
					Kind:       llm.LedgerUnavailable,
					Message:    "The remaining budget is allocated to other gateway replicas. Retry in 1 second.",
					RetryAfter: time.Second,
				}
			}
			continue
		}
		if !again || err != nil {
			return hold, err
		}
	}
	return nil, cluster.ErrUnavailable
}

// errKept is returned when the remaining budget is allocated to other replicas.
var errKept = errors.New("the remaining budget is allocated to other replicas")

// Delivered records that a log entry is in the database and included in Spent.
func (s *Shared) Delivered(budgetID string, began time.Time, cost money.Amount) {
	at := s.client.Now()
	s.mu.Lock()
	defer s.mu.Unlock()
	t := s.budgets[budgetID]
	if t == nil || began.Before(t.start) || began.Before(s.started) || cost <= 0 { // not charged in this window by this process
		return
	}
	t.delivered.add(at, min(cost, maxAmount))
}

// tryHold makes one call to Redis. again is true when tryHold has resolved a conflict and the caller should try again.
func (s *Shared) tryHold(ctx context.Context, budgets []Budget, amount money.Amount) (hold *Hold, again bool, err error) {
	states, err := s.states(budgets)
	if err != nil {
		return nil, false, err
	}
	for _, t := range states {
		s.mu.Lock()
		baseID, unsure := t.baseID, t.outcomeUnknown && t.baseID != ""
		s.mu.Unlock()
		if unsure {
			return nil, true, s.writeState(ctx, t, baseID)
		}
	}
	answer, err := s.callHold(ctx, states, amount)
	if err != nil {
		return nil, false, err
	}
	switch answer.status {
	case "held":
		return NewHold(amount, func(cost money.Amount) { s.end(states, answer.versions, amount, cost) }), false, nil
	case "exceeded", "reserved":
		s.mu.Lock()
		defer s.mu.Unlock()
		t := states[answer.index]
		return nil, false, budgetError(&t.budget, t.status(t.budget.Amount), amount, t.zone)
	case "recounting":
		return nil, false, beingRecounted()
	case "kept":
		for _, i := range answer.kept {
			if err := s.returnAllowance(ctx, states[i]); err != nil {
				return nil, true, err
			}
		}
		return nil, true, errKept
	case "load":
		return nil, true, s.openWindow(ctx, states[answer.index], "")
	case "ahead":
		s.enterWindow(states[answer.index], answer.start)
		return nil, true, nil
	case "unknown":
		return nil, true, s.writeState(ctx, states[answer.index], answer.baseID)
	}
	return nil, false, fmt.Errorf("hold: unexpected reply %q", answer.status)
}

// returnAllowance returns the local allowance to the budget when little of the budget is left.
func (s *Shared) returnAllowance(ctx context.Context, t *budgetState) error {
	for range 2 { // the second call confirms the reduced allowance
		s.mu.Lock()
		baseID, done := t.baseID, t.localAllowance == 0 && !t.allowanceReduced
		s.mu.Unlock()
		if done {
			return nil
		}
		if err := s.writeState(ctx, t, baseID); err != nil {
			return err
		}
	}
	return nil
}

// enterWindow enters a window that another replica has already begun.
func (s *Shared) enterWindow(t *budgetState, start time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if t.start.Before(start) {
		t.roll(start)
	}
}

// stateVersion identifies the state under which an amount was held.
type stateVersion struct {
	rolls      int64
	generation int64 // generation in which the amount was taken from the local allowance; -1 if it was not taken from there
}

// end settles a hold in this replica's state. Run sends the settlement to Redis later.
func (s *Shared) end(states []*budgetState, versions []stateVersion, amount, cost money.Amount) {
	type warning struct {
		budget Budget
		status Status
	}
	var warnings []warning
	ids := make([]string, len(states))
	at := s.client.Now()
	cost = min(cost, maxAmount)
	s.mu.Lock()
	for i, t := range states {
		ids[i] = t.budget.ID
		if t.rolls != versions[i].rolls {
			continue // the window of the hold has ended
		}
		if t.settle(amount, cost, at) {
			warnings = append(warnings, warning{t.budget, t.status(t.budget.Amount)})
		}
		if t.generation == versions[i].generation { // same generation, so the rest of the hold returns to the allowance
			t.localAllowance = max(t.localAllowance.Add(amount.Sub(cost)), 0)
		}
	}
	s.mu.Unlock()
	select {
	case s.wake <- struct{}{}:
	default: // Run is already signalled
	}
	if !s.client.State().Ready { // if Redis is available, waiting requests retry when it has the settlement
		for _, id := range ids {
			s.queue.released(id)
		}
	}
	if s.o.OnWarn == nil {
		return
	}
	for _, w := range warnings {
		s.o.OnWarn(w.budget, w.status)
	}
}

// Status implements Ledger. It returns the totals that this replica last received.
func (s *Shared) Status(b Budget) Status {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.o.Now()
	t := s.budgets[b.ID]
	if t != nil && !t.over(now) && spanOf(&t.budget) == spanOf(&b) {
		return t.status(b.Amount)
	}
	zone, err := s.zones.load(b.Zone)
	if err != nil {
		return Status{}
	}
	t = newBudgetState(&b, zone, now)
	if seen, ok := s.observed[b.ID]; ok && seen.matches(t) { // only other replicas use the budget
		t.setTotals(seen.totals)
	}
	return t.status(b.Amount)
}

// states returns the states of the budgets in their current windows, ordered by budget ID.
func (s *Shared) states(budgets []Budget) ([]*budgetState, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.o.Now()
	found := make([]*budgetState, 0, len(budgets))
	for i := range budgets {
		t, err := s.state(&budgets[i], now)
		if err != nil {
			return nil, err
		}
		found = append(found, t)
	}
	slices.SortFunc(found, func(a, b *budgetState) int { return strings.Compare(a.budget.ID, b.budget.ID) })
	return found, nil
}

// state returns the state of a budget in its current window. When it adds a state and the ledger has at least MaxIdle budgets, it
// removes budgets that were unused for an hour.
func (s *Shared) state(b *Budget, now time.Time) (*budgetState, error) {
	zone, err := s.zones.load(b.Zone)
	if err != nil {
		return nil, err
	}
	t := s.budgets[b.ID]
	switch {
	case t == nil:
		if len(s.budgets) >= s.o.MaxIdle && now.Sub(s.pruned).Abs() >= pruneEvery {
			s.pruned = now
			maps.DeleteFunc(s.budgets, func(_ string, t *budgetState) bool { return t.idle() && now.Sub(t.used) > time.Hour })
		}
		t = newBudgetState(b, zone, now)
		s.budgets[b.ID] = t
	case spanOf(&t.budget) != spanOf(b):
		t.edit(b, zone, now)
	case t.over(now):
		t.roll(now)
	}
	t.budget, t.used = *b, now
	if seen, ok := s.observed[b.ID]; ok && seen.matches(t) { // the totals were received before this replica used the budget
		delete(s.observed, b.ID)
		t.setTotals(seen.totals)
	}
	return t, nil
}

// loaded is the amount spent in a window according to the database, and when it was read.
type loaded struct {
	spent     money.Amount
	start, at time.Time
}

// load reads the amount spent in the state's window from the database, once for all waiting requests.
func (s *Shared) load(ctx context.Context, t *budgetState) (loaded, error) {
	s.mu.Lock()
	id, start, failure := t.budget.ID, t.start, t.failure
	if failure != nil && !s.o.Now().Before(t.retry) {
		failure = nil
	}
	s.mu.Unlock()
	if failure != nil {
		return loaded{}, unknownSpending(failure)
	}
	asked := s.loads.DoChan(id+" "+start.String(), func() (any, error) {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), s.o.LoadTimeout)
		defer cancel()
		at := s.client.Now()
		spent, err := s.o.Spent(ctx, id, start)
		return loaded{spent: max(spent, 0), start: start, at: at}, err
	})
	select {
	case <-ctx.Done():
		return loaded{}, &llm.Error{Kind: llm.ClientCancelled, Message: "The client disconnected before its budget was loaded.", Err: ctx.Err()}
	case got := <-asked:
		s.mu.Lock()
		t.failure, t.retry = got.Err, s.o.Now().Add(s.o.LoadRetry)
		s.mu.Unlock()
		if got.Err != nil {
			return loaded{}, unknownSpending(got.Err)
		}
		return got.Val.(loaded), nil
	}
}
