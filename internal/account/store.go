package account

import (
	"context"
	"time"
)

// Stores holds the stores that a Service uses.
//
// Every method that changes data writes its audit event in the same transaction and increments the revision of the topic "keys"
// or "workspaces", which keyrings poll.
//
// A method with a change function reads the object, calls the function and writes the result in one transaction. If the returned
// event has no action, nothing is written. Errors of the function are returned unchanged.
type Stores struct {
	Accounts    Store
	Passwords   PasswordStore
	Sessions    SessionStore
	Workspaces  WorkspaceStore
	Members     MemberStore
	Invitations InvitationStore
	Keys        KeyStore
	Audit       AuditStore
}

// Store stores accounts.
type Store interface {
	HasAccounts(ctx context.Context) (bool, error)
	// AccountByEmail expects the address in lower case. It returns ErrNotFound for an unknown address.
	AccountByEmail(ctx context.Context, email string) (Account, error)
	AccountByID(ctx context.Context, accountID string) (Account, error)
	// Enrol returns the membership of the new account. It returns ErrConflict when the address is taken, ErrNotFirst when
	// e.First is set and an account exists, and ErrNotFound when the invitation was used or has expired.
	Enrol(ctx context.Context, e Enrolment) (Member, error)
	// ChangeAccount writes the name and the time zone.
	ChangeAccount(ctx context.Context, accountID string, change func(*Account) (AuditEvent, error)) (Account, error)
	// DeleteAccount deletes the account with its memberships and sessions. It revokes the keys that the account created
	// and all keys of workspaces without a remaining member. It returns ErrLastOwner when the other members of a workspace
	// would have no owner.
	DeleteAccount(ctx context.Context, accountID string, event AuditEvent) error
}

// PasswordStore stores password hashes and counts wrong passwords.
type PasswordStore interface {
	// SetPassword stores the password hash and deletes all sessions of the account. If next is not nil, it creates that session.
	SetPassword(ctx context.Context, accountID, hash string, next *Session, event AuditEvent) error
	// TakeGuess records a sign-in attempt for the subject at the given time. If the window that ends at that time already
	// contains the maximum number of attempts, it records nothing and returns the time to wait.
	TakeGuess(ctx context.Context, subject []byte, at time.Time, window time.Duration, limit int) (time.Duration, error)
	// ReturnGuess removes the sign-in attempt recorded at the given time, so that it does not count toward the limit.
	ReturnGuess(ctx context.Context, subject []byte, at time.Time) error
	// ForgetGuesses removes all sign-in attempts recorded for the subject.
	ForgetGuesses(ctx context.Context, subject []byte, event AuditEvent) error
}

// Enrolment is a registration: the account, its membership and optionally its session, written in one transaction. With an
// invitation, the account joins the workspace of the invitation. Without an invitation, the first account becomes the owner of
// the oldest workspace if this workspace has no members. Any other account becomes the owner of the given workspace, which is created.
type Enrolment struct {
	Account    Account
	First      bool   // whether the enrolment fails if an account exists
	Invitation []byte // hash of the invitation's token; nil for none
	Workspace  Workspace
	Session    *Session
	Event      AuditEvent // audit event; the store sets its workspace
}

// SessionStore stores browser sessions.
type SessionStore interface {
	// CreateSession returns ErrConflict when passwordHash is not the account's current one. It also deletes expired sessions.
	CreateSession(ctx context.Context, session Session, passwordHash string) error
	// SessionByHash returns ErrNotFound for an unknown session. It does not check whether the session has expired.
	SessionByHash(ctx context.Context, hash []byte) (Session, Account, error)
	TouchSession(ctx context.Context, hash []byte, seen, expires time.Time) error
	SessionsOf(ctx context.Context, accountID string) ([]Session, error)
	// DeleteSession returns ErrNotFound when the account has no such session.
	DeleteSession(ctx context.Context, accountID string, hash []byte) error
}

// WorkspaceStore stores workspaces.
type WorkspaceStore interface {
	WorkspacesOf(ctx context.Context, accountID string) ([]Membership, error)
	WorkspaceByID(ctx context.Context, workspaceID string) (Workspace, error)
	// OldestWorkspace returns ErrNotFound when no workspace exists.
	OldestWorkspace(ctx context.Context) (Workspace, error)
	// EnsureWorkspace returns the oldest workspace. It creates the draft when no workspace exists.
	EnsureWorkspace(ctx context.Context, draft Workspace, event AuditEvent) (Workspace, error)
	// CreateWorkspace returns ErrTooMany when the owner already owns the maximum number of workspaces.
	CreateWorkspace(ctx context.Context, workspace Workspace, owner Member, maximum int, event AuditEvent) error
	ChangeWorkspace(ctx context.Context, workspaceID string, change func(*Workspace) (AuditEvent, error)) (Workspace, error)
}

// MemberStore stores the members of workspaces.
type MemberStore interface {
	MembersOf(ctx context.Context, workspaceID string) ([]Member, error)
	MemberOf(ctx context.Context, workspaceID, accountID string) (Member, error)
	// ChangeMember writes the role; an empty role removes the member. change receives the member and the number of owners. Open
	// invitations that the member created are deleted, because they may grant more than the new role allows. If revokeKeys is
	// set, removing a member revokes the active keys that the member created in the workspace and returns them.
	ChangeMember(ctx context.Context, workspaceID, accountID string, revokeKeys bool, change func(m *Member, owners int) (AuditEvent, error)) ([]Key, error)
}

// InvitationStore stores invitations to workspaces.
type InvitationStore interface {
	CreateInvitation(ctx context.Context, invitation Invitation, event AuditEvent) error
	// InvitationsOf returns the invitations that are valid at the given time.
	InvitationsOf(ctx context.Context, workspaceID string, now time.Time) ([]Invitation, error)
	InvitationByHash(ctx context.Context, hash []byte) (Invitation, error)
	DeleteInvitation(ctx context.Context, workspaceID, invitationID string, event AuditEvent) error
	// AcceptInvitation deletes the invitation and adds the member. It returns ErrNotFound when the invitation was used or
	// has expired, and ErrConflict when the account is already a member.
	AcceptInvitation(ctx context.Context, hash []byte, accountID string, event AuditEvent) (Member, error)
}

// KeyStore stores API keys.
type KeyStore interface {
	// CreateKey returns ErrTooMany when the creator already has the maximum number of active keys. It counts the account's keys
	// in all workspaces. For a key without an account, it counts the keys without an account in the same workspace. A maximum of 0
	// means unlimited.
	CreateKey(ctx context.Context, key Key, maximum int, event AuditEvent) error
	// KeysOf returns all keys, including revoked ones, newest first.
	KeysOf(ctx context.Context, workspaceID string) ([]Key, error)
	// KeyByID returns ErrNotFound for an unknown key and for a key of another workspace.
	KeyByID(ctx context.Context, workspaceID, keyID string) (Key, error)
	// ChangeKey writes all fields except the workspace, the creator and the recorded uses.
	ChangeKey(ctx context.Context, workspaceID, keyID string, change func(*Key) (AuditEvent, error)) (Key, error)
}

// AuditStore stores audit events.
type AuditStore interface {
	// WriteAudit writes an event that is not part of another change.
	WriteAudit(ctx context.Context, event AuditEvent) error
	// Audit returns events of a workspace, newest first. If before is not empty, it returns only events older than the
	// event with that ID.
	Audit(ctx context.Context, workspaceID, action, before string, limit int) ([]AuditEvent, error)
}
