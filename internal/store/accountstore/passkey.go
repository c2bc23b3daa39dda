package accountstore

import (
	"context"
	"database/sql"
	"errors"
	"strings"
	"time"

	"fairlead.dev/internal/account"
	"fairlead.dev/internal/account/passkey"
	"fairlead.dev/internal/store/sqldb"
)

// challengeGrace is the time for which an expired challenge is kept, because the clocks of replicas may differ.
const challengeGrace = time.Hour

const passkeyColumns = `id, account_id, name, site_id, credential_id, public_key, transports, flags, sign_count, created_at, last_used_at`

func scanPasskey(row sqldb.Scanner) (passkey.Passkey, error) {
	var p passkey.Passkey
	var transports string
	var created, used int64
	err := row.Scan(&p.ID, &p.AccountID, &p.Name, &p.SiteID, &p.CredentialID, &p.PublicKey, &transports, &p.Flags, &p.SignCount, &created, &used)
	p.CreatedAt, p.LastUsedAt = sqldb.FromMillis(created), sqldb.FromMillis(used)
	if transports != "" {
		p.Transports = strings.Split(transports, ",")
	}
	return p, notFound(err)
}

// Passkeys implements passkey.Store.
type Passkeys struct{ db *sqldb.DB }

// Passkeys returns the store of passkeys. It uses the same database.
func (s *Store) Passkeys() Passkeys { return Passkeys{s.db} }

// PasskeysOf implements passkey.Store.
func (s Passkeys) PasskeysOf(ctx context.Context, accountID string) ([]passkey.Passkey, error) {
	rows, err := s.db.Query(ctx, `select `+passkeyColumns+` from passkeys where account_id = $1 order by created_at, id`, accountID)
	return sqldb.Collect(rows, err, scanPasskey)
}

// PasskeyByCredential implements passkey.Store.
func (s Passkeys) PasskeyByCredential(ctx context.Context, credentialID []byte) (passkey.Passkey, error) {
	return scanPasskey(s.db.QueryRow(ctx, `select `+passkeyColumns+` from passkeys where credential_id = $1`, credentialID))
}

// AddPasskey implements passkey.Store.
func (s Passkeys) AddPasskey(ctx context.Context, a passkey.Addition) (first bool, err error) {
	p := a.Passkey
	err = s.db.InTx(ctx, func(tx *sql.Tx) error {
		factors, err := countFactors(ctx, tx, p.AccountID)
		if err != nil {
			return err
		}
		first = factors == 0
		if err := useChallenge(ctx, tx, a.Challenge, p.CreatedAt); err != nil {
			return err
		}
		var have int
		if err := tx.QueryRowContext(ctx, `select count(*) from passkeys where account_id = $1`, p.AccountID).Scan(&have); err != nil {
			return err
		}
		if have >= a.Maximum {
			return account.ErrTooMany
		}
		const q = `insert into passkeys (` + passkeyColumns + `) values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, 0)`
		_, err = tx.ExecContext(ctx, q, p.ID, p.AccountID, p.Name, p.SiteID, p.CredentialID, p.PublicKey, strings.Join(p.Transports, ","),
			int64(p.Flags), int64(p.SignCount), sqldb.Millis(p.CreatedAt))
		if sqldb.IsUnique(err) {
			return account.ErrConflict
		}
		if err != nil {
			return err
		}
		if first {
			if err := replaceRecovery(ctx, tx, p.AccountID, a.Recovery); err != nil {
				return err
			}
		}
		return writeAudit(ctx, tx, a.Event)
	})
	return first, err
}

// useChallenge records a challenge. It returns account.ErrConflict if the challenge was recorded before.
func useChallenge(ctx context.Context, tx *sql.Tx, c passkey.Challenge, now time.Time) error {
	if _, err := tx.ExecContext(ctx, `delete from passkey_challenges where expires_at <= $1`, sqldb.Millis(now.Add(-challengeGrace))); err != nil {
		return err
	}
	const q = `insert into passkey_challenges (hash, expires_at) values ($1, $2) on conflict (hash) do nothing`
	return conflicting(affect(ctx, tx, q, c.Hash, sqldb.Millis(c.Expires)))
}

// UsePasskey implements passkey.Store.
func (s Passkeys) UsePasskey(ctx context.Context, u passkey.Use) error {
	var regressed bool
	err := s.db.InTx(ctx, func(tx *sql.Tx) error {
		if err := useChallenge(ctx, tx, u.Challenge, u.At); err != nil {
			return err
		}
		const q = `update passkeys set sign_count = $2, flags = $3, last_used_at = $4
			where id = $1 and (sign_count < $2 or sign_count = 0 and $2 = 0)`
		err := affect(ctx, tx, q, u.PasskeyID, int64(u.SignCount), int64(u.Flags), sqldb.Millis(u.At))
		if regressed = errors.Is(err, account.ErrNotFound); regressed {
			return writeAudit(ctx, tx, u.Refusal)
		}
		return err
	})
	if err == nil && regressed {
		return passkey.ErrCounter
	}
	return err
}

// RenamePasskey implements passkey.Store.
func (s Passkeys) RenamePasskey(ctx context.Context, accountID, passkeyID, name string, event account.AuditEvent) error {
	return s.db.InTx(ctx, func(tx *sql.Tx) error {
		if err := affect(ctx, tx, `update passkeys set name = $3 where account_id = $1 and id = $2`, accountID, passkeyID, name); err != nil {
			return err
		}
		return writeAudit(ctx, tx, event)
	})
}

// DeletePasskey implements passkey.Store.
func (s Passkeys) DeletePasskey(ctx context.Context, accountID, passkeyID string, event account.AuditEvent) error {
	return s.db.InTx(ctx, func(tx *sql.Tx) error {
		if err := affect(ctx, tx, `delete from passkeys where account_id = $1 and id = $2`, accountID, passkeyID); err != nil {
			return err
		}
		if err := dropRecovery(ctx, tx, accountID); err != nil {
			return err
		}
		return writeAudit(ctx, tx, event)
	})
}
