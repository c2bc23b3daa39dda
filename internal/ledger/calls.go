package ledger

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"fairlead.dev/internal/cluster"
	"fairlead.dev/internal/money"
)

const (
	deliveryMargin = 100 * time.Millisecond // maximum time between charging an entry and writing it to the spool, including clock differences
	recountAfter   = 10 * time.Second       // minimum age at which a base that may include charges twice is loaded again
	allowanceIdle  = 10 * time.Second       // time since the last use after which a budget has no local allowance
	idleSyncEvery  = 30 * time.Second       // interval at which an unused budget with charges of this replica is compared with Redis
)

// holdReply is the reply of holdScript.
type holdReply struct {
	status   string
	index    int // index of the budget that the status refers to
	start    time.Time
	baseID   string
	versions []stateVersion // versions of the states at the time of the call
	kept     []int          // indexes of the budgets whose remaining amount is allocated to other replicas
}

// callHold tries to reserve the amount on all budgets in one call. Calls that add to the sums of a budget may run
// concurrently with each other, but not with a call that replaces the sums.
func (s *Shared) callHold(ctx context.Context, states []*budgetState, amount money.Amount) (holdReply, error) {
	for _, t := range states { // the order is always the same, to prevent deadlocks
		t.calls.RLock()
	}
	defer func() {
		for _, t := range states {
			t.calls.RUnlock()
		}
	}()
	keys := []string{s.client.Members(), s.active()}
	args := []any{s.client.ID(), s.client.Lease().Milliseconds(), int64(amount)}
	versions := make([]stateVersion, len(states))
	s.mu.Lock()
	for i, t := range states {
		limit := int64(max(t.budget.Amount, 0))
		if t.budget.WarnOnly {
			limit = -1
		}
		keys = append(keys, s.key(t))
		args = append(args, t.budget.ID, spanOf(&t.budget), millis(t.start), t.generation, t.baseID, limit)
		versions[i] = stateVersion{t.rolls, -1}
	}
	s.mu.Unlock()
	reply, err := s.call(ctx, holdScript, keys, args)
	s.mu.Lock()
	defer s.mu.Unlock()
	if err != nil {
		for _, t := range states {
			t.outcomeUnknown = true // Redis may have reserved the amount
		}
		return holdReply{}, err
	}
	return s.readHold(reply, states, versions, amount), nil
}

// readHold decodes the reply of holdScript. After a successful hold, it adds the amount to each budget whose window has not ended since
// the call, and updates its totals. After a rejection, it updates the totals of the budget that caused it. The caller holds the lock.
func (s *Shared) readHold(reply []any, states []*budgetState, versions []stateVersion, amount money.Amount) holdReply {
	a := holdReply{status: textOf(reply, 0), versions: versions}
	if a.status == "held" {
		for i, t := range states {
			if t.rolls == versions[i].rolls {
				t.held = t.held.Add(amount)
				t.setTotals(totalsOf(reply, 1+3*i))
			}
		}
		return a
	}
	if len(reply) > 1 {
		at, _ := reply[1].(int64)
		a.index = min(max(int(at), 0), len(states)-1)
	}
	switch a.status {
	case "exceeded", "reserved", "recounting", "kept":
		t := states[a.index]
		t.setTotals(totals{amountOf(reply, 2), amountOf(reply, 3), a.status == "recounting" || (t.inflated && a.status != "exceeded")})
		for i := range len(reply) - 4 {
			if at, ok := reply[4+i].(int64); ok && int(at) < len(states) {
				a.kept = append(a.kept, int(at))
			}
		}
	case "ahead":
		a.start = time.UnixMilli(int64(amountOf(reply, 2)))
	case "unknown":
		a.baseID = textOf(reply, 2)
	}
	return a
}

// openWindow begins the window in Redis with the sum in the database, unless another replica has done so. replaces is
// the ID of the base to replace; empty for none.
func (s *Shared) openWindow(ctx context.Context, t *budgetState, replaces string) error {
	got, err := s.load(ctx, t)
	if err != nil {
		s.mu.Lock()
		defer s.mu.Unlock()
		if t.known {
			return cluster.ErrUnavailable // use the local allowance
		}
		return err
	}
	s.mu.Lock()
	baseID := strconv.FormatInt(got.at.UnixMilli(), 10) + " " + s.client.ID()
	spent := got.spent
	if replaces == "" && t.known && !t.inflated && t.start.Equal(got.start) {
		// Redis has lost its data, and the database may not have the latest charges of other replicas, which send them again later.
		// These charges are then counted twice until the base is loaded again.
		if t.spent > spent {
			spent, t.raisedBase = t.spent, baseID
		}
	}
	args := []any{s.client.ID(), s.client.Lease().Milliseconds(), spanOf(&t.budget), millis(got.start), int64(spent), baseID, replaces}
	keys := []string{s.client.Members(), s.key(t)}
	s.mu.Unlock()
	return s.client.Do(ctx, func(ctx context.Context, c redis.Scripter) error { return openScript.Run(ctx, c, keys, args...).Err() })
}

// writeState replaces the sums of this replica in Redis with sums relative to the given base. If charged is relative to another base,
// writeState sets charged to the charges that the given base might not include.
func (s *Shared) writeState(ctx context.Context, t *budgetState, baseID string) error {
	t.calls.Lock()
	defer t.calls.Unlock()
	s.mu.Lock()
	charged, mayDouble := t.charged, t.mayDoubleCount
	if t.baseID != baseID {
		charged = t.missing(baseTime(baseID).Add(-deliveryMargin), strings.HasSuffix(baseID, " "+s.client.ID()))
		mayDouble = charged > 0 || t.raisedBase == baseID
	}
	t.generation++
	rolls, free, cost := t.rolls, t.unsentFreed, t.unsentCost
	t.unsentFreed, t.unsentCost = 0, 0
	allowance, limit := t.localAllowance, int64(t.budget.Amount)
	if t.budget.WarnOnly || s.o.Now().Sub(t.used) > allowanceIdle {
		limit = -1
	}
	keys := []string{s.client.Members(), s.active(), s.key(t)}
	args := []any{
		s.client.ID(), s.client.Lease().Milliseconds(), t.budget.ID, baseID, t.generation,
		int64(charged), int64(t.held), int64(allowance), limit, mayDouble,
	}
	s.mu.Unlock()
	reply, err := s.call(ctx, writeScript, keys, args)
	s.mu.Lock()
	defer s.mu.Unlock()
	if t.rolls != rolls {
		return err
	}
	if err != nil || textOf(reply, 0) != "put" {
		t.unsentFreed, t.unsentCost, t.outcomeUnknown = t.unsentFreed.Add(free), t.unsentCost.Add(cost), t.outcomeUnknown || err != nil
		if err == nil {
			t.outcomeUnknown, t.baseID = false, "" // the base was replaced; the next hold gets the current one
		}
		return err
	}
	t.charged = charged.Add(t.unsentCost)      // settlements during the call are sent next
	used := max(allowance-t.localAllowance, 0) // allowance spent during the call; the next call sends it
	t.baseID, t.mayDoubleCount, t.outcomeUnknown, t.localAllowance = baseID, mayDouble, used > 0, max(amountOf(reply, 4)-used, 0)
	t.allowanceReduced = t.localAllowance < allowance
	t.setTotals(totalsOf(reply, 1))
	s.queue.released(t.budget.ID)
	return nil
}

// sendUpdates sends the settlements that Redis does not have yet. If the outcome of an earlier call is unknown, it
// replaces all of this replica's sums instead.
func (s *Shared) sendUpdates(ctx context.Context, t *budgetState) error {
	unsure, err := s.sendSettlements(ctx, t)
	if !unsure {
		return err
	}
	s.mu.Lock()
	baseID := t.baseID
	s.mu.Unlock()
	return s.writeState(ctx, t, baseID)
}

// sendSettlements makes one call with the settlements that are not part of another running call: Run and the heartbeat
// may both send, and each amount must reach Redis once. If the outcome of an earlier call is unknown, it sends nothing
// and returns unsure.
func (s *Shared) sendSettlements(ctx context.Context, t *budgetState) (unsure bool, err error) {
	t.calls.RLock()
	defer t.calls.RUnlock()
	s.mu.Lock()
	baseID, free, cost := t.baseID, t.unsentFreed-t.sendingFreed, t.unsentCost-t.sendingCost
	if baseID == "" || t.outcomeUnknown || (free == 0 && cost == 0) {
		unsure = baseID != "" && t.outcomeUnknown
		s.mu.Unlock()
		return unsure, nil
	}
	t.sendingFreed, t.sendingCost = t.sendingFreed+free, t.sendingCost+cost
	keys := []string{s.client.Members(), s.active(), s.key(t)}
	args := []any{s.client.ID(), s.client.Lease().Milliseconds(), t.budget.ID, baseID, t.generation, int64(free), int64(cost)}
	s.mu.Unlock()
	reply, err := s.call(ctx, settleScript, keys, args)
	s.mu.Lock()
	defer s.mu.Unlock()
	if t.baseID != baseID { // the window ended or was edited, which dropped the amounts
		return false, err
	}
	t.sendingFreed, t.sendingCost = t.sendingFreed-free, t.sendingCost-cost
	if err != nil || textOf(reply, 0) != "settled" {
		t.outcomeUnknown = true
		return false, err
	}
	t.unsentFreed, t.unsentCost = t.unsentFreed-free, t.unsentCost-cost
	t.setTotals(totalsOf(reply, 1))
	s.queue.released(t.budget.ID)
	return false, nil
}

// call runs a script within the time limit of the cluster client.
func (s *Shared) call(ctx context.Context, script *redis.Script, keys []string, args []any) (reply []any, err error) {
	err = s.client.Do(ctx, func(ctx context.Context, c redis.Scripter) (err error) {
		reply, err = script.Run(ctx, c, keys, args...).Slice()
		if err == nil && len(reply) == 0 {
			err = errors.New("empty reply from redis")
		}
		return err
	})
	return reply, err
}

func (s *Shared) key(t *budgetState) string { return s.client.Key("budget", t.budget.ID) }
func (s *Shared) active() string            { return s.client.Key("budgets") }

func millis(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMilli()
}

func textOf(reply []any, i int) string {
	if i >= len(reply) {
		return ""
	}
	text, _ := reply[i].(string)
	return text
}

func amountOf(reply []any, i int) money.Amount {
	n, err := strconv.ParseInt(textOf(reply, i), 10, 64)
	if err != nil {
		return 0
	}
	return money.Amount(n)
}
