package accountstore

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"time"

	"fairlead.dev/internal/account"
	"fairlead.dev/internal/store/sqldb"
)

const memberRows = `select m.workspace_id, m.account_id, a.email, a.name, m.role, m.source, m.joined_at
	from members m join accounts a on a.id = m.account_id where m.workspace_id = $1`

func scanMember(row sqldb.Scanner) (account.Member, error) {
	var m account.Member
	var joined int64
	err := row.Scan(&m.WorkspaceID, &m.AccountID, &m.Email, &m.Name, &m.Role, &m.Source, &joined)
	m.JoinedAt = sqldb.FromMillis(joined)
	return m, notFound(err)
}

// MembersOf lists the members of a workspace in the order in which they joined.
func (s *Store) MembersOf(ctx context.Context, workspaceID string) ([]account.Member, error) {
	rows, err := s.db.Query(ctx, memberRows+` order by m.joined_at, m.account_id`, workspaceID)
	return sqldb.Collect(rows, err, scanMember)
}

// MemberOf returns a member, or account.ErrNotFound.
func (s *Store) MemberOf(ctx context.Context, workspaceID, accountID string) (account.Member, error) {
	return scanMember(s.db.QueryRow(ctx, memberRows+` and m.account_id = $2`, workspaceID, accountID))
}

// ChangeMember changes the role of a member, or removes the member when the role is empty, and deletes the member's
// open invitations. With revokeKeys, it revokes the keys of a removed member and returns them.
func (s *Store) ChangeMember(ctx context.Context, workspaceID, accountID string, revokeKeys bool, change func(*account.Member, int) (account.AuditEvent, error)) (revoked []account.Key, err error) {
	err = s.db.InTx(ctx, func(tx *sql.Tx) error {
		if _, err := sqldb.NextRevision(ctx, tx, "workspaces"); err != nil { // serialises the changes, so that two owners cannot leave concurrently
			return err
		}
		m, err := scanMember(tx.QueryRowContext(ctx, memberRows+` and m.account_id = $2`, workspaceID, accountID))
		if err != nil {
			return err
		}
		var owners int
		if err := tx.QueryRowContext(ctx, `select count(*) from members where workspace_id = $1 and role = 'owner'`, workspaceID).Scan(&owners); err != nil {
			return err
		}
		event, err := change(&m, owners)
		if err != nil {
			return err
		}
		if event.Action == "" {
			return errUnchanged
		}
		if err := writeRole(ctx, tx, m); err != nil {
			return err
		}
		if _, err := tx.ExecContext(ctx, `delete from invitations where workspace_id = $1 and created_by = $2`, workspaceID, accountID); err != nil {
			return err
		}
		if m.Role == "" && revokeKeys {
			if revoked, err = revokeKeysOf(ctx, tx, workspaceID, accountID, event); err != nil {
				return err
			}
		}
		return writeAudit(ctx, tx, event)
	})
	return revoked, changed(err)
}

// revokeKeysOf revokes the keys that the account created in the workspace, or in all workspaces if workspaceID is empty, and writes an
// audit event for each.
func revokeKeysOf(ctx context.Context, tx *sql.Tx, workspaceID, accountID string, cause account.AuditEvent) ([]account.Key, error) {
	revision, err := sqldb.NextRevision(ctx, tx, "keys")
	if err != nil {
		return nil, err
	}
	rows, err := tx.QueryContext(ctx, keyRows+`where (k.workspace_id = $1 or $1 = '') and k.created_by = $2 and k.revoked_at = 0 order by k.id, s.position`, workspaceID, accountID)
	if err != nil {
		return nil, err
	}
	revoked := []account.Key{}
	if err := visitKeys(rows, func(k *account.Key) error {
		k.RevokedAt = cause.At
		revoked = append(revoked, *k)
		return nil
	}); err != nil {
		return nil, err
	}
	const q = `update keys set revoked_at = $3, revision = $4 where (workspace_id = $1 or $1 = '') and created_by = $2 and revoked_at = 0`
	if _, err := tx.ExecContext(ctx, q, workspaceID, accountID, sqldb.Millis(cause.At), revision); err != nil {
		return nil, err
	}
	for i := range revoked {
		if err := writeAudit(ctx, tx, change(cause, revoked[i].WorkspaceID, "key.revoke", revoked[i].ID, nil, nil)); err != nil {
			return nil, err
		}
	}
	return revoked, nil
}

func writeRole(ctx context.Context, tx *sql.Tx, m account.Member) error {
	if err := reloadKeysOf(ctx, tx, m); err != nil {
		return err
	}
	if m.Role == "" {
		return affect(ctx, tx, `delete from members where workspace_id = $1 and account_id = $2`, m.WorkspaceID, m.AccountID)
	}
	return affect(ctx, tx, `update members set role = $3 where workspace_id = $1 and account_id = $2`, m.WorkspaceID, m.AccountID, m.Role)
}

// reloadKeysOf makes keyrings load the keys of the account again, because its role limits them.
func reloadKeysOf(ctx context.Context, tx *sql.Tx, m account.Member) error {
	revision, err := sqldb.NextRevision(ctx, tx, "keys")
	if err != nil {
		return err
	}
	_, err = tx.ExecContext(ctx, `update keys set revision = $3 where workspace_id = $1 and created_by = $2`, m.WorkspaceID, m.AccountID, revision)
	return err
}

const invitationColumns = `id, workspace_id, role, token_hash, created_by, created_at, expires_at`

func scanInvitation(row sqldb.Scanner) (account.Invitation, error) {
	var i account.Invitation
	var created, expires int64
	err := row.Scan(&i.ID, &i.WorkspaceID, &i.Role, &i.TokenHash, &i.CreatedBy, &created, &expires)
	i.CreatedAt, i.ExpiresAt = sqldb.FromMillis(created), sqldb.FromMillis(expires)
	return i, notFound(err)
}

// CreateInvitation writes an invitation.
func (s *Store) CreateInvitation(ctx context.Context, i account.Invitation, event account.AuditEvent) error {
	return s.db.InTx(ctx, func(tx *sql.Tx) error {
		const q = `insert into invitations (` + invitationColumns + `) values ($1, $2, $3, $4, $5, $6, $7)`
		if _, err := tx.ExecContext(ctx, q, i.ID, i.WorkspaceID, i.Role, i.TokenHash, i.CreatedBy, sqldb.Millis(i.CreatedAt), sqldb.Millis(i.ExpiresAt)); err != nil {
			return err
		}
		return writeAudit(ctx, tx, event)
	})
}

// InvitationsOf lists the invitations that are valid at the given time, newest first.
func (s *Store) InvitationsOf(ctx context.Context, workspaceID string, now time.Time) ([]account.Invitation, error) {
	const q = `select ` + invitationColumns + ` from invitations where workspace_id = $1 and expires_at > $2 order by id desc`
	rows, err := s.db.Query(ctx, q, workspaceID, sqldb.Millis(now))
	return sqldb.Collect(rows, err, scanInvitation)
}

// InvitationByHash returns an invitation, or account.ErrNotFound.
func (s *Store) InvitationByHash(ctx context.Context, hash []byte) (account.Invitation, error) {
	return scanInvitation(s.db.QueryRow(ctx, `select `+invitationColumns+` from invitations where token_hash = $1`, hash))
}

// DeleteInvitation deletes an invitation of the workspace, or returns account.ErrNotFound.
func (s *Store) DeleteInvitation(ctx context.Context, workspaceID, invitationID string, event account.AuditEvent) error {
	return s.db.InTx(ctx, func(tx *sql.Tx) error {
		if err := affect(ctx, tx, `delete from invitations where workspace_id = $1 and id = $2`, workspaceID, invitationID); err != nil {
			return err
		}
		return writeAudit(ctx, tx, event)
	})
}

// AcceptInvitation makes the account a member and deletes the invitation.
func (s *Store) AcceptInvitation(ctx context.Context, hash []byte, accountID string, event account.AuditEvent) (m account.Member, err error) {
	err = s.db.InTx(ctx, func(tx *sql.Tx) error {
		if _, err := sqldb.NextRevision(ctx, tx, "workspaces"); err != nil { // prevents concurrent changes of the inviter's role and of the account
			return err
		}
		a, err := scanAccount(tx.QueryRowContext(ctx, `select `+accountColumns+` from accounts a where a.id = $1`, accountID))
		if err != nil {
			return err
		}
		invitation, err := consume(ctx, tx, hash, event.At)
		if err != nil {
			return err
		}
		m = account.Member{
			AccountID: accountID, WorkspaceID: invitation.WorkspaceID, Email: a.Email, Name: a.Name,
			Role: invitation.Role, JoinedAt: event.At,
		}
		if err := insertMember(ctx, tx, m); err != nil {
			return err
		}
		return writeAudit(ctx, tx, acceptance(event, invitation))
	})
	return m, err
}

// acceptance adds the invitation to the event of its acceptance, so that the audit log shows which account accepted it.
func acceptance(event account.AuditEvent, i account.Invitation) account.AuditEvent {
	event.WorkspaceID = i.WorkspaceID
	event.After, _ = json.Marshal(acceptedFacts{Invitation: i.ID, Role: string(i.Role)}) // strings always marshal
	return event
}

// consume deletes a valid invitation and returns it. Of two concurrent calls, only one succeeds.
func consume(ctx context.Context, tx *sql.Tx, hash []byte, now time.Time) (account.Invitation, error) {
	const q = `delete from invitations where token_hash = $1 returning ` + invitationColumns
	i, err := scanInvitation(tx.QueryRowContext(ctx, q, hash))
	if errors.Is(err, account.ErrNotFound) || err == nil && !i.ExpiresAt.After(now) {
		return account.Invitation{}, account.ErrNotFound
	}
	return i, err
}
