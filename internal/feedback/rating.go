// Package feedback owns what is said about answers: ratings by people and programs, signals that the answers give
// themselves, and the corrections of models' abilities that a workspace's own ratings call for. Where ratings are kept is
// the matter of store; what an ability is, of predict.
package feedback

import (
	"fmt"
	"math"
	"strings"
	"time"
	"unicode/utf8"

	"fairlead/internal/id"
	"fairlead/internal/llm"
	"fairlead/internal/predict"
)

// Source says where a rating comes from.
type Source string

// The sources of ratings.
const (
	FromAPI       Source = "api"
	FromDashboard Source = "dashboard"
	FromSignal    Source = "signal" // nobody said so: the answer, or what the client did next, shows it
)

// Signal is what an answer shows by itself.
type Signal string

// The signals. They are recorded and counted, but never move a correction: each has other causes than a bad answer.
const (
	SchemaViolation Signal = "schema_violation" // the answer is not of the form that was asked for
	Refusal         Signal = "refusal"
	Truncation      Signal = "truncation"
	Retry           Signal = "retry" // the same prompt came again at once
)

// Bounds on what a rating may hold.
const (
	maxComment = 500 // bytes
	maxSkills  = 256
)

// Rating is what somebody, or the answer itself, says about one answer.
type Rating struct {
	ID          string
	RequestID   string
	WorkspaceID string
	KeyID       string // of the key that rated
	AccountID   string // of the person who rated, instead of a key
	Time        time.Time
	Score       float64 // 0 useless, 1 good
	Label       string  // the word that the score was given by, where there was one
	Comment     string
	Source      Source
	Signal      Signal // for a rating by signal alone

	Model     string       // that served the request
	Task      predict.Task // as the predictor saw the prompt
	Skills    []float64    // likewise
	Predictor string       // version of the predictor that saw it
}

// Rater names who rated: a later rating by the same rater replaces the earlier one. Each signal is a rater of its own.
func (r *Rating) Rater() string {
	switch {
	case r.Source == FromSignal:
		return "signal:" + string(r.Signal)
	case r.AccountID != "":
		return "account:" + r.AccountID
	}
	return "key:" + r.KeyID
}

// check returns an error that the rater understands.
func (r *Rating) check() error {
	if !isRequestID(r.RequestID) {
		return invalid("request_id", "This is no id of a request. It stands in the header x-request-id of the answer, and begins with req_.")
	}
	if !(r.Score >= 0 && r.Score <= 1) { // so that NaN is refused as well
		return invalid("score", "A score is a number from 0 (useless) to 1 (good).")
	}
	if len(r.Comment) > maxComment {
		return invalid("comment", "The comment has %d bytes; at most %d are kept.", len(r.Comment), maxComment)
	}
	if r.Model == "" {
		return invalid("request_id", "No model answered this request, so that there is nothing to rate.")
	}
	return r.consistent()
}

// consistent reports a defect of the caller, not of the rater.
func (r *Rating) consistent() error {
	if r.WorkspaceID == "" {
		return fmt.Errorf("rate %s: no workspace", r.RequestID)
	}
	if known := map[Source]bool{FromAPI: true, FromDashboard: true, FromSignal: true}; !known[r.Source] {
		return fmt.Errorf("rate %s: source %q", r.RequestID, r.Source)
	}
	known := map[Signal]bool{SchemaViolation: true, Refusal: true, Truncation: true, Retry: true}
	if known[r.Signal] != (r.Source == FromSignal) || r.Signal != "" && !known[r.Signal] {
		return fmt.Errorf("rate %s: signal %q from source %s", r.RequestID, r.Signal, r.Source)
	}
	if r.Source != FromSignal && (r.KeyID == "") == (r.AccountID == "") {
		return fmt.Errorf("rate %s: needs a key or an account, and not both", r.RequestID)
	}
	if len(r.Skills) > maxSkills {
		return fmt.Errorf("rate %s: %d skills", r.RequestID, len(r.Skills))
	}
	for _, z := range r.Skills {
		if math.IsNaN(z) || math.IsInf(z, 0) {
			return fmt.Errorf("rate %s: a skill is %v", r.RequestID, z)
		}
	}
	return nil
}

// isRequestID holds length and alphabet to what we make, because ratings expire by the time in the id.
func isRequestID(text string) bool {
	_, ok := id.Time(text)
	return ok && strings.HasPrefix(text, "req_") && len(text) == len("req_")+26
}

// storable takes out what databases refuse in a text.
func storable(text string) string {
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
