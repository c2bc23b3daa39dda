package app

import (
	"fmt"
	"math"
	"testing"

	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/requestlog"
	"fairlead.dev/internal/route"
	"fairlead.dev/internal/route/predict"
)

// observedResponse returns an entry whose visible and reasoning lengths were predicted as 100 and 200 tokens.
func response(workspace, model string, visible, reasoning int64) *requestlog.Entry {
	in := route.Input{
		Op: llm.Chat, ResponseOptions: route.ResponseOptions{Choices: 1}, Prediction: route.Prediction{
			Predictor: "p",
			Features:  predict.Features{Task: predict.Agents, Output: 100},
		},
	}
	return &requestlog.Entry{
		Owner: requestlog.Owner{WorkspaceID: workspace},
		Routing: requestlog.Routing{
			Provider: "acme", Model: model,
			Decision: &route.Decision{
				Input:      in,
				Candidates: []route.Candidate{{Target: "acme/" + model, Output: 300}},
			},
		},
		Result: requestlog.Result{Outcome: requestlog.OK, Finish: "stop"},
		Charge: requestlog.Charge{Usage: llm.Usage{Output: visible + reasoning, Reasoning: reasoning}},
	}
}

func TestFactorsApproachTheObservedLengths(t *testing.T) {
	t.Parallel()
	l := newLengthTracker()
	if got := l.Factors("w1", predict.Agents); got != (route.LengthFactors{}) {
		t.Fatalf("factors without observations = %+v, want none", got)
	}
	l.Observe(response("w1", "a", 300, 100))
	first := l.Factors("w1", predict.Agents)
	if first.Visible <= 1 || first.Visible > 1.2 || first.Reasoning >= 1 || first.Reasoning < 0.9 {
		t.Errorf("one observation gave %+v, want a small correction", first)
	}
	for range 300 {
		l.Observe(response("w1", "a", 300, 100))
	}
	user, model := l.Factors("w1", predict.Agents), l.Model("acme/a")
	if both := user.Visible * model; math.Abs(both-3) > 0.15 {
		t.Errorf("factors %v and %v give %v, want about 3", user.Visible, model, both)
	}
	if math.Abs(user.Reasoning-0.5) > 0.05 {
		t.Errorf("reasoning factor %v, want about 0.5", user.Reasoning)
	}
	if got := l.Factors("w2", predict.Agents); got != (route.LengthFactors{}) {
		t.Errorf("factors of another workspace = %+v, want none", got)
	}
	if got := l.Factors("w1", predict.Code); got != (route.LengthFactors{}) {
		t.Errorf("factors of another task = %+v, want none", got)
	}
}

// Two workspaces use two models. One model is twice as verbose as the other, one workspace asks for half the length of the other.
func TestModelsAndWorkspacesAreSeparated(t *testing.T) {
	t.Parallel()
	l := newLengthTracker()
	for range 200 {
		l.Observe(response("long", "brief", 100, 0))
		l.Observe(response("long", "verbose", 200, 0))
		l.Observe(response("short", "brief", 50, 0))
		l.Observe(response("short", "verbose", 100, 0))
	}
	if ratio := l.Model("acme/verbose") / l.Model("other/brief"); math.Abs(ratio-2) > 0.3 {
		t.Errorf("ratio of verbose to brief is %v, want about 2", ratio)
	}
	if ratio := l.Factors("long", predict.Agents).Visible / l.Factors("short", predict.Agents).Visible; math.Abs(ratio-2) > 0.3 {
		t.Errorf("ratio of long to short is %v, want about 2", ratio)
	}
}

func TestDriftIsForgotten(t *testing.T) {
	t.Parallel()
	l := newLengthTracker()
	for range 2000 {
		l.Observe(response("w", "a", 400, 0))
	}
	for range 1500 {
		l.Observe(response("w", "a", 100, 0))
	}
	if both := l.Factors("w", predict.Agents).Visible * l.Model("acme/a"); math.Abs(both-1) > 0.1 {
		t.Errorf("correction is %v after the lengths became normal, want about 1", both)
	}
}

func TestUnusableResponsesAreIgnored(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*requestlog.Entry){
		"failed":          func(e *requestlog.Entry) { e.Outcome = requestlog.UpstreamError },
		"truncated":       func(e *requestlog.Entry) { e.Finish = "length" },
		"simulated":       func(e *requestlog.Entry) { e.Simulated = true },
		"estimated":       func(e *requestlog.Entry) { e.Usage.Estimated = true },
		"no decision":     func(e *requestlog.Entry) { e.Decision = nil },
		"no features":     func(e *requestlog.Entry) { e.Decision.Input.Predictor = "" },
		"choices":         func(e *requestlog.Entry) { e.Decision.Input.Choices = 3 },
		"limit":           func(e *requestlog.Entry) { e.Decision.Input.MaxOutput = 50 },
		"limit of policy": func(e *requestlog.Entry) { e.Decision.MaxOutput = 50 },
		"housekeeping":    func(e *requestlog.Entry) { e.Decision.Input.Conversation.Purpose = "title" },
		"embedding":       func(e *requestlog.Entry) { e.Decision.Input.Op = llm.Embed },
	} {
		l := newLengthTracker()
		e := response("w", "a", 900, 10)
		change(e)
		l.Observe(e)
		if f, m := l.Factors("w", predict.Agents), l.Model("acme/a"); f != (route.LengthFactors{}) || m != 0 {
			t.Errorf("%s: factors %+v, model %v; want none", name, f, m)
		}
	}
}

func TestMemoryIsBounded(t *testing.T) {
	t.Parallel()
	l := newLengthTracker()
	for i := range 50_000 {
		l.Observe(response(fmt.Sprint("w", i), "a", 200, 0))
	}
	known := 0
	for i := range 50_000 {
		if l.Factors(fmt.Sprint("w", i), predict.Agents).Visible != 0 {
			known++
		}
	}
	if known > 20_000 || known < 10_000 {
		t.Errorf("%d workspaces are kept, want 10,000 to 20,000", known)
	}
}
