package feedback

import (
	"math"
	"strings"
	"testing"

	"fairlead.dev/internal/llm"
)

func TestScoreOfLabels(t *testing.T) {
	t.Parallel()
	half := 0.5
	for _, c := range []struct {
		name  string
		score *float64
		label string
		want  float64
		kept  string
		param string // field named in the error
	}{
		{name: "a number", score: &half, want: 0.5},
		{name: "good", label: "good", want: 1, kept: "good"},
		{name: "thumbs in any spelling", label: " Thumbs-Down", want: 0, kept: "thumbs_down"},
		{name: "an emoji", label: "👍", want: 1, kept: "👍"},
		{name: "in between", label: "NEUTRAL", want: 0.5, kept: "neutral"},
		{name: "both", score: &half, label: "good", param: "label"},
		{name: "neither", param: "score"},
		{name: "an unknown label", label: "meh", param: "label"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			score, kept, err := ScoreOf(c.score, c.label)
			if param := paramOf(err); param != c.param || score != c.want || kept != c.kept {
				t.Errorf("got %v %q, %v; want %v %q, error for %q", score, kept, err, c.want, c.kept, c.param)
			}
		})
	}
	_, _, err := ScoreOf(nil, "meh")
	for _, label := range Labels() {
		if score, _, known := ScoreOf(nil, label); known != nil || score < 0 || score > 1 {
			t.Errorf("%s gives %v, %v", label, score, known)
		}
		if !strings.Contains(err.Error(), label) {
			t.Errorf("the error does not name %s: %v", label, err)
		}
	}
}

// paramOf returns the field named in an error, or "defect" for an internal error.
func paramOf(err error) string {
	if err == nil {
		return ""
	}
	if e := llm.AsError(err); e.Kind == llm.InvalidRequest {
		return e.Param
	}
	return "defect"
}

func TestInvalidRatingsAreRejected(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		change func(*Rating)
		want   string
	}{
		{"valid", func(*Rating) {}, ""},
		{"from an account", func(r *Rating) { r.KeyID, r.AccountID, r.Source = "", "acc_1", FromDashboard }, ""},
		{"longest comment", func(r *Rating) { r.Comment = strings.Repeat("x", 500) }, ""},
		{"comment too long", func(r *Rating) { r.Comment = strings.Repeat("x", 501) }, "comment"},
		{"no request", func(r *Rating) { r.RequestID = "" }, "request_id"},
		{"ID of a key", func(r *Rating) { r.RequestID = strings.Replace(r.RequestID, "req", "key", 1) }, "request_id"},
		{"ID with two prefixes", func(r *Rating) { r.RequestID = "req_" + r.RequestID }, "request_id"},
		{"score above", func(r *Rating) { r.Score = 1.01 }, "score"},
		{"score below", func(r *Rating) { r.Score = -0.01 }, "score"},
		{"score is NaN", func(r *Rating) { r.Score = math.NaN() }, "score"},
		{"no model", func(r *Rating) { r.Model = "" }, "request_id"},
		{"no workspace", func(r *Rating) { r.WorkspaceID = "" }, "defect"},
		{"unknown source", func(r *Rating) { r.Source = "rumour" }, "defect"},
		{"no rater", func(r *Rating) { r.KeyID = "" }, "defect"},
		{"two raters", func(r *Rating) { r.AccountID = "acc_1" }, "defect"},
		{"infinite difficulty", func(r *Rating) { r.Difficulty = math.Inf(1) }, "defect"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			r := draft(1, "small", 1)
			c.change(&r)
			store := newFakeStore()
			_, err := newTestBook(store, &clock{t: start}).Rate(t.Context(), r)
			if got := paramOf(err); got != c.want {
				t.Errorf("names %q, want %q: %v", got, c.want, err)
			}
			if saved := len(store.ratings); (saved == 1) != (c.want == "") {
				t.Errorf("%d ratings are stored after error %v", saved, err)
			}
		})
	}
}
