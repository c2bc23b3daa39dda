package feedbackstore

import (
	"context"
	"database/sql"
	"fmt"

	"fairlead.dev/internal/feedback"
	"fairlead.dev/internal/store/sqldb"
)

const ratingColumns = `select r.workspace_id, r.request_id, r.id, r.key_id, r.account_id, r.at, r.score, r.label, r.comment,
	r.source, r.model, r.task, r.difficulty, r.predictor, r.other from ratings r `

// Each of these statements uses an index, so its cost does not depend on the number of ratings.
const (
	nextRated      = `select min(model) from ratings where workspace_id = $1 and model > $2`
	countedRatings = ratingColumns + `where r.workspace_id = $1 and r.model = $2 and r.at > $3
		order by r.at desc, r.id desc limit $4`
)

func scanRating(row sqldb.Scanner) (feedback.Rating, error) {
	var r feedback.Rating
	var at int64
	err := row.Scan(&r.WorkspaceID, &r.RequestID, &r.ID, &r.KeyID, &r.AccountID, &at, &r.Score, &r.Label, &r.Comment,
		&r.Source, &r.Model, &r.Task, &r.Difficulty, &r.Predictor, &r.Other)
	r.Time = sqldb.FromMillis(at)
	return r, err
}

// CountedRatings calls visit for each model with its newest ratings, at most limit per model, without those that a reset excludes.
func (s *Store) CountedRatings(ctx context.Context, workspaceID string, limit int, visit func(model string, ratings []feedback.Rating) error) error {
	resets, err := s.resets(ctx, workspaceID)
	if err != nil {
		return fmt.Errorf("read feedback resets: %w", err)
	}
	for model := ""; ; { // find each model that has ratings, without reading the ratings
		var next sql.NullString
		if err := s.db.QueryRow(ctx, nextRated, workspaceID, model).Scan(&next); err != nil {
			return fmt.Errorf("list rated models: %w", err)
		}
		if model = next.String; model == "" {
			return nil
		}
		rows, err := s.db.Query(ctx, countedRatings, workspaceID, model, max(resets[""], resets[model]), limit)
		ratings, err := sqldb.Collect(rows, err, scanRating)
		if err != nil {
			return fmt.Errorf("read ratings of %s: %w", model, err)
		}
		if len(ratings) == 0 {
			continue
		}
		if err := visit(model, ratings); err != nil {
			return err
		}
	}
}

// Learning returns the learning settings of a workspace.
func (s *Store) Learning(ctx context.Context, workspaceID string) (feedback.Settings, error) {
	var v feedback.Settings
	var disabled int64
	err := s.db.QueryRow(ctx, `select disabled from learning_settings where workspace_id = $1`, workspaceID).Scan(&disabled)
	if err != nil && !sqldb.IsNotFound(err) {
		return v, fmt.Errorf("read learning settings: %w", err)
	}
	v.Disabled = disabled != 0
	return v, nil
}

// resets returns the time of the latest reset by model. Earlier ratings do not count. The empty name stands for all models.
func (s *Store) resets(ctx context.Context, workspaceID string) (map[string]int64, error) {
	rows, err := s.db.Query(ctx, `select model, at from rating_resets where workspace_id = $1`, workspaceID)
	if err != nil {
		return nil, err
	}
	defer func() { _ = rows.Close() }() // rows.Err returns the error
	resets := map[string]int64{}
	for rows.Next() {
		var model string
		var at int64
		if err := rows.Scan(&model, &at); err != nil {
			return nil, err
		}
		resets[model] = at
	}
	return resets, rows.Err()
}

// FeedbackOf returns the ratings and verdicts of a request, oldest first.
func (s *Store) FeedbackOf(ctx context.Context, workspaceID, requestID string) ([]feedback.Rating, error) {
	all, err := s.FeedbackOfAll(ctx, workspaceID, []string{requestID})
	return all[requestID], err
}

// FeedbackOfAll returns the ratings and verdicts of several requests, oldest first. It omits requests without them.
func (s *Store) FeedbackOfAll(ctx context.Context, workspaceID string, requestIDs []string) (map[string][]feedback.Rating, error) {
	byRequest := map[string][]feedback.Rating{}
	if len(requestIDs) == 0 {
		return byRequest, nil
	}
	ctx, cancel := s.db.Bounded(ctx)
	defer cancel()
	q := ratingColumns + `where r.workspace_id = $1 and r.request_id in (` + sqldb.Placeholders(2, len(requestIDs)) + `) order by r.at, r.id`
	rows, err := s.db.Query(ctx, q, append([]any{workspaceID}, sqldb.Args(requestIDs)...)...)
	all, err := sqldb.Collect(rows, err, scanRating)
	if err != nil {
		return nil, fmt.Errorf("read feedback: %w", err)
	}
	for _, r := range all {
		byRequest[r.RequestID] = append(byRequest[r.RequestID], r)
	}
	return byRequest, nil
}
