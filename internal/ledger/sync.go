package ledger

import (
	"context"
	"errors"
	"strconv"
	"time"

	"fairlead.dev/internal/cluster"
)

// Run sends settlements to Redis and, while Redis is unavailable, refills the local allowances. When ctx is cancelled, it sends the
// remaining settlements and returns.
func (s *Shared) Run(ctx context.Context) {
	tick := time.NewTicker(s.askEvery / 4)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			s.sendRemaining(context.WithoutCancel(ctx))
			return
		case <-s.wake:
			s.flush(ctx)
		case <-tick.C:
			s.refillAllowances(ctx)
		}
	}
}

// sendRemaining sends the remaining settlements before the process exits, then releases the local allowances in Redis. It
// retries slow calls, but does not wait while Redis is unavailable.
func (s *Shared) sendRemaining(ctx context.Context) {
	const tries = 5
	for range tries {
		s.flush(ctx)
		if len(s.list(hasUnsent)) == 0 || !s.client.State().Up || !pause(ctx, s.outageWait/tries) {
			break
		}
	}
	// A process that shuts down cleanly has sent all its charges, so other replicas need not check the database for them.
	s.mu.Lock()
	s.stopping = true
	s.mu.Unlock()
	for _, t := range s.list(func(t *budgetState) bool { return !hasUnsent(t) && t.held == 0 }) {
		if _, err := s.call(ctx, releaseScript, []string{s.key(t)}, []any{s.client.ID()}); err != nil {
			return // the allowance is released when the lease of this replica ends
		}
	}
}

// hasUnsent reports whether a settlement has not been sent to Redis.
func hasUnsent(t *budgetState) bool { return t.unsentFreed > 0 || t.unsentCost > 0 }

// flush sends all waiting settlements. Those that cannot be sent now are sent with the next heartbeat.
func (s *Shared) flush(ctx context.Context) {
	if !s.client.State().Ready {
		return
	}
	for _, t := range s.list(hasUnsent) {
		if errors.Is(s.sendUpdates(ctx, t), cluster.ErrUnavailable) {
			return
		}
	}
}

// sync runs with each heartbeat. It sends the updates that Redis does not have and reads changed sums.
func (s *Shared) sync(ctx context.Context, state cluster.State) {
	now := s.o.Now()
	s.mu.Lock()
	s.lastHeartbeat = time.Now()
	ending := s.stopping
	s.mu.Unlock()
	if ending {
		return
	}
	// Unused budgets are also compared if Redis may have lost charges of this replica that are not in the database, or if another
	// replica may have loaded a new base.
	states := s.list(func(t *budgetState) bool {
		inUse := !t.idle() || t.localAllowance > 0 || t.allowanceReduced || now.Sub(t.used) < allowanceIdle
		lost := t.epoch != state.Epoch && t.charges.sum > 0
		stale := t.charged > 0 && (t.mayDoubleCount || now.Sub(t.syncedAt).Abs() > idleSyncEvery)
		return inUse || lost || stale
	})
	for _, t := range states {
		if err := s.syncOne(ctx, t); errors.Is(err, cluster.ErrUnavailable) || ctx.Err() != nil {
			return
		}
		s.mu.Lock()
		t.epoch, t.syncedAt = state.Epoch, now
		s.mu.Unlock()
	}
	s.readChanges(ctx, state.Epoch)
}

// syncOne compares one budget with Redis and corrects differences.
func (s *Shared) syncOne(ctx context.Context, t *budgetState) error {
	const most = 4
	for range most {
		s.mu.Lock()
		keys := []string{s.client.Members(), s.key(t)}
		args := []any{s.client.ID(), s.client.Lease().Milliseconds(), spanOf(&t.budget), millis(t.start)}
		s.mu.Unlock()
		reply, err := s.call(ctx, readScript, keys, args)
		if err != nil {
			return err
		}
		switch textOf(reply, 0) {
		case "load":
			if err := s.openWindow(ctx, t, ""); err != nil {
				return err
			}
			continue
		case "ahead":
			s.enterWindow(t, time.UnixMilli(int64(amountOf(reply, 1))))
			continue
		}
		if done, err := s.reconcile(ctx, t, reply); done || err != nil {
			return err
		}
	}
	return nil
}

// reconcile updates the sums of this replica. It returns false if the caller must read the budget from Redis and compare again.
func (s *Shared) reconcile(ctx context.Context, t *budgetState, reply []any) (bool, error) {
	baseID := textOf(reply, 4)
	s.mu.Lock()
	differs := t.baseID != baseID || t.outcomeUnknown || textOf(reply, 5) != strconv.FormatInt(t.generation, 10)
	if !differs {
		t.setTotals(totalsOf(reply, 1))
	}
	recount := t.mayDoubleCount && s.client.Now().Sub(baseTime(baseID)) > recountAfter
	renew := !t.allowanceRenewed.Equal(s.lastHeartbeat) // renew the local allowance once per heartbeat and after it was reduced
	t.allowanceRenewed = s.lastHeartbeat
	again := renew || t.allowanceReduced
	s.mu.Unlock()
	switch {
	case differs || again:
		return false, s.writeState(ctx, t, baseID)
	case recount:
		s.mu.Lock()
		t.mayDoubleCount = false // recount only once; openWindow keeps the base if another replica has replaced it first
		s.mu.Unlock()
		err := s.openWindow(ctx, t, baseID)
		if err != nil {
			s.mu.Lock()
			t.mayDoubleCount = true
			s.mu.Unlock()
		}
		return false, err
	}
	if textOf(reply, 6) != "" {
		s.releaseDeadAllowances(ctx, t, baseID)
	}
	return true, s.sendUpdates(ctx, t)
}

// releaseDeadAllowances releases the local allowances of dead replicas. If the database total exceeds the Redis total, the difference is
// the amount that those replicas spent while disconnected. Allowances stay reserved while the database is unavailable, or while a recent
// charge by this replica might not be in the database yet.
func (s *Shared) releaseDeadAllowances(ctx context.Context, t *budgetState, baseID string) {
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
	keys := []string{s.client.Members(), s.key(t)}
	args := []any{s.client.ID(), s.client.Lease().Milliseconds(), baseID, int64(spent)}
	s.mu.Unlock()
	_, _ = s.call(ctx, releaseDeadScript, keys, args) // the next heartbeat retries
}
