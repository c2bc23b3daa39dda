package ledger

import (
	"context"
	"errors"
	"slices"
	"time"

	"fairlead.dev/internal/cluster"
	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/money"
)

const (
	// shareOf is the number of parts into which a replica divides its share of the remaining budget. While Redis is unavailable, the
	// replica takes one part at a time. A replica learns about the spending of other replicas only with the next database read.
	// Small parts ensure that the budget is not used up before that read.
	shareOf = 4
	// askEvery is the interval between database reads. It is long enough for the log entries of all replicas to reach the database.
	askEvery = 2 * time.Second
)

// allowanceRefresh records when the local allowance was last computed in an outage.
type allowanceRefresh struct {
	outage int64
	asked  time.Time // time of the latest database read; zero if the database was not read
}

// holdLocally reserves from the local allowance of each budget.
func (s *Shared) holdLocally(ctx context.Context, budgets []Budget, amount money.Amount) (*Hold, error) {
	states, err := s.states(budgets)
	if err != nil {
		return nil, err
	}
	if state := s.client.State(); !state.Ready && time.Since(state.Since) > s.askEvery {
		for _, t := range states {
			s.mu.Lock()
			known := t.known
			s.mu.Unlock()
			if known {
				continue // a known state is refreshed in the background, so the request need not wait for the database
			}
			if err := s.refillAllowance(ctx, t, state); err != nil {
				return nil, err
			}
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	var short error
	for _, t := range states {
		left := t.left()
		switch {
		case t.budget.WarnOnly || (t.known && left > 0 && amount <= min(left, t.localAllowance)):
		case t.known && t.inflated && (left <= 0 || amount > left):
			short = beingRecounted()
		case t.known && (left <= 0 || amount > left):
			err := budgetError(&t.budget, t.status(t.budget.Amount), amount, t.zone)
			if _, ok := errors.AsType[*reservedError](err); !ok {
				return nil, err
			}
			short = err
		case short == nil:
			short = &llm.Error{
				Kind:       llm.LedgerUnavailable,
				Message:    "Redis is unavailable, and this gateway has used its share of the budget for now. Retry in a few seconds.",
				RetryAfter: askEvery,
			}
		}
	}
	if short != nil {
		return nil, short
	}
	versions := make([]stateVersion, len(states))
	for i, t := range states {
		versions[i] = stateVersion{t.rolls, t.generation}
		t.held, t.totalHeld, t.outcomeUnknown = t.held.Add(amount), t.totalHeld.Add(amount), true
		t.localAllowance = max(t.localAllowance.Sub(amount), 0)
	}
	return NewHold(amount, func(cost money.Amount) { s.end(states, versions, amount, cost) }), nil
}

// refillAllowance raises the local allowance to a share of the remaining budget, which it reads from the database. It is called
// repeatedly, but only after Redis has been unavailable long enough for all replicas to deliver their earlier entries. It returns an
// error if the amount spent is unknown.
func (s *Shared) refillAllowance(ctx context.Context, t *budgetState, state cluster.State) error {
	s.mu.Lock()
	recent := t.refresh.outage == state.Outage && time.Since(t.refresh.asked) < s.askEvery
	if !recent {
		t.refresh = allowanceRefresh{outage: state.Outage, asked: time.Now()} // only one caller reads the database
	}
	known := t.known
	s.mu.Unlock()
	if recent && known {
		return nil
	}
	alone, err := s.onlyWeLackRedis(ctx)
	var got loaded
	if err == nil {
		got, err = s.load(ctx, t)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if err != nil {
		if t.known {
			return nil // keep the current allowance
		}
		return err
	}
	switch { // never reduce t.spent: charges of other replicas might not be in the database yet
	case !got.start.Equal(t.start): // another window has begun
	case !t.known:
		t.unsentCost = 0
		t.setTotals(totals{spent: got.spent, totalHeld: t.held})
	default:
		t.spent = max(t.spent, got.spent.Sub(t.unsentCost))
	}
	if alone {
		t.dropBeforeLeaseEnds(state.Since, s.client.Lease())
		return nil
	}
	parts := money.Amount(1)
	if state.Replicas > 1 {
		parts = money.Amount(state.Replicas * shareOf)
	}
	t.localAllowance = max(t.localAllowance, max(t.left(), 0)/parts)
	return nil
}

// onlyWeLackRedis reports whether other replicas can reach Redis while this replica cannot. The other replicas then spend the
// remaining budget, so this replica must not take a share.
func (s *Shared) onlyWeLackRedis(ctx context.Context) (bool, error) {
	if s.o.OthersReachRedis == nil {
		return false, nil
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), s.o.LoadTimeout)
	defer cancel()
	alone, err := s.o.OthersReachRedis(ctx)
	if err != nil {
		return false, unknownSpending(err)
	}
	return alone, nil
}

// dropBeforeLeaseEnds drops the local allowance before the lease of this replica ends, because other replicas may spend
// the allowance after that.
func (t *budgetState) dropBeforeLeaseEnds(since time.Time, lease time.Duration) {
	if time.Since(since) > lease*3/4 {
		t.localAllowance = 0
	}
}

// refillAllowances refreshes the allowances of the budgets in use while Redis is unavailable.
func (s *Shared) refillAllowances(ctx context.Context) {
	state := s.client.State()
	if state.Ready || time.Since(state.Since) <= s.askEvery {
		return
	}
	now := s.o.Now()
	for _, t := range s.list(func(t *budgetState) bool { return t.known && now.Sub(t.used) < allowanceIdle }) {
		_ = s.refillAllowance(ctx, t, state) // the next tick retries
	}
}

// list returns the states for which match returns true.
func (s *Shared) list(match func(*budgetState) bool) []*budgetState {
	s.mu.Lock()
	defer s.mu.Unlock()
	var found []*budgetState
	for _, t := range s.budgets {
		if match(t) {
			found = append(found, t)
		}
	}
	return slices.Clip(found)
}
