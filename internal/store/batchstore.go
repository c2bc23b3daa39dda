package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"time"

	"fairlead.dev/internal/batch"
	"fairlead.dev/internal/store/sqldb"
)

// Batches stores objects in db.
type Batches struct{ db *sqldb.DB }

var (
	_ batch.Store  = (*Batches)(nil)
	_ batch.Owners = (*Batches)(nil)
)

// newBatches returns a store that uses db.
func newBatches(db *sqldb.DB) *Batches { return &Batches{db: db} }

const objectColumns = `kind, id, key_id, provider, credential, uses, data, settled, created_at`

// settledObjects marks a batch whose entries have been written. Before the settlement the column is 0, and during the settlement it contains
// the start time in Unix milliseconds.
const settledObjects = 1

// AddObject implements batch.Batches.
func (s *Batches) AddObject(ctx context.Context, o batch.Object) error {
	uses, err := json.Marshal(o.Uses)
	if err == nil {
		_, err = s.db.Exec(ctx, `insert into provider_objects (workspace_id, `+objectColumns+`)
			values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10) on conflict (workspace_id, kind, id) do nothing`,
			o.WorkspaceID, string(o.Kind), o.ID, o.KeyID, o.Provider, o.Credential, string(uses), string(o.Data), sqldb.Flag(o.Settled), sqldb.Millis(o.CreatedAt))
	}
	if err != nil {
		return fmt.Errorf("add %s: %w", o.Kind, err)
	}
	return nil
}

// Object implements batch.Batches.
func (s *Batches) Object(ctx context.Context, workspaceID string, kind batch.Kind, id string) (batch.Object, error) {
	ctx, cancel := s.db.Bounded(ctx)
	defer cancel()
	o, err := scanObject(workspaceID, s.db.QueryRow(ctx, `select `+objectColumns+` from provider_objects where workspace_id = $1 and kind = $2 and id = $3`, workspaceID, string(kind), id))
	if errors.Is(err, sql.ErrNoRows) {
		return o, batch.ErrNotFound
	}
	if err != nil {
		return o, fmt.Errorf("read %s: %w", kind, err)
	}
	return o, nil
}

// FileOwners implements batch.Owners.
func (s *Batches) FileOwners(ctx context.Context, ids []string) ([]batch.Owner, error) {
	if len(ids) == 0 {
		return nil, nil
	}
	args := make([]any, 0, len(ids)+1)
	for _, id := range ids {
		args = append(args, id)
	}
	ctx, cancel := s.db.Bounded(ctx)
	defer cancel()
	q := `select workspace_id, id, provider, credential from provider_objects where id in (` + sqldb.Placeholders(1, len(ids)) + `) and kind = $` + strconv.Itoa(len(ids)+1)
	rows, err := s.db.Query(ctx, q, append(args, string(batch.File))...)
	list, err := sqldb.Collect(rows, err, func(row sqldb.Scanner) (o batch.Owner, err error) {
		err = row.Scan(&o.WorkspaceID, &o.ID, &o.Provider, &o.Credential)
		return o, err
	})
	if err != nil {
		return nil, fmt.Errorf("read owners of files: %w", err)
	}
	return list, nil
}

// Objects implements batch.Batches.
func (s *Batches) Objects(ctx context.Context, workspaceID string, kind batch.Kind, after string, limit int) ([]batch.Object, error) {
	q, args := `select `+objectColumns+` from provider_objects where workspace_id = $1 and kind = $2`, []any{workspaceID, string(kind), limit}
	if after != "" {
		last, err := s.Object(ctx, workspaceID, kind, after)
		if err != nil {
			return nil, err
		}
		q += ` and (created_at, id) < ($4, $5)`
		args = append(args, sqldb.Millis(last.CreatedAt), last.ID)
	}
	ctx, cancel := s.db.Bounded(ctx)
	defer cancel()
	rows, err := s.db.Query(ctx, q+` order by created_at desc, id desc limit $3`, args...)
	list, err := sqldb.Collect(rows, err, func(row sqldb.Scanner) (batch.Object, error) { return scanObject(workspaceID, row) })
	if err != nil {
		return nil, fmt.Errorf("list %ss: %w", kind, err)
	}
	return list, nil
}

// UnsettledBatches implements batch.Batches.
func (s *Batches) UnsettledBatches(ctx context.Context) ([]batch.Object, error) {
	ctx, cancel := s.db.Bounded(ctx)
	defer cancel()
	rows, err := s.db.Query(ctx, `select `+objectColumns+`, workspace_id from provider_objects where kind = $1 and settled <> $2 order by created_at, id`, string(batch.Batch), settledObjects)
	list, err := sqldb.Collect(rows, err, func(row sqldb.Scanner) (o batch.Object, err error) {
		workspace := ""
		o, err = scanObject("", row, &workspace)
		o.WorkspaceID = workspace
		return o, err
	})
	if err != nil {
		return nil, fmt.Errorf("list unsettled batches: %w", err)
	}
	return list, nil
}

func scanObject(workspaceID string, row sqldb.Scanner, more ...any) (batch.Object, error) {
	o := batch.Object{WorkspaceID: workspaceID}
	var uses, data string
	var step, created int64
	if err := row.Scan(append([]any{&o.Kind, &o.ID, &o.KeyID, &o.Provider, &o.Credential, &uses, &data, &step, &created}, more...)...); err != nil {
		return o, err
	}
	o.Data, o.Settled, o.CreatedAt = []byte(data), step == settledObjects, sqldb.FromMillis(created)
	return o, json.Unmarshal([]byte(uses), &o.Uses)
}

// SaveObject implements batch.Batches.
func (s *Batches) SaveObject(ctx context.Context, o batch.Object) error {
	_, err := s.db.Exec(ctx, `update provider_objects set data = $4 where workspace_id = $1 and kind = $2 and id = $3`,
		o.WorkspaceID, string(o.Kind), o.ID, string(o.Data))
	if err != nil {
		return fmt.Errorf("save %s: %w", o.Kind, err)
	}
	return nil
}

// RemoveObject implements batch.Batches.
func (s *Batches) RemoveObject(ctx context.Context, o batch.Object) error {
	if _, err := s.db.Exec(ctx, `delete from provider_objects where workspace_id = $1 and kind = $2 and id = $3`, o.WorkspaceID, string(o.Kind), o.ID); err != nil {
		return fmt.Errorf("remove %s: %w", o.Kind, err)
	}
	return nil
}

// SettleObject implements batch.Batches.
func (s *Batches) SettleObject(ctx context.Context, o batch.Object, at time.Time) (began time.Time, first bool, err error) {
	q, step := `update provider_objects set settled = $4 where workspace_id = $1 and kind = $2 and id = $3 and settled <> $4`, int64(settledObjects)
	if !at.IsZero() {
		q, step = `update provider_objects set settled = case when settled = 0 then $4 else settled end
			where workspace_id = $1 and kind = $2 and id = $3 and settled <> 1`, sqldb.Millis(at)
	}
	var stored int64
	err = s.db.InTx(ctx, func(tx *sql.Tx) error {
		return tx.QueryRowContext(ctx, q+` returning settled`, o.WorkspaceID, string(o.Kind), o.ID, step).Scan(&stored)
	})
	switch {
	case errors.Is(err, sql.ErrNoRows): // the batch was settledObjects before, or was removed
		return time.Time{}, false, nil
	case err != nil:
		return time.Time{}, false, fmt.Errorf("settle %s: %w", o.Kind, err)
	case stored == settledObjects:
		return time.Time{}, true, nil
	}
	return sqldb.FromMillis(stored), true, nil
}
