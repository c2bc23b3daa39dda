package accountstore

import (
	"context"
	"database/sql"
	"fmt"

	"fairlead.dev/internal/account"
	"fairlead.dev/internal/account/keyring"
	"fairlead.dev/internal/store/sqldb"
)

// ChangedKeys calls visit for every key that changed after the revision. It has no timeout of its own, because the
// first read of a large number of keys can take a long time.
func (s *Store) ChangedKeys(ctx context.Context, after int64, visit func(*account.Key) error) error {
	rows, err := s.db.Query(ctx, keyRows+`where k.revision > $1 order by k.revision, k.id, s.position`, after)
	if err != nil {
		return err
	}
	return visitKeys(rows, visit)
}

// ChangedWorkspaces calls visit for every workspace that changed after the revision.
func (s *Store) ChangedWorkspaces(ctx context.Context, after int64, visit func(*account.Workspace) error) error {
	rows, err := s.db.Query(ctx, `select `+workspaceColumns+` from workspaces w where w.revision > $1`, after)
	if err != nil {
		return err
	}
	defer func() { _ = rows.Close() }() // rows.Err returns the error
	for rows.Next() {
		w, err := scanWorkspace(rows)
		if err != nil {
			return err
		}
		if err := visit(&w); err != nil {
			return err
		}
	}
	return rows.Err()
}

// RecordUses records the last uses of keys. Only the first use of a secret increments the revision.
func (s *Store) RecordUses(ctx context.Context, uses []keyring.KeyUse) error {
	err := s.db.InTx(ctx, func(tx *sql.Tx) error {
		if err := recordFirstUses(ctx, tx, uses); err != nil {
			return err
		}
		const q = `update keys set last_used_at = $2, last_used_by = $3 where id = $1 and last_used_at < $2`
		for _, use := range uses {
			if use.At.IsZero() {
				continue
			}
			if _, err := tx.ExecContext(ctx, q, use.KeyID, sqldb.Millis(use.At), use.Client); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("record %d key uses: %w", len(uses), err)
	}
	return nil
}

func recordFirstUses(ctx context.Context, tx *sql.Tx, uses []keyring.KeyUse) error {
	var revision int64
	for _, use := range uses {
		for _, first := range use.First {
			if revision == 0 {
				var err error
				if revision, err = sqldb.NextRevision(ctx, tx, "keys"); err != nil {
					return err
				}
			}
			const earliest = `update key_secrets set used_at = $2 where hash = $1 and (used_at = 0 or used_at > $2)`
			if _, err := tx.ExecContext(ctx, earliest, first.Hash, sqldb.Millis(first.At)); err != nil {
				return err
			}
			if _, err := tx.ExecContext(ctx, `update keys set revision = $2 where id = $1`, use.KeyID, revision); err != nil {
				return err
			}
		}
	}
	return nil
}
