package app

import (
	"context"
	"errors"
	"strings"
	"time"

	"fairlead/internal/feedback"
	"fairlead/internal/id"
	"fairlead/internal/llm"
	"fairlead/internal/requestlog"
)

const (
	freshRequest = time.Minute            // how old a request may be that is still on its way to the log
	arrivalTime  = 2 * time.Second        // how long it is waited for
	arrivalPause = 100 * time.Millisecond // between two looks
	rateTime     = 10 * time.Second       // what taking a rating may take, the waiting included
)

// ratings is what is said about answers, as the gateway and the admin API want to see it.
type ratings struct{ app *App }

// For returns the corrections in force in a workspace.
func (r ratings) For(workspaceID string) *feedback.Corrections {
	return r.app.feedback.For(workspaceID)
}

// Rate takes a rating of a request of the workspace.
func (r ratings) Rate(ctx context.Context, given feedback.Rating) (feedback.Rating, error) {
	ctx, cancel := context.WithTimeout(ctx, rateTime)
	defer cancel()
	return r.app.Rate(ctx, given)
}

// Of returns what was said about a request.
func (r ratings) Of(ctx context.Context, workspaceID, requestID string) ([]feedback.Rating, error) {
	return r.app.db.Feedback.FeedbackOf(ctx, workspaceID, requestID)
}

// Summary tells what a workspace's feedback comes to.
func (r ratings) Summary(ctx context.Context, workspaceID string) (feedback.Summary, error) {
	return r.app.feedback.Summary(ctx, workspaceID)
}

// Reset lets the ratings that there are count no longer.
func (r ratings) Reset(ctx context.Context, workspaceID, model string) error {
	return r.app.feedback.Reset(ctx, workspaceID, model)
}

// Rate adds to a rating what the log knows of the request, and takes it. The error is an *llm.Error where the rater is to
// blame.
func (a *App) Rate(ctx context.Context, r feedback.Rating) (feedback.Rating, error) {
	if _, ok := id.Time(r.RequestID); !ok {
		return a.feedback.Rate(ctx, r) // which says what an id looks like
	}
	e, err := a.logged(ctx, r.WorkspaceID, r.RequestID)
	if errors.Is(err, requestlog.ErrNotFound) {
		return r, unknownRequest(err)
	}
	if err != nil {
		return r, err
	}
	r.Model = e.Model
	sketch, by := a.sketchNow(ctx, &e)
	r.Task, r.Skills, r.Predictor = sketch.Task, sketch.Skills, by
	return a.feedback.Rate(ctx, r)
}

func unknownRequest(cause error) error {
	e := llm.Errorf(llm.NotFound, "There is no such request in this workspace. Send the x-request-id of an answer that has ended, "+
		"with a key of the workspace that asked; requests older than the log's retention cannot be rated.")
	e.Param, e.Err = "request_id", cause
	return e
}

// logged reads an entry. One that came in a moment ago may be on its way to the log, from here or from another replica: it
// is waited for, because clients hear of a request before the log has it.
func (a *App) logged(ctx context.Context, workspaceID, requestID string) (requestlog.Entry, error) {
	e, err := a.db.Log.Entry(ctx, workspaceID, requestID)
	received, _ := id.Time(requestID)
	fresh := strings.HasPrefix(requestID, "req_") && time.Since(received).Abs() < freshRequest
	if !fresh || !errors.Is(err, requestlog.ErrNotFound) || a.spool == nil { // a command has no spool
		return e, err
	}
	arriving, cancel := context.WithTimeout(ctx, arrivalTime)
	defer cancel()
	if err := a.spool.Flush(arriving); err != nil {
		return e, requestlog.ErrNotFound
	}
	tick := time.NewTicker(arrivalPause)
	defer tick.Stop()
	for {
		e, err = a.db.Log.Entry(ctx, workspaceID, requestID)
		if !errors.Is(err, requestlog.ErrNotFound) {
			return e, err
		}
		select {
		case <-tick.C:
		case <-arriving.Done():
			return e, err
		}
	}
}
