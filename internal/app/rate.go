package app

import (
	"context"
	"errors"
	"slices"
	"time"

	"fairlead.dev/internal/feedback"
	"fairlead.dev/internal/id"
	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/requestlog"
)

// rateTime is the timeout for storing a rating, including the wait for its log entry.
const rateTime = 10 * time.Second

// ratings implements the feedback interfaces of the gateway and the admin API.
type ratings struct {
	*feedback.Index
	app *App
}

// Rate adds the model and features of the logged request to a rating and stores it. It returns an *llm.Error for an invalid
// rating.
func (r ratings) Rate(ctx context.Context, given feedback.Rating) (feedback.Rating, error) {
	ctx, cancel := context.WithTimeout(ctx, rateTime)
	defer cancel()
	if _, ok := id.Time(given.RequestID); !ok {
		return r.Index.Rate(ctx, given) // returns the error for an invalid ID
	}
	decisions := r.app.decisions
	e, err := decisions.Entry(ctx, given.WorkspaceID, given.RequestID)
	if errors.Is(err, requestlog.ErrNotFound) {
		e := llm.Errorf(llm.NotFound, "Request not found in this workspace. Send the x-request-id of a completed response "+
			"with a key of the same workspace. Requests older than the log's retention cannot be rated.")
		e.Param, e.Err = "request_id", err
		return given, e
	}
	if err != nil {
		return given, err
	}
	given.Model = e.Model
	features, predictor := decisions.Features(ctx, &e)
	given.Task, given.Difficulty, given.Predictor = features.Task, features.Difficulty, predictor
	return r.Index.Rate(ctx, given)
}

// Of returns the ratings of a request. It omits verdicts, which are part of the comparison.
func (r ratings) Of(ctx context.Context, workspaceID, requestID string) ([]feedback.Rating, error) {
	all, err := r.app.db.Feedback.FeedbackOf(ctx, workspaceID, requestID)
	return slices.DeleteFunc(all, func(r feedback.Rating) bool { return r.Source.IsVerdict() }), err
}
