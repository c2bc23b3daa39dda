package ledger

import (
	"container/list"
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"fairlead.dev/internal/llm"
)

const (
	// reservedWait is the maximum time that a request waits for money reserved by other requests.
	reservedWait = 2 * time.Second
	// pollEvery is the interval at which the first waiting request checks Redis for money released by other replicas.
	pollEvery = 100 * time.Millisecond
)

// reservedError is returned for an amount that would fit if no other request had a reservation.
type reservedError struct {
	budgetID string
	err      *llm.Error // error for the client
}

func (e *reservedError) Error() string { return e.err.Error() }
func (e *reservedError) Unwrap() error { return e.err }

// forClient returns the error that is passed to the client.
func forClient(err error) error {
	if reserved, ok := errors.AsType[*reservedError](err); ok {
		return reserved.err
	}
	return err
}

// waitQueue holds the requests that wait for reserved money, first in, first out for each budget. A request waits in
// the queue of one budget at a time. Only the first request of a queue retries, so the cost of waiting does not depend
// on the queue length.
type waitQueue struct {
	waiting atomic.Int64 // number of requests in all queues

	mu       sync.Mutex
	byBudget map[string]*list.List // waiters by budget ID, as lists of *waiter; empty lists are removed
}

// waiter is a request's place in the queue of a budget.
type waiter struct {
	budgetID string
	turn     chan struct{} // receives when the request is first in its queue and may try again
	element  *list.Element
}

// occupied returns the index of a budget that requests are waiting for, or -1.
func (q *waitQueue) occupied(budgets []Budget) int {
	if q.waiting.Load() == 0 {
		return -1
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	return slices.IndexFunc(budgets, func(b Budget) bool { return q.byBudget[b.ID] != nil && !b.WarnOnly })
}

// join appends a request to the queue of a budget.
func (q *waitQueue) join(budgetID string) *waiter {
	w := &waiter{budgetID: budgetID, turn: make(chan struct{}, 1)}
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.byBudget == nil {
		q.byBudget = map[string]*list.List{}
	}
	l := q.byBudget[budgetID]
	if l == nil {
		l = list.New()
		q.byBudget[budgetID] = l
		w.turn <- struct{}{} // money may have been released since the failed attempt
	}
	w.element = l.PushBack(w)
	q.waiting.Add(1)
	return w
}

// leave removes a request from its queue and lets the next one try.
func (q *waitQueue) leave(w *waiter) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.waiting.Add(-1)
	l := q.byBudget[w.budgetID]
	first := l.Front() == w.element
	l.Remove(w.element)
	if l.Len() == 0 {
		delete(q.byBudget, w.budgetID)
	} else if first {
		wake(l)
	}
}

// released lets the first request that waits for a budget try again.
func (q *waitQueue) released(budgetID string) {
	if q.waiting.Load() == 0 {
		return
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	if l := q.byBudget[budgetID]; l != nil {
		wake(l)
	}
}

func wake(l *list.List) {
	select {
	case l.Front().Value.(*waiter).turn <- struct{}{}:
	default: // a signal is already pending
	}
}

// hold calls the function try until a call succeeds, a call fails for a reason other than reserved money, or the time limit passes. A
// request queues behind earlier requests for one of its budgets. The first request of a queue retries when money is released and, if
// poll > 0, at the interval poll. At the time limit, even a request that never reached the front tries once, because it may be small
// enough for the remaining budget.
func (q *waitQueue) hold(ctx context.Context, budgets []Budget, limit, poll time.Duration, try func() (*Hold, error)) (*Hold, error) {
	var w *waiter
	if at := q.occupied(budgets); at >= 0 {
		w = q.join(budgets[at].ID)
	} else {
		hold, err := try()
		reserved, ok := errors.AsType[*reservedError](err)
		if !ok {
			return hold, err
		}
		w = q.join(reserved.budgetID)
	}
	defer func() { q.leave(w) }()
	over := time.NewTimer(limit)
	defer over.Stop()
	var again <-chan time.Time // nil until the request is first in its queue
	for {
		last := false
		select {
		case <-ctx.Done():
			return nil, &llm.Error{Kind: llm.ClientCancelled, Message: "The client disconnected while waiting for reserved budget.", Err: context.Cause(ctx)}
		case <-over.C:
			last = true
		case <-w.turn:
		case <-again:
		}
		hold, err := try()
		reserved, ok := errors.AsType[*reservedError](err)
		if !ok || last {
			return hold, forClient(err)
		}
		if reserved.budgetID != w.budgetID {
			q.leave(w)
			w = q.join(reserved.budgetID)
			again = nil
		} else if poll > 0 {
			again = time.After(poll)
		}
	}
}
