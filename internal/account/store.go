package account

import (
	"context"
	"time"
)

// Store keeps people, workspaces and keys. Every method that changes something writes its audit event in the same
// step, and moves the revision of the topics "keys" and "workspaces" that a Keyring watches.
//
// A method that takes a change function reads the object, calls the function with it and writes the result, with no
// other change in between. An event without an action means that nothing is to be written; an error of the function
// is returned as it is.
type Store interface {
	PersonStore
	SessionStore
	WorkspaceStore
	MemberStore
	KeySettings
	// WriteAudit records an event alone.
	WriteAudit(ctx context.Context, event AuditEvent) error
	// Audit returns events of a workspace, newest first, that are older than the event with the id before
	// (all when it is empty).
	Audit(ctx context.Context, workspaceID, before string, limit int) ([]AuditEvent, error)
}

// PersonStore keeps people.
type PersonStore interface {
	HasAccounts(ctx context.Context) (bool, error)
	// AccountByEmail takes the address in lower case; ErrNotFound when there is none.
	AccountByEmail(ctx context.Context, email string) (Account, error)
	AccountByID(ctx context.Context, accountID string) (Account, error)
	// Enrol returns the membership that the account got. ErrConflict when the address is taken, ErrNotFirst when it
	// should have been the first account and is not, ErrNotFound when the invitation is used up or over.
	Enrol(ctx context.Context, e Enrolment) (Member, error)
	// ChangeAccount writes name and time zone.
	ChangeAccount(ctx context.Context, accountID string, change func(*Account) (AuditEvent, error)) (Account, error)
	// SetPassword ends all sessions of the account; next, where there is one, is the only session afterwards.
	SetPassword(ctx context.Context, accountID, hash string, next *Session, event AuditEvent) error
	// DeleteAccount ends memberships and sessions. It revokes the keys that the account created in its workspaces, and
	// all keys of workspaces that have no member left.
	// ErrLastOwner when other members of a workspace would have no owner.
	DeleteAccount(ctx context.Context, accountID string, event AuditEvent) error
	// TakeGuess notes one guess against the subject, unless limit guesses lie within the window that ends at at:
	// then it returns how long to wait.
	TakeGuess(ctx context.Context, subject []byte, at time.Time, window time.Duration, limit int) (time.Duration, error)
	// ReturnGuess forgets the guess that was taken at at.
	ReturnGuess(ctx context.Context, subject []byte, at time.Time) error
	// ForgetGuesses forgets all guesses against the subject.
	ForgetGuesses(ctx context.Context, subject []byte, event AuditEvent) error
}

// Enrolment is what registering writes in one step: the account, its membership and, where asked, its session.
// The account joins by the invitation; or, being the very first one, takes over the oldest workspace when that has
// no members; or owns the workspace given here, which is created.
type Enrolment struct {
	Account    Account
	First      bool   // only while there is no account yet
	Invitation []byte // hash of the invitation's token; nil for none
	Workspace  Workspace
	Session    *Session
	Event      AuditEvent // its workspace is filled in
}

// SessionStore keeps signed-in browsers.
type SessionStore interface {
	// CreateSession returns ErrConflict when the account's password hash is not this one any more. It also forgets
	// sessions that are over.
	CreateSession(ctx context.Context, session Session, passwordHash string) error
	// SessionByHash returns ErrNotFound when there is none; whether it is over is the caller's matter.
	SessionByHash(ctx context.Context, hash []byte) (Session, Account, error)
	TouchSession(ctx context.Context, hash []byte, seen, expires time.Time) error
	SessionsOf(ctx context.Context, accountID string) ([]Session, error)
	// DeleteSession returns ErrNotFound when the account has no such session.
	DeleteSession(ctx context.Context, accountID string, hash []byte) error
}

// WorkspaceStore keeps tenants.
type WorkspaceStore interface {
	WorkspacesOf(ctx context.Context, accountID string) ([]Membership, error)
	WorkspaceByID(ctx context.Context, workspaceID string) (Workspace, error)
	// OldestWorkspace returns ErrNotFound while there is none.
	OldestWorkspace(ctx context.Context) (Workspace, error)
	// EnsureWorkspace returns the oldest workspace; the draft is written only when there is none.
	EnsureWorkspace(ctx context.Context, draft Workspace, event AuditEvent) (Workspace, error)
	// CreateWorkspace returns ErrTooMany when the owner owns most workspaces already.
	CreateWorkspace(ctx context.Context, workspace Workspace, owner Member, most int, event AuditEvent) error
	ChangeWorkspace(ctx context.Context, workspaceID string, change func(*Workspace) (AuditEvent, error)) (Workspace, error)
}

// MemberStore keeps who belongs to a workspace and who is invited.
type MemberStore interface {
	MembersOf(ctx context.Context, workspaceID string) ([]Member, error)
	MemberOf(ctx context.Context, workspaceID, accountID string) (Member, error)
	// ChangeMember writes the role; an empty one removes the member. The function also hears how many owners the
	// workspace has. Either way the member's open invitations end, because they may promise more than it has now.
	// With revokeKeys, removing a member revokes the active keys that the member created in the workspace, and returns
	// them.
	ChangeMember(ctx context.Context, workspaceID, accountID string, revokeKeys bool, change func(m *Member, owners int) (AuditEvent, error)) ([]Key, error)
	CreateInvitation(ctx context.Context, invitation Invitation, event AuditEvent) error
	// InvitationsOf returns those that are valid at now.
	InvitationsOf(ctx context.Context, workspaceID string, now time.Time) ([]Invitation, error)
	InvitationByHash(ctx context.Context, hash []byte) (Invitation, error)
	DeleteInvitation(ctx context.Context, workspaceID, invitationID string, event AuditEvent) error
	// AcceptInvitation uses the invitation up. ErrNotFound when it is gone or over, ErrConflict when the account is
	// a member already.
	AcceptInvitation(ctx context.Context, hash []byte, accountID string, event AuditEvent) (Member, error)
}

// KeySettings keeps keys for those who manage them.
type KeySettings interface {
	// CreateKey returns ErrTooMany when the creator has most active keys already: those of the account in all workspaces,
	// or those without an account in the key's workspace. Zero means unlimited.
	CreateKey(ctx context.Context, key Key, most int, event AuditEvent) error
	// KeysOf returns them newest first, with revoked ones.
	KeysOf(ctx context.Context, workspaceID string) ([]Key, error)
	// KeyByID returns ErrNotFound for a key of another workspace too.
	KeyByID(ctx context.Context, workspaceID, keyID string) (Key, error)
	// ChangeKey writes everything except the workspace, the maker and the record of uses.
	ChangeKey(ctx context.Context, workspaceID, keyID string, change func(*Key) (AuditEvent, error)) (Key, error)
}
