// Package proofstore stores the comparisons of routed responses with a baseline model, and the bias of judges.
package proofstore

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"fairlead.dev/internal/judge"
	"fairlead.dev/internal/money"
	"fairlead.dev/internal/proof"
	"fairlead.dev/internal/requestlog"
	"fairlead.dev/internal/store/sqldb"
)

// Store stores comparisons in db.
type Store struct {
	db       *sqldb.DB
	insert   *sqldb.Inserter
	charge   *sqldb.Inserter
	saveBias *sqldb.Inserter
}

// New returns a store that uses db.
func New(db *sqldb.DB) *Store {
	text, number, decimal := sqldb.TextFields, sqldb.NumberFields, sqldb.RealFields
	return &Store{
		db: db,
		insert: sqldb.NewInserter("comparisons", slices.Concat(
			text("workspace_id", "request_id", "shadow_id"), number("at"), text("key_id", "task", "model", "baseline"), number("holdout"),
			text("state"), decimal("difference", "propensity"), text("method", "reason"), number("cost"), text("versions", "entry", "response"),
		), sqldb.KeepExisting),
		charge: sqldb.NewInserter("subject_charges", slices.Concat(text("subject"), number("at"), text("request_id"), number("amount")), sqldb.KeepExisting),
		saveBias: sqldb.NewInserter("judge_biases", slices.Concat(text("workspace_id", "judge", "prompt"), number("at"), text("bias")),
			"on conflict (workspace_id, judge, prompt) do update set at = excluded.at, bias = excluded.bias"),
	}
}

// Save stores a record. It does not replace an earlier record of the same request.
func (s *Store) Save(ctx context.Context, r *proof.Record) error {
	row := []any{
		r.Workspace, r.Request, r.Shadow, sqldb.Millis(r.At), r.Key, r.Task, r.Model, r.Baseline, sqldb.Flag(r.Holdout),
		string(r.State), r.Difference, r.Propensity, r.Method, r.Reason, int64(r.Cost), r.Versions, r.Entry, r.Response,
	}
	if err := s.write(ctx, s.insert, row); err != nil {
		return fmt.Errorf("save comparison of %s: %w", r.Request, err)
	}
	return nil
}

// Charge stores the cost of a call. Charging the same call again has no effect.
func (s *Store) Charge(ctx context.Context, c proof.Charge) error {
	if err := s.write(ctx, s.charge, []any{c.Budget, sqldb.Millis(c.At), c.ID, int64(c.Amount)}); err != nil {
		return fmt.Errorf("save comparison charge to %s: %w", c.Budget, err)
	}
	return nil
}

func (s *Store) write(ctx context.Context, in *sqldb.Inserter, row []any) error {
	return s.db.InTx(ctx, func(tx *sql.Tx) error {
		_, err := s.db.Insert(ctx, tx, in, [][]any{row})
		return err
	})
}

const recordColumns = `select request_id, shadow_id, at, key_id, task, model, baseline, holdout, state, difference, propensity, method, reason,
	cost, versions, entry, response from comparisons `

func scanRecord(row sqldb.Scanner) (proof.Record, error) {
	var r proof.Record
	var at, holdout int64
	err := row.Scan(&r.Request, &r.Shadow, &at, &r.Key, &r.Task, &r.Model, &r.Baseline, &holdout, &r.State, &r.Difference, &r.Propensity,
		&r.Method, &r.Reason, &r.Cost, &r.Versions, &r.Entry, &r.Response)
	r.At, r.Holdout = sqldb.FromMillis(at), holdout != 0
	return r, err
}

// Samples returns the comparisons that have a verdict, for requests served in the period [from, to), oldest first.
func (s *Store) Samples(ctx context.Context, workspace string, from, to time.Time) ([]proof.Sample, error) {
	ctx, cancel := s.db.Bounded(ctx)
	defer cancel()
	const q = `select request_id, shadow_id, at, key_id, task, model, baseline, difference, propensity, method, reason from comparisons
		where workspace_id = $1 and at >= $2 and at < $3 and state = 'compared' order by at, request_id`
	rows, err := s.db.Query(ctx, q, workspace, sqldb.Millis(from), sqldb.Millis(to))
	samples, err := sqldb.Collect(rows, err, func(row sqldb.Scanner) (proof.Sample, error) {
		var p proof.Sample
		var at int64
		err := row.Scan(&p.Request, &p.Shadow, &at, &p.Key, &p.Task, &p.Model, &p.Baseline, &p.Difference, &p.Propensity, &p.Method, &p.Reason)
		p.At = sqldb.FromMillis(at)
		return p, err
	})
	if err != nil {
		return nil, fmt.Errorf("read comparisons: %w", err)
	}
	return samples, nil
}

// ComparisonCost implements statement.Costs.
func (s *Store) ComparisonCost(ctx context.Context, workspace string, from, to time.Time) (money.Amount, error) {
	ctx, cancel := s.db.Bounded(ctx)
	defer cancel()
	const q = `select cast(coalesce(sum(cost), 0) as bigint) from comparisons where workspace_id = $1 and at >= $2 and at < $3`
	var cost money.Amount
	err := s.db.QueryRow(ctx, q, workspace, sqldb.Millis(from), sqldb.Millis(to)).Scan(&cost)
	if err != nil {
		return 0, fmt.Errorf("sum the costs of comparisons: %w", err)
	}
	return cost, nil
}

// Records returns up to limit comparison records for requests served in the period [from, to), newest first.
func (s *Store) Records(ctx context.Context, workspace string, from, to time.Time, limit int) ([]proof.Record, error) {
	ctx, cancel := s.db.Bounded(ctx)
	defer cancel()
	rows, err := s.db.Query(ctx, recordColumns+`where workspace_id = $1 and at >= $2 and at < $3 order by at desc, request_id desc limit $4`,
		workspace, sqldb.Millis(from), sqldb.Millis(to), limit)
	records, err := sqldb.Collect(rows, err, scanRecord)
	if err != nil {
		return nil, fmt.Errorf("read comparisons: %w", err)
	}
	for i := range records {
		records[i].Workspace = workspace
	}
	return records, nil
}

// Record returns the record of a request. ok is false if the request was not chosen for comparison.
func (s *Store) Record(ctx context.Context, workspace, request string) (r proof.Record, ok bool, err error) {
	ctx, cancel := s.db.Bounded(ctx)
	defer cancel()
	rows, err := s.db.Query(ctx, recordColumns+`where workspace_id = $1 and request_id = $2 limit 1`, workspace, request)
	records, err := sqldb.Collect(rows, err, scanRecord)
	if err != nil {
		return r, false, fmt.Errorf("read comparison of %s: %w", request, err)
	}
	if len(records) == 0 {
		return r, false, nil
	}
	r = records[0]
	r.Workspace = workspace
	return r, true, nil
}

// Tally counts the comparison records by state and sums their costs, for requests served at or after the given time.
func (s *Store) Tally(ctx context.Context, workspace string, from time.Time) (proof.Tally, error) {
	ctx, cancel := s.db.Bounded(ctx)
	defer cancel()
	var t proof.Tally
	const q = `select state, count(*), cast(coalesce(sum(cost), 0) as bigint) from comparisons
		where workspace_id = $1 and at >= $2 group by state order by state`
	rows, err := s.db.Query(ctx, q, workspace, sqldb.Millis(from)) //nolint:rowserrcheck // sqldb.Each checks rows.Err
	err = sqldb.Each(rows, err, func(row sqldb.Scanner) error {
		var state proof.State
		var n int64
		var cost money.Amount
		if err := row.Scan(&state, &n, &cost); err != nil {
			return err
		}
		t.Cost = t.Cost.Add(cost)
		switch state {
		case proof.Compared:
			t.Compared = n
		case proof.Unjudged:
			t.Unjudged = n
		case proof.Failed:
			t.Failed = n
		}
		return nil
	})
	if err != nil {
		return t, fmt.Errorf("count comparisons: %w", err)
	}
	return t, nil
}

// Bias returns the measured bias of a judge and when it was measured. It reports false for a judge that was not measured with this version
// of the prompt.
func (s *Store) Bias(ctx context.Context, workspace, model, prompt string) (b judge.Bias, at time.Time, ok bool, err error) {
	var millis int64
	var text string
	err = s.db.QueryRow(ctx, `select at, bias from judge_biases where workspace_id = $1 and judge = $2 and prompt = $3`, workspace, model, prompt).Scan(&millis, &text)
	if sqldb.IsNotFound(err) {
		return b, at, false, nil
	}
	if err == nil {
		err = json.Unmarshal([]byte(text), &b)
	}
	if err != nil {
		return b, at, false, fmt.Errorf("read the bias of %s: %w", model, err)
	}
	return b, sqldb.FromMillis(millis), true, nil
}

// SaveBias stores the measured bias of a judge.
func (s *Store) SaveBias(ctx context.Context, workspace, model, prompt string, b judge.Bias, at time.Time) error {
	text, err := json.Marshal(b)
	if err == nil {
		err = s.write(ctx, s.saveBias, []any{workspace, model, prompt, sqldb.Millis(at), string(text)})
	}
	if err != nil {
		return fmt.Errorf("save the bias of %s: %w", model, err)
	}
	return nil
}

// DeleteOf deletes the comparisons of requests, in the transaction that deletes the requests.
func DeleteOf(ctx context.Context, tx *sql.Tx, workspace string, ids []string) error {
	if len(ids) == 0 {
		return nil
	}
	q := fmt.Sprintf(`delete from comparisons where workspace_id = $1 and request_id in (%s)`, sqldb.Placeholders(2, len(ids)))
	_, err := tx.ExecContext(ctx, q, append([]any{workspace}, sqldb.Args(ids)...)...)
	return err
}

// Expire deletes comparisons whose requests are older than the workspace's retention of entries, and the text of comparisons that are older
// than its retention of bodies. A retention of 0 is unlimited.
func (s *Store) Expire(ctx context.Context, now time.Time, retention func(workspace string) (entries, bodies time.Duration)) error {
	for workspace := ""; ; {
		var next sql.NullString
		if err := s.db.QueryRow(ctx, `select min(workspace_id) from comparisons where workspace_id > $1`, workspace).Scan(&next); err != nil {
			return err
		}
		if workspace = next.String; workspace == "" {
			return nil
		}
		entries, bodies := retention(workspace)
		if entries > 0 {
			if _, err := s.db.InBatches(ctx, func(tx *sql.Tx) (int, error) {
				const q = `select request_id from comparisons where workspace_id = $1 and request_id < $2 order by request_id limit $3`
				ids, err := sqldb.Column[string](ctx, tx, q, workspace, requestlog.FloorID(now.Add(-entries)), sqldb.DeleteBatch)
				if err != nil {
					return 0, err
				}
				return len(ids), DeleteOf(ctx, tx, workspace, ids)
			}); err != nil {
				return err
			}
		}
		if bodies > 0 {
			// A failed comparison has no response, but its reason may contain the provider's message.
			const q = `update comparisons set response = '', reason = '' where workspace_id = $1 and at < $2 and (response <> '' or reason <> '')`
			if _, err := s.db.Exec(ctx, q, workspace, sqldb.Millis(now.Add(-bodies))); err != nil {
				return err
			}
		}
	}
}
