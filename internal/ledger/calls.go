package ledger

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"fairlead/internal/cluster"
	"fairlead/internal/money"
)

const (
	deliveryMargin = 100 * time.Millisecond // what may lie between charging an entry and its being in the spool, and between clocks
	recountAfter   = 10 * time.Second       // when a base is taken anew that may have counted something twice
	purseFor       = 10 * time.Second       // how long after its last use money is kept for us
	lookEvery      = 30 * time.Second       // how often the base of a budget is looked at that is not in use
)

// answer is what a hold was answered.
type answer struct {
	word  string
	at    int // which budget it is about
	start time.Time
	born  string
	marks []mark // of the tabs, when it was asked
	kept  []int  // positions of the budgets whose rest is kept for other replicas
}

// ask tries to reserve on all tabs in one call. The steps of a tab go to Redis side by side, but never beside its being
// written anew.
func (s *Shared) ask(ctx context.Context, tabs []*tab, amount money.Amount) (answer, error) {
	for _, t := range tabs { // always in the same order
		t.calls.RLock()
	}
	defer func() {
		for _, t := range tabs {
			t.calls.RUnlock()
		}
	}()
	keys := []string{s.link.Members(), s.active()}
	args := []any{s.link.ID(), s.link.Lease().Milliseconds(), int64(amount)}
	marks := make([]mark, len(tabs))
	s.mu.Lock()
	for i, t := range tabs {
		limit := int64(max(t.budget.Amount, 0))
		if t.budget.WarnOnly {
			limit = -1
		}
		keys = append(keys, s.key(t))
		args = append(args, t.budget.ID, spanOf(&t.budget), millis(t.start), t.generation, t.born, limit)
		marks[i] = mark{t.rolls, -1}
	}
	s.mu.Unlock()
	reply, err := s.call(ctx, holdScript, keys, args)
	s.mu.Lock()
	defer s.mu.Unlock()
	if err != nil {
		for _, t := range tabs {
			t.unsure = true // it may be reserved all the same
		}
		return answer{}, err
	}
	return s.readHold(reply, tabs, marks, amount), nil
}

// readHold takes the reply in. The caller holds the lock.
func (s *Shared) readHold(reply []any, tabs []*tab, marks []mark, amount money.Amount) answer {
	a := answer{word: textOf(reply, 0), marks: marks}
	if a.word == "held" {
		for i, t := range tabs {
			if t.rolls == marks[i].rolls {
				t.held = t.held.Add(amount)
				t.hear(amountOf(reply, 1+2*i), amountOf(reply, 2+2*i))
			}
		}
		return a
	}
	if len(reply) > 1 {
		at, _ := reply[1].(int64)
		a.at = min(max(int(at), 0), len(tabs)-1)
	}
	switch a.word {
	case "refused", "reserved", "rough", "kept":
		tabs[a.at].hear(amountOf(reply, 2), amountOf(reply, 3))
		for i := range len(reply) - 4 {
			if at, ok := reply[4+i].(int64); ok && int(at) < len(tabs) {
				a.kept = append(a.kept, int(at))
			}
		}
	case "ahead":
		a.start = time.UnixMilli(int64(amountOf(reply, 2)))
	case "unknown":
		a.born = textOf(reply, 2)
	}
	return a
}

// open begins the window in Redis with what the database says. Another replica may be first, which is as good; replaces
// names a base that is to be replaced.
func (s *Shared) open(ctx context.Context, t *tab, replaces string) error {
	got, err := s.load(ctx, t)
	if err != nil {
		s.mu.Lock()
		defer s.mu.Unlock()
		if t.known {
			return cluster.ErrAway // a share of what is known to be left
		}
		return err
	}
	s.mu.Lock()
	args := []any{s.link.ID(), s.link.Lease().Milliseconds(), spanOf(&t.budget), millis(got.start), int64(got.spent), bornAt(got.at, s.link.ID()), replaces}
	keys := []string{s.link.Members(), s.key(t)}
	s.mu.Unlock()
	return s.link.Do(ctx, func(ctx context.Context, c redis.Scripter) error { return openScript.Run(ctx, c, keys, args...).Err() })
}

// put writes our own sums anew, under the base of that name. Of another base than before they count from that: what we have
// charged since it was taken, and what may have been on its way then.
func (s *Shared) put(ctx context.Context, t *tab, born string) error {
	t.calls.Lock()
	defer t.calls.Unlock()
	s.mu.Lock()
	charged, rough := t.charged, t.rough
	if t.born != born {
		charged = t.missing(bornTime(born).Add(-deliveryMargin), strings.HasSuffix(born, " "+s.link.ID()))
		rough = charged > 0
	}
	t.generation++
	rolls, free, cost := t.rolls, t.free, t.cost
	t.free, t.cost = 0, 0
	purse, limit := t.purse, int64(t.budget.Amount)
	if t.budget.WarnOnly || s.o.Now().Sub(t.used) > purseFor {
		limit = -1
	}
	keys := []string{s.link.Members(), s.active(), s.key(t)}
	args := []any{
		s.link.ID(), s.link.Lease().Milliseconds(), t.budget.ID, born, t.generation,
		int64(charged), int64(t.held), int64(purse), limit, rough,
	}
	s.mu.Unlock()
	reply, err := s.call(ctx, putScript, keys, args)
	s.mu.Lock()
	defer s.mu.Unlock()
	if t.rolls != rolls {
		return err
	}
	if err != nil || textOf(reply, 0) != "put" {
		t.free, t.cost, t.unsure = t.free.Add(free), t.cost.Add(cost), t.unsure || err != nil
		if err == nil {
			t.unsure, t.born = false, "" // that base is gone: the next hold finds the present one
		}
		return err
	}
	t.charged = charged.Add(t.cost) // what was settled meanwhile is told next
	used := max(purse-t.purse, 0)   // meanwhile, which is to be told
	t.born, t.rough, t.unsure, t.purse = born, rough, used > 0, max(amountOf(reply, 3)-used, 0)
	t.returned = t.purse < purse
	t.hear(amountOf(reply, 1), amountOf(reply, 2))
	s.queue.released(t.budget.ID)
	return nil
}

// tell sends the settlements of a tab that are not in Redis yet. When the outcome of an earlier step is unknown, it writes all sums
// of this replica again instead.
func (s *Shared) tell(ctx context.Context, t *tab) error {
	unsure, err := s.sendSettlements(ctx, t)
	if unsure {
		return s.put(ctx, t, s.bornOf(t))
	}
	return err
}

// sendSettlements makes one call with the settlements that no other call carries: Run and the heartbeat may both send, and each
// amount must reach Redis once. It sends nothing and reports unsure when the outcome of an earlier step is unknown.
func (s *Shared) sendSettlements(ctx context.Context, t *tab) (unsure bool, err error) {
	t.calls.RLock()
	defer t.calls.RUnlock()
	s.mu.Lock()
	born, free, cost := t.born, t.free-t.sentFree, t.cost-t.sentCost
	if born == "" || t.unsure || (free == 0 && cost == 0) {
		unsure = born != "" && t.unsure
		s.mu.Unlock()
		return unsure, nil
	}
	t.sentFree, t.sentCost = t.sentFree+free, t.sentCost+cost
	keys := []string{s.link.Members(), s.active(), s.key(t)}
	args := []any{s.link.ID(), s.link.Lease().Milliseconds(), t.budget.ID, born, t.generation, int64(free), int64(cost)}
	s.mu.Unlock()
	reply, err := s.call(ctx, settleScript, keys, args)
	s.mu.Lock()
	defer s.mu.Unlock()
	if t.born != born { // the window ended or an edit replaced it, which dropped the amounts
		return false, err
	}
	t.sentFree, t.sentCost = t.sentFree-free, t.sentCost-cost
	if err != nil || textOf(reply, 0) != "settled" {
		t.unsure = true
		return false, err
	}
	t.free, t.cost = t.free-free, t.cost-cost
	t.hear(amountOf(reply, 1), amountOf(reply, 2))
	s.queue.released(t.budget.ID)
	return false, nil
}

// call runs a script within the bounds of the link.
func (s *Shared) call(ctx context.Context, script *redis.Script, keys []string, args []any) (reply []any, err error) {
	err = s.link.Do(ctx, func(ctx context.Context, c redis.Scripter) (err error) {
		reply, err = script.Run(ctx, c, keys, args...).Slice()
		if err == nil && len(reply) == 0 {
			err = fmt.Errorf("an empty answer of Redis")
		}
		return err
	})
	return reply, err
}

func (s *Shared) key(t *tab) string { return s.link.Key("budget", t.budget.ID) }
func (s *Shared) active() string    { return s.link.Key("budgets") }

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
