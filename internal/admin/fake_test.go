package admin

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"fairlead.dev/internal/account"
	"fairlead.dev/internal/admin/accounts"
	"fairlead.dev/internal/admin/adminapi"
	"fairlead.dev/internal/admin/overview"
	"fairlead.dev/internal/admin/policies"
	"fairlead.dev/internal/admin/providers"
	"fairlead.dev/internal/admin/spending"
	"fairlead.dev/internal/catalog"
	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/money"
	"fairlead.dev/internal/policystore"
	"fairlead.dev/internal/provider"
	"fairlead.dev/internal/requestlog"
	"fairlead.dev/internal/route"
)

// The workspaces and accounts: one member of each role in the operator's workspace, and the owner of another workspace.
const (
	home     = "ws_home"
	abroad   = "ws_abroad"
	stranger = "acc_stranger"
)

var noon = time.Date(2026, 11, 15, 12, 0, 0, 0, time.UTC)

// fake holds the in-memory dependencies of the admin API. It checks no permissions, because the API checks them first.
type fake struct {
	mu          sync.Mutex
	now         time.Time
	people      map[string]account.Account
	sessions    map[string]account.Session // sessions by token
	workspaces  map[string]account.Workspace
	members     map[string][]account.Member
	keys        map[string][]account.Key
	secrets     map[string]string // key ID by secret
	invitations map[string][]account.Invitation
	events      []account.AuditEvent
	noted       []note
	closed      string // reason why policies cannot be changed
	touched     []string
	ended       []string // tokens of the ended sessions
	names       map[string]string
	made        int
	broken      error // error that Keys returns
	noPeople    bool
	registered  account.Registration
	keyChange   account.KeyChange
	keyDraft    account.KeySettings
	grace       account.Grace
	wsChange    account.WorkspaceChange
	redact      []string
	disk        overview.DiskUse
	samples     []overview.StorageSample
}

// note is a recorded call to Note.
type note struct {
	Action, Object string
	Before, After  string // JSON; empty for nil
}

func newFake() *fake {
	w := &fake{
		now: noon, people: map[string]account.Account{}, sessions: map[string]account.Session{},
		workspaces: map[string]account.Workspace{
			home:   {ID: home, Name: "Home", LogBodies: true, CreatedAt: noon},
			abroad: {ID: abroad, Name: "Abroad", CreatedAt: noon},
		},
		members: map[string][]account.Member{}, keys: map[string][]account.Key{}, secrets: map[string]string{},
		invitations: map[string][]account.Invitation{},
	}
	for _, role := range []account.Role{account.Owner, account.Admin, account.Developer, account.Viewer} {
		w.join("acc_"+string(role), home, role)
	}
	w.join(stranger, abroad, account.Owner)
	for _, scope := range []account.Scope{account.Inference, account.Read, account.Manage} {
		w.addKey(home, "key_"+string(scope), "fl_"+string(scope), scope)
	}
	w.addKey(abroad, "key_abroad", "fl_abroad", account.Manage)
	w.invitations[abroad] = []account.Invitation{{ID: "inv_abroad", WorkspaceID: abroad, Role: account.Viewer}}
	return w
}

func (w *fake) join(accountID, workspaceID string, role account.Role) {
	email := strings.TrimPrefix(accountID, "acc_") + "@example.com"
	w.people[accountID] = account.Account{ID: accountID, Email: email, Name: accountID, TimeZone: "UTC", CreatedAt: noon}
	w.members[workspaceID] = append(w.members[workspaceID], account.Member{
		AccountID: accountID, WorkspaceID: workspaceID, Email: email, Name: accountID, Role: role, JoinedAt: noon,
	})
	token := tokenOf(accountID)
	w.sessions[token] = account.Session{TokenHash: []byte(token), AccountID: accountID, CreatedAt: noon, SeenAt: noon, ExpiresAt: noon.Add(time.Hour)}
}

func tokenOf(accountID string) string { return "token-" + accountID }

func (w *fake) addKey(workspaceID, keyID, secret string, scopes ...account.Scope) {
	w.keys[workspaceID] = append(w.keys[workspaceID], account.Key{
		ID: keyID, WorkspaceID: workspaceID, KeySettings: account.KeySettings{Name: keyID, Scopes: scopes},
		CreatedAt: noon,
		Secrets:   []account.Secret{{Hash: []byte(secret), Start: "fl_abcd", End: "wxyz", CreatedAt: noon}},
	})
	w.secrets[secret] = keyID
}

func missing(what string) error {
	e := llm.Errorf(llm.NotFound, "%s not found.", strings.ToUpper(what[:1])+what[1:])
	e.Err = account.ErrNotFound
	return e
}

// Methods for accounts and sessions.

func (w *fake) SetupNeeded(context.Context) (bool, error) { return w.noPeople, nil }

func (w *fake) Register(_ context.Context, r account.Registration) (account.Account, string, error) {
	w.registered = r
	if r.Invitation == "" && r.SetupCode == "" {
		return account.Account{}, "", nil
	}
	w.join("acc_new", home, account.Viewer)
	return w.people["acc_new"], tokenOf("acc_new"), nil
}

func (w *fake) DeviceToken(a account.Account, presented string) string {
	if presented != "" {
		return presented
	}
	return "device-of-" + a.ID
}

func (w *fake) SignIn(_ context.Context, c account.Credentials, _ account.Visitor) (account.Account, string, error) {
	if c.Email == "" && c.Passkey != nil && string(c.Passkey.Response) == `{"id":"right"}` && c.Passkey.Cookie == "sealed" {
		return w.people["acc_owner"], tokenOf("acc_owner"), nil
	}
	for _, p := range w.people {
		if p.Email == c.Email && c.Password == "correct horse" {
			return p, tokenOf(p.ID), nil
		}
	}
	return account.Account{}, "", llm.Errorf(llm.WrongCredentials, "The email address or password is incorrect.")
}

func (w *fake) Logout(_ context.Context, token string) error {
	delete(w.sessions, token)
	return nil
}

func (w *fake) Session(_ context.Context, token string) (account.Account, account.Session, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	s, ok := w.sessions[token]
	if !ok {
		return account.Account{}, account.Session{}, llm.Errorf(llm.SignInRequired, "Sign in to continue.")
	}
	return w.people[s.AccountID], s, nil
}

func (w *fake) Sessions(_ context.Context, accountID string) ([]account.Session, error) {
	list := []account.Session{}
	for _, token := range slices.Sorted(maps.Keys(w.sessions)) {
		if s := w.sessions[token]; s.AccountID == accountID {
			list = append(list, s)
		}
	}
	return list, nil
}

func (w *fake) EndSession(_ context.Context, accountID, sessionID string) error {
	for token, s := range w.sessions {
		if s.AccountID == accountID && s.ID() == sessionID {
			w.ended = append(w.ended, token)
			return nil
		}
	}
	return missing("session")
}

func (w *fake) UpdateAccount(_ context.Context, accountID string, c account.ProfileChange) (account.Account, error) {
	p := w.people[accountID]
	adminapi.Apply(&p.Name, c.Name)
	adminapi.Apply(&p.TimeZone, c.TimeZone)
	return p, nil
}

func (w *fake) ChangePassword(_ context.Context, accountID, old, _ string, _ account.Visitor) (string, error) {
	if old != "correct horse" {
		return "", &llm.Error{Kind: llm.WrongCredentials, Message: "The current password is incorrect.", Param: "old_password"}
	}
	return tokenOf(accountID), nil
}

func (w *fake) DeleteAccount(context.Context, string, string, account.Visitor) error { return nil }

func (w *fake) ConfirmPassword(_ context.Context, accountID, password string, _ account.Visitor) (account.Account, error) {
	if password != "correct horse" {
		return account.Account{}, llm.Errorf(llm.WrongCredentials, "The password is incorrect.")
	}
	return w.people[accountID], nil
}

// Methods for workspaces.

func (w *fake) Workspaces(_ context.Context, accountID string) ([]account.Membership, error) {
	list := []account.Membership{}
	for _, id := range []string{home, abroad} {
		for _, m := range w.members[id] {
			if m.AccountID == accountID {
				list = append(list, account.Membership{Workspace: w.workspaces[id], Role: m.Role})
			}
		}
	}
	return list, nil
}

func (w *fake) Actor(_ context.Context, accountID, workspaceID string) (account.Actor, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, m := range w.members[workspaceID] {
		if m.AccountID == accountID {
			return account.Actor{AccountID: accountID, WorkspaceID: workspaceID, Role: m.Role, Operator: workspaceID == home}, nil
		}
	}
	return account.Actor{}, missing("workspace")
}

func (w *fake) Workspace(_ context.Context, workspaceID string) (account.Workspace, error) {
	return w.workspaces[workspaceID], nil
}

func (w *fake) CreateWorkspace(_ context.Context, by account.Actor, name string) (account.Workspace, error) {
	return account.Workspace{ID: "ws_new", Name: name, CreatedAt: w.now, DefaultModel: by.WorkspaceID}, nil
}

func (w *fake) UpdateWorkspace(_ context.Context, _ account.Actor, workspaceID string, c account.WorkspaceChange) (account.Workspace, error) {
	if _, ok := w.workspaces[workspaceID]; !ok {
		return account.Workspace{}, missing("workspace")
	}
	w.wsChange = c
	return w.workspaces[workspaceID], nil
}

func (w *fake) Members(_ context.Context, workspaceID string) ([]account.Member, error) {
	return w.members[workspaceID], nil
}

func (w *fake) member(workspaceID, accountID string) error {
	if !slices.ContainsFunc(w.members[workspaceID], func(m account.Member) bool { return m.AccountID == accountID }) {
		return missing("member")
	}
	return nil
}

func (w *fake) SetRole(_ context.Context, by account.Actor, accountID string, _ account.Role) error {
	return w.member(by.WorkspaceID, accountID)
}

func (w *fake) RemoveMember(_ context.Context, by account.Actor, accountID string, keepKeys bool) ([]account.Key, error) {
	if by.KeyID != "" {
		return nil, llm.Errorf(llm.PermissionDenied, "You do not have permission to remove members. Ask an owner or admin.")
	}
	if keepKeys {
		return nil, w.member(by.WorkspaceID, accountID)
	}
	return []account.Key{{ID: "key_of_member", KeySettings: account.KeySettings{Name: "ci"}}}, w.member(by.WorkspaceID, accountID)
}

func (w *fake) Invitations(_ context.Context, workspaceID string) ([]account.Invitation, error) {
	return w.invitations[workspaceID], nil
}

func (w *fake) Invite(_ context.Context, by account.Actor, role account.Role) (account.Invitation, string, error) {
	return account.Invitation{ID: "inv_1", WorkspaceID: by.WorkspaceID, Role: role, CreatedAt: w.now, ExpiresAt: w.now}, "the-token", nil
}

func (w *fake) RevokeInvitation(_ context.Context, by account.Actor, invitationID string) error {
	if !slices.ContainsFunc(w.invitations[by.WorkspaceID], func(i account.Invitation) bool { return i.ID == invitationID }) {
		return missing("invitation")
	}
	return nil
}

func (w *fake) AcceptInvitation(_ context.Context, accountID, _ string) (account.Member, error) {
	return account.Member{AccountID: accountID, WorkspaceID: abroad, Role: account.Viewer}, nil
}

// Methods for API keys.

func (w *fake) Keys(_ context.Context, workspaceID string) ([]account.Key, error) {
	return w.keys[workspaceID], w.broken
}

func (w *fake) Key(_ context.Context, workspaceID, keyID string) (account.Key, error) {
	for _, k := range w.keys[workspaceID] {
		if k.ID == keyID {
			return k, nil
		}
	}
	return account.Key{}, missing("key")
}

func (w *fake) CreateKey(_ context.Context, by account.Actor, d account.KeySettings) (account.Key, string, error) {
	w.keyDraft = d
	w.made++
	secret := fmt.Sprintf("fl_secret%d", w.made)
	w.addKey(by.WorkspaceID, fmt.Sprintf("key_new%d", w.made), secret, d.Scopes...)
	made := w.keys[by.WorkspaceID][len(w.keys[by.WorkspaceID])-1]
	return made, secret, nil
}

func (w *fake) UpdateKey(ctx context.Context, by account.Actor, keyID string, c account.KeyChange) (account.Key, error) {
	w.keyChange = c
	return w.Key(ctx, by.WorkspaceID, keyID)
}

func (w *fake) RotateKey(ctx context.Context, by account.Actor, keyID string, g account.Grace) (account.Key, string, error) {
	w.grace = g
	k, err := w.Key(ctx, by.WorkspaceID, keyID)
	return k, "fl_rotated", err
}

func (w *fake) RevokeKey(ctx context.Context, by account.Actor, keyID string) (account.Key, error) {
	k, err := w.Key(ctx, by.WorkspaceID, keyID)
	k.RevokedAt = w.now
	return k, err
}

func (w *fake) KeyActor(_ context.Context, k *account.Key) (account.Actor, error) {
	return account.Actor{KeyID: k.ID, WorkspaceID: k.WorkspaceID, Scopes: k.Scopes, Operator: k.WorkspaceID == home}, nil
}

func (w *fake) Authenticate(h http.Header) (*account.Grant, error) {
	_, secret, _ := strings.Cut(h.Get("Authorization"), " ")
	for _, keys := range w.keys {
		for i := range keys {
			if keys[i].ID == w.secrets[secret] {
				return &account.Grant{Key: &keys[i]}, nil
			}
		}
	}
	return nil, llm.Errorf(llm.InvalidAPIKey, "Unknown API key.")
}

func (w *fake) Touch(keyID, _ string, _ time.Time) { w.touched = append(w.touched, keyID) }

// Methods for the audit log.

func (w *fake) Audit(_ context.Context, workspaceID, _ string, limit int) ([]account.AuditEvent, error) {
	list := []account.AuditEvent{}
	for _, e := range w.events {
		if e.WorkspaceID == workspaceID && len(list) < limit {
			list = append(list, e)
		}
	}
	return list, nil
}

func (w *fake) Note(_ context.Context, by account.Actor, action, object string, before, after any) error {
	w.noted = append(w.noted, note{action, object, jsonText(before), jsonText(after)})
	w.events = append(w.events, account.AuditEvent{
		ID: fmt.Sprintf("aud_%d", len(w.events)), WorkspaceID: by.WorkspaceID, At: w.now, Actor: by.AccountID, Action: action, Object: object,
		After: fmt.Appendf(nil, "%q", fmt.Sprint(after)),
	})
	return nil
}

// Methods for display names.

func (w *fake) Names(context.Context, string, []string) (map[string]string, error) {
	return w.names, nil
}

// Methods for spending and the instance.

func (w *fake) BudgetUse(context.Context, string) (map[string]spending.BudgetUse, error) {
	return map[string]spending.BudgetUse{
		"key_read":   {Spent: 9 * money.Dollar, Held: money.Dollar, ResetsAt: noon.Add(time.Hour)},
		"key_manage": {Spent: 10 * money.Dollar},
	}, nil
}

func (w *fake) Facts() overview.Facts {
	return overview.Facts{
		Version: "1.2.3", Registration: account.RegistrationInvitation, ConfigSource: "/etc/fairlead/fairlead.yaml", ConfigFile: "/etc/fairlead/fairlead.yaml", Store: "sqlite",
		StartedAt: noon, LogBodies: true, EntryRetention: 24 * time.Hour, Redact: w.redact, Limits: overview.InstanceLimits{BodyBytes: 1, Total: time.Minute},
		Predictor: "p-1", Policies: 2, PoliciesClosed: w.closed,
	}
}

func (w *fake) Storage(context.Context) (overview.StorageUse, error) {
	return overview.StorageUse{DatabaseBytes: 1000, FreeBytes: -1, Samples: w.samples}, nil
}

func (w *fake) Disk() overview.DiskUse { return w.disk }

// Models and providers.

type fleet struct {
	enabled map[string]bool
	added   []string
	circuit string         // circuit state of acme/gpt; open when empty
	reason  string         // reason for the circuit state
	set     *catalog.Price // price set for acme/odd
	fresh   *catalog.Price // price set for acme/fresh, which only the provider lists

	connected   *providers.Connection // the provider that was connected, if any
	connectedBy string
	refresh     providers.RefreshState
}

func (f *fleet) Known(name string) (bool, []string) {
	return name == "gpt" || name == "odd", []string{"gpt"}
}

func (f *fleet) SetPrice(_ context.Context, name, model string, price *catalog.Price) error {
	to := map[string]**catalog.Price{"acme/odd": &f.set, "acme/fresh": &f.fresh}[name+"/"+model]
	if to == nil || (price == nil && *to == nil) {
		return account.ErrNotFound
	}
	*to = price
	return nil
}

func (f *fleet) Refresh(context.Context) (providers.RefreshState, error) { return f.refresh, nil }

func (f *fleet) SetRefresh(_ context.Context, daily bool) error {
	f.refresh.Refresh = map[bool]string{true: "daily", false: "off"}[daily]
	return nil
}

func (f *fleet) DecidePrice(_ context.Context, name, model string, accept bool) error {
	if len(f.refresh.Pending) == 0 || f.refresh.Pending[0].Model != model {
		return account.ErrNotFound
	}
	f.refresh.Pending = nil
	return nil
}

func (f *fleet) NewModels() []providers.NewModel {
	if f.fresh != nil {
		return nil
	}
	return []providers.NewModel{{
		Provider: "acme", Model: "fresh", Op: llm.Chat, FirstSeen: noon, LastSeen: noon.Add(time.Hour), Callable: true,
		Config: "providers: …",
	}}
}

func (f *fleet) targets() []providers.TargetState {
	gpt := &catalog.Model{Name: "gpt", Vendor: "acme", Op: llm.Chat, Context: 128_000, Abilities: llm.Tools | llm.Vision, Quality: 0.7}
	odd := &catalog.Model{Name: "odd", Op: llm.Chat}
	cached := money.PerMillion(0.25)
	return []providers.TargetState{
		{
			Target: &provider.Target{Provider: "acme", Model: gpt, Upstream: "gpt-1", Price: &catalog.Price{
				Input: money.PerMillion(2.5), Output: money.PerMillion(10), CacheRead: &cached, Source: "list", AsOf: "2026-11-01",
				Tiers: []catalog.Tier{{Above: 200_000, Input: money.PerMillion(5), Output: money.PerMillion(20)}},
			}},
			Health: providers.TargetHealth{Circuit: cmp.Or(f.circuit, "open"), Reason: cmp.Or(f.reason, "5 failures in a row"), NextProbe: noon.Add(time.Second), Calls: 10, Failures: 5},
		},
		{Target: &provider.Target{Provider: "acme", Model: odd, Upstream: "odd", Price: f.set}, PriceSet: f.set != nil, Health: providers.TargetHealth{Calls: 2, Latency: 120 * time.Millisecond}},
	}
}

func (f *fleet) Models() []providers.ModelState {
	t := f.targets()
	models := []providers.ModelState{{Model: t[0].Target.Model, Targets: t[:1]}, {Model: t[1].Target.Model, Targets: t[1:]}}
	if f.fresh != nil {
		fresh := providers.TargetState{PriceSet: true, Target: &provider.Target{Provider: "acme", Model: &catalog.Model{Name: "fresh"}, Price: f.fresh}}
		models = append(models, providers.ModelState{Model: fresh.Target.Model, Targets: []providers.TargetState{fresh}})
	}
	return models
}

func (f *fleet) Providers() []providers.ProviderState {
	list := []providers.ProviderState{{
		Name: "acme", Title: "Acme", BaseURL: "https://internal.acme.example", Source: "env", ManagedBy: providers.ManagedByEnvironment, Enabled: f.enabled["acme"], Targets: f.targets(),
		Credentials: []providers.CredentialState{
			{ID: "acme#1", Hint: "…f3Qa", Source: "env ACME_API_KEY", BackingOffUntil: noon.Add(time.Minute), Reason: "429"},
			{ID: "cred_1", Hint: "…9xK2", Source: "dashboard"},
		},
		Headroom: &providers.Headroom{Requests: new(int64(5)), At: noon},
	}}
	if c := f.connected; c != nil {
		list = append(list, providers.ProviderState{
			Name: c.Name, Title: c.Name, BaseURL: c.BaseURL, Source: "dashboard", ManagedBy: providers.ManagedByDashboard, Enabled: f.enabled[c.Name],
			Credentials: []providers.CredentialState{{ID: "cred_3", Hint: "…" + c.Key[len(c.Key)-4:], Source: "dashboard"}},
		})
	}
	return list
}

func (f *fleet) Test(_ context.Context, name string) (providers.ProbeResult, error) {
	if name != "acme" {
		return providers.ProbeResult{}, account.ErrNotFound
	}
	return providers.ProbeResult{OK: true, Latency: 80 * time.Millisecond, Status: 200, Models: []string{"gpt-1"}}, nil
}

func (f *fleet) ResetCircuits(_ context.Context, name string) error {
	if name != "acme" {
		return account.ErrNotFound
	}
	return nil
}

func (f *fleet) ReplaceCredential(_ context.Context, _, credentialID, secret, _ string) (providers.CredentialState, error) {
	if credentialID != "cred_1" {
		return providers.CredentialState{}, account.ErrNotFound
	}
	f.added = append(f.added, secret)
	return providers.CredentialState{ID: credentialID, Hint: "…" + secret[len(secret)-4:], Source: "dashboard"}, nil
}

func (f *fleet) Vendors() []providers.Vendor {
	return []providers.Vendor{
		{Name: "acme", Label: "Acme", Format: "chat", KeyHint: "sk-…", NeedsKey: true, Models: 2, Fields: []providers.VendorField{{Name: "region", Label: "Region", Required: true}}},
		{Name: "custom", Label: "Custom endpoint", NeedsBaseURL: true},
	}
}

func (f *fleet) Connect(_ context.Context, c providers.Connection, accountID string) (providers.ConnectResult, error) {
	if c.Name == "acme" {
		return providers.ConnectResult{}, llm.Errorf(llm.Conflict, "Provider %q is managed in the configuration file. Change it there.", c.Name)
	}
	if c.Key == "wrong" {
		return providers.ConnectResult{}, &llm.Error{Kind: llm.InvalidRequest, Message: "House rejected the key (status 401).", Param: "key"}
	}
	f.connected, f.enabled[c.Name] = &c, true
	f.connectedBy = accountID
	result := providers.ConnectResult{Name: c.Name}
	if c.Test {
		result.Probe = &providers.ProbeResult{OK: true, Latency: 80 * time.Millisecond, Status: 200, Models: []string{"gpt", "odd"}}
		result.Found = []providers.FoundModel{{Name: "gpt", Price: &catalog.Price{Input: money.PerMillion(2.5), Output: money.PerMillion(10)}}, {Name: "odd"}}
	}
	return result, nil
}

func (f *fleet) Change(_ context.Context, name string, change providers.ConnectionChange, _ string) error {
	if name == "acme" {
		return llm.Errorf(llm.Conflict, "Provider %q is managed in the configuration file. Change it there.", name)
	}
	f.connected.BaseURL = *change.BaseURL
	return nil
}

func (f *fleet) Disconnect(_ context.Context, name string) error {
	if name == "acme" {
		return llm.Errorf(llm.Conflict, "Provider %q is managed in the configuration file. Change it there.", name)
	}
	f.connected = nil
	return nil
}

func (f *fleet) AddCredential(_ context.Context, name, secret, _ string) (providers.CredentialState, error) {
	if name != "acme" {
		return providers.CredentialState{}, account.ErrNotFound
	}
	f.added = append(f.added, secret)
	return providers.CredentialState{ID: "cred_2", Hint: "…" + secret[len(secret)-4:], Source: "dashboard"}, nil
}

func (f *fleet) RemoveCredential(_ context.Context, _, credentialID string) error {
	if credentialID != "cred_1" {
		return account.ErrNotFound
	}
	return nil
}

func (f *fleet) SetEnabled(_ context.Context, name string, enabled bool) error {
	f.enabled[name] = enabled
	return nil
}

// explainer selects one model, unless a draft pins another or denies the request.
type explainer struct{ log *entryLog }

func (x explainer) Explain(ctx context.Context, q policies.ExplainQuery) (*route.Decision, error) {
	if q.RequestID != "" {
		e, err := x.log.Entry(ctx, q.WorkspaceID, q.RequestID)
		if err != nil {
			return nil, err
		}
		q.Body = []byte("model " + e.Requested)
	}
	if !strings.Contains(string(q.Body), "model") {
		return nil, &llm.Error{Kind: llm.InvalidRequest, Message: "model is required", Param: "model"}
	}
	d := &route.Decision{Kind: route.Expected, Candidates: []route.Candidate{{Target: "acme/gpt", Model: "gpt", Provider: "acme", Rank: 1}}}
	for _, p := range q.Draft.Policies() {
		if p.Deny != "" {
			return d, llm.Errorf(llm.PolicyRejected, "%s", p.Deny)
		}
		if p.Pin != "" {
			d.Kind, d.Policy, d.Candidates[0].Target = route.Policy, p.Name, "acme/"+p.Pin
		}
	}
	if strings.Contains(string(q.Body), "odd") {
		return d, llm.Errorf(llm.NoRoute, "No model is left.")
	}
	return d, nil
}

// entryLog holds entries in memory, oldest first.
type entryLog struct {
	buckets []requestlog.Bucket // buckets that Series returns, if set
	reading sync.Mutex          // needed because a statement lists several days at the same time
	entries []requestlog.Entry
	bodies  map[string]requestlog.Body
	failAt  int      // number of the listing that fails; 0 for none
	slow    error    // error returned together with the results
	stops   []string // IDs at which the next listings reach their time limit
	late    int      // number of reads that do not find the entry yet
	volumes []requestlog.VolumeQuery
	series  []requestlog.SeriesQuery
	starts  []time.Time // starts of the buckets of a series; the start of the period when empty
	lists   int
	groups  map[string][]requestlog.Group
	queries []requestlog.BreakdownQuery
	since   time.Time // time at which recording began; a breakdown that ends earlier is empty
	deleted int64
}

var errDisk = errors.New("disk on fire at /var/lib/secret-path")

func (l *entryLog) Entries(_ context.Context, f requestlog.Filter, p requestlog.Page) ([]requestlog.Entry, error) {
	l.reading.Lock()
	defer l.reading.Unlock()
	l.lists++
	if l.lists == l.failAt {
		return nil, errDisk
	}
	list := []requestlog.Entry{}
	f.Text = "" // the log has no index: every entry has the text
	for i := range l.entries {
		e := l.entries[i]
		if f.Match(&e) && (p.Before == "" || e.ID < p.Before) && (p.After == "" || e.ID > p.After) {
			e.Decision, e.Bill, e.BaselineBill = nil, nil, nil
			list = append(list, e)
		}
	}
	if p.After == "" {
		slices.Reverse(list)
	}
	if len(l.stops) > 0 && l.stops[0] < cmp.Or(p.Before, "~") {
		stop := l.stops[0]
		l.stops = l.stops[1:]
		list = slices.DeleteFunc(list, func(e requestlog.Entry) bool { return e.ID < stop })
		return list, &requestlog.UnfinishedError{Before: stop}
	}
	return list[:min(len(list), p.Limit)], l.slow
}

func (l *entryLog) Entry(_ context.Context, workspaceID, id string) (requestlog.Entry, error) {
	if l.late--; l.late >= 0 {
		return requestlog.Entry{}, requestlog.ErrNotFound
	}
	for _, e := range l.entries {
		if e.ID == id && e.WorkspaceID == workspaceID {
			return e, nil
		}
	}
	return requestlog.Entry{}, requestlog.ErrNotFound
}

func (l *entryLog) EntryBody(_ context.Context, _, id string) (requestlog.Body, error) {
	b, ok := l.bodies[id]
	if !ok {
		return b, requestlog.ErrNotFound
	}
	return b, nil
}

func (l *entryLog) Count(_ context.Context, f requestlog.Filter, limit int) (int, error) {
	n := 0
	for i := range l.entries {
		if f.Match(&l.entries[i]) {
			n++
		}
	}
	return min(n, limit), l.slow
}

func (l *entryLog) Volumes(_ context.Context, q requestlog.VolumeQuery) ([]requestlog.Volume, error) {
	l.volumes = append(l.volumes, q)
	return []requestlog.Volume{{Start: q.From, Requests: 2, Errors: 1, Fallbacks: 1}}, l.slow
}

func (l *entryLog) Series(_ context.Context, q requestlog.SeriesQuery) ([]requestlog.Bucket, error) {
	l.series = append(l.series, q)
	if l.buckets != nil {
		return l.buckets, nil
	}
	list := []requestlog.Bucket{}
	for _, start := range l.starts {
		list = append(list, requestlog.Bucket{Start: start})
	}
	if len(list) == 0 {
		list = append(list, requestlog.Bucket{Start: q.From, Figures: requestlog.Figures{RequestCounts: requestlog.RequestCounts{Requests: 3, Errors: 1, Fallbacks: 1}}})
	}
	return list, nil
}

func (l *entryLog) Breakdown(_ context.Context, q requestlog.BreakdownQuery) ([]requestlog.Group, error) {
	l.queries = append(l.queries, q)
	groups := l.groups[q.By]
	if !q.To.IsZero() && !q.To.After(l.since) {
		return nil, nil
	}
	return groups[:min(len(groups), cmp.Or(q.Limit, len(groups)))], nil
}

func (l *entryLog) DeleteEntries(ctx context.Context, f requestlog.Filter, dryRun bool) (int64, error) {
	n, err := l.Count(ctx, f, 100_000)
	if !dryRun {
		l.deleted += int64(n)
	}
	return int64(n), err
}

func (w *fake) accountFacts() accounts.Facts {
	f := w.Facts()
	return accounts.Facts{Version: f.Version, Registration: f.Registration, Simulated: f.Simulated}
}

func jsonText(v any) string {
	if v == nil {
		return ""
	}
	b, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return string(b)
}

func (w *fake) reset() {
	w.mu.Lock()
	defer w.mu.Unlock()
	fresh := newFake()
	w.now, w.people, w.sessions, w.workspaces, w.members = fresh.now, fresh.people, fresh.sessions, fresh.workspaces, fresh.members
	w.keys, w.secrets, w.invitations, w.events, w.noted = fresh.keys, fresh.secrets, fresh.invitations, nil, nil
}

// reset restores the initial data of the site.
func (s *site) reset() {
	s.fake.reset()
	s.fleet.enabled, s.fleet.connected = map[string]bool{"acme": true}, nil
	s.log.entries, s.log.bodies, s.log.groups = nil, map[string]requestlog.Body{}, map[string][]requestlog.Group{}
	s.policies.versions = map[string][]policystore.Version{}
	s.lines.Reset()
}
