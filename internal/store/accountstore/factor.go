package accountstore

import (
	"context"
	"database/sql"
	"errors"

	"fairlead.dev/internal/account"
	"fairlead.dev/internal/account/factor"
	"fairlead.dev/internal/store/sqldb"
)

// FactorOf implements factor.Store.
func (s *Store) FactorOf(ctx context.Context, accountID string) (factor.Factor, error) {
	const q = `select a.id, f.sealed, coalesce(f.confirmed_at, 0), coalesce(f.last_step, 0), coalesce(f.created_at, 0),
		(select count(*) from recovery_codes r where r.account_id = a.id), (select count(*) from passkeys p where p.account_id = a.id)
		from accounts a left join second_factors f on f.account_id = a.id where a.id = $1`
	var f factor.Factor
	var confirmed, created int64
	err := s.db.QueryRow(ctx, q, accountID).Scan(&f.AccountID, &f.Sealed, &confirmed, &f.LastStep, &created, &f.Recovery, &f.Passkeys)
	f.ConfirmedAt, f.CreatedAt = sqldb.FromMillis(confirmed), sqldb.FromMillis(created)
	return f, notFound(err)
}

// SaveFactor implements factor.Store.
func (s *Store) SaveFactor(ctx context.Context, f factor.Factor) error {
	return s.db.InTx(ctx, func(tx *sql.Tx) error {
		const q = `insert into second_factors (account_id, sealed, confirmed_at, last_step, created_at) values ($1, $2, 0, 0, $3)
			on conflict (account_id) do update set sealed = excluded.sealed, created_at = excluded.created_at where second_factors.confirmed_at = 0`
		return conflicting(affect(ctx, tx, q, f.AccountID, f.Sealed, sqldb.Millis(f.CreatedAt)))
	})
}

// conflicting converts the error of a statement that changed no row to account.ErrConflict.
func conflicting(err error) error {
	if errors.Is(err, account.ErrNotFound) {
		return account.ErrConflict
	}
	return err
}

// ConfirmFactor implements factor.Store.
func (s *Store) ConfirmFactor(ctx context.Context, f factor.Factor, recovery [][]byte, event account.AuditEvent) error {
	return s.db.InTx(ctx, func(tx *sql.Tx) error {
		const q = `update second_factors set confirmed_at = $3, last_step = $4 where account_id = $1 and sealed = $2 and confirmed_at = 0`
		if err := affect(ctx, tx, q, f.AccountID, f.Sealed, sqldb.Millis(f.ConfirmedAt), f.LastStep); err != nil {
			return conflicting(err)
		}
		if err := replaceRecovery(ctx, tx, f.AccountID, recovery); err != nil {
			return err
		}
		return writeAudit(ctx, tx, event)
	})
}

func replaceRecovery(ctx context.Context, tx *sql.Tx, accountID string, recovery [][]byte) error {
	if _, err := tx.ExecContext(ctx, `delete from recovery_codes where account_id = $1`, accountID); err != nil {
		return err
	}
	for _, hash := range recovery {
		if _, err := tx.ExecContext(ctx, `insert into recovery_codes (account_id, hash) values ($1, $2)`, accountID, hash); err != nil {
			return err
		}
	}
	return nil
}

// UseStep implements factor.Store.
func (s *Store) UseStep(ctx context.Context, accountID string, step int64) (bool, error) {
	err := s.db.InTx(ctx, func(tx *sql.Tx) error {
		return affect(ctx, tx, `update second_factors set last_step = $2 where account_id = $1 and last_step < $2 and confirmed_at > 0`, accountID, step)
	})
	return err == nil, ignoreMissing(err)
}

// UseRecovery implements factor.RecoveryStore.
func (s *Store) UseRecovery(ctx context.Context, accountID string, hash []byte, event account.AuditEvent) (bool, error) {
	err := s.db.InTx(ctx, func(tx *sql.Tx) error {
		if err := affect(ctx, tx, `delete from recovery_codes where account_id = $1 and hash = $2`, accountID, hash); err != nil {
			return err
		}
		return writeAudit(ctx, tx, event)
	})
	return err == nil, ignoreMissing(err)
}

// ReplaceRecovery implements factor.RecoveryStore.
func (s *Store) ReplaceRecovery(ctx context.Context, accountID string, recovery [][]byte, event account.AuditEvent) error {
	return s.db.InTx(ctx, func(tx *sql.Tx) error {
		left, err := countFactors(ctx, tx, accountID)
		if err != nil {
			return err
		}
		if left == 0 {
			return account.ErrNotFound
		}
		if err := replaceRecovery(ctx, tx, accountID, recovery); err != nil {
			return err
		}
		return writeAudit(ctx, tx, event)
	})
}

// DeleteFactor implements factor.Store.
func (s *Store) DeleteFactor(ctx context.Context, accountID string, event account.AuditEvent) error {
	return s.db.InTx(ctx, func(tx *sql.Tx) error {
		if err := affect(ctx, tx, `delete from second_factors where account_id = $1`, accountID); err != nil {
			return err
		}
		if err := dropRecovery(ctx, tx, accountID); err != nil {
			return err
		}
		return writeAudit(ctx, tx, event)
	})
}

// DeleteFactors implements factor.RecoveryStore.
func (s *Store) DeleteFactors(ctx context.Context, accountID string, event account.AuditEvent) error {
	return s.db.InTx(ctx, func(tx *sql.Tx) error {
		deleted := int64(0)
		for _, table := range []string{"second_factors", "passkeys", "recovery_codes"} {
			result, err := tx.ExecContext(ctx, `delete from `+table+` where account_id = $1`, accountID)
			if err != nil {
				return err
			}
			n, err := result.RowsAffected()
			if err != nil {
				return err
			}
			deleted += n
		}
		if deleted == 0 {
			return account.ErrNotFound
		}
		return writeAudit(ctx, tx, event)
	})
}

// countFactors returns the number of the account's active second factors. It locks the account until the transaction ends, so that
// concurrent changes see each other.
func countFactors(ctx context.Context, tx *sql.Tx, accountID string) (n int, err error) {
	if err := affect(ctx, tx, `update accounts set id = id where id = $1`, accountID); err != nil {
		return 0, err
	}
	const q = `select (select count(*) from second_factors where account_id = $1 and confirmed_at > 0) + (select count(*) from passkeys where account_id = $1)`
	err = tx.QueryRowContext(ctx, q, accountID).Scan(&n)
	return n, err
}

// dropRecovery deletes the recovery codes of an account without a second factor.
func dropRecovery(ctx context.Context, tx *sql.Tx, accountID string) error {
	left, err := countFactors(ctx, tx, accountID)
	if err != nil || left > 0 {
		return err
	}
	_, err = tx.ExecContext(ctx, `delete from recovery_codes where account_id = $1`, accountID)
	return err
}
