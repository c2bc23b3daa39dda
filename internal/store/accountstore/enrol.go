package accountstore

import (
	"context"
	"database/sql"
	"errors"

	"fairlead.dev/internal/account"
	"fairlead.dev/internal/id"
	"fairlead.dev/internal/store/sqldb"
)

// Enrol creates an account with its membership and session.
func (s *Store) Enrol(ctx context.Context, e account.Enrolment) (member account.Member, err error) {
	err = s.db.InTx(ctx, func(tx *sql.Tx) error {
		revision, err := sqldb.NextRevision(ctx, tx, "workspaces") // serialises registrations
		if err != nil {
			return err
		}
		var others, same int
		const q = `select count(*), coalesce(sum(case when email = $1 then 1 else 0 end), 0) from accounts`
		if err := tx.QueryRowContext(ctx, q, e.Account.Email).Scan(&others, &same); err != nil {
			return err
		}
		switch {
		case e.First && others > 0:
			return account.ErrNotFirst
		case same > 0:
			return account.ErrConflict
		}
		if member, err = place(ctx, tx, e, others == 0, revision); err != nil {
			return err
		}
		if err := insertAccount(ctx, tx, e.Account); err != nil {
			return err
		}
		if err := insertMember(ctx, tx, member); err != nil {
			return err
		}
		if e.Session != nil {
			if err := insertSession(ctx, tx, *e.Session); err != nil {
				return err
			}
		}
		event := e.Event
		event.WorkspaceID = member.WorkspaceID
		return writeAudit(ctx, tx, event)
	})
	return member, err
}

// place returns the membership of a new account: in the invitation's workspace, in the oldest workspace without
// members, or in a new workspace.
func place(ctx context.Context, tx *sql.Tx, e account.Enrolment, first bool, revision int64) (account.Member, error) {
	m := account.Member{
		AccountID: e.Account.ID, Email: e.Account.Email, Name: e.Account.Name, Role: account.Owner, JoinedAt: e.Account.CreatedAt,
	}
	if e.Invitation != nil {
		invitation, err := consume(ctx, tx, e.Invitation, m.JoinedAt)
		if err != nil {
			return m, err
		}
		m.WorkspaceID, m.Role = invitation.WorkspaceID, invitation.Role
		event := e.Event
		event.ID, event.Action = id.New("aud", event.At), "invitation.accept"
		return m, writeAudit(ctx, tx, acceptance(event, invitation))
	}
	if first {
		oldest, err := scanWorkspace(tx.QueryRowContext(ctx, oldestWorkspace))
		if err == nil {
			m.WorkspaceID = oldest.ID
			return m, nil
		}
		if !errors.Is(err, account.ErrNotFound) {
			return m, err
		}
	}
	m.WorkspaceID = e.Workspace.ID
	return m, insertWorkspace(ctx, tx, e.Workspace, revision)
}

func insertAccount(ctx context.Context, tx *sql.Tx, a account.Account) error {
	const q = `insert into accounts (id, email, name, password_hash, time_zone, created_at) values ($1, $2, $3, $4, $5, $6)`
	_, err := tx.ExecContext(ctx, q, a.ID, a.Email, a.Name, a.PasswordHash, a.TimeZone, sqldb.Millis(a.CreatedAt))
	if sqldb.IsUnique(err) {
		return account.ErrConflict
	}
	return err
}

func insertMember(ctx context.Context, tx *sql.Tx, m account.Member) error {
	const q = `insert into members (workspace_id, account_id, role, source, joined_at) values ($1, $2, $3, $4, $5)`
	_, err := tx.ExecContext(ctx, q, m.WorkspaceID, m.AccountID, m.Role, m.Source, sqldb.Millis(m.JoinedAt))
	if sqldb.IsUnique(err) {
		return account.ErrConflict
	}
	if err != nil {
		return err
	}
	return reloadKeysOf(ctx, tx, m)
}
