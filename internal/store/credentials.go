package store

import (
	"context"
	"database/sql"
	"errors"

	"fairlead/internal/account"
	"fairlead/internal/vault"
)

var _ vault.Store = (*DB)(nil)

// SaveCredential writes a sealed credential.
func (db *DB) SaveCredential(ctx context.Context, c vault.Credential) error {
	return db.InTx(ctx, func(tx *sql.Tx) error {
		if err := bump(ctx, tx, "credentials"); err != nil {
			return err
		}
		const q = `insert into credentials (id, provider, sealed, hint, created_by, created_at) values ($1, $2, $3, $4, $5, $6)`
		_, err := tx.ExecContext(ctx, q, c.ID, c.Provider, c.Sealed, c.Hint, c.CreatedBy, Millis(c.CreatedAt))
		return err
	})
}

// Credentials lists all sealed credentials, the oldest first.
func (db *DB) Credentials(ctx context.Context) ([]vault.Credential, error) {
	rows, err := db.Query(ctx, `select id, provider, sealed, hint, created_by, created_at from credentials order by created_at, id`)
	return collect(rows, err, func(row Scanner) (vault.Credential, error) {
		var c vault.Credential
		var created int64
		err := row.Scan(&c.ID, &c.Provider, &c.Sealed, &c.Hint, &c.CreatedBy, &created)
		c.CreatedAt = FromMillis(created)
		return c, err
	})
}

// DeleteCredential returns vault.ErrNotFound when the provider has no such credential.
func (db *DB) DeleteCredential(ctx context.Context, provider, credentialID string) error {
	err := db.InTx(ctx, func(tx *sql.Tx) error {
		if err := bump(ctx, tx, "credentials"); err != nil {
			return err
		}
		return affected(ctx, tx, `delete from credentials where provider = $1 and id = $2`, provider, credentialID)
	})
	if errors.Is(err, account.ErrNotFound) {
		return vault.ErrNotFound
	}
	return err
}
