package condition

import (
	"errors"
	"strings"
	"sync"
	"time"

	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"
	"cel.dev/cel-go/interpreter"

	"fairlead.dev/internal/document"
)

// Evaluator evaluates the conditions of one or more documents. It is safe for concurrent use.
type Evaluator struct {
	zones map[string]*time.Location
	names *names
	pool  sync.Pool // pool of *activation
}

// NewEvaluator returns an evaluator for conditions that use the given time zones.
func NewEvaluator(zones map[string]*time.Location) *Evaluator {
	return &Evaluator{zones: zones, names: newNames()}
}

// Run evaluates the conditions for one request. It holds the values of the variables and the CEL frame. The cost limit applies to
// all conditions of a run together.
type Run struct {
	evaluator  *Evaluator
	activation *activation
	frame      *interpreter.ExecutionFrame
}

// Start starts a run. The caller must call End.
func (e *Evaluator) Start(f *Facts) Run {
	a, ok := e.pool.Get().(*activation)
	if !ok {
		a = newActivation(e.names)
	}
	a.reset(scope{f, e.zones})
	frame, err := interpreter.NewExecutionFrame(a)
	if err != nil {
		panic(err) // cannot fail: every activation is accepted
	}
	return Run{e, a, frame}
}

// End releases the facts and ends the run.
func (r Run) End() {
	r.frame.Close()
	r.activation.reset(scope{})
	r.evaluator.pool.Put(r.activation)
}

// Status is the result of a condition.
type Status uint8

// Statuses of a condition.
const (
	True         Status = iota
	False               // a conjunct is false
	Failed              // a conjunct cannot be evaluated
	CostExceeded        // the run exceeded the cost limit
)

// Result is the status of a condition and the conjunct that determined it.
type Result struct {
	Status   Status
	conjunct int32
}

// Evaluate evaluates a condition. A nil condition is true.
func (r Run) Evaluate(c *Condition) Result {
	if c == nil {
		return Result{}
	}
	for i := range c.conjuncts {
		value, _, err := c.conjuncts[i].program.Eval(r.frame)
		switch {
		case costLimitExceeded(err):
			return Result{CostExceeded, int32(i)}
		case err != nil:
			return Result{Failed, int32(i)}
		case value != types.True:
			return Result{False, int32(i)}
		}
	}
	return Result{}
}

// costLimitExceeded reports whether err means that an evaluation exceeded the cost limit.
func costLimitExceeded(err error) bool {
	cancelled, ok := errors.AsType[interpreter.EvalCancelledError](err)
	return ok && cancelled.Cause == interpreter.CostLimitExceeded
}

// Explain names the conjunct that is false or cannot be evaluated, the error if there is one, and the values that the conjunct read. r is
// the result of c for f and must not be True.
func (c *Condition) Explain(r Result, f *Facts) string {
	failed, from := &c.conjuncts[r.conjunct], scope{f, c.zones}
	text := append(make([]byte, 0, len(failed.text)+document.MaxQuoted), failed.text...)
	switch r.Status {
	case CostExceeded:
		text = append(text, " was not evaluated: the policies exceeded their cost limit"...)
	case Failed:
		text = append(text, " cannot be evaluated"...)
		a := newActivation(c.names)
		a.reset(from)
		if _, _, err := failed.program.Eval(a); err != nil {
			text = append(text, ": "+strings.TrimSpace(err.Error())...)
		}
	case True, False:
		text = append(text, " is false"...)
	}
	before, end := " (", ""
	for _, read := range failed.reads {
		if read.whole {
			continue
		}
		value := c.names.list[read.slot].get(from)
		if m, ok := value.(interface{ Get(ref.Val) ref.Val }); ok && read.keyed {
			value = m.Get(types.String(read.key))
		}
		text = append(append(append(text, before...), read.text...), " is "...)
		text = appendShown(text, value)
		before, end = ", ", ")"
	}
	return string(append(text, end...))
}
