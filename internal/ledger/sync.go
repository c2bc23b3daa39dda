package ledger

import (
	"context"
	"errors"
	"strconv"
	"time"

	"fairlead/internal/cluster"
)

func (s *Shared) nudge() {
	select {
	case s.wake <- struct{}{}:
	default: // somebody is on it
	}
}

// Run tells Redis of settlements as they come, and looks after our purses while it is away, until ctx ends; then it tells the
// rest.
func (s *Shared) Run(ctx context.Context) {
	tick := time.NewTicker(s.askEvery / 4)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			s.tellLast(context.WithoutCancel(ctx))
			return
		case <-s.wake:
			s.flush(ctx)
		case <-tick.C:
			s.fillPurses(ctx)
		}
	}
}

// tellLast tells the rest before this process ends: what is not told now, Redis hears never. It tries again where an answer was
// late, but a Redis that is away does not keep the process.
func (s *Shared) tellLast(ctx context.Context) {
	const tries = 5
	for range tries {
		s.flush(ctx)
		if len(s.list(untold)) == 0 || !s.link.State().Up || !pause(ctx, s.patience/tries) {
			break
		}
	}
	s.emptyPurses(ctx)
}

// emptyPurses frees what was kept for us to spend without Redis: a process that ends in order has told all that it spent, so that
// nobody needs to ask the database about it.
func (s *Shared) emptyPurses(ctx context.Context) {
	s.mu.Lock()
	s.ending = true
	s.mu.Unlock()
	for _, t := range s.list(func(t *tab) bool { return !untold(t) && t.held == 0 }) {
		if _, err := s.call(ctx, emptyScript, []string{s.key(t)}, []any{s.link.ID()}); err != nil {
			return // it stays kept until others find us dead
		}
	}
}

// untold says that Redis lacks a settlement.
func untold(t *tab) bool { return t.free > 0 || t.cost > 0 }

// flush tells every settlement that is waiting. What cannot be told now is written with the next heartbeat.
func (s *Shared) flush(ctx context.Context) {
	if !s.link.State().Ready {
		return
	}
	for _, t := range s.list(untold) {
		if errors.Is(s.tell(ctx, t), cluster.ErrAway) {
			return
		}
	}
}

// sync comes with each heartbeat: it writes what Redis does not know, and hears what has changed.
func (s *Shared) sync(ctx context.Context, state cluster.State) {
	now := s.o.Now()
	s.mu.Lock()
	s.beats = time.Now()
	ending := s.ending
	s.mu.Unlock()
	if ending {
		return
	}
	for _, t := range s.list(func(t *tab) bool { return t.wantsLook(state, now) }) {
		if err := s.syncOne(ctx, t); errors.Is(err, cluster.ErrAway) || ctx.Err() != nil {
			return
		}
		s.mu.Lock()
		t.epoch, t.looked = state.Epoch, now
		s.mu.Unlock()
	}
	s.watch(ctx, state.Epoch)
}

// wantsLook says that the budget is in use, or that what Redis has of it may be wrong: it may have lost what we told it
// while the database may lack our charges, or another replica may have taken a new base.
func (t *tab) wantsLook(state cluster.State, now time.Time) bool {
	inUse := !t.idle() || t.purse > 0 || t.returned || now.Sub(t.used) < purseFor
	lost := t.epoch != state.Epoch && t.log.sum > 0
	stale := t.charged > 0 && (t.rough || now.Sub(t.looked).Abs() > lookEvery)
	return inUse || lost || stale
}

// syncOne looks at one budget, and mends what it finds.
func (s *Shared) syncOne(ctx context.Context, t *tab) error {
	const most = 4
	for range most {
		s.mu.Lock()
		keys := []string{s.link.Members(), s.key(t)}
		args := []any{s.link.ID(), s.link.Lease().Milliseconds(), spanOf(&t.budget), millis(t.start)}
		s.mu.Unlock()
		reply, err := s.call(ctx, lookScript, keys, args)
		if err != nil {
			return err
		}
		switch textOf(reply, 0) {
		case "load":
			if err := s.open(ctx, t, ""); err != nil {
				return err
			}
			continue
		case "ahead":
			s.follow(t, time.UnixMilli(int64(amountOf(reply, 1))))
			continue
		}
		if done, err := s.mend(ctx, t, reply); done || err != nil {
			return err
		}
	}
	return nil
}

// mend brings our part of a budget up to date, and reports whether nothing remains to be done.
func (s *Shared) mend(ctx context.Context, t *tab, reply []any) (bool, error) {
	born := textOf(reply, 3)
	s.mu.Lock()
	differs := t.born != born || t.unsure || textOf(reply, 4) != strconv.FormatInt(t.generation, 10)
	if !differs {
		t.hear(amountOf(reply, 1), amountOf(reply, 2))
	}
	recount := t.rough && s.link.Now().Sub(bornTime(born)) > recountAfter
	renew := !t.renewed.Equal(s.beats) // the purse, once with each heartbeat, and again where it has become smaller
	t.renewed = s.beats
	again := renew || t.returned
	s.mu.Unlock()
	switch {
	case differs || again:
		return false, s.put(ctx, t, born)
	case recount:
		s.mu.Lock()
		t.rough = false // whoever comes first takes the new base
		s.mu.Unlock()
		return false, s.open(ctx, t, born)
	}
	if textOf(reply, 5) != "" {
		s.adopt(ctx, t, born)
	}
	return true, s.tell(ctx, t)
}

// adopt frees what is kept for dead replicas. What the database has beyond the sums in Redis they spent of it while they were cut
// off. Where the database is away, it stays kept; so it does where we have charged something just now, which the database may
// have or lack.
func (s *Shared) adopt(ctx context.Context, t *tab, born string) {
	got, err := s.load(ctx, t)
	if err != nil {
		return
	}
	s.mu.Lock()
	if t.missing(got.at.Add(-deliveryMargin), true) > 0 {
		s.mu.Unlock()
		return
	}
	spent := got.spent
	keys := []string{s.link.Members(), s.key(t)}
	args := []any{s.link.ID(), s.link.Lease().Milliseconds(), born, int64(spent)}
	s.mu.Unlock()
	_, _ = s.call(ctx, adoptScript, keys, args) // the next heartbeat tries again
}
