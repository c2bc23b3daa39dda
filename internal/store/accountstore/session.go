package accountstore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"fairlead.dev/internal/account"
	"fairlead.dev/internal/store/sqldb"
)

const sessionColumns = `s.token_hash, s.account_id, s.issuer, s.client, s.ip, s.created_at, s.seen_at, s.expires_at, coalesce(i.checked_until, 0)`

// sessionTables joins the sessions with the last check of their identity.
const sessionTables = `sessions s left join identities i on i.account_id = s.account_id and i.issuer = s.issuer`

func insertSession(ctx context.Context, tx *sql.Tx, s account.Session) error {
	const q = `insert into sessions (token_hash, account_id, issuer, client, ip, created_at, seen_at, expires_at)
		values ($1, $2, $3, $4, $5, $6, $7, $8)`
	_, err := tx.ExecContext(ctx, q, s.TokenHash, s.AccountID, s.Issuer, s.Client, s.IP, sqldb.Millis(s.CreatedAt), sqldb.Millis(s.SeenAt), sqldb.Millis(s.ExpiresAt))
	return err
}

// CreateSession creates a session. It returns account.ErrConflict when the password was changed since it was checked.
func (s *Store) CreateSession(ctx context.Context, session account.Session, passwordHash string) error {
	return s.db.InTx(ctx, func(tx *sql.Tx) error {
		const q = `update accounts set signed_in_at = $3 where id = $1 and password_hash = $2`
		err := affect(ctx, tx, q, session.AccountID, passwordHash, sqldb.Millis(session.CreatedAt))
		if errors.Is(err, account.ErrNotFound) {
			return account.ErrConflict
		}
		if err != nil {
			return err
		}
		if _, err := tx.ExecContext(ctx, `delete from sessions where expires_at <= $1`, sqldb.Millis(session.CreatedAt)); err != nil {
			return err
		}
		return insertSession(ctx, tx, session)
	})
}

func scanSession(row sqldb.Scanner, more ...any) (account.Session, error) {
	var s account.Session
	var created, seen, expires, checked int64
	err := row.Scan(append([]any{&s.TokenHash, &s.AccountID, &s.Issuer, &s.Client, &s.IP, &created, &seen, &expires, &checked}, more...)...)
	s.CheckedUntil = sqldb.FromMillis(checked)
	s.CreatedAt, s.SeenAt, s.ExpiresAt = sqldb.FromMillis(created), sqldb.FromMillis(seen), sqldb.FromMillis(expires)
	return s, notFound(err)
}

// SessionByHash returns the session with its account, or account.ErrNotFound.
func (s *Store) SessionByHash(ctx context.Context, hash []byte) (account.Session, account.Account, error) {
	var a account.Account
	var created int64
	const q = `select ` + sessionColumns + `, ` + accountColumns + ` from ` + sessionTables + ` join accounts a on a.id = s.account_id where s.token_hash = $1`
	session, err := scanSession(s.db.QueryRow(ctx, q, hash), &a.ID, &a.Email, &a.Name, &a.PasswordHash, &a.TimeZone, &created)
	a.CreatedAt = sqldb.FromMillis(created)
	return session, a, err
}

// TouchSession updates the last use and the expiry of a session. It does not restore a deleted session.
func (s *Store) TouchSession(ctx context.Context, hash []byte, seen, expires time.Time) error {
	const q = `update sessions set seen_at = $2, expires_at = $3 where token_hash = $1 and seen_at < $2`
	_, err := s.db.Exec(ctx, q, hash, sqldb.Millis(seen), sqldb.Millis(expires))
	return err
}

// SessionsOf lists the sessions of an account, most recently used first.
func (s *Store) SessionsOf(ctx context.Context, accountID string) ([]account.Session, error) {
	const q = `select ` + sessionColumns + ` from ` + sessionTables + ` where s.account_id = $1 order by s.seen_at desc, s.token_hash`
	rows, err := s.db.Query(ctx, q, accountID)
	return sqldb.Collect(rows, err, func(row sqldb.Scanner) (account.Session, error) { return scanSession(row) })
}

// DeleteSession deletes a session of the account, or returns account.ErrNotFound.
func (s *Store) DeleteSession(ctx context.Context, accountID string, hash []byte) error {
	return s.db.InTx(ctx, func(tx *sql.Tx) error {
		return affect(ctx, tx, `delete from sessions where token_hash = $1 and account_id = $2`, hash, accountID)
	})
}

// TakeGuess records a sign-in attempt against the subject. If the window already contains limit attempts, it records
// nothing and returns the time to wait.
func (s *Store) TakeGuess(ctx context.Context, subject []byte, at time.Time, window time.Duration, limit int) (wait time.Duration, err error) {
	err = s.db.InTx(ctx, func(tx *sql.Tx) error {
		times, err := lockGuesses(ctx, tx, subject)
		if err != nil {
			return err
		}
		wait = 0
		since := at.Add(-window).UnixMilli()
		times = slices.DeleteFunc(times, func(ms int64) bool { return ms <= since })
		if len(times) >= limit {
			wait = time.Duration(times[len(times)-limit]-since) * time.Millisecond
			return nil
		}
		if _, err := tx.ExecContext(ctx, `delete from guesses where last_at <= $1 and subject <> $2`, since-window.Milliseconds(), subject); err != nil {
			return err
		}
		return writeGuesses(ctx, tx, subject, append(times, at.UnixMilli()))
	})
	return wait, err
}

// ReturnGuess removes the attempt that was recorded at the given time, so that it does not count toward the limit.
func (s *Store) ReturnGuess(ctx context.Context, subject []byte, at time.Time) error {
	return s.db.InTx(ctx, func(tx *sql.Tx) error {
		times, err := lockGuesses(ctx, tx, subject)
		if err != nil {
			return err
		}
		if i := slices.Index(times, at.UnixMilli()); i >= 0 {
			times = slices.Delete(times, i, i+1)
		}
		return writeGuesses(ctx, tx, subject, times)
	})
}

// ForgetGuesses deletes all recorded attempts against the subject.
func (s *Store) ForgetGuesses(ctx context.Context, subject []byte, event account.AuditEvent) error {
	return s.db.InTx(ctx, func(tx *sql.Tx) error {
		if _, err := tx.ExecContext(ctx, `delete from guesses where subject = $1`, subject); err != nil {
			return err
		}
		return writeAudit(ctx, tx, event)
	})
}

// lockGuesses returns the times of the recorded attempts. It locks the subject's row until the transaction ends.
func lockGuesses(ctx context.Context, tx *sql.Tx, subject []byte) ([]int64, error) {
	const q = `insert into guesses (subject, times, last_at) values ($1, '', 0)
		on conflict (subject) do update set subject = excluded.subject returning times`
	var text string
	if err := tx.QueryRowContext(ctx, q, subject).Scan(&text); err != nil {
		return nil, err
	}
	var times []int64
	for part := range strings.FieldsSeq(text) {
		ms, err := strconv.ParseInt(part, 10, 64)
		if err != nil {
			return nil, fmt.Errorf("read sign-in attempts: %w", err)
		}
		times = append(times, ms)
	}
	return times, nil
}

func writeGuesses(ctx context.Context, tx *sql.Tx, subject []byte, times []int64) error {
	slices.Sort(times)
	var text strings.Builder
	last := int64(0)
	for _, ms := range times {
		text.WriteString(strconv.FormatInt(ms, 10))
		text.WriteByte(' ')
		last = ms
	}
	_, err := tx.ExecContext(ctx, `update guesses set times = $2, last_at = $3 where subject = $1`, subject, text.String(), last)
	return err
}
