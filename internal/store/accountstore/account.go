// Package accountstore stores accounts, sessions, workspaces, members, keys and the audit log.
package accountstore

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"fairlead.dev/internal/account"
	"fairlead.dev/internal/store/sqldb"
)

// Store implements the interfaces of account.Stores and keyring.Store.
type Store struct{ db *sqldb.DB }

// New returns a store that uses db.
func New(db *sqldb.DB) *Store { return &Store{db: db} }

// Stores returns the store for each field of account.Stores.
func (s *Store) Stores() account.Stores {
	return account.Stores{Accounts: s, Passwords: s, Sessions: s, Workspaces: s, Members: s, Invitations: s, Keys: s, Audit: s}
}

// Revisions implements keyring.Store.
func (s *Store) Revisions(ctx context.Context) (map[string]int64, error) { return s.db.Revisions(ctx) }

// notFound converts the error of a query without a result to account.ErrNotFound.
func notFound(err error) error {
	if sqldb.IsNotFound(err) {
		return account.ErrNotFound
	}
	return err
}

// affect runs a statement and returns account.ErrNotFound when it changed no row.
func affect(ctx context.Context, tx *sql.Tx, q string, args ...any) error {
	res, err := tx.ExecContext(ctx, q, args...)
	if err != nil {
		return notFound(err)
	}
	n, err := res.RowsAffected()
	if err == nil && n == 0 {
		return account.ErrNotFound
	}
	return err
}

const accountColumns = `a.id, a.email, a.name, a.password_hash, a.time_zone, a.created_at`

func scanAccount(row sqldb.Scanner) (account.Account, error) {
	var a account.Account
	var created int64
	err := row.Scan(&a.ID, &a.Email, &a.Name, &a.PasswordHash, &a.TimeZone, &created)
	a.CreatedAt = sqldb.FromMillis(created)
	return a, notFound(err)
}

// HasAccounts reports whether any account exists.
func (s *Store) HasAccounts(ctx context.Context) (bool, error) {
	var n int
	err := s.db.QueryRow(ctx, `select count(*) from (select 1 from accounts limit 1) first_one`).Scan(&n)
	return n > 0, err
}

// AccountByEmail returns the account with the address, or account.ErrNotFound.
func (s *Store) AccountByEmail(ctx context.Context, email string) (account.Account, error) {
	return scanAccount(s.db.QueryRow(ctx, `select `+accountColumns+` from accounts a where a.email = $1`, email))
}

// AccountByID returns the account, or account.ErrNotFound.
func (s *Store) AccountByID(ctx context.Context, accountID string) (account.Account, error) {
	return scanAccount(s.db.QueryRow(ctx, `select `+accountColumns+` from accounts a where a.id = $1`, accountID))
}

// ChangeAccount changes the name and time zone of an account.
func (s *Store) ChangeAccount(ctx context.Context, accountID string, change func(*account.Account) (account.AuditEvent, error)) (account.Account, error) {
	var a account.Account
	err := s.db.InTx(ctx, func(tx *sql.Tx) (err error) {
		// An update without changes locks the row, so that other transactions wait for this one.
		if err := affect(ctx, tx, `update accounts set name = name where id = $1`, accountID); err != nil {
			return err
		}
		if a, err = scanAccount(tx.QueryRowContext(ctx, `select `+accountColumns+` from accounts a where a.id = $1`, accountID)); err != nil {
			return err
		}
		event, err := change(&a)
		if err != nil || event.Action == "" {
			return err
		}
		if err := affect(ctx, tx, `update accounts set name = $2, time_zone = $3 where id = $1`, a.ID, a.Name, a.TimeZone); err != nil {
			return err
		}
		return writeAudit(ctx, tx, event)
	})
	return a, err
}

// SetPassword replaces the password hash and deletes all sessions. If next is not nil, SetPassword then creates that session.
func (s *Store) SetPassword(ctx context.Context, accountID, hash string, next *account.Session, event account.AuditEvent) error {
	return s.db.InTx(ctx, func(tx *sql.Tx) error {
		// Update the row first: a concurrent sign-in either finishes before the update, and its session is deleted, or fails
		// because of the new hash.
		if err := affect(ctx, tx, `update accounts set password_hash = $2 where id = $1`, accountID, hash); err != nil {
			return err
		}
		if _, err := tx.ExecContext(ctx, `delete from sessions where account_id = $1`, accountID); err != nil {
			return err
		}
		if next != nil {
			if err := insertSession(ctx, tx, *next); err != nil {
				return err
			}
		}
		return writeAudit(ctx, tx, event)
	})
}

// DeleteAccount deletes an account with its sessions and memberships, and revokes the account's keys and the keys of
// workspaces that have no members left. It returns account.ErrLastOwner when a workspace with other members would be
// left without an owner.
func (s *Store) DeleteAccount(ctx context.Context, accountID string, event account.AuditEvent) error {
	return s.db.InTx(ctx, func(tx *sql.Tx) error {
		if _, err := sqldb.NextRevision(ctx, tx, "workspaces"); err != nil {
			return err
		}
		revision, err := sqldb.NextRevision(ctx, tx, "keys")
		if err != nil {
			return err
		}
		const blocked = `select count(*) from members m where m.account_id = $1 and m.role = 'owner'
			and exists (select 1 from members o where o.workspace_id = m.workspace_id and o.account_id <> $1)
			and not exists (select 1 from members o where o.workspace_id = m.workspace_id and o.account_id <> $1 and o.role = 'owner')`
		var workspaces int
		if err := tx.QueryRowContext(ctx, blocked, accountID).Scan(&workspaces); err != nil {
			return notFound(err)
		}
		if workspaces > 0 {
			return account.ErrLastOwner
		}
		const ending = `update keys set revoked_at = $2, revision = $3 where revoked_at = 0 and workspace_id in (
			select m.workspace_id from members m where m.account_id = $1 and (keys.created_by = $1
			or not exists (select 1 from members o where o.workspace_id = m.workspace_id and o.account_id <> $1)))`
		if _, err := tx.ExecContext(ctx, ending, accountID, sqldb.Millis(event.At), revision); err != nil {
			return err
		}
		if _, err := tx.ExecContext(ctx, `delete from invitations where created_by = $1`, accountID); err != nil {
			return err
		}
		if err := affect(ctx, tx, `delete from accounts where id = $1`, accountID); err != nil {
			return err
		}
		return writeAudit(ctx, tx, event)
	})
}

// writeAudit records a change in the transaction that makes it.
func writeAudit(ctx context.Context, tx *sql.Tx, e account.AuditEvent) error {
	const q = `insert into audit (id, workspace_id, at, actor, action, object, before_text, after_text)
		values ($1, $2, $3, $4, $5, $6, $7, $8)`
	_, err := tx.ExecContext(ctx, q, e.ID, e.WorkspaceID, sqldb.Millis(e.At), e.Actor, e.Action, e.Object, string(e.Before), string(e.After))
	if err != nil {
		return fmt.Errorf("write audit log: %w", err)
	}
	const journal = `insert into export_journal (workspace_id, record_id)
		select cast($1 as text), cast($2 as text) where exists (select 1 from settings where name = 'export')`
	if _, err := tx.ExecContext(ctx, journal, e.WorkspaceID, e.ID); err != nil {
		return fmt.Errorf("record the event for export: %w", err)
	}
	return nil
}

// WriteAudit records an event that is not part of another change.
func (s *Store) WriteAudit(ctx context.Context, event account.AuditEvent) error {
	return s.db.InTx(ctx, func(tx *sql.Tx) error { return writeAudit(ctx, tx, event) })
}

const auditColumns = `select id, workspace_id, at, actor, action, object, before_text, after_text from audit `

// Audit returns a page of a workspace's events with an action, newest first. An empty action selects all.
func (s *Store) Audit(ctx context.Context, workspaceID, action, before string, limit int) ([]account.AuditEvent, error) {
	return s.auditEvents(ctx, `where workspace_id = $1 and ($2 = '' or action = $2) and ($3 = '' or id < $3) order by id desc limit $4`, workspaceID, action, before, limit)
}

// AuditEvents returns the events of a workspace with the given ids, in any order. It omits ids of events that do not exist.
func (s *Store) AuditEvents(ctx context.Context, workspaceID string, ids []string) ([]account.AuditEvent, error) {
	return s.auditEvents(ctx, `where workspace_id = $1 and id in (`+sqldb.Placeholders(2, len(ids))+`)`, append([]any{workspaceID}, sqldb.Args(ids)...)...)
}

func (s *Store) auditEvents(ctx context.Context, rest string, args ...any) ([]account.AuditEvent, error) {
	ctx, cancel := s.db.Bounded(ctx)
	defer cancel()
	rows, err := s.db.Query(ctx, auditColumns+rest, args...)
	return sqldb.Collect(rows, err, func(row sqldb.Scanner) (e account.AuditEvent, err error) {
		var at int64
		var before, after string
		if err := row.Scan(&e.ID, &e.WorkspaceID, &at, &e.Actor, &e.Action, &e.Object, &before, &after); err != nil {
			return e, err
		}
		e.At = sqldb.FromMillis(at)
		if before != "" {
			e.Before = []byte(before)
		}
		if after != "" {
			e.After = []byte(after)
		}
		return e, nil
	})
}

func spanMillis(d time.Duration) int64 { return d.Milliseconds() }

func fromSpan(ms int64) time.Duration { return time.Duration(ms) * time.Millisecond }
