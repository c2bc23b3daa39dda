package app

import (
	"math"
	"strings"
	"sync"

	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/requestlog"
	"fairlead.dev/internal/route"
	"fairlead.dev/internal/route/predict"
)

const (
	priorWeight = 10     // weight of the prediction, as a number of observations
	maxWeight   = 200    // maximum weight of a lengthMean, as a number of observations; a lengthMean with this weight discounts older observations
	maxFactor   = 5      // largest correction in either direction
	maxStates   = 20_000 // maximum number of states in memory; if it is exceeded, a random lengthState is removed
)

// lengthTracker holds the observed lengths. It is safe for concurrent use.
type lengthTracker struct {
	mu    sync.Mutex
	known map[lengthSubject]*lengthState
}

// lengthSubject identifies the scope of a factor: either a task type in a workspace, or a model.
type lengthSubject struct {
	workspace string
	task      predict.Family
	model     string
}

// lengthState holds the lengthMean logarithms of observed length divided by predicted length.
type lengthState struct{ visible, reasoning lengthMean }

// lengthMean is a weighted lengthMean that discounts old observations.
type lengthMean struct{ sum, weight float64 }

func (m *lengthMean) add(v float64) {
	if m.weight >= maxWeight {
		keep := 1 - 1.0/maxWeight
		m.sum, m.weight = m.sum*keep, m.weight*keep
	}
	m.sum, m.weight = m.sum+v, m.weight+1
}

// log returns the lengthMean, shrunk towards 0 while there are few observations.
func (m *lengthMean) log() float64 { return m.sum / (m.weight + priorWeight) }

// factor returns the correction, rounded so that stored decisions stay short. It is 0 without observations.
func (m *lengthMean) factor() float64 {
	if m.weight == 0 {
		return 0
	}
	return math.Round(100*math.Exp(min(max(m.log(), -math.Log(maxFactor)), math.Log(maxFactor)))) / 100
}

// newLengthTracker returns a lengthTracker without observations.
func newLengthTracker() *lengthTracker {
	return &lengthTracker{known: map[lengthSubject]*lengthState{}}
}

// Factors returns the corrections for a task type in a workspace.
func (t *lengthTracker) Factors(workspace string, task predict.Family) route.LengthFactors {
	t.mu.Lock()
	defer t.mu.Unlock()
	s := t.known[lengthSubject{workspace: workspace, task: task}]
	if s == nil {
		return route.LengthFactors{}
	}
	return route.LengthFactors{Visible: s.visible.factor(), Reasoning: s.reasoning.factor()}
}

// Model returns the correction for a target's model, or 0 without observations.
func (t *lengthTracker) Model(target string) float64 {
	_, model, _ := strings.Cut(target, "/")
	t.mu.Lock()
	defer t.mu.Unlock()
	if s := t.known[lengthSubject{model: model}]; s != nil {
		return s.visible.factor()
	}
	return 0
}

// Observe learns from a finished request. It ignores responses whose length cannot be compared with the prediction: incomplete or
// simulated responses, and responses with several choices, an output limit or an estimated usage.
func (t *lengthTracker) Observe(e *requestlog.Entry) {
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
	model, user := t.state(lengthSubject{model: e.Model}), t.state(lengthSubject{workspace: e.WorkspaceID, task: in.Features.Task})
	if visible := e.Usage.Output - e.Usage.Reasoning; expected.Visible > 0 && visible > 0 {
		// The means of the model and of the workspace each learn only the part of the ratio that the other lengthMean does not explain.
		ratio := math.Log(float64(visible) / expected.Visible)
		ofModel, ofUser := ratio-user.visible.log(), ratio-model.visible.log()
		model.visible.add(ofModel)
		user.visible.add(ofUser)
	}
	if expected.Reasoning > 0 && e.Usage.Reasoning > 0 {
		user.reasoning.add(math.Log(float64(e.Usage.Reasoning) / expected.Reasoning))
	}
}

func (t *lengthTracker) state(of lengthSubject) *lengthState {
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
	s = &lengthState{}
	t.known[of] = s
	return s
}
