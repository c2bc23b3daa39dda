package sso_test

import (
	"context"
	"crypto/rand"
	"crypto/rsa"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"fairlead.dev/internal/account"
	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/sso"
	"fairlead.dev/internal/store"
	"fairlead.dev/internal/vault"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var (
	master  = []byte("0123456789abcdef0123456789abcdef")
	visitor = account.Visitor{IP: "203.0.113.9", Client: "Firefox"}
)

const callback = "http://gateway.test/api/v1/sso/callback"

// fixture is a gateway with an empty database and an identity provider.
type fixture struct {
	*sso.Service
	t        *testing.T
	ctx      context.Context
	db       *store.DB
	accounts *account.Service
	provider *provider
	options  sso.Options
	first    account.Workspace
	ended    []string // IDs of the revoked keys

	mu sync.Mutex
	at time.Time
}

func (f *fixture) now() time.Time {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.at
}

func (f *fixture) pass(d time.Duration) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.at = f.at.Add(d)
}

func newFixture(t *testing.T) *fixture {
	t.Helper()
	f := &fixture{t: t, ctx: t.Context(), at: time.Date(2026, 3, 1, 9, 0, 0, 0, time.UTC)}
	var err error
	f.db, err = store.Open(t.Context(), "sqlite", t.TempDir(), store.Options{Now: f.now})
	f.must(err)
	t.Cleanup(func() { _ = f.db.Close() })
	sealer, err := vault.New(f.db.Config, master, f.now)
	f.must(err)
	f.accounts, err = account.New(f.db.Accounts.Stores(), account.Options{
		MasterKey: master, Now: f.now, HashSlots: 1, Recheck: func(ctx context.Context, s account.Session) error { return f.Check(ctx, s) },
	})
	f.must(err)
	f.first, err = f.accounts.FirstWorkspace(f.ctx)
	f.must(err)
	f.pass(time.Second) // gives the audit events different times
	f.provider = newProvider(t, f.now)
	transport := &http.Transport{}
	t.Cleanup(transport.CloseIdleConnections)
	f.Service, err = sso.New(sso.Parts{
		Store: f.db.Accounts, Workspaces: f.accounts, Audit: f.db.Accounts, Sealer: sealer, MasterKey: master, Do: transport.RoundTrip, Now: f.now,
		Ended: func(_ context.Context, e account.Ending) { f.ended = append(f.ended, e.KeyID) },
	})
	f.must(err)
	f.options = sso.Options{
		Issuer: f.provider.server.URL, ClientID: clientID, ClientSecret: "canary-client-secret", Scopes: []string{"openid"}, GroupsClaim: "groups", Recheck: 30 * time.Second,
		Groups: []sso.Mapping{
			{Group: "engineering", Workspace: sso.Operator, Role: account.Developer},
			{Group: "leads", Workspace: f.first.ID, Role: account.Admin},
		},
	}
	f.Configure(f.options)
	return f
}

func (f *fixture) must(err error) {
	f.t.Helper()
	if err != nil {
		f.t.Fatal(err)
	}
}

// signIn signs in at the provider. edit changes the provider's response.
func (f *fixture) signIn(edit ...func(*sso.Callback)) (sso.Done, error) {
	f.t.Helper()
	to, err := f.Begin(f.ctx, callback, "/requests?model=x", visitor)
	if err != nil {
		return sso.Done{}, err
	}
	code, state := f.provider.authorize(to.URL)
	cb := sso.Callback{Code: code, State: state, Cookie: to.Cookie}
	for _, e := range edit {
		e(&cb)
	}
	return f.Finish(f.ctx, cb, visitor)
}

// session returns the account of a session token. It calls the same method as the admin API.
func (f *fixture) session(token string) (account.Account, error) {
	a, _, err := f.accounts.Session(f.ctx, token)
	return a, err
}

func (f *fixture) role(accountID string) account.Role {
	f.t.Helper()
	actor, err := f.accounts.Actor(f.ctx, accountID, f.first.ID)
	if errors.Is(err, account.ErrNotFound) {
		return ""
	}
	f.must(err)
	return actor.Role
}

// audit returns the audit events of the operator's workspace, newest first.
func (f *fixture) audit() []account.AuditEvent {
	f.t.Helper()
	events, err := f.accounts.Audit(f.ctx, f.first.ID, "", 100)
	f.must(err)
	return events
}

func reason(err error) sso.Reason {
	if r, ok := errors.AsType[*sso.RefusalError](err); ok {
		return r.Reason
	}
	return sso.Reason("no refusal")
}

func TestFirstSignInCreatesAnAccountWithTheRoleOfItsGroup(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	done, err := f.signIn()
	f.must(err)
	a, err := f.session(done.Token)
	f.must(err)
	if a.Email != "ann@example.com" || a.Name != "Ann" || a.HasPassword() || done.Return != "/requests?model=x" {
		t.Errorf("signed in %+v with return path %s, want Ann without a password", a, done.Return)
	}
	if got := f.role(a.ID); got != account.Developer {
		t.Errorf("role = %q, want developer", got)
	}
	again, err := f.signIn()
	f.must(err)
	if again.Account.ID != a.ID {
		t.Error("the second sign-in created another account")
	}
	var actions []string
	for _, e := range f.audit() {
		actions = append(actions, e.Action+" by "+e.Actor)
	}
	slices.Sort(actions) // events of one transaction have the same time
	want := []string{"account.register by single sign-on", "member.join by single sign-on", "workspace.create by command line"}
	if diff := cmp.Diff(want, actions); diff != "" {
		t.Error(diff)
	}
	if _, _, err := f.accounts.Login(f.ctx, "ann@example.com", account.NoPassword, visitor); llm.AsError(err).Kind != llm.WrongCredentials {
		t.Errorf("password sign-in: %v, want WrongCredentials", err)
	}
}

func TestFalsifiedResponsesAreRejectedAndRecorded(t *testing.T) {
	t.Parallel()
	other, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	claim := func(name string, value any) func(*provider) {
		return func(p *provider) { p.falsify = func(claims map[string]any) { claims[name] = value } }
	}
	for name, tc := range map[string]struct {
		provider func(*provider)
		callback func(*sso.Callback)
		want     sso.Reason
	}{
		"wrong issuer":   {provider: claim("iss", "https://evil.example.com"), want: sso.TokenInvalid},
		"wrong audience": {provider: claim("aud", "another-client"), want: sso.TokenInvalid},
		"two audiences":  {provider: claim("aud", []string{clientID, "another-client"}), want: sso.TokenInvalid},
		"wrong nonce":    {provider: claim("nonce", "another"), want: sso.NonceMismatch},
		"no nonce":       {provider: claim("nonce", ""), want: sso.NonceMismatch},
		"expired":        {provider: claim("exp", time.Date(2026, 3, 1, 8, 0, 0, 0, time.UTC).Unix()), want: sso.TokenExpired},
		"no subject":     {provider: claim("sub", ""), want: sso.TokenInvalid},
		"alg none":       {provider: func(p *provider) { p.sign = unsigned }, want: sso.TokenInvalid},
		"alg HS256": {provider: func(p *provider) {
			p.sign = func(c map[string]any) (string, error) {
				return signed(jose.HS256, []byte("canary-client-secret-canary-client-secret"), c)
			}
		}, want: sso.TokenInvalid},
		"another key": {provider: func(p *provider) {
			p.sign = func(c map[string]any) (string, error) { return signed(jose.RS256, other, c) }
		}, want: sso.TokenInvalid},
		"unverified email":           {provider: claim("email_verified", false), want: sso.EmailUnverified},
		"no group":                   {provider: claim("groups", []string{"sales"}), want: sso.NoGroup},
		"no refresh token":           {provider: func(p *provider) { p.noToken = true }, want: sso.NoRefreshToken},
		"state of another":           {callback: func(cb *sso.Callback) { cb.State = strings.Repeat("x", 32) }, want: sso.StateMismatch},
		"no cookie":                  {callback: func(cb *sso.Callback) { cb.Cookie = "" }, want: sso.Expired},
		"forged cookie":              {callback: func(cb *sso.Callback) { cb.Cookie = "AQ" + cb.Cookie[2:len(cb.Cookie)-4] + "AAAA" }, want: sso.Expired},
		"unknown code":               {callback: func(cb *sso.Callback) { cb.Code = "guessed" }, want: sso.CodeRejected},
		"no code":                    {callback: func(cb *sso.Callback) { cb.Code = "" }, want: sso.ProviderError},
		"denied":                     {callback: func(cb *sso.Callback) { cb.Error, cb.ErrorText = "access_denied", "Ann refused" }, want: sso.Denied},
		"provider error":             {callback: func(cb *sso.Callback) { cb.Error = "server_error" }, want: sso.ProviderError},
		"response of another issuer": {callback: func(cb *sso.Callback) { cb.Issuer = "https://evil.example.com" }, want: sso.TokenInvalid},
		"provider down":              {callback: nil, provider: nil, want: sso.Unavailable},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t)
			if tc.provider != nil {
				f.provider.change(tc.provider)
			}
			edit := func(cb *sso.Callback) {
				if tc.callback != nil {
					tc.callback(cb)
				}
				if name == "provider down" {
					f.provider.change(func(p *provider) { p.broken = true })
				}
			}
			_, err := f.signIn(edit)
			if got := reason(err); got != tc.want {
				t.Errorf("got %v, want %s", err, tc.want)
			}
			event := f.audit()[0]
			if event.Action != "sign_in.refused" || !strings.Contains(string(event.After), `"reason":"`+string(tc.want)+`"`) || strings.Contains(string(event.After), "canary") {
				t.Errorf("audit event %s %s, want sign_in.refused with reason %s", event.Action, event.After, tc.want)
			}
			if has, err := f.db.Accounts.HasAccounts(f.ctx); has || err != nil {
				t.Errorf("an account was created: %v", err)
			}
		})
	}
}

func TestCodeAndCookieWorkOnce(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	to, err := f.Begin(f.ctx, callback, "https://evil.example.com", visitor)
	f.must(err)
	code, state := f.provider.authorize(to.URL)
	cb := sso.Callback{Code: code, State: state, Cookie: to.Cookie}
	done, err := f.Finish(f.ctx, cb, visitor)
	f.must(err)
	if done.Return != "/" {
		t.Errorf("return path = %q, want /", done.Return)
	}
	if _, err := f.Finish(f.ctx, cb, visitor); reason(err) != sso.CodeRejected {
		t.Errorf("replayed code: %v, want CodeRejected", err)
	}
	f.pass(sso.FlowLife)
	if _, err := f.Finish(f.ctx, cb, visitor); reason(err) != sso.Expired {
		t.Errorf("expired cookie: %v, want Expired", err)
	}
}

func TestExistingAccountsAreLinkedOnlyWhenAllowed(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	local, err := f.accounts.CreateAccount(f.ctx, "ann@example.com", "correct horse battery", "")
	f.must(err)
	if _, err := f.signIn(); reason(err) != sso.AccountExists {
		t.Fatalf("sign-in without LinkByEmail: %v, want AccountExists", err)
	}
	f.options.LinkByEmail, f.options.TrustEmail = true, true
	f.Configure(f.options)
	f.provider.change(func(p *provider) { delete(p.claims, "email_verified") })
	if _, err := f.signIn(); reason(err) != sso.AccountExists {
		t.Fatalf("sign-in with an address that only trust_email accepts: %v, want AccountExists", err)
	}
	f.options.TrustEmail = false
	f.Configure(f.options)
	f.provider.change(func(p *provider) { p.claims["email_verified"] = false })
	if _, err := f.signIn(); reason(err) != sso.EmailUnverified {
		t.Fatalf("sign-in with an unverified address: %v, want EmailUnverified", err)
	}
	f.provider.change(func(p *provider) { p.claims["email_verified"], p.claims["email"] = "true", "\u212Aann@example.com" })
	if _, err := f.accounts.CreateAccount(f.ctx, "kann@example.com", "correct horse battery", ""); err != nil {
		t.Fatal(err)
	}
	if done, err := f.signIn(); err == nil && done.Account.Email == "kann@example.com" {
		t.Fatal("the address with a Kelvin sign was linked to the account of the address with a k")
	}
	f.provider.change(func(p *provider) { p.claims["email"], p.claims["sub"] = "Ann@Example.com", "ann-0" })
	done, err := f.signIn()
	f.must(err)
	if done.Account.ID != local.ID {
		t.Errorf("signed in %s, want %s", done.Account.ID, local.ID)
	}
	// Another subject with the same address is not the same person.
	f.provider.change(func(p *provider) { p.claims["sub"] = "ann-2" })
	if _, err := f.signIn(); reason(err) != sso.AccountExists {
		t.Errorf("sign-in of another subject: %v, want AccountExists", err)
	}
	// The person keeps the account when the address changes.
	f.provider.change(func(p *provider) { p.claims["sub"], p.claims["email"] = "ann-0", "ann.new@example.com" })
	if done, err = f.signIn(); err != nil || done.Account.ID != local.ID {
		t.Errorf("sign-in with a new address: %+v, %v; want the same account", done.Account, err)
	}
}

func TestDomainsAndMissingVerification(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.options.AllowedDomains = []string{"example.org"}
	f.Configure(f.options)
	if _, err := f.signIn(); reason(err) != sso.DomainNotAllowed {
		t.Errorf("sign-in with another domain: %v, want DomainNotAllowed", err)
	}
	f.options.AllowedDomains = []string{"Example.COM"}
	f.Configure(f.options)
	f.provider.change(func(p *provider) { p.claims["email"] = "eve@evil.example@example.com" })
	if _, err := f.signIn(); reason(err) != sso.EmailMissing {
		t.Errorf("sign-in with two at signs: %v, want EmailMissing", err)
	}
	f.provider.change(func(p *provider) { p.claims["email"] = "ann@example.com" })
	f.provider.change(func(p *provider) { delete(p.claims, "email_verified") })
	if _, err := f.signIn(); reason(err) != sso.EmailUnverified {
		t.Errorf("sign-in without email_verified: %v, want EmailUnverified", err)
	}
	f.options.TrustEmail = true
	f.Configure(f.options)
	if _, err := f.signIn(); err != nil {
		t.Errorf("sign-in with a trusted address: %v", err)
	}
}

// A claim that another address is verified does not verify the address of the user.
func TestVerificationAppliesToItsAddressOnly(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.options.GroupsClaim = "roles" // read from the userinfo endpoint
	f.Configure(f.options)
	f.provider.change(func(p *provider) {
		delete(p.claims, "email_verified")
		p.info = map[string]any{"sub": "ann-1", "roles": []string{"engineering"}, "email": "eve@example.com", "email_verified": true}
	})
	if _, err := f.signIn(); reason(err) != sso.EmailUnverified {
		t.Errorf("verification of another address: %v, want EmailUnverified", err)
	}
	f.provider.change(func(p *provider) {
		p.claims["email_verified"] = true
		delete(p.claims, "email")
		delete(p.info, "email_verified")
	})
	if _, err := f.signIn(); reason(err) != sso.EmailUnverified {
		t.Errorf("userinfo address with the verification of the ID token: %v, want EmailUnverified", err)
	}
	f.provider.change(func(p *provider) {
		p.claims["email"] = "Eve@example.com"
		delete(p.claims, "email_verified")
		p.info["email_verified"] = true
	})
	if _, err := f.signIn(); err != nil {
		t.Errorf("verification of the same address: %v", err)
	}
}

func TestLongNameIsShortenedToWholeCharacters(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.provider.change(func(p *provider) {
		delete(p.claims, "name")
		p.claims["email"] = "x" + strings.Repeat("é", 60) + "@example.com"
	})
	done, err := f.signIn()
	if err != nil || done.Account.Name != "x"+strings.Repeat("é", 49) {
		t.Errorf("name %q, %v", done.Account.Name, err)
	}
}

func TestGroupsFromTheUserinfoEndpoint(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.options.GroupsClaim = "realm_access.roles"
	f.Configure(f.options)
	f.provider.change(func(p *provider) {
		p.info = map[string]any{"sub": "ann-1", "realm_access": map[string]any{"roles": []string{"leads", "engineering"}}}
	})
	done, err := f.signIn()
	f.must(err)
	if got := f.role(done.Account.ID); got != account.Admin {
		t.Errorf("role %q, want the highest of both groups", got)
	}
	f.provider.change(func(p *provider) { p.info["sub"] = "eve-1" })
	if _, err := f.signIn(); reason(err) != sso.TokenInvalid {
		t.Errorf("userinfo of another subject: %v, want TokenInvalid", err)
	}
}

func TestRemovedGroupEndsAccessWithinAMinute(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	done, err := f.signIn()
	f.must(err)
	actor, err := f.accounts.Actor(f.ctx, done.Account.ID, f.first.ID)
	f.must(err)
	key, _, err := f.accounts.CreateKey(f.ctx, actor, account.KeySettings{Name: "agent", Scopes: []account.Scope{account.Inference}})
	f.must(err)

	for range 10 { // five minutes of use with unchanged groups, with rotating refresh tokens
		f.pass(30 * time.Second)
		f.CheckDue(f.ctx)
		if _, err := f.session(done.Token); err != nil {
			t.Fatalf("the session ended although the groups are unchanged: %v", err)
		}
	}
	f.provider.change(func(p *provider) { p.claims["groups"] = []string{"leads"} })
	f.pass(30 * time.Second)
	f.CheckDue(f.ctx)
	if got := f.role(done.Account.ID); got != account.Admin {
		t.Errorf("role after a changed group = %q, want admin", got)
	}

	f.provider.change(func(p *provider) { p.claims["groups"] = []string{} })
	f.pass(35 * time.Second) // one check interval and one tick
	f.CheckDue(f.ctx)
	if _, err := f.session(done.Token); llm.AsError(err).Kind != llm.SignInRequired {
		t.Errorf("session: %v, want SignInRequired", err)
	}
	if got := f.role(done.Account.ID); got != "" {
		t.Errorf("role without a group = %q, want none", got)
	}
	left, err := f.accounts.Key(f.ctx, f.first.ID, key.ID)
	if err != nil || left.RevokedAt.IsZero() || !cmp.Equal(f.ended, []string{key.ID}) {
		t.Errorf("key %+v, %v, ended keys %v; want it revoked", left, err, f.ended)
	}
	if _, err := f.signIn(); reason(err) != sso.NoGroup {
		t.Errorf("sign-in without a group: %v, want NoGroup", err)
	}
}

func TestIdleSessionIsCheckedBeforeItsNextUse(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	done, err := f.signIn()
	f.must(err)
	f.pass(20 * time.Minute)
	f.CheckDue(f.ctx)
	if f.provider.refreshs != 0 {
		t.Errorf("an idle session was checked %d times, want 0", f.provider.refreshs)
	}
	f.provider.change(func(p *provider) {
		p.noID, p.info = true, map[string]any{"sub": "ann-1", "email": "ann@example.com", "email_verified": true, "groups": []any{"engineering"}}
	})
	if _, err := f.session(done.Token); err != nil || f.provider.refreshs != 1 {
		t.Fatalf("session: %v after %d checks, want no error after 1", err, f.provider.refreshs)
	}
	f.pass(20 * time.Minute)
	f.provider.change(func(p *provider) { p.info["groups"] = []any{} })
	if _, err := f.session(done.Token); llm.AsError(err).Kind != llm.SignInRequired {
		t.Errorf("session without a group: %v, want SignInRequired", err)
	}
}

func TestUnreachableProviderSuspendsSessions(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	done, err := f.signIn()
	f.must(err)
	f.provider.change(func(p *provider) { p.broken = true })
	f.pass(59 * time.Second)
	f.CheckDue(f.ctx)
	if _, err := f.session(done.Token); err != nil {
		t.Fatalf("session within the confirmed time: %v", err)
	}
	f.pass(6 * time.Second)
	if _, err := f.session(done.Token); llm.AsError(err).Kind != llm.SignInRequired {
		t.Errorf("session without a confirmation: %v, want SignInRequired", err)
	}
	f.provider.change(func(p *provider) { p.broken = false })
	f.pass(6 * time.Second)
	if _, err := f.session(done.Token); err != nil {
		t.Errorf("session after the provider returned: %v", err)
	}
	if got := f.role(done.Account.ID); got != account.Developer {
		t.Errorf("role after the outage = %q, want developer", got)
	}
}

func TestRevokedRefreshTokenEndsSessionsAndKeepsKeys(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	done, err := f.signIn()
	f.must(err)
	f.provider.change(func(p *provider) { p.revoked = true })
	f.pass(30 * time.Second)
	f.CheckDue(f.ctx)
	if _, err := f.session(done.Token); llm.AsError(err).Kind != llm.SignInRequired {
		t.Errorf("session: %v, want SignInRequired", err)
	}
	if got := f.role(done.Account.ID); got != account.Developer {
		t.Errorf("role = %q, want developer", got)
	}
	event := f.audit()[0]
	if event.Action != "session.refused" || !strings.Contains(string(event.After), "invalid_grant") {
		t.Errorf("audit event %s %s, want session.refused with invalid_grant", event.Action, event.After)
	}
	f.provider.change(func(p *provider) { p.revoked = false })
	if _, err := f.signIn(); err != nil {
		t.Errorf("second sign-in: %v", err)
	}
}

func TestSessionsOfAnAccountShareOneCheck(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	one, err := f.signIn()
	f.must(err)
	two, err := f.signIn()
	f.must(err)
	f.pass(2 * time.Minute)
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			if _, err := f.session([]string{one.Token, two.Token}[i%2]); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if f.provider.refreshs != 1 {
		t.Errorf("%d checks, want 1", f.provider.refreshs)
	}
}

func TestInvitedMembershipsAreIndependentOfGroups(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	owner, err := f.accounts.CreateAccount(f.ctx, "owner@example.com", "correct horse battery", "")
	f.must(err)
	by, err := f.accounts.Actor(f.ctx, owner.ID, f.first.ID)
	f.must(err)
	done, err := f.signIn()
	f.must(err)
	err = f.accounts.SetRole(f.ctx, by, done.Account.ID, account.Viewer)
	if llm.AsError(err).Kind != llm.Conflict {
		t.Errorf("SetRole of a membership by group: %v, want Conflict", err)
	}
	f.options.Groups = []sso.Mapping{{Group: sso.Everyone, Workspace: "ws_unknown", Role: account.Owner}}
	f.Configure(f.options)
	f.pass(30 * time.Second)
	f.CheckDue(f.ctx)
	if got := f.role(done.Account.ID); got != "" {
		t.Errorf("role after the mapping was removed = %q, want none", got)
	}
	_, token, err := f.accounts.Invite(f.ctx, by, account.Viewer)
	f.must(err)
	_, err = f.accounts.AcceptInvitation(f.ctx, done.Account.ID, token)
	f.must(err)
	f.pass(30 * time.Second)
	f.CheckDue(f.ctx)
	if got := f.role(done.Account.ID); got != account.Viewer {
		t.Errorf("role by invitation = %q, want viewer", got)
	}
}

func TestProviderUnavailableAtStartWorksLater(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.provider.change(func(p *provider) { p.broken = true })
	if _, err := f.signIn(); reason(err) != sso.Unavailable {
		t.Errorf("sign-in while the provider is down: %v, want Unavailable", err)
	}
	f.provider.change(func(p *provider) { p.broken = false })
	f.pass(3 * time.Second)
	_, err := f.signIn()
	f.must(err)
	f.Configure(sso.Options{})
	if _, err := f.signIn(); reason(err) != sso.Disabled {
		t.Errorf("sign-in without a provider: %v, want Disabled", err)
	}
}

func TestMetadataWithAnotherIssuerIsRejected(t *testing.T) {
	t.Parallel()
	for name, value := range map[string]string{"issuer": "https://evil.example.com", "token_endpoint": "ftp://evil.example.com/token", "jwks_uri": ""} {
		f := newFixture(t)
		f.provider.change(func(p *provider) { p.metadata = map[string]any{name: value} })
		if _, err := f.signIn(); reason(err) != sso.Unavailable {
			t.Errorf("%s: %v, want Unavailable", name, err)
		}
	}
}

func TestRejectedSignInsInTheAuditLogAreLimited(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	for range 70 {
		_, _ = f.Finish(f.ctx, sso.Callback{Code: "x", State: "y"}, visitor)
	}
	n := 0
	for _, e := range f.audit() {
		if e.Action == "sign_in.refused" {
			n++
		}
	}
	if n != 60 {
		t.Errorf("%d audit events, want 60", n)
	}
}

func TestStoredTokensAreEncrypted(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	done, err := f.signIn()
	f.must(err)
	i, err := f.db.Accounts.IdentityOf(f.ctx, done.Account.ID, f.options.Issuer)
	f.must(err)
	text, err := json.Marshal(i)
	f.must(err)
	if len(f.provider.refresh) != 1 || len(i.Refresh) == 0 {
		t.Fatalf("%d refresh tokens are valid and %d bytes are stored, want one token and its encrypted form", len(f.provider.refresh), len(i.Refresh))
	}
	for token := range f.provider.refresh {
		if strings.Contains(string(i.Refresh), token) || strings.Contains(string(text), token) {
			t.Error("the refresh token is stored in plain text")
		}
	}
}
