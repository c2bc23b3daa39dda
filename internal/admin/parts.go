package admin

import (
	"context"
	"log/slog"
	"net/http"
	"time"

	"fairlead/internal/account"
	"fairlead/internal/money"
	"fairlead/internal/requestlog"
)

// Parts is what the admin API is built from. Credentials, Switch, Prices, Names and Samples may be nil where the instance has none.
type Parts struct {
	People      People
	Workspaces  Workspaces
	Keys        Keys
	Keyring     Keyring
	Audit       AuditLog
	Notes       Notes
	Requests    requestlog.Reader
	Figures     requestlog.FigureReader
	Live        *requestlog.Feed
	Eraser      Eraser
	Spending    Spending
	Fleet       Fleet
	Prober      Prober
	Credentials Credentials
	Switch      Switch
	Prices      Prices
	Names       Names
	Explainer   Explainer
	Rulebook    Rulebook
	Replayer    Replayer
	Feedback    Feedback
	Playground  Playground
	Samples     Samples
	Instance    Instance

	// Transcript tells a stored request and its answer in the chat format, where they are in another; else nothing.
	Transcript  func(format string, body requestlog.Body) (request, response []byte)
	Unreachable func(error) bool // tells that the store is away; may be nil

	PublicURL  string // address under which people reach the dashboard; its origin may send changes
	TrustProxy bool   // believe X-Forwarded-Proto and X-Forwarded-For
	Log        *slog.Logger
	Now        func() time.Time
}

// People is what persons do with their own account; account.Service does it.
type People interface {
	// SetupNeeded reports whether there is no account yet.
	SetupNeeded(ctx context.Context) (bool, error)
	// Register returns no token when the new account has to sign in.
	Register(ctx context.Context, r account.Registration) (account.Account, string, error)
	Login(ctx context.Context, email, password string, v account.Visitor) (account.Account, string, error)
	Logout(ctx context.Context, token string) error
	Session(ctx context.Context, token string) (account.Account, account.Session, error)
	Sessions(ctx context.Context, accountID string) ([]account.Session, error)
	EndSession(ctx context.Context, accountID, sessionID string) error
	UpdateAccount(ctx context.Context, accountID string, c account.ProfileChange) (account.Account, error)
	ChangePassword(ctx context.Context, accountID, old, replacement string, v account.Visitor) (string, error)
	DeleteAccount(ctx context.Context, accountID, password string, v account.Visitor) error
	// DeviceToken returns the token of a browser that has signed in to the account.
	DeviceToken(a account.Account, presented string) string
}

// Workspaces is what members do with a workspace; account.Service does it. An id of a workspace where the account is
// no member is answered as an unknown one.
type Workspaces interface {
	// Workspaces lists where the account is a member, the oldest first.
	Workspaces(ctx context.Context, accountID string) ([]account.Membership, error)
	// Actor says what the account may do in the workspace.
	Actor(ctx context.Context, accountID, workspaceID string) (account.Actor, error)
	Workspace(ctx context.Context, workspaceID string) (account.Workspace, error)
	CreateWorkspace(ctx context.Context, by account.Actor, name string) (account.Workspace, error)
	UpdateWorkspace(ctx context.Context, by account.Actor, workspaceID string, c account.WorkspaceChange) (account.Workspace, error)
	Members(ctx context.Context, workspaceID string) ([]account.Member, error)
	SetRole(ctx context.Context, by account.Actor, accountID string, role account.Role) error
	// RemoveMember returns the keys that it revoked.
	RemoveMember(ctx context.Context, by account.Actor, accountID string, keepKeys bool) ([]account.Key, error)
	Invitations(ctx context.Context, workspaceID string) ([]account.Invitation, error)
	Invite(ctx context.Context, by account.Actor, role account.Role) (account.Invitation, string, error)
	RevokeInvitation(ctx context.Context, by account.Actor, invitationID string) error
	AcceptInvitation(ctx context.Context, accountID, token string) (account.Member, error)
}

// Keys is what members do with API keys; account.Service does it.
type Keys interface {
	Keys(ctx context.Context, workspaceID string) ([]account.Key, error)
	Key(ctx context.Context, workspaceID, keyID string) (account.Key, error)
	CreateKey(ctx context.Context, by account.Actor, d account.KeyDraft) (account.Key, string, error)
	UpdateKey(ctx context.Context, by account.Actor, keyID string, c account.KeyChange) (account.Key, error)
	RotateKey(ctx context.Context, by account.Actor, keyID string, g account.Grace) (account.Key, string, error)
	RevokeKey(ctx context.Context, by account.Actor, keyID string) (account.Key, error)
	// KeyActor says what a key may do in its workspace.
	KeyActor(ctx context.Context, key *account.Key) (account.Actor, error)
}

// Keyring checks API keys; account.Keyring does it.
type Keyring interface {
	// Authenticate returns what the key in the Authorization header gives.
	Authenticate(h http.Header) (*account.Grant, error)
	// Touch notes that a key was used.
	Touch(keyID, client string, at time.Time)
}

// AuditLog says who changed what; account.Service does it.
type AuditLog interface {
	// Audit returns a page, newest first, older than the event before (empty for the newest).
	Audit(ctx context.Context, workspaceID, before string, limit int) ([]account.AuditEvent, error)
}

// Names knows what to call those whom the audit log speaks of, also when they left.
type Names interface {
	// Names maps ids of accounts to their last known addresses, and ids of the workspace's invitations to the addresses
	// of whoever accepted them. What is not known is left out.
	Names(ctx context.Context, workspaceID string, ids []string) (map[string]string, error)
}

// Notes adds changes that account does not know of to the audit log; account.Service does it.
type Notes interface {
	// Note writes before and after as JSON; nil leaves them out.
	Note(ctx context.Context, by account.Actor, action, object string, before, after any) error
}

// Eraser deletes entries with their texts.
type Eraser interface {
	// DeleteEntries deletes what the filter selects and returns how many they were; a dry run only counts them.
	DeleteEntries(ctx context.Context, f requestlog.Filter, dryRun bool) (int64, error)
}

// Spending says how much of the budgets is used up.
type Spending interface {
	// BudgetUse returns the use of the current period by key id, with the workspace's own under its id. Keys and
	// workspaces without a budget are left out.
	BudgetUse(ctx context.Context, workspaceID string) (map[string]BudgetUse, error)
}

// BudgetUse is how much of a budget is used up in its current period.
type BudgetUse struct {
	Spent    money.Amount
	Held     money.Amount // reserved for requests under way
	ResetsAt time.Time    // zero for never
}

// Instance tells the facts of this gateway.
type Instance interface {
	Facts() Facts
	// Storage measures what is stored.
	Storage(ctx context.Context) (StorageUse, error)
	// Disk tells how full storage is without asking the database.
	Disk() DiskUse
}
