package admin

import (
	"context"
	"net/http"
	"testing"

	"github.com/google/go-cmp/cmp"

	"fairlead.dev/internal/admin/outcomes"
	"fairlead.dev/internal/feedback"
	"fairlead.dev/internal/route/predict"
)

// learner is an in-memory learner with outcomes.
type learner struct {
	learned feedback.Learned
	resets  []string
}

func (l *learner) Learning(string) feedback.Learned { return l.learned }

func (l *learner) Configure(_ context.Context, _ string, s feedback.Settings) error {
	l.learned.Settings = s
	return nil
}

func (l *learner) Reset(_ context.Context, workspaceID, model string) error {
	l.resets = append(l.resets, workspaceID+" "+model)
	return nil
}

func TestLearningIsShownChangedAndReset(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.learner.learned = feedback.Learned{
		Version: "v1", Verdicts: 120, MinVerdicts: 50,
		Tasks: []feedback.LearnedTask{{Model: "gpt", Task: predict.Code, Outcomes: 60, Static: 0.7, Learned: 0.8, Low: 0.7, High: 0.9}},
	}
	var got outcomes.LearningState
	s.call("GET", "/routing/learning", "", as("acc_viewer")).want(200).into(&got)
	if !got.Active || !got.Settings.Enabled || len(got.Abilities) != 1 || got.Abilities[0].Learned != 0.8 {
		t.Errorf("%+v", got)
	}
	s.call("PUT", "/routing/learning", `{"enabled":false}`, as("acc_admin")).want(200)
	s.call("PUT", "/routing/learning", `{"enabled":true}`, as("acc_viewer")).rejected(http.StatusForbidden, "PERMISSION_DENIED")
	if want := (feedback.Settings{Disabled: true}); s.learner.learned.Settings != want {
		t.Errorf("settings %+v, want %+v", s.learner.learned.Settings, want)
	}
	s.call("POST", "/routing/learning/reset", `{"model":"gpt"}`, as("acc_admin")).want(200)
	s.call("POST", "/routing/learning/reset", `{}`, as("acc_admin")).want(200)
	if diff := cmp.Diff([]string{home + " gpt", home + " "}, s.learner.resets); diff != "" {
		t.Error(diff)
	}
	want := []note{
		{"learning.update", "learning", `{"enabled":true}`, `{"enabled":false}`},
		{"learning.reset", "gpt", `{"verdicts":120,"version":"v1"}`, ""},
		{"learning.reset", "learning", `{"verdicts":120,"version":"v1"}`, ""},
	}
	if diff := cmp.Diff(want, s.fake.noted); diff != "" {
		t.Error(diff)
	}
}
