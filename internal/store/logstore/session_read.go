package logstore

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strings"
	"time"

	"fairlead.dev/internal/budget"
	"fairlead.dev/internal/money"
	"fairlead.dev/internal/requestlog"
	"fairlead.dev/internal/store/sqldb"
)

const (
	sessionsPerPage    = 50
	maxSessionsPerPage = 200
)

func sessionColumns() string {
	return "s.session, s.first_id, s.last_id, s.source, s.key_id, s.end_user, s.client, s.models, s.simulated, s." + strings.Join(sessionSums(), ", s.")
}

// Sessions implements requestlog.SessionReader.
func (s *SessionStore) Sessions(ctx context.Context, f requestlog.SessionFilter, p requestlog.SessionPage) ([]requestlog.Session, error) {
	ctx, cancel := s.db.Bounded(ctx)
	defer cancel()
	limit := p.Limit
	if limit <= 0 {
		limit = sessionsPerPage
	}
	w := sessionConditions(&f, p.Before)
	q := fmt.Sprintf(`select %s from log_sessions s where %s order by s.last_id desc limit %d`, sessionColumns(), w, min(limit, maxSessionsPerPage))
	found, err := s.read(ctx, f.WorkspaceID, q, w.Args)
	if err != nil {
		return nil, requestlog.WrapTimeout(ctx, fmt.Errorf("list sessions: %w", err))
	}
	return found, nil
}

func sessionConditions(f *requestlog.SessionFilter, before string) *sqldb.Where {
	w := &sqldb.Where{}
	w.And("s.workspace_id = %s", f.WorkspaceID)
	if !f.To.IsZero() {
		if to := requestlog.FloorID(f.To); before == "" || to < before {
			before = to
		}
	}
	if before != "" {
		w.And("s.last_id < %s", before)
	}
	after := f.After
	if !f.From.IsZero() {
		after = max(after, requestlog.FloorID(f.From))
	}
	if after != "" {
		w.And("s.last_id >= %s", after)
	}
	w.In("s.session", requestlog.Terms(f.ID))
	w.In("s.key_id", f.Key)
	if len(f.User) > 0 {
		w.In("s.end_user", requestlog.Terms(f.User))
		w.Conds = append(w.Conds, "s.end_user <> ''") // required to use the index, which omits sessions without an end user
	}
	if len(f.Model) > 0 {
		var served []string
		for _, m := range requestlog.Terms(f.Model) {
			served = append(served, "replace(s.models, "+w.Arg(packModels([]string{m}))+", '') <> s.models")
		}
		w.Conds = append(w.Conds, "("+strings.Join(served, " or ")+")")
	}
	if f.Source != "" {
		w.And("s.source = %s", f.Source)
	}
	if f.MinTurns > 1 {
		w.And("s.turns >= %s", f.MinTurns)
	}
	if f.Simulated != nil {
		w.And("s.simulated = %s", sqldb.Flag(*f.Simulated))
	}
	return w
}

// Session implements requestlog.SessionReader.
func (s *SessionStore) Session(ctx context.Context, workspaceID, id string) (requestlog.Session, error) {
	ctx, cancel := s.db.Bounded(ctx)
	defer cancel()
	q := `select ` + sessionColumns() + ` from log_sessions s where s.workspace_id = $1 and s.session = $2`
	found, err := s.read(ctx, workspaceID, q, []any{workspaceID, requestlog.Term(id)})
	if err != nil {
		return requestlog.Session{}, fmt.Errorf("read session: %w", err)
	}
	if len(found) == 0 {
		return requestlog.Session{}, requestlog.ErrNotFound
	}
	return found[0], nil
}

// read runs a query that selects sessionColumns, and adds the first prompt and the last model of each session.
func (s *SessionStore) read(ctx context.Context, workspace, q string, args []any) ([]requestlog.Session, error) {
	rows, err := s.db.Query(ctx, q, args...)
	found, err := sqldb.Collect(rows, err, func(row sqldb.Scanner) (requestlog.Session, error) {
		v := requestlog.Session{WorkspaceID: workspace}
		var models string
		var simulated, latency, overhead int64
		err := row.Scan(&v.ID, &v.FirstID, &v.LastID, &v.Source, &v.KeyID, &v.EndUser, &v.Client, &models, &simulated,
			&v.Turns, &v.Errors, &v.Rejected, &v.Unpriced, &v.Cost, &v.ComparedCost, &v.BaselineCost, &v.InputTokens, &v.CachedTokens, &v.OutputTokens, &latency, &overhead)
		v.Models, v.Simulated, v.Latency, v.Overhead = unpackModels(models), simulated == 1, time.Duration(latency), time.Duration(overhead)
		return v, err
	})
	if err != nil || len(found) == 0 {
		return found, err
	}
	byFirst, byLast := map[string]*requestlog.Session{}, map[string]*requestlog.Session{}
	var ids []string
	for i := range found {
		one := &found[i]
		byFirst[one.FirstID], byLast[one.LastID] = one, one
		ids = append(ids, one.FirstID, one.LastID)
	}
	ends, err := s.db.Query(ctx, `select id, preview, model from requests where workspace_id = $1 and id in (`+sqldb.Placeholders(2, len(ids))+`)`, append([]any{workspace}, sqldb.Args(ids)...)...) //nolint:rowserrcheck // sqldb.Each checks rows.Err
	return found, sqldb.Each(ends, err, func(row sqldb.Scanner) error {
		var id, preview, model string
		if err := row.Scan(&id, &preview, &model); err != nil {
			return err
		}
		if one := byFirst[id]; one != nil {
			one.Preview = preview
		}
		if one := byLast[id]; one != nil {
			one.LastModel = model
		}
		return nil
	})
}

// TurnNumber implements requestlog.SessionReader.
func (s *SessionStore) TurnNumber(ctx context.Context, workspaceID, id, requestID string) (int64, error) {
	ctx, cancel := s.db.Bounded(ctx)
	defer cancel()
	const q = `select (select count(*) from requests r where r.workspace_id = $1 and r.session = $2 and r.session <> '' and r.id <= $3),
		coalesce((select s.turns - (select count(*) from requests r where r.workspace_id = $1 and r.session = $2 and r.session <> '') from log_sessions s
			where s.workspace_id = $1 and s.session = $2 and not exists (select 1 from requests r where r.workspace_id = $1 and r.id = s.first_id)), 0)`
	var position, gone int64
	if err := s.db.QueryRow(ctx, q, workspaceID, requestlog.Term(id), requestID).Scan(&position, &gone); err != nil {
		return 0, requestlog.WrapTimeout(ctx, fmt.Errorf("read turn number: %w", err))
	}
	return position + max(gone, 0), nil
}

// Spent returns the amount charged to a session or an end user since the given time. It excludes the given requests, which the caller
// counts itself, whether or not they are stored yet.
func (s *SessionStore) Spent(ctx context.Context, subject string, since time.Time, except ...string) (money.Amount, error) {
	const sum = `select cast(coalesce(sum(amount), 0) as bigint) from subject_charges where subject = $1 and at >= $2`
	var spent money.Amount
	err := s.db.InSnapshot(ctx, func(tx *sql.Tx) error {
		args := []any{subject, sqldb.Millis(since)}
		if err := tx.QueryRowContext(ctx, sum, args...).Scan(&spent); err != nil {
			return err
		}
		for some := range slices.Chunk(except, 500) {
			var known money.Amount
			q := sum + ` and request_id in (` + sqldb.Placeholders(3, len(some)) + `)`
			if err := tx.QueryRowContext(ctx, q, slices.Concat(args, sqldb.Args(some))...).Scan(&known); err != nil {
				return err
			}
			spent = spent.Sub(known)
		}
		return nil
	})
	if err != nil {
		return 0, fmt.Errorf("read spending of %s: %w", subject, err)
	}
	return spent, nil
}

// SubjectCharges returns the charges of sessions and end users in intervals of the given length. The first interval begins at since.
func (s *SessionStore) SubjectCharges(ctx context.Context, subjects []string, since time.Time, step time.Duration) (map[string][]budget.Charge, error) {
	ctx, cancel := s.db.Bounded(ctx)
	defer cancel()
	list := map[string][]budget.Charge{}
	for some := range slices.Chunk(subjects, 500) {
		q := `select subject, cast($1 + ((at - $1) / $2) * $2 as bigint) as begins, cast(sum(amount) as bigint) from subject_charges
			where at >= $1 and subject in (` + sqldb.Placeholders(3, len(some)) + `) group by 1, 2 order by 1, 2`
		rows, err := s.db.Query(ctx, q, append([]any{max(since.UnixMilli(), 0), step.Milliseconds()}, sqldb.Args(some)...)...) //nolint:rowserrcheck // sqldb.Each checks rows.Err
		err = sqldb.Each(rows, err, func(row sqldb.Scanner) error {
			var subject string
			var at int64
			var amount money.Amount
			if err := row.Scan(&subject, &at, &amount); err != nil {
				return err
			}
			list[subject] = append(list[subject], budget.Charge{At: sqldb.FromMillis(at), Amount: amount})
			return nil
		})
		if err != nil {
			return nil, requestlog.WrapTimeout(ctx, fmt.Errorf("read charges of sessions: %w", err))
		}
	}
	return list, nil
}
