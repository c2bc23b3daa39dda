package ledger

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/singleflight"

	"fairlead/internal/cluster"
	"fairlead/internal/llm"
	"fairlead/internal/money"
)

// returnTime is how long a request waits for Redis to come back, where the share cannot bear it.
const returnTime = 250 * time.Millisecond

// mostShared is the largest amount that the scripts compare exactly: about nine million dollars.
const mostShared money.Amount = 1<<53 - 1

// Shared is a Ledger that replicas share by way of Redis: one call for each hold, and settlements follow in the
// background. The database remains the truth: sums in Redis begin with what it says, and after a loss begin anew. While Redis
// is away, each replica spends a share of what is left.
type Shared struct {
	o    Options
	link *cluster.Client
	born time.Time // of this process's charges

	queue    waitQueue
	wait     time.Duration // how long a request waits for reserved money
	patience time.Duration // how long a request waits for Redis to come back
	askEvery time.Duration // how often the database is asked while it is away

	loads singleflight.Group
	wake  chan struct{} // there is something to tell Redis

	mu      sync.Mutex
	budgets map[string]*tab
	sights  map[string]sight // of budgets that only others use
	zones   map[string]*time.Location

	ending  bool      // nothing is kept for us any more
	beats   time.Time // the last heartbeat
	watched watched   // the heartbeat's own
}

// NewShared makes a ledger by way of a link. Run must be running for settlements to be told.
func NewShared(link *cluster.Client, o Options) *Shared {
	o = o.withDefaults()
	s := &Shared{o: o, born: o.Now(), wait: reservedWait, patience: returnTime, askEvery: askEvery, link: link, wake: make(chan struct{}, 1), budgets: map[string]*tab{}, sights: map[string]sight{}, zones: map[string]*time.Location{}}
	link.OnBeat(s.sync)
	return s
}

// Hold implements Ledger. Other replicas do not report that they have released money, so the first waiting request polls.
func (s *Shared) Hold(ctx context.Context, budgets []Budget, amount money.Amount) (*Hold, error) {
	return s.queue.hold(ctx, budgets, s.wait, pollEvery, func() (*Hold, error) { return s.reserve(ctx, budgets, amount) })
}

// TryHold implements Ledger.
func (s *Shared) TryHold(ctx context.Context, budgets []Budget, amount money.Amount) (*Hold, error) {
	if at := s.queue.occupied(budgets); at >= 0 {
		s.mu.Lock()
		zone, err := s.zone(budgets[at].Zone)
		s.mu.Unlock()
		if err != nil {
			return nil, err
		}
		return nil, forClient(shortage(&budgets[at], s.Status(budgets[at]), amount, zone))
	}
	hold, err := s.reserve(ctx, budgets, amount)
	return hold, forClient(err)
}

// reserve makes one attempt: in Redis or, while that is unavailable, from this replica's share.
func (s *Shared) reserve(ctx context.Context, budgets []Budget, amount money.Amount) (*Hold, error) {
	amount = min(max(amount, 0), mostShared)
	if len(budgets) == 0 {
		return NewHold(amount, func(money.Amount) {}), nil
	}
	hold, err := s.holdShared(ctx, budgets, amount)
	if !errors.Is(err, cluster.ErrAway) {
		return hold, err
	}
	hold, err = s.holdPurse(ctx, budgets, amount)
	if e, ok := errors.AsType[*llm.Error](err); !ok || e.Kind != llm.LedgerUnavailable || !s.awaitReturn(ctx) {
		return hold, err
	}
	if hold, again := s.holdShared(ctx, budgets, amount); !errors.Is(again, cluster.ErrAway) {
		return hold, again
	}
	return nil, err
}

// awaitReturn waits while an outage is young, and says whether it is over: it may have been this machine that was slow.
func (s *Shared) awaitReturn(ctx context.Context) bool {
	for {
		state := s.link.State()
		if state.Ready || time.Since(state.Since) > s.patience {
			return state.Ready
		}
		if !pause(ctx, s.patience/10) {
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

// holdShared reserves in Redis. The error is replica.ErrAway where that cannot be done in time.
func (s *Shared) holdShared(ctx context.Context, budgets []Budget, amount money.Amount) (*Hold, error) {
	const most = 20 // another replica may open a window, or an edit come between, but not for ever
	wait := max(s.patience/16, 1)
	for range most {
		if !s.link.State().Ready {
			return nil, cluster.ErrAway
		}
		hold, again, err := s.tryHold(ctx, budgets, amount)
		if errors.Is(err, errKept) { // others give back what is kept for them within a heartbeat
			if wait *= 2; wait > 2*s.patience || !pause(ctx, wait) {
				return nil, keptForOthers()
			}
			continue
		}
		if !again || err != nil {
			return hold, err
		}
	}
	return nil, cluster.ErrAway
}

// errKept says that what is left is kept for other replicas to spend without Redis.
var errKept = errors.New("what is left of the budget is kept for other replicas")

// Delivered notes that an entry has arrived in the database, which Spent counts from now on.
func (s *Shared) Delivered(budgetID string, began time.Time, cost money.Amount) {
	at := s.link.Now()
	s.mu.Lock()
	defer s.mu.Unlock()
	t := s.budgets[budgetID]
	if t == nil || began.Before(t.start) || began.Before(s.born) || cost <= 0 { // of another window, or of an earlier process
		return
	}
	t.arrived.add(at, min(cost, mostShared))
}

// tryHold makes one call. Again says that what stood in the way has been seen to.
func (s *Shared) tryHold(ctx context.Context, budgets []Budget, amount money.Amount) (hold *Hold, again bool, err error) {
	tabs, err := s.tabs(budgets)
	if err != nil {
		return nil, false, err
	}
	for _, t := range tabs {
		if s.isUnsure(t) {
			return nil, true, s.put(ctx, t, s.bornOf(t))
		}
	}
	answer, err := s.ask(ctx, tabs, amount)
	if err != nil {
		return nil, false, err
	}
	switch answer.word {
	case "held":
		return s.newHold(tabs, answer.marks, amount), false, nil
	case "refused", "reserved":
		s.mu.Lock()
		defer s.mu.Unlock()
		t := tabs[answer.at]
		return nil, false, shortage(&t.budget, t.status(t.budget.Amount), amount, t.zone)
	case "rough":
		return nil, false, countedAnew()
	case "kept":
		for _, i := range answer.kept {
			if err := s.giveBack(ctx, tabs[i]); err != nil {
				return nil, true, err
			}
		}
		return nil, true, errKept
	case "load":
		return nil, true, s.open(ctx, tabs[answer.at], "")
	case "ahead":
		s.follow(tabs[answer.at], answer.start)
		return nil, true, nil
	case "unknown":
		return nil, true, s.put(ctx, tabs[answer.at], answer.born)
	}
	return nil, false, fmt.Errorf("hold: an answer %q", answer.word)
}

// giveBack lets others have what is kept for us, where little is left.
func (s *Shared) giveBack(ctx context.Context, t *tab) error {
	for range 2 { // the second time Redis is told that we know
		s.mu.Lock()
		born, done := t.born, t.purse == 0 && !t.returned
		s.mu.Unlock()
		if done {
			return nil
		}
		if err := s.put(ctx, t, born); err != nil {
			return err
		}
	}
	return nil
}

// follow enters a window that another replica's clock has reached already.
func (s *Shared) follow(t *tab, start time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if t.start.Before(start) {
		t.roll(start)
	}
}

func (s *Shared) isUnsure(t *tab) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return t.unsure && t.born != ""
}

func (s *Shared) bornOf(t *tab) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return t.born
}

// mark says in which state of a tab something was held.
type mark struct {
	rolls      int64
	generation int64 // in which it was taken from our purse; -1 for not so
}

// newHold makes the hold of an amount that is reserved.
func (s *Shared) newHold(tabs []*tab, marks []mark, amount money.Amount) *Hold {
	return NewHold(amount, func(cost money.Amount) { s.end(tabs, marks, amount, min(cost, mostShared)) })
}

// end settles a hold here; Redis is told soon.
func (s *Shared) end(tabs []*tab, marks []mark, amount, cost money.Amount) {
	type warning struct {
		budget Budget
		status Status
	}
	var warnings []warning
	ids := make([]string, len(tabs))
	at := s.link.Now()
	s.mu.Lock()
	for i, t := range tabs {
		ids[i] = t.budget.ID
		if t.rolls != marks[i].rolls {
			continue // its window has ended
		}
		if t.settle(amount, cost, at) {
			warnings = append(warnings, warning{t.budget, t.status(t.budget.Amount)})
		}
		if t.generation == marks[i].generation { // Redis was not told since: what is freed can be held again
			t.purse = max(t.purse.Add(amount.Sub(cost)), 0)
		}
	}
	s.mu.Unlock()
	s.nudge()
	if !s.link.State().Ready { // otherwise the money is free when Redis has the settlement
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

// Status implements Ledger: as this replica last heard.
func (s *Shared) Status(b Budget) Status {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.o.Now()
	t := s.budgets[b.ID]
	if t != nil && !t.over(now) && spanOf(&t.budget) == spanOf(&b) {
		return t.status(b.Amount)
	}
	zone, err := s.zone(b.Zone)
	if err != nil {
		return Status{}
	}
	t = newTab(&b, zone, now)
	if seen, ok := s.sights[b.ID]; ok && seen.of(t) { // only others use it
		t.hear(seen.spent, seen.held)
	}
	return t.status(b.Amount)
}

// tabs returns the tabs of the budgets in a fixed order, in their present windows.
func (s *Shared) tabs(budgets []Budget) ([]*tab, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.o.Now()
	found := make([]*tab, 0, len(budgets))
	for i := range budgets {
		t, err := s.tab(&budgets[i], now)
		if err != nil {
			return nil, err
		}
		found = append(found, t)
	}
	slices.SortFunc(found, func(a, b *tab) int { return strings.Compare(a.budget.ID, b.budget.ID) })
	return found, nil
}

func (s *Shared) tab(b *Budget, now time.Time) (*tab, error) {
	zone, err := s.zone(b.Zone)
	if err != nil {
		return nil, err
	}
	t := s.budgets[b.ID]
	switch {
	case t == nil:
		s.forget(now)
		t = newTab(b, zone, now)
		s.budgets[b.ID] = t
	case spanOf(&t.budget) != spanOf(b):
		t.edit(b, zone, now)
	case t.over(now):
		t.roll(now)
	}
	t.budget, t.used = *b, now
	s.recall(t)
	return t, nil
}

func (s *Shared) zone(name string) (*time.Location, error) {
	if zone := s.zones[name]; zone != nil {
		return zone, nil
	}
	zone, err := time.LoadLocation(name)
	if err != nil {
		return nil, fmt.Errorf("load time zone of a budget: %w", err)
	}
	s.zones[name] = zone
	return zone, nil
}

// forget drops budgets that have not been used for an hour, once there are very many.
func (s *Shared) forget(now time.Time) {
	if len(s.budgets) < s.o.MaxIdle {
		return
	}
	for id, t := range s.budgets {
		if t.idle() && now.Sub(t.used) > time.Hour {
			delete(s.budgets, id)
		}
	}
}

// loaded is what the database said was spent since the start of a window, and when it was asked.
type loaded struct {
	spent     money.Amount
	start, at time.Time
}

// load asks the database what was spent in the tab's window, once for all who wait.
func (s *Shared) load(ctx context.Context, t *tab) (loaded, error) {
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
		at := s.link.Now()
		spent, err := s.o.Spent(ctx, id, start)
		return loaded{spent: max(spent, 0), start: start, at: at}, err
	})
	select {
	case <-ctx.Done():
		return loaded{}, &llm.Error{Kind: llm.ClientCancelled, Message: "The client left before its budget was known.", Err: ctx.Err()}
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
