// Package length learns how much longer or shorter responses are than predicted: per workspace and task, because users ask for
// different lengths, and per model, because some models are more verbose than others. Expected costs are corrected by both factors.
//
// The state is in memory: after a restart, predictions are uncorrected until enough responses have been observed. Decisions
// record the factors they used, so they can be recomputed without the state.
package length

import (
	"math"
	"strings"
	"sync"

	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/predict"
	"fairlead.dev/internal/requestlog"
	"fairlead.dev/internal/route"
)

const (
	priorWeight = 10     // weight of the prediction, as a number of observations
	maxWeight   = 200    // maximum weight of a mean, as a number of observations; a mean with this weight discounts older observations
	maxFactor   = 5      // largest correction in either direction
	maxStates   = 20_000 // maximum number of states in memory; if it is exceeded, a random state is removed
)

// Tracker holds the observed lengths. It is safe for concurrent use.
type Tracker struct {
	mu    sync.Mutex
	known map[subject]*state
}

// subject identifies the scope of a factor: either a task type in a workspace, or a model.
type subject struct {
	workspace string
	task      predict.Task
	model     string
}

// state holds the mean logarithms of observed length divided by predicted length.
type state struct{ visible, reasoning mean }

// mean is a weighted mean that discounts old observations.
type mean struct{ sum, weight float64 }

func (m *mean) add(v float64) {
	if m.weight >= maxWeight {
		keep := 1 - 1.0/maxWeight
		m.sum, m.weight = m.sum*keep, m.weight*keep
	}
	m.sum, m.weight = m.sum+v, m.weight+1
}

// log returns the mean, shrunk towards 0 while there are few observations.
func (m *mean) log() float64 { return m.sum / (m.weight + priorWeight) }

// factor returns the correction, rounded so that stored decisions stay short. It is 0 without observations.
func (m *mean) factor() float64 {
	if m.weight == 0 {
		return 0
	}
	return math.Round(100*math.Exp(min(max(m.log(), -math.Log(maxFactor)), math.Log(maxFactor)))) / 100
}

// NewTracker returns a Tracker without observations.
func NewTracker() *Tracker { return &Tracker{known: map[subject]*state{}} }

// Factors returns the corrections for a task type in a workspace.
func (t *Tracker) Factors(workspace string, task predict.Task) route.LengthFactors {
	t.mu.Lock()
	defer t.mu.Unlock()
	s := t.known[subject{workspace: workspace, task: task}]
	if s == nil {
		return route.LengthFactors{}
	}
	return route.LengthFactors{Visible: s.visible.factor(), Reasoning: s.reasoning.factor()}
}

// Model returns the correction for a target's model, or 0 without observations.
func (t *Tracker) Model(target string) float64 {
	_, model, _ := strings.Cut(target, "/")
	t.mu.Lock()
	defer t.mu.Unlock()
	if s := t.known[subject{model: model}]; s != nil {
		return s.visible.factor()
	}
	return 0
}

// Observe learns from a finished request. It ignores responses whose length cannot be compared with the prediction: incomplete or
// simulated responses, and responses with several choices, an output limit or an estimated usage.
func (t *Tracker) Observe(e *requestlog.Entry) {
	d := e.Decision
	if d == nil || e.Outcome != requestlog.OK || e.Simulated || e.Usage.Estimated || (e.Finish != "stop" && e.Finish != "tool_calls") {
		return
	}
	in := &d.Input
	if in.Op != llm.Chat || in.Predictor == "" || in.Choices > 1 || in.MaxOutput > 0 || d.MaxOutput > 0 || in.Conversation.Purpose != "" {
		return
	}
	expected := d.ExpectedLength(e.Provider + "/" + e.Model)
	t.mu.Lock()
	defer t.mu.Unlock()
	model, user := t.state(subject{model: e.Model}), t.state(subject{workspace: e.WorkspaceID, task: in.Features.Task})
	if visible := e.Usage.Output - e.Usage.Reasoning; expected.Visible > 0 && visible > 0 {
		// The means of the model and of the workspace each learn only the part of the ratio that the other mean does not explain.
		ratio := math.Log(float64(visible) / expected.Visible)
		ofModel, ofUser := ratio-user.visible.log(), ratio-model.visible.log()
		model.visible.add(ofModel)
		user.visible.add(ofUser)
	}
	if expected.Reasoning > 0 && e.Usage.Reasoning > 0 {
		user.reasoning.add(math.Log(float64(e.Usage.Reasoning) / expected.Reasoning))
	}
}

func (t *Tracker) state(of subject) *state {
	s := t.known[of]
	if s != nil {
		return s
	}
	for old := range t.known {
		if len(t.known) < maxStates {
			break
		}
		delete(t.known, old)
	}
	s = &state{}
	t.known[of] = s
	return s
}
