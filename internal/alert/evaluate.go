package alert

import (
	"math"
	"time"

	"fairlead.dev/internal/id"
)

// Measurement is the current value of a rule's figure for one subject.
type Measurement struct {
	Subject string
	Label   string
	Value   float64
	Known   bool // whether there is enough data to measure Value
	Detail  string
}

// Change describes the result of evaluating a rule for one subject.
type Change struct {
	Next   State
	Event  *Event // event for a crossed threshold; nil for none
	Remove bool   // whether to delete the state because the rule no longer applies to the subject
}

// hysteresis is the usual distance from the threshold at which a firing alert recovers, as a share of the threshold.
const hysteresis = 0.1

// clears reports whether a value has moved back past the threshold by the margin at which a firing alert recovers.
func clears(info *KindInfo, threshold, value float64) bool {
	margin := math.Abs(threshold) * hysteresis
	switch info.Unit {
	case Percent, Points:
		margin = max(margin, 0.5) // for a threshold near 0, a tenth of the threshold is too small a margin
	case Count:
		margin = math.Floor(margin) // no margin for small counts: with threshold 1, one request ends the alert
	case Dollars, Milliseconds, Days:
	}
	if info.Below {
		return value >= threshold+margin
	}
	return value < threshold-margin
}

// Evaluate compares the measured values of a rule with its threshold. states are the stored states of the rule. It returns the states to
// store, with an event for each crossing. A firing alert recovers when clears reports that its value has moved back past the
// threshold, when the rule no longer applies to its subject, or when its value has been unknown for a whole window, but at least 10 minutes.
func Evaluate(r *Rule, states []State, measured []Measurement, now time.Time) []Change {
	info, ok := Info(r.Kind)
	if !ok {
		return nil
	}
	stored := make(map[string]State, len(states))
	for _, s := range states {
		stored[s.Subject] = s
	}
	var changes []Change
	for _, m := range measured {
		state, known := stored[m.Subject]
		delete(stored, m.Subject)
		if !known {
			state = State{RuleID: r.ID, Subject: m.Subject, Since: now}
		}
		if !m.Known {
			if state.Firing && now.Sub(state.SeenAt) >= max(r.Window.Duration(), 10*time.Minute) {
				changes = append(changes, recovery(r, state, "No recent data.", now))
			}
			continue
		}
		changes = append(changes, step(r, &info, state, m, now))
	}
	for _, s := range states {
		if _, gone := stored[s.Subject]; !gone {
			continue
		}
		change := Change{Next: s}
		if s.Firing {
			change = recovery(r, s, "The rule no longer applies.", now)
		}
		change.Remove = true
		changes = append(changes, change)
	}
	return changes
}

// step returns the change of a rule's state for a known value.
func step(r *Rule, info *KindInfo, state State, m Measurement, now time.Time) Change {
	next := state
	next.Label, next.Value, next.Detail, next.SeenAt = m.Label, m.Value, m.Detail, now
	beyond := m.Value >= r.Threshold
	if info.Below {
		beyond = m.Value < r.Threshold
	}
	switch {
	case !state.Firing && beyond:
		e := r.event(Firing, &next, now)
		next.Firing, next.Since, next.EventID, next.Notified = true, now, e.ID, !e.Muted
		return Change{Next: next, Event: e}
	case state.Firing && clears(info, r.Threshold, m.Value):
		return recovery(r, next, m.Detail, now)
	}
	return Change{Next: next}
}

// recovery ends a firing alert. The recovery event is not sent if the alert itself was not sent.
func recovery(r *Rule, state State, detail string, now time.Time) Change {
	state.Detail = detail
	e := r.event(Recovered, &state, now)
	e.Since, e.Muted = state.Since, e.Muted || !state.Notified
	state.Firing, state.Since, state.EventID, state.Notified = false, now, "", false
	return Change{Next: state, Event: e}
}

func (r *Rule) event(t EventType, s *State, now time.Time) *Event {
	return &Event{
		ID: id.New("alrt", now), WorkspaceID: r.WorkspaceID, Type: t,
		EventRule: EventRule{RuleID: r.ID, RuleName: r.Name, Kind: r.Kind, Threshold: r.Threshold, Window: r.Window},
		Subject:   s.Subject, Label: s.Label, Value: s.Value, Detail: s.Detail, At: now,
		Muted: r.Muted(now) || len(r.Channels) == 0,
	}
}
