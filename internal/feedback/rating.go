// Package feedback manages outcomes of responses: ratings by users and programs, verdicts of comparisons, and the ability corrections derived from a workspace's outcomes. Package store stores the outcomes.
package feedback

import (
	"fmt"
	"math"
	"strings"
	"time"
	"unicode/utf8"

	"fairlead.dev/internal/id"
	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/route/predict"
)

// Source is the origin of an outcome.
type Source string

// The sources of outcomes.
const (
	FromAPI       Source = "api"
	FromDashboard Source = "dashboard"
	FromShadow    Source = "shadow" // verdict of a check or a judge model that compared two responses
	FromHook      Source = "hook"   // score from the workspace's hook that compared two responses
)

// IsRating reports whether a person or a program rated the response.
func (s Source) IsRating() bool { return s == FromAPI || s == FromDashboard }

// IsVerdict reports whether the response was compared with another one.
func (s Source) IsVerdict() bool { return s == FromShadow || s == FromHook }

// maxComment is the maximum length of a comment in bytes.
const maxComment = 500

// Rating is the outcome of one response: the feedback of one rater, or the verdict of a comparison.
type Rating struct {
	ID          string
	RequestID   string
	WorkspaceID string
	KeyID       string // ID of the rater's API key
	AccountID   string // ID of the rater's account, if the rater did not use a key
	Time        time.Time
	Score       float64 // from 0 (useless) to 1 (good); for a verdict, from 0 (worse than Other) to 1 (better)
	Label       string  // label given instead of a score, if any; for a verdict, the comparison method
	Comment     string
	Source      Source
	Rated
}

// Rated describes the rated model and its prompt.
type Rated struct {
	Model      string         // model that responded
	Other      string         // model whose response was compared; only for a verdict
	Task       predict.Family // task of the prompt, as classified by the predictor
	Difficulty float64        // difficulty of the prompt
	Predictor  string         // version of the predictor that classified the prompt
}

// Rater identifies the rater. A later rating by the same rater replaces the earlier one.
func (r *Rating) Rater() string {
	switch {
	case r.Source.IsVerdict():
		return string(r.Source)
	case r.AccountID != "":
		return "account:" + r.AccountID
	}
	return "key:" + r.KeyID
}

// validate checks the rating. Its errors about the fields set by the rater are *llm.Error values. Other errors are internal errors from
// checkInvariants.
func (r *Rating) validate() error {
	// Ratings expire by the time in the ID, so its exact length and alphabet are checked.
	if _, ok := id.Time(r.RequestID); !ok || !strings.HasPrefix(r.RequestID, "req_") || len(r.RequestID) != len("req_")+26 {
		return invalid("request_id", "Invalid request ID. Use the value of the x-request-id response header, which starts with req_.")
	}
	if !(r.Score >= 0 && r.Score <= 1) { // the negated form also rejects NaN
		return invalid("score", "The score must be a number from 0 (useless) to 1 (good).")
	}
	if len(r.Comment) > maxComment {
		return invalid("comment", "The comment has %d bytes. The maximum is %d.", len(r.Comment), maxComment)
	}
	if r.Model == "" {
		return invalid("request_id", "No model responded to this request, so there is nothing to rate.")
	}
	return r.checkInvariants()
}

// checkInvariants checks the fields set by the calling code. Its errors are internal errors.
func (r *Rating) checkInvariants() error {
	if r.WorkspaceID == "" {
		return fmt.Errorf("rate %s: no workspace", r.RequestID)
	}
	if !r.Source.IsRating() && !r.Source.IsVerdict() {
		return fmt.Errorf("rate %s: invalid source %q", r.RequestID, r.Source)
	}
	if r.Source.IsRating() && (r.KeyID == "") == (r.AccountID == "") {
		return fmt.Errorf("rate %s: set either a key or an account, not both", r.RequestID)
	}
	if r.Source.IsVerdict() != (r.Other != "") {
		return fmt.Errorf("rate %s: compared model %q does not match source %s", r.RequestID, r.Other, r.Source)
	}
	if math.IsNaN(r.Difficulty) || math.IsInf(r.Difficulty, 0) {
		return fmt.Errorf("rate %s: difficulty is not finite: %v", r.RequestID, r.Difficulty)
	}
	return nil
}

// sanitize removes characters that databases reject.
func sanitize(text string) string {
	if utf8.ValidString(text) && !strings.Contains(text, "\x00") {
		return text
	}
	return strings.ReplaceAll(strings.ToValidUTF8(text, "�"), "\x00", "")
}

func invalid(param, format string, args ...any) *llm.Error {
	e := llm.Errorf(llm.InvalidRequest, format, args...)
	e.Param = param
	return e
}
