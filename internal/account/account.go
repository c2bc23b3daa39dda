// Package account manages accounts, workspaces with roles, sessions, invitations and API keys. It checks permissions and secrets.
// Package accountstore implements its stores.
package account

import (
	"errors"
	"time"

	"fairlead.dev/internal/money"
	"fairlead.dev/internal/redact"
	"fairlead.dev/internal/route"
)

// Errors that stores return.
var (
	ErrNotFound = errors.New("not found")
	ErrConflict = errors.New("already exists")
)

// Account is a user of the dashboard.
type Account struct {
	ID           string
	Email        string // email address in lower case
	Name         string
	PasswordHash string // argon2id hash in the format $argon2id$…; NoPassword if the account has no password
	TimeZone     string
	CreatedAt    time.Time
}

// NoPassword is the password hash of an account that signs in only through an identity provider.
const NoPassword = "!"

// HasPassword reports whether the account can sign in with a password.
func (a Account) HasPassword() bool { return a.PasswordHash != NoPassword }

// Workspace is a tenant. It owns keys, policies, the log and a budget.
type Workspace struct {
	ID             string
	Name           string
	DefaultModel   string // baseline model; empty for the instance's default
	PinnedEmbed    string // model that `auto` selects for embeddings; empty until the first such request
	LogBodies      bool
	EntryRetention time.Duration // retention of log entries; 0 for the instance's default
	BodyRetention  time.Duration // retention of bodies; 0 for the instance's default
	Redaction      *redact.Rules // rules applied to stored text; nil for the instance's rules
	Budget         *Budget
	Comparison     *Comparison   // comparison settings; nil when responses are not compared
	Routes         []route.Route // routes of the workspace, in the order of their names
	CreatedAt      time.Time
	Revision       int64 // number that grows when the workspace changes or log entries are deleted
}

// Role determines the permissions of a member in a workspace.
type Role string

// The roles, highest first. Each role includes the permissions of the roles below it.
const (
	Owner     Role = "owner"     // all permissions, including members and deletion
	Admin     Role = "admin"     // settings, providers, policies, all keys, members below owner
	Developer Role = "developer" // own keys, requests with bodies, playground
	Viewer    Role = "viewer"    // statistics and requests without bodies
)

// Member is an account in a workspace.
type Member struct {
	AccountID   string
	WorkspaceID string
	Email       string
	Name        string
	Role        Role
	Source      string // ByGroup if an identity-provider group grants the membership; otherwise empty
	JoinedAt    time.Time
}

// ByGroup is the source of a membership granted by an identity-provider group. The group mapping manages the membership.
const ByGroup = "group"

// Invitation lets a person join a workspace and, where registration requires an invitation, register.
type Invitation struct {
	ID          string
	WorkspaceID string
	Role        Role
	TokenHash   []byte
	CreatedBy   string
	CreatedAt   time.Time
	ExpiresAt   time.Time
}

// Session is a signed-in browser. Only the hash of its token is stored.
type Session struct {
	TokenHash []byte
	AccountID string
	Issuer    string // identity provider that signed the account in; empty for a password
	Client    string
	IP        string
	CreatedAt time.Time
	SeenAt    time.Time
	ExpiresAt time.Time
	// CheckedUntil is the time until which the identity provider has confirmed the session. It is zero for a session that was
	// started with a password.
	CheckedUntil time.Time
}

// Scope determines the permissions of a key.
type Scope string

// The scopes of a key.
const (
	Inference Scope = "inference" // permits calls to the model API
	Read      Scope = "read"      // permits reads through the admin API
	Manage    Scope = "manage"    // permits changes through the admin API
)

// Key is an API key of a workspace with its restrictions. Its secrets are stored as keyed hashes.
type Key struct {
	ID          string
	WorkspaceID string
	KeySettings
	CreatedBy  string // account ID; empty for a key created on the command line
	MakerRole  Role   // present role of the account that created the key; empty if the account is not a member
	CreatedAt  time.Time
	RevokedAt  time.Time // time of the revocation; zero if not revoked
	LastUsedAt time.Time
	LastUsedBy string // client that last used the key, from its User-Agent header
	Secrets    []Secret
}

// KeySettings holds the settings of a key. Only the name is required. The default scope of a new key is Inference.
type KeySettings struct {
	Name          string
	Scopes        []Scope
	AllowedModels []string // models that the key may use; empty allows all; entries may end in *
	Limits        Limits
	Budget        *Budget
	Sessions      *SessionLimits
	Baseline      string         // model to measure savings against; empty for the workspace's baseline
	LogBodies     *bool          // whether bodies are logged; nil inherits from the workspace
	Cache         *ResponseCache // response cache settings; nil when responses are not cached
	ErrorFormat   string         // "openai", or empty for the format of the endpoint
	AllowUnpriced bool
	Tags          map[string]string
	ExpiresAt     time.Time // expiry time; zero for never
}

// Grant is a valid key with its workspace. Both are shared and must not be changed.
type Grant struct {
	Key       *Key
	Workspace *Workspace
}

// Limits holds the rate limits of a key; 0 means unlimited.
type Limits struct {
	RequestsPerMinute int64 `json:"requests_per_minute"`
	TokensPerMinute   int64 `json:"tokens_per_minute"`
	Concurrent        int64 `json:"concurrent"`
}

// Period is the interval after which a budget resets.
type Period string

// Budget periods.
const (
	Daily   Period = "day"
	Weekly  Period = "week" // starts on Monday
	Monthly Period = "month"
	Total   Period = "total" // the budget never resets
)

// Budget limits spending per period.
type Budget struct {
	Amount      money.Amount `json:"amount_usd"`
	Period      Period       `json:"period"`
	Zone        string       `json:"zone,omitempty"` // IANA name; empty for UTC
	WarnPercent int          `json:"warn_percent,omitempty"`
	WarnOnly    bool         `json:"warn_only,omitempty"` // whether requests that would exceed the budget cause a warning instead of an error
}

// SessionLimits limits the spending per session and per end user of a key.
type SessionLimits struct {
	Budget     *Budget `json:"budget,omitempty"`      // budget of each session; its period is Total
	UserBudget *Budget `json:"user_budget,omitempty"` // budget of each end user
	// Downgrade sets whether requests are served with auto:cost once the warning threshold of a budget is reached.
	Downgrade      bool         `json:"downgrade,omitempty"`
	TurnsPerMinute int64        `json:"turns_per_minute,omitempty"`     // limit of each session; 0 means unlimited
	SpendPerMinute money.Amount `json:"spend_per_minute_usd,omitempty"` // limit of each session; 0 means unlimited
}

// CacheMode determines which responses to the requests of a key are cached.
type CacheMode string

// The cache modes of a key.
const (
	CacheOnRequest CacheMode = "on_request" // requests that enable caching in a header
	CacheAlways    CacheMode = "always"
)

// ResponseCache configures the response cache for a key.
type ResponseCache struct {
	Mode   CacheMode     `json:"mode"`
	TTL    time.Duration `json:"ttl_ns"`           // maximum age of a cached response
	Shared bool          `json:"shared,omitempty"` // whether cached responses are shared with the workspace's other Shared keys
}

// Limits on the age of a cached response.
const (
	MinCacheTTL = time.Second
	MaxCacheTTL = 30 * 24 * time.Hour
)

// Secret is one secret of a key: the current one, or an older one in its grace period after a rotation.
type Secret struct {
	Hash      []byte // keyed hash of the whole key
	Start     string // first characters, for display: "fl_Ab3d"
	End       string // last four characters, for display
	CreatedAt time.Time
	ExpiresAt time.Time     // expiry time; zero for never
	AfterUse  time.Duration // time for which the secret stays valid after the first use of a newer secret; 0 means no limit
	UsedAt    time.Time     // time of the first use; zero if unused
}
