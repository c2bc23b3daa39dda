package feedback

import (
	"context"
	"time"
)

// Topic is the revision topic for changes that affect corrections.
const Topic = "feedback"

// Reader reads ratings.
type Reader interface {
	// Revisions returns the latest revision of each topic.
	Revisions(ctx context.Context) (map[string]int64, error)
	// ChangedFeedback lists the workspaces whose ratings changed after the given revision.
	ChangedFeedback(ctx context.Context, after int64) ([]string, error)
	// CountedRatings calls visit for each model, sorted by name, with at most limit ratings and verdicts, newest first. Outcomes
	// before a reset are excluded.
	CountedRatings(ctx context.Context, workspaceID string, limit int, visit func(model string, ratings []Rating) error) error
	// Learning returns the settings of a workspace, or the zero value.
	Learning(ctx context.Context, workspaceID string) (Settings, error)
}

// Writer writes ratings.
type Writer interface {
	// SaveRating stores a rating, which replaces an earlier rating of the same request by the same rater.
	SaveRating(ctx context.Context, r Rating) error
	// ResetFeedback excludes outcomes up to the given time from corrections. It affects one model, or all models if model is empty.
	ResetFeedback(ctx context.Context, workspaceID, model string, at time.Time) error
	// SaveLearning stores the settings of a workspace.
	SaveLearning(ctx context.Context, workspaceID string, s Settings) error
}
