package feedback

import (
	"context"
	"time"

	"fairlead.dev/internal/predict"
)

// Topic is the revision topic for changes that affect corrections. Signals do not increment it.
const Topic = "feedback"

// Reader reads ratings.
type Reader interface {
	// Revisions returns the latest revision of each topic.
	Revisions(ctx context.Context) (map[string]int64, error)
	// ChangedFeedback lists the workspaces whose ratings changed after the given revision.
	ChangedFeedback(ctx context.Context, after int64) ([]string, error)
	// CountedRatings calls visit for each model, sorted by name, with at most limit ratings and verdicts, newest first. Signals and
	// outcomes before a reset are excluded.
	CountedRatings(ctx context.Context, workspaceID string, limit int, visit func(model string, ratings []Rating) error) error
	// CountedSignals returns at most limit signals of a workspace, newest first. Signals before a reset are excluded.
	CountedSignals(ctx context.Context, workspaceID string, limit int) ([]Rating, error)
	// SignalCounts counts the signals observed since the given time, sorted by model, task and signal, without Quiet.
	SignalCounts(ctx context.Context, workspaceID string, since time.Time) ([]SignalCount, error)
	// Learning returns the settings of a workspace, or the zero value.
	Learning(ctx context.Context, workspaceID string) (Settings, error)
}

// Writer writes ratings.
type Writer interface {
	// SaveRating stores a rating, which replaces an earlier rating of the same request by the same rater.
	SaveRating(ctx context.Context, r Rating) error
	// SaveSignals stores signals. It ignores signals that are already stored.
	SaveSignals(ctx context.Context, signals []Rating) error
	// ResetFeedback excludes outcomes up to the given time from corrections. It affects one model, or all models if model is empty.
	ResetFeedback(ctx context.Context, workspaceID, model string, at time.Time) error
	// SaveLearning stores the settings of a workspace.
	SaveLearning(ctx context.Context, workspaceID string, s Settings) error
}

// SignalCount is the number of times a signal was observed for a model.
type SignalCount struct {
	Model  string       `json:"model"`
	Task   predict.Task `json:"task"`
	Signal Signal       `json:"signal"`
	Count  int64        `json:"count"`
}

// OutcomePage selects the page of outcomes that starts after the outcome identified by Request and Rater. The zero values select the first
// page.
type OutcomePage struct {
	Request string // request ID of the last outcome on the previous page
	Rater   string // rater of the last outcome on the previous page
	Limit   int
}
