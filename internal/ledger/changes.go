package ledger

import (
	"context"
	"strconv"
)

// changesPerPage is the maximum number of budgets per call.
const changesPerPage = 200

// observation holds the totals of a budget that this replica does not use yet. They are used if Redis is unavailable
// when the replica first needs the budget.
type observation struct {
	span  string
	start int64
	totals
}

// matches reports whether the observation belongs to the state's current window.
func (s observation) matches(t *budgetState) bool {
	return spanOf(&t.budget) == s.span && millis(t.start) == s.start
}

// changeCursor is the position up to which changes have been read.
type changeCursor struct {
	epoch string
	since int64 // time of the last change read, in Unix milliseconds of the Redis clock
}

// readChanges reads the totals of all budgets that have changed since the last heartbeat.
func (s *Shared) readChanges(ctx context.Context, epoch string) {
	if s.cursor.epoch != epoch {
		s.cursor = changeCursor{epoch: epoch}
	}
	for ctx.Err() == nil {
		reply, err := s.call(ctx, changesScript, []string{s.client.Members(), s.active()}, []any{
			s.client.ID(), s.client.Lease().Milliseconds(), strconv.FormatInt(s.cursor.since, 10), changesPerPage, s.client.Key("budget", ""),
		})
		if err != nil || len(reply) != 2 {
			return
		}
		count, _ := reply[0].(int64)
		page, _ := reply[1].([]any)
		last := s.cursor.since
		s.mu.Lock()
		for i := 0; i+8 <= len(page); i += 8 {
			last = max(last, int64(amountOf(page, i+1)))
			s.recordObserved(textOf(page, i), textOf(page, i+4), observation{
				span: textOf(page, i+2), start: int64(amountOf(page, i+3)), totals: totalsOf(page, i+5),
			})
		}
		s.mu.Unlock()
		more := count >= changesPerPage && last > s.cursor.since
		s.cursor.since = last // read the last millisecond again, because it may contain more changes
		if !more {
			return
		}
	}
}

// recordObserved stores the totals of one budget. The caller holds the lock.
func (s *Shared) recordObserved(id, baseID string, seen observation) {
	t := s.budgets[id]
	if t == nil {
		if len(s.observed) >= s.o.MaxIdle {
			clear(s.observed) // limits memory use; the sums can be read from the database
		}
		s.observed[id] = seen
		return
	}
	delete(s.observed, id)
	if !seen.matches(t) {
		s.observed[id] = seen // this replica has not entered the window yet
		return
	}
	if !t.known || (t.baseID == baseID && !t.outcomeUnknown) || t.idle() {
		t.setTotals(seen.totals)
	}
}
