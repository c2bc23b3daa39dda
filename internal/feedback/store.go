package feedback

import (
	"context"
	"time"

	"fairlead/internal/predict"
)

// Topic is the name under which the store counts changes of ratings that corrections depend on. Signals do not count.
const Topic = "feedback"

// Store keeps ratings.
type Store interface {
	// Revisions returns the number of the last change of each topic.
	Revisions(ctx context.Context) (map[string]int64, error)
	// SaveRating replaces an earlier rating of the same request by the same rater.
	SaveRating(ctx context.Context, r Rating) error
	// SaveSignals writes ratings by signal; one that exists is left as it is.
	SaveSignals(ctx context.Context, signals []Rating) error
	// ResetFeedback says that ratings up to at no longer count: those of one model, or all when it is empty.
	ResetFeedback(ctx context.Context, workspaceID, model string, at time.Time) error
	// ChangedFeedback lists the workspaces whose ratings changed after the revision.
	ChangedFeedback(ctx context.Context, after int64) ([]string, error)
	// CountedRatings visits each model with the ratings of it that count: no signals, none from before a reset, the
	// newest limit, newest first. Models come sorted by name.
	CountedRatings(ctx context.Context, workspaceID string, limit int, visit func(model string, ratings []Rating) error) error
	// SignalCounts counts signals since a time, sorted by model, task and signal.
	SignalCounts(ctx context.Context, workspaceID string, since time.Time) ([]SignalCount, error)
}

// SignalCount says how often a model's answers gave a signal.
type SignalCount struct {
	Model  string       `json:"model"`
	Task   predict.Task `json:"task"`
	Signal Signal       `json:"signal"`
	Count  int64        `json:"count"`
}
