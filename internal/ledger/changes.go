package ledger

import (
	"context"
	"strconv"

	"github.com/redis/go-redis/v9"

	"fairlead/internal/money"
)

// watchPage is how many budgets are heard of in one call.
const watchPage = 200

// sight is what was heard of a budget that this replica does not use: it may have to, when Redis is away.
type sight struct {
	span        string
	start       int64
	spent, held money.Amount
}

// of says whether it is of the window that a tab is in.
func (s sight) of(t *tab) bool { return spanOf(&t.budget) == s.span && millis(t.start) == s.start }

// watched says up to where changes have been heard.
type watched struct {
	epoch string
	since int64 // unix milliseconds by Redis's clock
}

// watch hears the sums of all budgets that have changed since the last heartbeat, whoever uses them.
func (s *Shared) watch(ctx context.Context, epoch string) {
	if s.watched.epoch != epoch {
		s.watched = watched{epoch: epoch}
	}
	for ctx.Err() == nil {
		count, page, err := s.page(ctx)
		if err != nil {
			return
		}
		last := s.watched.since
		s.mu.Lock()
		for i := 0; i+7 <= len(page); i += 7 {
			last = max(last, int64(amountOf(page, i+1)))
			s.see(textOf(page, i), textOf(page, i+4), sight{
				span: textOf(page, i+2), start: int64(amountOf(page, i+3)), spent: amountOf(page, i+5), held: amountOf(page, i+6),
			})
		}
		s.mu.Unlock()
		more := count >= watchPage && last > s.watched.since
		s.watched.since = last // the last moment is heard twice: more may have happened in it
		if !more {
			return
		}
	}
}

func (s *Shared) page(ctx context.Context) (count int64, page []any, err error) {
	err = s.link.Do(ctx, func(ctx context.Context, c redis.Scripter) error {
		reply, err := watchScript.Run(ctx, c, []string{s.link.Members(), s.active()},
			s.link.ID(), s.link.Lease().Milliseconds(), strconv.FormatInt(s.watched.since, 10), watchPage, s.link.Key("budget", "")).Slice()
		if err == nil && len(reply) == 2 {
			count, _ = reply[0].(int64)
			page, _ = reply[1].([]any)
		}
		return err
	})
	return count, page, err
}

// see takes in what was heard of one budget. The caller holds the lock.
func (s *Shared) see(id, born string, seen sight) {
	t := s.budgets[id]
	if t == nil {
		if len(s.sights) >= s.o.MaxIdle {
			clear(s.sights) // what is forgotten can be asked of the database
		}
		s.sights[id] = seen
		return
	}
	delete(s.sights, id)
	if !seen.of(t) {
		s.sights[id] = seen // of a window that this replica has not entered
		return
	}
	if !t.known || (t.born == born && !t.unsure) || t.idle() {
		t.hear(seen.spent, seen.held)
	}
}

// recall gives a tab what was heard of its window before it was used here. The caller holds the lock.
func (s *Shared) recall(t *tab) {
	seen, ok := s.sights[t.budget.ID]
	if !ok || !seen.of(t) {
		return
	}
	delete(s.sights, t.budget.ID)
	t.hear(seen.spent, seen.held)
}
