package ledger

import (
	"context"
	"slices"
	"time"

	"fairlead/internal/cluster"
	"fairlead/internal/llm"
	"fairlead/internal/money"
)

const (
	// shareOf is the part of its share that a replica takes at a time while Redis is away. What others spend is seen one
	// look at the database later; with a quarter, what is left never runs out before it is seen to.
	shareOf = 4
	// askEvery is how often the database is asked, long enough for entries to have arrived there.
	askEvery = 2 * time.Second
)

// share says when we last looked what we may spend of a budget by ourselves, in one outage.
type share struct {
	outage int64
	asked  time.Time // when the database was asked; zero for not yet
}

// holdPurse reserves from what is kept for us of each budget.
func (s *Shared) holdPurse(ctx context.Context, budgets []Budget, amount money.Amount) (*Hold, error) {
	tabs, err := s.tabs(budgets)
	if err != nil {
		return nil, err
	}
	if state := s.link.State(); !state.Ready && time.Since(state.Since) > s.askEvery {
		for _, t := range tabs {
			if s.isKnown(t) {
				continue // it is looked after in the background: no request waits for the database
			}
			if err := s.fill(ctx, t, state); err != nil {
				return nil, err
			}
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	var short error
	for _, t := range tabs {
		left := t.left()
		switch {
		case t.budget.WarnOnly || (t.known && left > 0 && amount <= min(left, t.purse)):
		case t.known && (left <= 0 || amount > left):
			err := shortage(&t.budget, t.status(t.budget.Amount), amount, t.zone)
			if _, ok := asReserved(err); !ok {
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
	marks := make([]mark, len(tabs))
	for i, t := range tabs {
		marks[i] = mark{t.rolls, t.generation}
		t.held, t.all, t.unsure = t.held.Add(amount), t.all.Add(amount), true
		t.purse = max(t.purse.Sub(amount), 0)
	}
	return s.newHold(tabs, marks, amount), nil
}

func (s *Shared) isKnown(t *tab) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return t.known
}

// fill takes a share of what the database says is left, once that can be relied on: when Redis has been away for so long
// that entries from before have arrived, and for everybody. It is called again and again in an outage. Where nothing is known,
// nothing is spent.
func (s *Shared) fill(ctx context.Context, t *tab, state cluster.State) error {
	s.mu.Lock()
	asked := t.share.outage == state.Outage && time.Since(t.share.asked) < s.askEvery
	if !asked {
		t.share = share{outage: state.Outage, asked: time.Now()} // others need not ask as well
	}
	known := t.known
	s.mu.Unlock()
	if asked && known {
		return nil
	}
	alone, err := s.cutOffAlone(ctx)
	var got loaded
	if err == nil {
		got, err = s.load(ctx, t)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if err != nil {
		if t.known {
			return nil // what is kept for us is ours, and no more
		}
		return err
	}
	t.takeDatabase(got)
	if alone {
		t.keepWhileLeased(state.Since, s.link.Lease())
		return nil
	}
	parts := money.Amount(1)
	if state.Replicas > 1 {
		parts = money.Amount(state.Replicas * shareOf)
	}
	t.purse = max(t.purse, max(t.left(), 0)/parts)
	return nil
}

// cutOffAlone says that others have Redis and spend what is left there.
func (s *Shared) cutOffAlone(ctx context.Context) (bool, error) {
	if s.o.Elsewhere == nil {
		return false, nil
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), s.o.LoadTimeout)
	defer cancel()
	alone, err := s.o.Elsewhere(ctx)
	if err != nil {
		return false, unknownSpending(err)
	}
	return alone, nil
}

// keepWhileLeased lets our purse go before those who have Redis take us for dead and spend it.
func (t *tab) keepWhileLeased(since time.Time, lease time.Duration) {
	if time.Since(since) > lease*3/4 {
		t.purse = 0
	}
}

// takeDatabase takes in what the database and our own spool say was spent. It never lowers what we know of: others' charges
// may still be on their way.
func (t *tab) takeDatabase(got loaded) {
	switch {
	case !got.start.Equal(t.start): // another window has begun
	case !t.known:
		t.spent, t.cost, t.all, t.known = got.spent, 0, t.held, true
	default:
		t.spent = max(t.spent, got.spent.Sub(t.cost))
	}
}

// fillPurses looks after the budgets that are in use while Redis is away.
func (s *Shared) fillPurses(ctx context.Context) {
	state := s.link.State()
	if state.Ready || time.Since(state.Since) <= s.askEvery {
		return
	}
	now := s.o.Now()
	for _, t := range s.list(func(t *tab) bool { return t.known && now.Sub(t.used) < purseFor }) {
		_ = s.fill(ctx, t, state) // it is asked again
	}
}

// list returns the tabs that match.
func (s *Shared) list(match func(*tab) bool) []*tab {
	s.mu.Lock()
	defer s.mu.Unlock()
	var found []*tab
	for _, t := range s.budgets {
		if match(t) {
			found = append(found, t)
		}
	}
	return slices.Clip(found)
}
