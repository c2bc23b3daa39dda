// Package account owns people and what they may do: accounts, workspaces with roles, sessions, invitations, and the
// API keys of a workspace. It checks rights and secrets; where they are stored is the matter of store.
package account

import (
	"errors"
	"time"

	"fairlead/internal/money"
	"fairlead/internal/redact"
)

// Errors that callers tell apart.
var (
	ErrNotFound = errors.New("not found")
	ErrConflict = errors.New("exists already")
)

// Account is a person.
type Account struct {
	ID           string
	Email        string // lower case
	Name         string
	PasswordHash string // argon2id, in its usual text form
	TimeZone     string
	CreatedAt    time.Time
}

// Workspace is the tenant: it owns keys, policies, log and budget. Registering creates one.
type Workspace struct {
	ID             string
	Name           string
	DefaultModel   string // the baseline; empty for the instance's default
	PinnedEmbed    string // the model that `auto` means for embeddings; empty until first used
	LogBodies      bool
	EntryRetention time.Duration // 0 for the instance's
	BodyRetention  time.Duration // 0 for the instance's
	Redaction      *redact.Rules // what is taken out of stored texts; nil for the instance's
	Budget         *Budget
	CreatedAt      time.Time
}

// Role is what a member may do in a workspace.
type Role string

// The roles, each including the rights of the next.
const (
	Owner     Role = "owner"     // everything, also members and deletion
	Admin     Role = "admin"     // settings, providers, policies, all keys, members below owner
	Developer Role = "developer" // own keys, requests with their bodies, playground
	Viewer    Role = "viewer"    // reads figures and requests, no bodies
)

// Member is an account in a workspace.
type Member struct {
	AccountID   string
	WorkspaceID string
	Email       string
	Name        string
	Role        Role
	JoinedAt    time.Time
}

// Invitation lets somebody join a workspace, or register when registration is closed.
type Invitation struct {
	ID          string
	WorkspaceID string
	Role        Role
	TokenHash   []byte
	CreatedBy   string
	CreatedAt   time.Time
	ExpiresAt   time.Time
}

// Session is a signed-in browser. Only the hash of its token is kept.
type Session struct {
	TokenHash []byte
	AccountID string
	Client    string
	IP        string
	CreatedAt time.Time
	SeenAt    time.Time
	ExpiresAt time.Time
}

// Scope is what a key may be used for.
type Scope string

// The scopes of a key.
const (
	Inference Scope = "inference" // the model API
	Read      Scope = "read"      // reading through the admin API
	Manage    Scope = "manage"    // changing through the admin API
)

// Key is an API key of a workspace with everything that is enforced for it. Its secrets are kept as keyed hashes.
type Key struct {
	ID            string
	WorkspaceID   string
	Name          string
	Scopes        []Scope
	AllowedModels []string // empty allows all; entries may end in *
	Limits        Limits
	Budget        *Budget
	Baseline      string // model to measure savings against; empty for the workspace's
	LogBodies     *bool  // nil inherits from the workspace
	ErrorFormat   string // "" or "openai"
	AllowUnpriced bool
	Tags          map[string]string
	CreatedBy     string // account id; empty when made on the command line
	CreatedAt     time.Time
	ExpiresAt     time.Time // zero for never
	RevokedAt     time.Time // zero while it is valid
	LastUsedAt    time.Time
	LastUsedBy    string // client that used it last
	Secrets       []Secret
}

// Grant is a valid key with its workspace. Both are shared and must not be changed.
type Grant struct {
	Key       *Key
	Workspace *Workspace
}

// Limits bound a key's traffic; 0 is no limit.
type Limits struct {
	RequestsPerMinute int64 `json:"requests_per_minute"`
	TokensPerMinute   int64 `json:"tokens_per_minute"`
	Concurrent        int64 `json:"concurrent"`
}

// Period is how often a budget starts anew.
type Period string

// The periods of a budget.
const (
	Daily   Period = "day"
	Weekly  Period = "week" // from Monday
	Monthly Period = "month"
	Total   Period = "total" // never
)

// Budget bounds spending per period.
type Budget struct {
	Amount      money.Amount `json:"amount_usd"`
	Period      Period       `json:"period"`
	Zone        string       `json:"zone,omitempty"` // IANA name; empty for UTC
	WarnPercent int          `json:"warn_percent,omitempty"`
	WarnOnly    bool         `json:"warn_only,omitempty"` // tell, but do not refuse
}

// Secret is one secret of a key: the current one, or an older one in its grace after a rotation.
type Secret struct {
	Hash      []byte // keyed hash of the whole key
	Start     string // first characters, for display: "fl_Ab3d"
	End       string // last four characters, for display
	CreatedAt time.Time
	ExpiresAt time.Time     // zero for never
	AfterUse  time.Duration // ends this long after the newer secret is first used; 0 for not so
	UsedAt    time.Time     // first use
}
