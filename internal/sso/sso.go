// Package sso signs accounts in through an OpenID Connect identity provider. It runs the authorization code flow with PKCE, and maps
// the provider's groups to workspaces and roles. While a person is active, it checks the groups at short intervals, so that a person
// who leaves a group loses access, by default within a minute. It does not serve HTTP: package accounts of the admin API calls it.
package sso

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"sync/atomic"
	"time"

	"golang.org/x/sync/singleflight"

	"fairlead.dev/internal/account"
	"fairlead.dev/internal/account/secret"
)

// Options are the settings of an identity provider.
type Options struct {
	Issuer         string // issuer URL; empty to disable single sign-on
	Name           string // name of the provider on the sign-in page
	ClientID       string
	ClientSecret   string // client secret; empty for a public client
	Scopes         []string
	GroupsClaim    string
	AllowedDomains []string          // domains of email addresses, in lower case; empty for all
	Groups         []Mapping         // workspaces and roles by group
	Params         map[string]string // additional parameters of the authorization request
	TrustEmail     bool              // whether to accept an address without the claim email_verified
	LinkByEmail    bool              // whether to link an existing account with the same verified address; has no effect with TrustEmail
	Recheck        time.Duration     // interval of the checks; a confirmation is valid for twice as long
}

// Mapping grants the members of a group a role in a workspace.
type Mapping struct {
	Group     string // name of the group, or Everyone for all people who can sign in
	Workspace string // workspace ID, or Operator
	Role      account.Role
}

// Special values of a Mapping.
const (
	Everyone = "*"
	Operator = "operator" // the workspace whose members operate the gateway
)

// Grant is a role in a workspace.
type Grant struct {
	WorkspaceID string
	Role        account.Role
}

// Identity is a person at an identity provider, with the result of the last check.
type Identity struct {
	Issuer       string
	Subject      string
	AccountID    string
	Refresh      []byte // refresh token, sealed
	CheckedAt    time.Time
	CheckedUntil time.Time
}

// SignIn is a successful sign-in, written in one transaction.
type SignIn struct {
	Identity Identity        // identity without its account ID, which the store sets
	Draft    account.Account // account to create if neither the identity nor a linked account exists
	Link     bool            // whether to link an existing account that has the draft's address, and to remove its other means of access
	Session  account.Session // session without its account ID, which the store sets
	Grants   []Grant
	Event    account.AuditEvent // template of the audit events
}

// Result is the result of a check.
type Result struct {
	Identity Identity           // identity with the new refresh token and times
	Old      []byte             // refresh token before the check, sealed
	Grants   []Grant            // current grants; if empty, the sessions of the identity are deleted
	Failed   bool               // whether the provider could not be reached; if so, grants and sessions stay unchanged
	Event    account.AuditEvent // template of the audit events
}

// Outcome is the result of a change of grants.
type Outcome struct {
	Account account.Account
	Revoked []account.Key // keys of workspaces that the account has lost
	Unknown []string      // workspaces that do not exist
}

// Due selects the identities that need a check.
type Due struct {
	Issuer        string
	CheckedBefore time.Time
	ActiveSince   time.Time // time after which an active person has used a session or key
	Now           time.Time
	Limit         int
}

// Store stores identities. A change of grants replaces the memberships of the account whose source is account.ByGroup. If the
// account loses a workspace, the keys that it created there are revoked.
type Store interface {
	// SignInIdentity returns account.ErrConflict if another account has the address and must not be linked.
	SignInIdentity(ctx context.Context, s SignIn) (Outcome, error)
	// IdentityOf returns account.ErrNotFound if the account has no identity at the issuer.
	IdentityOf(ctx context.Context, accountID, issuer string) (Identity, error)
	DueIdentities(ctx context.Context, d Due) ([]Identity, error)
	// ClaimIdentity reserves the check of an identity until the given time. It reports false if another replica has reserved it or
	// its refresh token has changed.
	ClaimIdentity(ctx context.Context, i Identity, now, until time.Time) (bool, error)
	// ConfirmIdentity writes the result of a check and ends its reservation. It changes nothing if the refresh token was replaced
	// during the check.
	ConfirmIdentity(ctx context.Context, r Result) (Outcome, error)
	// EndIdentity deletes the sessions of the identity and its refresh token, unless the refresh token has changed.
	EndIdentity(ctx context.Context, i Identity, event account.AuditEvent) error
}

// Workspaces finds the operator's workspace.
type Workspaces interface {
	FirstWorkspace(ctx context.Context) (account.Workspace, error)
}

// Recorder writes to the audit log.
type Recorder interface {
	WriteAudit(ctx context.Context, event account.AuditEvent) error
}

// Sealer encrypts secrets and binds them to a kind and an ID.
type Sealer interface {
	Seal(kind, id, text string) []byte
	Unseal(kind, id string, sealed []byte) (string, error)
}

// Kinds of sealed secrets. The colon separates them from the kinds of provider credentials, which are provider names without a colon.
const (
	kindRefresh = "sso:refresh"
	kindFlow    = "sso:flow"
)

// Parts are the dependencies of a Service.
type Parts struct {
	Store      Store
	Workspaces Workspaces
	Audit      Recorder
	Sealer     Sealer
	MasterKey  []byte                                      // master key, from which the key for hashing session tokens is derived
	Do         func(*http.Request) (*http.Response, error) // sends requests to the identity provider
	Changed    func(context.Context)                       // called after memberships or keys have changed
	Ended      func(ctx context.Context, e account.Ending) // called for each revoked key
	Log        *slog.Logger
	Now        func() time.Time // clock; time.Now when nil
}

// Service signs accounts in through the configured identity provider.
type Service struct {
	Parts
	sessionHash secret.KeyedHash
	active      atomic.Pointer[connection] // nil if single sign-on is disabled
	checks      singleflight.Group
	refusals    refusalLimit
}

// New returns a service without a provider. Configure sets it.
func New(p Parts) (*Service, error) {
	hash, err := secret.NewKeyedHash(p.MasterKey, "sessions")
	if err != nil {
		return nil, fmt.Errorf("start single sign-on: %w", err)
	}
	if p.Now == nil {
		p.Now = time.Now
	}
	if p.Log == nil {
		p.Log = slog.New(slog.DiscardHandler)
	}
	return &Service{Parts: p, sessionHash: hash}, nil
}

// Configure sets the provider. It makes no calls. An empty issuer disables single sign-on.
func (s *Service) Configure(o Options) {
	if o.Issuer == "" {
		s.active.Store(nil)
		return
	}
	s.active.Store(&connection{options: o, now: s.now, client: &http.Client{
		Transport:     bounded{s.Do},
		Timeout:       callTimeout,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}})
}

// now returns the current time in UTC with millisecond precision, as stored.
func (s *Service) now() time.Time { return s.Now().UTC().Truncate(time.Millisecond) }

// resolve returns the grants of the mappings that match the groups. The highest role in a workspace wins.
func (s *Service) resolve(ctx context.Context, o Options, groups []string) ([]Grant, error) {
	grants := []Grant{}
	for _, m := range o.matching(groups) {
		g := Grant{WorkspaceID: m.Workspace, Role: m.Role}
		if m.Workspace == Operator {
			first, err := s.Workspaces.FirstWorkspace(ctx)
			if err != nil {
				return nil, err
			}
			g.WorkspaceID = first.ID
		}
		at := slices.IndexFunc(grants, func(other Grant) bool { return other.WorkspaceID == g.WorkspaceID })
		if at < 0 {
			grants = append(grants, g)
		} else if g.Role.AtLeast(grants[at].Role) {
			grants[at] = g
		}
	}
	return grants, nil
}

// apply logs unknown workspaces and informs other packages about changed memberships and revoked keys.
func (s *Service) apply(ctx context.Context, out Outcome) {
	for _, id := range out.Unknown {
		s.Log.WarnContext(ctx, "group mapping names an unknown workspace", "workspace", id)
	}
	if s.Changed != nil {
		s.Changed(ctx)
	}
	for i := range out.Revoked {
		if s.Ended != nil {
			s.Ended(ctx, account.Ending{KeyID: out.Revoked[i].ID})
		}
	}
}
