// Package feedbackstore stores outcomes (ratings and verdicts), the times of their resets, and the learning settings.
package feedbackstore

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"time"

	"fairlead.dev/internal/feedback"
	"fairlead.dev/internal/store/sqldb"
)

// Store implements feedback.Reader and feedback.Writer.
type Store struct {
	db            *sqldb.DB
	insertRatings *sqldb.Inserter
}

// New returns a store that uses db.
func New(db *sqldb.DB) *Store {
	fields := slices.Concat(
		sqldb.TextFields("workspace_id", "request_id", "rater", "id", "key_id", "account_id"), sqldb.NumberFields("at"), sqldb.RealFields("score", "difficulty"),
		sqldb.TextFields("label", "comment", "source", "model", "task", "predictor", "other"),
	)
	return &Store{
		db:            db,
		insertRatings: sqldb.NewInserter("ratings", fields, replaceRating),
	}
}

// Revisions implements feedback.Reader.
func (s *Store) Revisions(ctx context.Context) (map[string]int64, error) { return s.db.Revisions(ctx) }

// replaceRating is the SQL clause that replaces an earlier rating by the same rater.
const replaceRating = `on conflict (workspace_id, request_id, rater) do update set id = excluded.id, at = excluded.at,
	score = excluded.score, label = excluded.label, comment = excluded.comment, source = excluded.source,
	model = excluded.model, task = excluded.task, difficulty = excluded.difficulty, predictor = excluded.predictor, other = excluded.other`

func ratingRow(r *feedback.Rating) []any {
	return []any{
		r.WorkspaceID, r.RequestID, r.Rater(), r.ID, r.KeyID, r.AccountID, sqldb.Millis(r.Time), r.Score, r.Difficulty, r.Label, r.Comment,
		string(r.Source), r.Model, string(r.Task), r.Predictor, r.Other,
	}
}

// SaveRating stores a rating. It replaces an earlier rating by the same rater.
func (s *Store) SaveRating(ctx context.Context, r feedback.Rating) error {
	if err := s.db.InTx(ctx, func(tx *sql.Tx) error {
		if err := ratingsChanged(ctx, tx, r.WorkspaceID); err != nil {
			return err
		}
		_, err := s.db.Insert(ctx, tx, s.insertRatings, [][]any{ratingRow(&r)})
		return err
	}); err != nil {
		return fmt.Errorf("save rating of %s: %w", r.RequestID, err)
	}
	return nil
}

// ResetFeedback excludes ratings up to the given time from the corrections.
func (s *Store) ResetFeedback(ctx context.Context, workspaceID, model string, at time.Time) error {
	err := s.db.InTx(ctx, func(tx *sql.Tx) error {
		if err := ratingsChanged(ctx, tx, workspaceID); err != nil {
			return err
		}
		const q = `insert into rating_resets (workspace_id, model, at) values ($1, $2, $3)
			on conflict (workspace_id, model) do update set at = excluded.at`
		_, err := tx.ExecContext(ctx, q, workspaceID, model, sqldb.Millis(at))
		return err
	})
	if err != nil {
		return fmt.Errorf("reset feedback: %w", err)
	}
	return nil
}

// SaveLearning stores the learning settings of a workspace.
func (s *Store) SaveLearning(ctx context.Context, workspaceID string, v feedback.Settings) error {
	err := s.db.InTx(ctx, func(tx *sql.Tx) error {
		if err := ratingsChanged(ctx, tx, workspaceID); err != nil {
			return err
		}
		const q = `insert into learning_settings (workspace_id, disabled) values ($1, $2) on conflict (workspace_id) do update set disabled = excluded.disabled`
		_, err := tx.ExecContext(ctx, q, workspaceID, sqldb.Flag(v.Disabled))
		return err
	})
	if err != nil {
		return fmt.Errorf("save learning settings: %w", err)
	}
	return nil
}

// ratingsChanged records that a workspace's ratings change, in the transaction that changes them.
func ratingsChanged(ctx context.Context, tx *sql.Tx, workspaceID string) error {
	revision, err := sqldb.NextRevision(ctx, tx, feedback.Topic)
	if err != nil {
		return err
	}
	const q = `insert into rating_changes (workspace_id, revision) values ($1, $2)
		on conflict (workspace_id) do update set revision = excluded.revision`
	_, err = tx.ExecContext(ctx, q, workspaceID, revision)
	return err
}

// ChangedFeedback lists the workspaces whose ratings changed after the revision.
func (s *Store) ChangedFeedback(ctx context.Context, after int64) ([]string, error) {
	all, err := s.db.Strings(ctx, `select workspace_id from rating_changes where revision > $1 order by workspace_id`, []any{after})
	if err != nil {
		return nil, fmt.Errorf("list changed ratings: %w", err)
	}
	return all, nil
}
