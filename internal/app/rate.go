package app

import (
	"context"
	"errors"
	"slices"
	"time"

	"fairlead/internal/feedback"
	"fairlead/internal/id"
	"fairlead/internal/llm"
	"fairlead/internal/requestlog"
)

// rateTime is the timeout for storing a rating, including the wait for its log entry.
const rateTime = 10 * time.Second

// ratings implements the feedback interfaces of the gateway and the admin API.
type ratings struct{ app *App }

// For returns the active corrections of a workspace.
func (r ratings) For(workspaceID string) *feedback.Corrections {
	return r.app.feedback.For(workspaceID)
}

// Explore returns the share of a workspace's spending for trials, and their quality floor.
func (r ratings) Explore(workspaceID string) (share, floor float64) {
	return r.app.feedback.Explore(workspaceID)
}

// Rate stores a rating for a request in the workspace.
func (r ratings) Rate(ctx context.Context, given feedback.Rating) (feedback.Rating, error) {
	ctx, cancel := context.WithTimeout(ctx, rateTime)
	defer cancel()
	return r.app.Rate(ctx, given)
}

// Of returns the ratings and signals of a request. Verdicts are in its comparison.
func (r ratings) Of(ctx context.Context, workspaceID, requestID string) ([]feedback.Rating, error) {
	all, err := r.app.db.Feedback.FeedbackOf(ctx, workspaceID, requestID)
	return slices.DeleteFunc(all, func(r feedback.Rating) bool { return r.Source.IsVerdict() || r.Signal == feedback.Quiet }), err
}

// Summary returns the effect of a workspace's ratings on routing.
func (r ratings) Summary(ctx context.Context, workspaceID string) (feedback.Summary, error) {
	return r.app.feedback.Summary(ctx, workspaceID)
}

// Reset excludes the existing ratings of a model from routing, or of all models if model is empty.
func (r ratings) Reset(ctx context.Context, workspaceID, model string) error {
	return r.app.feedback.Reset(ctx, workspaceID, model)
}

// Rate adds the model and features of the logged request to a rating and stores it. It returns an *llm.Error for an invalid
// rating.
func (a *App) Rate(ctx context.Context, r feedback.Rating) (feedback.Rating, error) {
	if _, ok := id.Time(r.RequestID); !ok {
		return a.feedback.Rate(ctx, r) // returns the error for an invalid ID
	}
	e, err := a.decisions.Entry(ctx, r.WorkspaceID, r.RequestID)
	if errors.Is(err, requestlog.ErrNotFound) {
		return r, unknownRequest(err)
	}
	if err != nil {
		return r, err
	}
	r.Model = e.Model
	features, predictor := a.decisions.Features(ctx, &e)
	r.Task, r.Skills, r.Predictor = features.Task, features.Skills, predictor
	return a.feedback.Rate(ctx, r)
}

func unknownRequest(cause error) error {
	e := llm.Errorf(llm.NotFound, "Request not found in this workspace. Send the x-request-id of a completed response "+
		"with a key of the same workspace. Requests older than the log's retention cannot be rated.")
	e.Param, e.Err = "request_id", cause
	return e
}
