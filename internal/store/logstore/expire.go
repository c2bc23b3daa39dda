package logstore

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"fairlead.dev/internal/report"
	"fairlead.dev/internal/requestlog"
	"fairlead.dev/internal/store/feedbackstore"
	"fairlead.dev/internal/store/messagestore"
	"fairlead.dev/internal/store/proofstore"
	"fairlead.dev/internal/store/reportstore"
	"fairlead.dev/internal/store/sqldb"
)

// Expired counts deleted entries and bodies.
type Expired struct {
	Entries int64
	Bodies  int64
}

// Expire deletes entries and bodies past the retention of their workspace, or past defaults if the workspace sets none. The ledger
// and the daily roll-ups stay. Expire works in small steps and can be cancelled between them. In PostgreSQL, expired entries of the
// workspaces with the longest retention are first hidden, and later dropped with the partition of their day.
func (s *Store) Expire(ctx context.Context, now time.Time, defaults Retention) (Expired, error) {
	var total Expired
	if err := s.Retain(ctx, now, defaults); err != nil {
		return total, err
	}
	err := s.expire(ctx, s.retention.Load(), &total)
	// Shrink on every run, because DeleteEntries cannot shrink the database while another connection reads it.
	if err = errors.Join(err, s.db.Shrink(ctx)); err != nil {
		return total, fmt.Errorf("expire entries: %w", err)
	}
	return total, nil
}

func (s *Store) expire(ctx context.Context, r *retentionBounds, total *Expired) error {
	if err := s.dropPartitions(ctx, r, total); err != nil {
		return err
	}
	for workspace := ""; ; { // finds each workspace that has entries, without reading the entries
		var next sql.NullString
		if err := s.db.QueryRow(ctx, `select min(workspace_id) from requests where workspace_id > $1`, workspace).Scan(&next); err != nil {
			return err
		}
		if workspace = next.String; workspace == "" {
			break
		}
		if err := s.expireWorkspace(ctx, workspace, r.now, r.rows(workspace), total); err != nil {
			return err
		}
	}
	if err := s.messages.Expire(ctx, func(workspace string, day int64) bool { return r.of(workspace).expired(day, r.now) }); err != nil {
		return err
	}
	if err := s.expireSessions(ctx, r); err != nil {
		return err
	}
	if err := s.feedback.Expire(ctx, r.now, func(workspace string) time.Duration { return r.of(workspace).Entries }); err != nil {
		return err
	}
	if err := s.proof.Expire(ctx, r.now, func(workspace string) (entries, bodies time.Duration) {
		keep := r.of(workspace)
		return keep.Entries, keep.Bodies
	}); err != nil {
		return err
	}
	if err := s.reports.Expire(ctx, r.now, func(workspace string) time.Duration { return r.of(workspace).Entries }); err != nil {
		return err
	}
	if r.longest.Entries > 0 {
		if err := s.config.ExpireVersions(ctx, r.now.Add(-r.longest.Entries)); err != nil {
			return err
		}
	}
	return s.figures.Expire(ctx, r.now)
}

// expireSessions deletes sessions whose latest request is past the retention of the workspace.
func (s *Store) expireSessions(ctx context.Context, r *retentionBounds) error {
	for workspace := ""; ; {
		var err error
		if workspace, err = s.sessions.NextWorkspace(ctx, workspace); err != nil || workspace == "" {
			return err
		}
		if keep := r.of(workspace).Entries; keep > 0 {
			if err := s.sessions.Expire(ctx, workspace, requestlog.FloorID(r.now.Add(-keep))); err != nil {
				return err
			}
		}
	}
}

func (s *Store) expireWorkspace(ctx context.Context, workspace string, now time.Time, keep Retention, total *Expired) error {
	if keep.Entries > 0 {
		n, err := s.db.InBatches(ctx, func(tx *sql.Tx) (int, error) {
			const q = `select id from requests where workspace_id = $1 and id < $2 order by id limit $3`
			ids, err := sqldb.Column[string](ctx, tx, q, workspace, requestlog.FloorID(now.Add(-keep.Entries)), sqldb.DeleteBatch)
			if err != nil {
				return 0, err
			}
			return len(ids), s.deleteEntries(ctx, tx, workspace, ids)
		})
		total.Entries += n
		if err != nil {
			return err
		}
	}
	if keep.Bodies <= 0 {
		return nil
	}
	before := requestlog.FloorID(now.Add(-keep.Bodies))
	if s.db.Dialect() == sqldb.SQLite {
		return s.expireBlocks(ctx, workspace, before, total)
	}
	n, err := s.db.InBatches(ctx, func(tx *sql.Tx) (int, error) {
		const q = `select request_id from bodies where workspace_id = $1 and request_id < $2 order by request_id limit $3`
		ids, err := sqldb.Column[string](ctx, tx, q, workspace, before, sqldb.DeleteBatch)
		if err != nil {
			return 0, err
		}
		return len(ids), forIDs(ctx, tx, workspace, ids, markExpired, `delete from bodies where workspace_id = $1 and request_id in (%s)`)
	})
	total.Bodies += n
	return err
}

// expireBlocks removes the bodies of a workspace's entries whose ID is less than before from their blocks in SQLite.
func (s *Store) expireBlocks(ctx context.Context, workspace, before string, total *Expired) error {
	for {
		var blocks, entries int
		if err := s.db.InTx(ctx, func(tx *sql.Tx) (err error) {
			blocks, entries, err = s.expireSome(ctx, tx, workspace, before)
			return err
		}); err != nil {
			return err
		}
		total.Bodies += int64(entries)
		if blocks < expireBlockCount {
			return nil
		}
	}
}

// markExpired removes the previews of entries and marks their bodies as expired.
const markExpired = `update requests set preview = '', body_state = case body_state when 'stored' then 'expired' else body_state end where workspace_id = $1 and id in (%s)`

// deleteEntries deletes entries with everything that belongs to them except their ledger rows.
func (s *Store) deleteEntries(ctx context.Context, tx *sql.Tx, workspace string, ids []string) error {
	if err := proofstore.DeleteOf(ctx, tx, workspace, ids); err != nil {
		return err
	}
	if err := feedbackstore.DeleteOf(ctx, tx, workspace, ids); err != nil {
		return err
	}
	if err := s.deleteTags(ctx, tx, workspace, ids); err != nil {
		return err
	}
	var err error
	if s.db.Dialect() == sqldb.SQLite {
		err = s.blocks.remove(ctx, tx, workspace, ids)
	} else {
		err = forIDs(ctx, tx, workspace, ids,
			`delete from bodies where workspace_id = $1 and request_id in (%s)`,
			`delete from details where workspace_id = $1 and request_id in (%s)`)
	}
	if err != nil {
		return err
	}
	sessions, err := s.sessions.SessionsOf(ctx, tx, workspace, ids)
	if err != nil {
		return err
	}
	if err := forIDs(ctx, tx, workspace, ids, `delete from requests where workspace_id = $1 and id in (%s)`); err != nil {
		return err
	}
	return s.sessions.DeleteEmpty(ctx, tx, workspace, sessions)
}

func forIDs(ctx context.Context, tx *sql.Tx, workspace string, ids []string, statements ...string) error {
	if len(ids) == 0 {
		return nil
	}
	args := append([]any{workspace}, sqldb.Args(ids)...)
	for _, q := range statements {
		if _, err := tx.ExecContext(ctx, fmt.Sprintf(q, sqldb.Placeholders(2, len(ids))), args...); err != nil {
			return err
		}
	}
	return nil
}

// DeleteEntries deletes the entries that a filter selects and returns their number. A dry run only counts them. The ledger and the roll-ups
// stay, with two exceptions: deleting all simulated entries also deletes their figures, and end users, sessions and tags without a
// remaining entry are removed from the report.
func (s *Store) DeleteEntries(ctx context.Context, f requestlog.Filter, dryRun bool) (int64, error) {
	if err := requestlog.RejectText(&f); err != nil {
		return 0, err
	}
	if dryRun {
		w := s.query().Where(&f, idBounds{})
		var n int64
		if err := s.db.QueryRow(ctx, `select count(*) from requests r where `+w.String(), w.Args...).Scan(&n); err != nil {
			return 0, fmt.Errorf("count entries to delete: %w", err)
		}
		return n, nil
	}
	values := reportstore.Values{}
	n, err := s.db.InBatches(ctx, func(tx *sql.Tx) (int, error) {
		q, args := s.query().Listing(&f, idBounds{}, sqldb.DeleteBatch)
		ids, err := sqldb.Column[string](ctx, tx, q, args...)
		if err != nil {
			return 0, err
		}
		if err := s.valuesOf(ctx, tx, f.WorkspaceID, ids, values); err != nil {
			return 0, err
		}
		if err := messagestore.MarkForSweep(ctx, tx, f.WorkspaceID, ids); err != nil {
			return 0, err
		}
		return len(ids), s.deleteEntries(ctx, tx, f.WorkspaceID, ids)
	})
	if err == nil {
		err = s.messages.Sweep(ctx, f.WorkspaceID)
	}
	if err == nil && f.Simulated != nil && *f.Simulated && f.Conditions() == 1 {
		err = errors.Join(s.figures.DeleteSimulated(ctx, f.WorkspaceID), s.reports.DeleteSimulated(ctx, f.WorkspaceID))
	}
	if err == nil {
		err = s.forget(ctx, f.WorkspaceID, values)
	}
	if err != nil {
		return n, fmt.Errorf("delete entries: %w", err)
	}
	_ = s.db.Shrink(ctx) // the next Expire shrinks the database if this fails
	return n, nil
}

// valuesOf adds the end users, sessions and tags of the given entries to the values in into.
func (s *Store) valuesOf(ctx context.Context, tx *sql.Tx, workspace string, ids []string, into reportstore.Values) error {
	if len(ids) == 0 {
		return nil
	}
	q := `select end_user, session from requests where workspace_id = $1 and id in (` + sqldb.Placeholders(2, len(ids)) + `)`
	rows, err := tx.QueryContext(ctx, q, append([]any{workspace}, sqldb.Args(ids)...)...) //nolint:rowserrcheck // sqldb.Each checks rows.Err
	if err := sqldb.Each(rows, err, func(row sqldb.Scanner) error {
		var user, session string
		err := row.Scan(&user, &session)
		into.Add(report.User, user)
		into.Add(report.Session, session)
		return err
	}); err != nil {
		return err
	}
	return s.details.each(ctx, tx.QueryContext, detailParts{}, workspace, ids, func(d detail) error {
		var tagged struct {
			Tags map[string]string `json:"tags"`
		}
		if err := json.Unmarshal(d.summary, &tagged); err != nil {
			return err
		}
		for name, value := range tagged.Tags {
			into.Add(report.Tag(requestlog.Term(name)), requestlog.Term(value))
		}
		return nil
	})
}

// forget removes the given values from the report roll-ups, except values that a remaining entry has.
func (s *Store) forget(ctx context.Context, workspace string, values reportstore.Values) error {
	for d, some := range values {
		q, prefix := `select 1 from tags where workspace_id = $1 and tag = $2 limit 1`, ""
		if name, ok := d.Tag(); ok {
			prefix = name + "="
		} else {
			q = `select 1 from requests where workspace_id = $1 and ` + map[report.Dimension]string{report.User: "end_user", report.Session: "session"}[d] + ` = $2 limit 1`
		}
		for value := range some {
			var one int
			err := s.db.QueryRow(ctx, q, workspace, requestlog.Term(prefix+value)).Scan(&one)
			if err == nil {
				delete(some, value)
			} else if !sqldb.IsNotFound(err) {
				return err
			}
		}
		if len(some) == 0 {
			delete(values, d)
		}
	}
	return s.reports.Forget(ctx, workspace, values)
}

// deleteTags deletes the tags of entries. The table has no index by request, so the tags are read from the summaries.
func (s *Store) deleteTags(ctx context.Context, tx *sql.Tx, workspace string, ids []string) error {
	tagged := map[string][]string{}
	if err := s.details.each(ctx, tx.QueryContext, detailParts{}, workspace, ids, func(d detail) error {
		var e requestlog.Entry
		if err := json.Unmarshal(d.summary, &struct {
			Tags *map[string]string `json:"tags"`
		}{&e.Tags}); err != nil {
			return err
		}
		for _, term := range e.TagTerms() {
			tagged[term] = append(tagged[term], d.id)
		}
		return nil
	}); err != nil {
		return fmt.Errorf("read entry tags: %w", err)
	}
	for tag, some := range tagged {
		q := fmt.Sprintf(`delete from tags where workspace_id = $1 and tag = $2 and request_id in (%s)`, sqldb.Placeholders(3, len(some)))
		if _, err := tx.ExecContext(ctx, q, append([]any{workspace, tag}, sqldb.Args(some)...)...); err != nil {
			return err
		}
	}
	return nil
}
