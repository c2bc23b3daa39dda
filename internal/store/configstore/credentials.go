package configstore

import (
	"context"
	"database/sql"

	"fairlead.dev/internal/store/sqldb"
	"fairlead.dev/internal/vault"
)

// SaveCredential stores an encrypted credential.
func (s *Store) SaveCredential(ctx context.Context, c vault.Credential) error {
	return s.db.InTx(ctx, func(tx *sql.Tx) error {
		if _, err := sqldb.NextRevision(ctx, tx, "credentials"); err != nil {
			return err
		}
		const q = `insert into credentials (id, provider, sealed, hint, created_by, created_at) values ($1, $2, $3, $4, $5, $6)`
		_, err := tx.ExecContext(ctx, q, c.ID, c.Provider, c.Sealed, c.Hint, c.CreatedBy, sqldb.Millis(c.CreatedAt))
		return err
	})
}

// ReplaceCredential replaces the secret of a credential, or returns vault.ErrNotFound.
func (s *Store) ReplaceCredential(ctx context.Context, c vault.Credential) error {
	return s.db.InTx(ctx, func(tx *sql.Tx) error {
		if _, err := sqldb.NextRevision(ctx, tx, "credentials"); err != nil {
			return err
		}
		const q = `update credentials set sealed = $3, hint = $4, created_by = $5, created_at = $6 where provider = $1 and id = $2`
		res, err := tx.ExecContext(ctx, q, c.Provider, c.ID, c.Sealed, c.Hint, c.CreatedBy, sqldb.Millis(c.CreatedAt))
		if sqldb.IsNotFound(err) {
			return vault.ErrNotFound
		}
		if err != nil {
			return err
		}
		return orNone(res, vault.ErrNotFound)
	})
}

// Credentials lists all encrypted credentials, oldest first.
func (s *Store) Credentials(ctx context.Context) ([]vault.Credential, error) {
	rows, err := s.db.Query(ctx, `select id, provider, sealed, hint, created_by, created_at from credentials order by created_at, id`)
	return sqldb.Collect(rows, err, func(row sqldb.Scanner) (vault.Credential, error) {
		var c vault.Credential
		var created int64
		err := row.Scan(&c.ID, &c.Provider, &c.Sealed, &c.Hint, &c.CreatedBy, &created)
		c.CreatedAt = sqldb.FromMillis(created)
		return c, err
	})
}

// DeleteCredential deletes a credential of the provider, or returns vault.ErrNotFound.
func (s *Store) DeleteCredential(ctx context.Context, provider, credentialID string) error {
	return s.db.InTx(ctx, func(tx *sql.Tx) error {
		if _, err := sqldb.NextRevision(ctx, tx, "credentials"); err != nil {
			return err
		}
		res, err := tx.ExecContext(ctx, `delete from credentials where provider = $1 and id = $2`, provider, credentialID)
		if sqldb.IsNotFound(err) {
			return vault.ErrNotFound
		}
		if err != nil {
			return err
		}
		return orNone(res, vault.ErrNotFound)
	})
}
