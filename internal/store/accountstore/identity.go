package accountstore

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"slices"
	"time"

	"fairlead.dev/internal/account"
	"fairlead.dev/internal/id"
	"fairlead.dev/internal/sso"
	"fairlead.dev/internal/store/sqldb"
)

const identityColumns = `i.issuer, i.subject, i.account_id, i.refresh, i.checked_at, i.checked_until`

func scanIdentity(row sqldb.Scanner) (sso.Identity, error) {
	var i sso.Identity
	var checked, until int64
	err := row.Scan(&i.Issuer, &i.Subject, &i.AccountID, &i.Refresh, &checked, &until)
	i.CheckedAt, i.CheckedUntil = sqldb.FromMillis(checked), sqldb.FromMillis(until)
	return i, notFound(err)
}

// SignInIdentity implements sso.Store.
func (s *Store) SignInIdentity(ctx context.Context, in sso.SignIn) (out sso.Outcome, err error) {
	err = s.db.InTx(ctx, func(tx *sql.Tx) error {
		out = sso.Outcome{}
		if _, err := sqldb.NextRevision(ctx, tx, "workspaces"); err != nil { // serialises sign-ins and registrations
			return err
		}
		if out.Account, err = identityAccount(ctx, tx, in, &out); err != nil {
			return err
		}
		const write = `insert into identities (issuer, subject, account_id, refresh, checked_at, checked_until, claimed_until, created_at)
			values ($1, $2, $3, $4, $5, $6, 0, $5) on conflict (issuer, subject) do update
			set refresh = excluded.refresh, checked_at = excluded.checked_at, checked_until = excluded.checked_until, claimed_until = 0`
		i := in.Identity
		if _, err := tx.ExecContext(ctx, write, i.Issuer, i.Subject, out.Account.ID, i.Refresh, sqldb.Millis(i.CheckedAt), sqldb.Millis(i.CheckedUntil)); err != nil {
			if sqldb.IsUnique(err) { // the account is linked to another subject of this issuer
				return account.ErrConflict
			}
			return err
		}
		if err := syncMembers(ctx, tx, out.Account.ID, in.Grants, in.Event, &out); err != nil {
			return err
		}
		session := in.Session
		session.AccountID = out.Account.ID
		if _, err := tx.ExecContext(ctx, `delete from sessions where expires_at <= $1`, sqldb.Millis(session.CreatedAt)); err != nil {
			return err
		}
		if err := affect(ctx, tx, `update accounts set signed_in_at = $2 where id = $1`, session.AccountID, sqldb.Millis(session.CreatedAt)); err != nil {
			return err
		}
		return insertSession(ctx, tx, session)
	})
	return out, err
}

// identityAccount returns the account of the identity. It links or creates one if the identity is new.
func identityAccount(ctx context.Context, tx *sql.Tx, in sso.SignIn, out *sso.Outcome) (account.Account, error) {
	const known = `select ` + accountColumns + ` from identities i join accounts a on a.id = i.account_id where i.issuer = $1 and i.subject = $2`
	a, err := scanAccount(tx.QueryRowContext(ctx, known, in.Identity.Issuer, in.Identity.Subject))
	if err == nil || !errors.Is(err, account.ErrNotFound) {
		return a, err
	}
	a, err = scanAccount(tx.QueryRowContext(ctx, `select `+accountColumns+` from accounts a where a.email = $1`, in.Draft.Email))
	switch {
	case errors.Is(err, account.ErrNotFound):
		workspaceID := ""
		if len(in.Grants) > 0 {
			workspaceID = in.Grants[0].WorkspaceID
		}
		event := change(in.Event, workspaceID, "account.register", in.Draft.ID, nil, identityFacts{Email: in.Draft.Email, Issuer: in.Identity.Issuer, Subject: in.Identity.Subject})
		if err := insertAccount(ctx, tx, in.Draft); err != nil {
			return a, err
		}
		return in.Draft, writeAudit(ctx, tx, event)
	case err != nil:
		return a, err
	case !in.Link:
		return a, account.ErrConflict
	}
	event := change(in.Event, "", "account.link", a.ID, nil, identityFacts{Email: a.Email, Issuer: in.Identity.Issuer, Subject: in.Identity.Subject})
	if err := dropAccess(ctx, tx, a.ID, in.Identity.Issuer); err != nil {
		return a, err
	}
	a.PasswordHash = account.NoPassword
	if out.Revoked, err = revokeKeysOf(ctx, tx, "", a.ID, event); err != nil {
		return a, err
	}
	return a, writeAudit(ctx, tx, event)
}

// dropAccess removes everything except keys that gives access to an account, because another person may have registered its address.
func dropAccess(ctx context.Context, tx *sql.Tx, accountID, issuer string) error {
	// Update the row first, so that no concurrent sign-in with the password leaves a session, see SetPassword.
	if err := affect(ctx, tx, `update accounts set password_hash = $2 where id = $1`, accountID, account.NoPassword); err != nil {
		return err
	}
	for _, table := range []string{"sessions", "second_factors", "passkeys", "recovery_codes"} {
		if _, err := tx.ExecContext(ctx, `delete from `+table+` where account_id = $1`, accountID); err != nil {
			return err
		}
	}
	if _, err := tx.ExecContext(ctx, `delete from identities where account_id = $1 and issuer <> $2`, accountID, issuer); err != nil {
		return err
	}
	_, err := tx.ExecContext(ctx, `delete from invitations where created_by = $1`, accountID)
	return err
}

// identityFacts holds the data of a linked identity in the audit log.
type identityFacts struct {
	Email   string `json:"email"`
	Issuer  string `json:"issuer"`
	Subject string `json:"subject"`
}

// roleFacts holds the data of a membership in the audit log.
type roleFacts struct {
	Role account.Role `json:"role,omitempty"`
}

// change returns a copy of the event with a new ID and the given workspace, action, object and data.
func change(event account.AuditEvent, workspaceID, action, object string, before, after any) account.AuditEvent {
	event.ID, event.WorkspaceID, event.Action, event.Object = id.New("aud", event.At), workspaceID, action, object
	event.Before, event.After = nil, nil
	if before != nil {
		event.Before, _ = json.Marshal(before) // plain structs always marshal
	}
	if after != nil {
		event.After, _ = json.Marshal(after)
	}
	return event
}

// syncMembers replaces the memberships that groups grant. Memberships from invitations are not changed. It removes even the
// last owner of a workspace, because a person who leaves the group must lose access.
func syncMembers(ctx context.Context, tx *sql.Tx, accountID string, grants []sso.Grant, event account.AuditEvent, out *sso.Outcome) error {
	members, err := membershipsOf(ctx, tx, accountID)
	if err != nil || unchangedBy(members, grants) {
		return err
	}
	if _, err := sqldb.NextRevision(ctx, tx, "workspaces"); err != nil { // serialises the changes of members
		return err
	}
	if members, err = membershipsOf(ctx, tx, accountID); err != nil {
		return err
	}
	for _, g := range grants {
		at := slices.IndexFunc(members, func(m account.Member) bool { return m.WorkspaceID == g.WorkspaceID })
		if at < 0 {
			err = addMember(ctx, tx, accountID, g, event, out)
		} else if m := members[at]; m.Source == account.ByGroup && m.Role != g.Role {
			before := roleFacts{m.Role}
			m.Role = g.Role
			if err = writeRole(ctx, tx, m); err == nil {
				err = dropInvitations(ctx, tx, m.WorkspaceID, accountID)
			}
			if err == nil {
				err = writeAudit(ctx, tx, change(event, g.WorkspaceID, "member.role", accountID, before, roleFacts{g.Role}))
			}
		}
		if err != nil {
			return err
		}
	}
	for _, m := range members {
		if m.Source != account.ByGroup || slices.ContainsFunc(grants, func(g sso.Grant) bool { return g.WorkspaceID == m.WorkspaceID }) {
			continue
		}
		if err := dropMember(ctx, tx, m, event, out); err != nil {
			return err
		}
	}
	return nil
}

func membershipsOf(ctx context.Context, tx *sql.Tx, accountID string) ([]account.Member, error) {
	rows, err := tx.QueryContext(ctx, `select m.workspace_id, m.account_id, a.email, a.name, m.role, m.source, m.joined_at
		from members m join accounts a on a.id = m.account_id where m.account_id = $1`, accountID)
	return sqldb.Collect(rows, err, scanMember)
}

// unchangedBy reports whether the memberships already match the grants. Most checks find no difference.
func unchangedBy(members []account.Member, grants []sso.Grant) bool {
	byGroup := 0
	for _, m := range members {
		if m.Source == account.ByGroup {
			byGroup++
		}
	}
	for _, g := range grants {
		at := slices.IndexFunc(members, func(m account.Member) bool { return m.WorkspaceID == g.WorkspaceID })
		if at < 0 || members[at].Source == account.ByGroup && members[at].Role != g.Role {
			return false
		}
		if members[at].Source == account.ByGroup {
			byGroup--
		}
	}
	return byGroup == 0
}

func addMember(ctx context.Context, tx *sql.Tx, accountID string, g sso.Grant, event account.AuditEvent, out *sso.Outcome) error {
	var exists int
	if err := tx.QueryRowContext(ctx, `select count(*) from workspaces where id = $1`, g.WorkspaceID).Scan(&exists); err != nil {
		return err
	}
	if exists == 0 {
		out.Unknown = append(out.Unknown, g.WorkspaceID)
		return nil
	}
	m := account.Member{WorkspaceID: g.WorkspaceID, AccountID: accountID, Role: g.Role, Source: account.ByGroup, JoinedAt: event.At}
	if err := insertMember(ctx, tx, m); err != nil {
		return err
	}
	return writeAudit(ctx, tx, change(event, g.WorkspaceID, "member.join", accountID, nil, roleFacts{g.Role}))
}

func dropMember(ctx context.Context, tx *sql.Tx, m account.Member, event account.AuditEvent, out *sso.Outcome) error {
	before := roleFacts{m.Role}
	m.Role = ""
	if err := writeRole(ctx, tx, m); err != nil {
		return err
	}
	if err := dropInvitations(ctx, tx, m.WorkspaceID, m.AccountID); err != nil {
		return err
	}
	removal := change(event, m.WorkspaceID, "member.remove", m.AccountID, before, nil)
	revoked, err := revokeKeysOf(ctx, tx, m.WorkspaceID, m.AccountID, removal)
	if err != nil {
		return err
	}
	out.Revoked = append(out.Revoked, revoked...)
	return writeAudit(ctx, tx, removal)
}

// dropInvitations deletes the open invitations of a member, because they may grant more than the member's new role allows.
func dropInvitations(ctx context.Context, tx *sql.Tx, workspaceID, accountID string) error {
	_, err := tx.ExecContext(ctx, `delete from invitations where workspace_id = $1 and created_by = $2`, workspaceID, accountID)
	return err
}

// IdentityOf implements sso.Store.
func (s *Store) IdentityOf(ctx context.Context, accountID, issuer string) (sso.Identity, error) {
	return scanIdentity(s.db.QueryRow(ctx, `select `+identityColumns+` from identities i where i.account_id = $1 and i.issuer = $2`, accountID, issuer))
}

// DueIdentities implements sso.Store.
func (s *Store) DueIdentities(ctx context.Context, d sso.Due) ([]sso.Identity, error) {
	const q = `select ` + identityColumns + ` from identities i
		where i.issuer = $1 and i.checked_at <= $2 and i.claimed_until <= $3 and (
			exists (select 1 from sessions s where s.account_id = i.account_id and s.issuer = i.issuer and s.seen_at > $4 and s.expires_at > $3)
			or length(i.refresh) > 0 and exists (select 1 from keys k where k.created_by = i.account_id and k.revoked_at = 0 and k.last_used_at > $4))
		order by i.checked_at limit $5`
	rows, err := s.db.Query(ctx, q, d.Issuer, sqldb.Millis(d.CheckedBefore), sqldb.Millis(d.Now), sqldb.Millis(d.ActiveSince), d.Limit)
	return sqldb.Collect(rows, err, scanIdentity)
}

// ClaimIdentity implements sso.Store.
func (s *Store) ClaimIdentity(ctx context.Context, i sso.Identity, now, until time.Time) (bool, error) {
	err := s.db.InTx(ctx, func(tx *sql.Tx) error {
		const q = `update identities set claimed_until = $5 where issuer = $1 and subject = $2 and refresh = $3 and claimed_until <= $4`
		return affect(ctx, tx, q, i.Issuer, i.Subject, i.Refresh, sqldb.Millis(now), sqldb.Millis(until))
	})
	if errors.Is(err, account.ErrNotFound) {
		return false, nil
	}
	return err == nil, err
}

// ConfirmIdentity implements sso.Store.
func (s *Store) ConfirmIdentity(ctx context.Context, r sso.Result) (out sso.Outcome, err error) {
	i := r.Identity
	err = s.db.InTx(ctx, func(tx *sql.Tx) error {
		out = sso.Outcome{}
		const q = `update identities set refresh = $4, checked_at = $5, checked_until = $6, claimed_until = 0 where issuer = $1 and subject = $2 and refresh = $3`
		err := affect(ctx, tx, q, i.Issuer, i.Subject, r.Old, i.Refresh, sqldb.Millis(i.CheckedAt), sqldb.Millis(i.CheckedUntil))
		if errors.Is(err, account.ErrNotFound) || r.Failed {
			return ignoreMissing(err) // the account was deleted, or a sign-in replaced the token meanwhile
		}
		if err != nil {
			return err
		}
		if len(r.Grants) == 0 {
			if _, err := tx.ExecContext(ctx, `delete from sessions where account_id = $1 and issuer = $2`, i.AccountID, i.Issuer); err != nil {
				return err
			}
		}
		return syncMembers(ctx, tx, i.AccountID, r.Grants, r.Event, &out)
	})
	return out, err
}

func ignoreMissing(err error) error {
	if errors.Is(err, account.ErrNotFound) {
		return nil
	}
	return err
}

// EndIdentity implements sso.Store.
func (s *Store) EndIdentity(ctx context.Context, i sso.Identity, event account.AuditEvent) error {
	return s.db.InTx(ctx, func(tx *sql.Tx) error {
		const q = `update identities set refresh = $4, checked_at = $5, checked_until = 0, claimed_until = 0 where issuer = $1 and subject = $2 and refresh = $3`
		err := affect(ctx, tx, q, i.Issuer, i.Subject, i.Refresh, []byte{}, sqldb.Millis(event.At))
		if err != nil {
			return ignoreMissing(err) // a sign-in replaced the token meanwhile
		}
		if _, err := tx.ExecContext(ctx, `delete from sessions where account_id = $1 and issuer = $2`, i.AccountID, i.Issuer); err != nil {
			return err
		}
		return writeAudit(ctx, tx, event)
	})
}
