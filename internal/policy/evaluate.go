package policy

import (
	"errors"
	"slices"

	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/interpreter"

	"fairlead/internal/money"
)

// Evaluate says what the policies make of a request. It depends on nothing but the facts. Policies are taken in order,
// and all that match apply:
//
//   - a denial ends the evaluation;
//   - of a pin, an objective and a baseline the first one counts;
//   - restrictions add up: a target must pass every allow and every exclude, and the lowest limit counts;
//   - preferences are joined, those of earlier policies first.
//
// A condition that cannot be computed does not hold. When the conditions together exceed the bound of their cost, the
// policies that are left apply with their restrictions alone: a denial must not disappear because it is expensive.
func (s *Set) Evaluate(f *Facts) Outcome { return s.EvaluateInto(f, nil) }

// EvaluateInto is Evaluate with room for the hits, which are appended to it. Who copies what it needs of them can use the
// room again.
func (s *Set) EvaluateInto(f *Facts, room []Hit) Outcome {
	if s == nil || len(s.rules) == 0 {
		return Outcome{}
	}
	run := s.start(f)
	defer s.finish(run)
	o := Outcome{Hits: slices.Grow(room, len(s.rules))}
	for _, r := range s.rules {
		verdict := run.judge(r)
		if verdict.matched {
			has := r.has
			if verdict.overrun {
				has &= restricting
			}
			verdict.overruled = s.apply(&o, r, has)
		}
		o.Hits = append(o.Hits, Hit{r.name, r.source, verdict.matched, verdict})
		if o.Deny != nil {
			break
		}
	}
	return o
}

// run is one evaluation: the values of the variables, and the frame in which CEL computes.
type run struct {
	activation *activation
	frame      *interpreter.ExecutionFrame
}

func (s *Set) start(f *Facts) run {
	a, ok := s.pool.Get().(*activation)
	if !ok {
		a = newActivation(s.names)
	}
	a.reset(scope{f, s.zones})
	frame, err := interpreter.NewExecutionFrame(a)
	if err != nil {
		panic(err) // it takes every activation
	}
	return run{a, frame}
}

func (s *Set) finish(r run) {
	r.frame.Close()
	r.activation.reset(scope{})
	s.pool.Put(r.activation)
}

// judge says whether every condition of the rule holds, or which is the first one that does not.
func (r run) judge(of *rule) Verdict {
	for i := range of.when {
		value, _, err := of.when[i].program.Eval(r.frame)
		if exceeded(err) {
			return Verdict{rule: of, failed: int32(i), overrun: true, matched: of.has&restricting != 0}
		}
		if err != nil || value != types.True {
			return Verdict{rule: of, failed: int32(i), broken: err != nil}
		}
	}
	return Verdict{rule: of, matched: true}
}

// exceeded reports whether an evaluation was ended because it cost too much.
func exceeded(err error) bool {
	cancelled, ok := errors.AsType[interpreter.EvalCancelledError](err)
	return ok && cancelled.Cause == interpreter.CostLimitExceeded
}

// apply adds the effects that a matching rule has, and returns those that came too late.
func (s *Set) apply(o *Outcome, r *rule, has effects) (overruled effects) {
	if has&denies != 0 {
		o.Deny = &Denial{r.name, r.deny}
		return 0
	}
	if has&pins != 0 && !first(&o.Pin, r.pin, r.name) {
		overruled |= pins
	}
	if has&aims != 0 && !first(&o.Objective, r.objective, r.name) {
		overruled |= aims
	}
	if has&compares != 0 && !first(&o.Baseline, r.baseline, r.name) {
		overruled |= compares
	}
	if has&limitsCost != 0 && !lowest(&o.MaxCost, r.maxCost, r.name) {
		overruled |= limitsCost
	}
	if has&limitsOutput != 0 && !lowest(&o.MaxOutput, r.maxOutput, r.name) {
		overruled |= limitsOutput
	}
	if has&hidesBodies != 0 && !o.LogBodies.IsSet() {
		o.LogBodies = Setting[bool]{false, r.name}
	}
	if has&allows != 0 {
		o.allow = grow(o.allow, s.allows, r)
	}
	if has&excludes != 0 {
		o.exclude = grow(o.exclude, s.excludes, r)
	}
	if has&prefers == 0 {
		return overruled
	}
	for _, p := range r.prefer {
		o.Prefer = grow(o.Prefer, s.preferences, Preference{r.name, p})
	}
	return overruled
}

func first[T any](s *Setting[T], value T, policy string) bool {
	if s.IsSet() {
		return false
	}
	*s = Setting[T]{value, policy}
	return true
}

func lowest[T money.Amount | int64](s *Setting[T], value T, policy string) bool {
	if s.IsSet() && s.Value <= value {
		return false
	}
	*s = Setting[T]{value, policy}
	return true
}

// grow appends to a list that will not become longer than most: one allocation is enough.
func grow[T any](list []T, most int, one T) []T {
	if list == nil {
		list = make([]T, 0, most)
	}
	return append(list, one)
}
