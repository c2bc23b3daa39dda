// Package configstore stores policies, connected providers with their credentials, model lists, and the archived versions of the data that
// decisions were made with.
package configstore

import (
	"context"
	"database/sql"
	"fmt"

	"fairlead.dev/internal/policystore"
	"fairlead.dev/internal/store/entryblock"
	"fairlead.dev/internal/store/sqldb"
)

// Store implements policystore.Storage, vault.Store, providerset.ConnectedStore, replay.Archive and replay.Keeper.
type Store struct {
	db    *sqldb.DB
	codec *entryblock.Codec
}

// New returns a store that uses db.
func New(db *sqldb.DB) *Store { return &Store{db: db, codec: entryblock.NewCodec()} }

// Revisions implements policystore.Storage.
func (s *Store) Revisions(ctx context.Context) (map[string]int64, error) { return s.db.Revisions(ctx) }

const policyColumns = `p.number, p.hash, p.source, p.note, p.created_by, p.created_at`

func scanPolicies(row sqldb.Scanner, more ...any) (policystore.Version, error) {
	var v policystore.Version
	var created int64
	err := row.Scan(append([]any{&v.Number, &v.Hash, &v.Source, &v.Note, &v.CreatedBy, &created}, more...)...)
	v.CreatedAt = sqldb.FromMillis(created)
	return v, err
}

// ChangedPolicies calls visit with the newest policy version of every workspace whose policies changed after the
// revision.
func (s *Store) ChangedPolicies(ctx context.Context, after int64, visit func(workspaceID string, v policystore.Version) error) error {
	const q = `select ` + policyColumns + `, p.workspace_id from policy_versions p where p.revision > $1
		and p.number = (select max(n.number) from policy_versions n where n.workspace_id = p.workspace_id) order by p.revision`
	rows, err := s.db.Query(ctx, q, after)
	if err != nil {
		return fmt.Errorf("read changed policies: %w", err)
	}
	defer func() { _ = rows.Close() }() // rows.Err reports the read error
	for rows.Next() {
		var workspaceID string
		v, err := scanPolicies(rows, &workspaceID)
		if err != nil {
			return fmt.Errorf("read changed policies: %w", err)
		}
		if err := visit(workspaceID, v); err != nil {
			return err
		}
	}
	return rows.Err()
}

// AddPolicies adds the next version of a workspace's policies. It returns policystore.ErrConflict when basedOn is not the newest
// version.
func (s *Store) AddPolicies(ctx context.Context, workspaceID string, basedOn int64, draft policystore.Version) (policystore.Version, error) {
	err := s.db.InTx(ctx, func(tx *sql.Tx) error {
		revision, err := sqldb.NextRevision(ctx, tx, policystore.Topic)
		if err != nil {
			return err
		}
		var newest int64
		if err := tx.QueryRowContext(ctx, `select coalesce(max(number), 0) from policy_versions where workspace_id = $1`, workspaceID).Scan(&newest); err != nil {
			return err
		}
		if newest != basedOn {
			return policystore.ErrConflict
		}
		draft.Number = newest + 1
		const q = `insert into policy_versions (workspace_id, number, hash, source, note, created_by, created_at, revision)
			values ($1, $2, $3, $4, $5, $6, $7, $8)`
		_, err = tx.ExecContext(ctx, q, workspaceID, draft.Number, draft.Hash, draft.Source, draft.Note, draft.CreatedBy, sqldb.Millis(draft.CreatedAt), revision)
		return err
	})
	if err != nil {
		return policystore.Version{}, fmt.Errorf("save policies: %w", err)
	}
	draft.CreatedAt = sqldb.FromMillis(sqldb.Millis(draft.CreatedAt)) // the returned time has the precision of the stored time
	return draft, nil
}

// PolicyVersions lists the versions of a workspace, newest first, without their text.
func (s *Store) PolicyVersions(ctx context.Context, workspaceID string) ([]policystore.Version, error) {
	ctx, cancel := s.db.Bounded(ctx)
	defer cancel()
	const q = `select p.number, p.hash, '', p.note, p.created_by, p.created_at from policy_versions p
		where p.workspace_id = $1 order by p.number desc`
	rows, err := s.db.Query(ctx, q, workspaceID)
	all, err := sqldb.Collect(rows, err, func(row sqldb.Scanner) (policystore.Version, error) { return scanPolicies(row) })
	if err != nil {
		return nil, fmt.Errorf("list policy versions: %w", err)
	}
	return all, nil
}

// PolicyVersion returns one version (the newest for number 0), or policystore.ErrNotFound.
func (s *Store) PolicyVersion(ctx context.Context, workspaceID string, number int64) (policystore.Version, error) {
	ctx, cancel := s.db.Bounded(ctx)
	defer cancel()
	const q = `select ` + policyColumns + ` from policy_versions p
		where p.workspace_id = $1 and ($2 = 0 or p.number = $2) order by p.number desc limit 1`
	v, err := scanPolicies(s.db.QueryRow(ctx, q, workspaceID, number))
	if sqldb.IsNotFound(err) {
		return v, policystore.ErrNotFound
	}
	if err != nil {
		return v, fmt.Errorf("read policy version %d: %w", number, err)
	}
	return v, nil
}
