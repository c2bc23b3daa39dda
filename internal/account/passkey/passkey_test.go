package passkey_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"fairlead.dev/internal/account"
	"fairlead.dev/internal/account/factor"
	"fairlead.dev/internal/account/passkey"
	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/store"
	"fairlead.dev/internal/vault"
)

const (
	email    = "ann@example.com"
	password = "correct horse battery"
	host     = "models.example.com"
	origin   = "https://models.example.com"
)

var (
	master  = []byte("0123456789abcdef0123456789abcdef")
	visitor = account.Visitor{IP: "203.0.113.9", Client: "Firefox"}
)

// replica is one gateway process.
type replica struct {
	*passkey.Service
	factors  *factor.Service
	accounts *account.Service
}

type fixture struct {
	*replica
	t       *testing.T
	ctx     context.Context
	db      *store.DB
	owner   passkey.Owner
	at      atomic.Int64 // Unix milliseconds
	ssoOnly atomic.Bool
}

func (f *fixture) now() time.Time       { return time.UnixMilli(f.at.Load()) }
func (f *fixture) pass(d time.Duration) { f.at.Add(d.Milliseconds()) }

func newFixture(t *testing.T) *fixture {
	t.Helper()
	f := &fixture{t: t, ctx: t.Context()}
	f.at.Store(1_800_000_000_000)
	var err error
	f.db, err = store.Open(f.ctx, "sqlite", t.TempDir(), store.Options{Now: f.now})
	f.must(err)
	t.Cleanup(func() { _ = f.db.Close() })
	f.replica = f.start(origin)
	person, err := f.accounts.CreateAccount(f.ctx, email, password, "")
	f.must(err)
	f.owner = passkey.Owner{Account: person, SessionID: "0011"}
	return f
}

// start starts another replica on the same database.
func (f *fixture) start(publicURL string) *replica {
	f.t.Helper()
	sealer, err := vault.New(f.db.Config, master, f.now)
	f.must(err)
	r := &replica{}
	r.factors, err = factor.New(f.db.Accounts, sealer, master, f.now)
	f.must(err)
	allowed := func(string) bool { return !f.ssoOnly.Load() }
	r.Service = passkey.New(passkey.Parts{Store: f.db.Accounts.Passkeys(), Sealer: sealer, Recovery: r.factors, PublicURL: publicURL, Allowed: allowed, Now: f.now})
	r.accounts, err = account.New(f.db.Accounts.Stores(), account.Options{
		MasterKey: master, Now: f.now, HashSlots: 2, SecondFactor: r.factors, Passkeys: r.Service, Passwords: allowed,
	})
	f.must(err)
	return r
}

func (f *fixture) must(err error) {
	f.t.Helper()
	if err != nil {
		f.t.Fatal(err)
	}
}

func kind(err error) llm.Kind {
	if err == nil {
		return ""
	}
	return llm.AsError(err).Kind
}

// add registers a passkey for an owner.
func (f *fixture) add(o passkey.Owner, a *authenticator, name string) passkey.Added {
	f.t.Helper()
	prompt, err := f.BeginAdd(f.ctx, o, "")
	f.must(err)
	added, err := f.FinishAdd(f.ctx, o, passkey.Answer{Name: name, Response: a.create(prompt.Options), Cookie: prompt.Cookie})
	f.must(err)
	return added
}

// signIn signs in with the passkey alone.
func (f *fixture) signIn(a *authenticator) error {
	f.t.Helper()
	prompt, err := f.BeginSignIn("")
	f.must(err)
	return f.enter("", a.get(prompt.Options), prompt.Cookie)
}

// enter sends a response, with the password if email is not empty.
func (f *fixture) enter(email string, response json.RawMessage, cookie string) error {
	c := account.Credentials{Email: email, Password: password, Passkey: &account.PasskeyResponse{Response: response, Cookie: cookie}}
	_, _, err := f.accounts.SignIn(f.ctx, c, visitor)
	return err
}

func (f *fixture) actions() map[string]int {
	f.t.Helper()
	events, err := f.accounts.Audit(f.ctx, "", "", 100)
	f.must(err)
	seen := map[string]int{}
	for _, e := range events {
		seen[e.Action]++
	}
	return seen
}

func TestPasskeySignsInAloneAndAfterThePassword(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	a := newAuthenticator(t)
	prompt, err := f.BeginAdd(f.ctx, f.owner, "")
	f.must(err)
	if o := a.parse(prompt.Options); o.RP.ID != host || o.AuthenticatorSelection.ResidentKey != "required" || o.AuthenticatorSelection.UserVerification != "required" {
		t.Errorf("options %s", prompt.Options)
	}
	added := f.add(f.owner, a, " Laptop ")
	if len(added.Codes) != 10 || added.Passkey.Name != "Laptop" {
		t.Errorf("added %+v", added)
	}
	f.must(f.signIn(a))
	_, _, err = f.accounts.SignIn(f.ctx, account.Credentials{Email: email, Password: password}, visitor)
	if e := llm.AsError(err); e.Kind != llm.SecondFactorRequired || e.Message != "Use your passkey or enter a recovery code." {
		t.Errorf("password alone: got %v, want SecondFactorRequired", err)
	}
	prompt, err = f.BeginSignIn("")
	f.must(err)
	f.must(f.enter(email, a.get(prompt.Options), prompt.Cookie))
	_, _, err = f.accounts.SignIn(f.ctx, account.Credentials{Email: email, Password: password, Code: added.Codes[0]}, visitor)
	f.must(err)
	if _, _, err = f.accounts.SignIn(f.ctx, account.Credentials{Email: email, Password: password, Code: "123456"}, visitor); kind(err) != llm.WrongCredentials {
		t.Errorf("a code without an authenticator app: got %v, want WrongCredentials", err)
	}
	list, err := f.Passkeys(f.ctx, f.owner.Account.ID)
	if err != nil || len(list) != 1 || list[0].LastUsedAt.IsZero() || list[0].SiteID != host {
		t.Errorf("list %+v, %v", list, err)
	}
	prompt, err = f.BeginAdd(f.ctx, f.owner, "")
	f.must(err)
	if o := a.parse(prompt.Options); len(o.Exclude) != 1 || o.Exclude[0].ID != encode(a.id) {
		t.Errorf("the registered passkey is not excluded: %s", prompt.Options)
	}
}

func TestInvalidResponsesAreRefused(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	a := newAuthenticator(t)
	f.add(f.owner, a, "Laptop")
	bob, err := f.accounts.CreateAccount(f.ctx, "bob@example.com", password, "")
	f.must(err)
	for name, change := range map[string]func(*authenticator){
		"wrong origin":                   func(a *authenticator) { a.origin = "https://models.example.com.evil.example" },
		"origin over http":               func(a *authenticator) { a.origin = "http://models.example.com" },
		"wrong site":                     func(a *authenticator) { a.site = "evil.example" },
		"wrong signature":                func(a *authenticator) { a.key = newAuthenticator(t).key },
		"without user verification":      func(a *authenticator) { a.flags &^= userVerified },
		"without user presence":          func(a *authenticator) { a.flags &^= userPresent },
		"user handle of another account": func(a *authenticator) { a.handle = []byte(bob.ID) },
		"without a user handle":          func(a *authenticator) { a.handle = nil },
		"unknown credential":             func(a *authenticator) { a.id = []byte("unknown credential") },
		"now marked as backed up":        func(a *authenticator) { a.flags |= 0x18 },
		"backed up but not backupable":   func(a *authenticator) { a.flags |= 0x10 },
	} {
		bad := *a
		change(&bad)
		if err := f.signIn(&bad); kind(err) != llm.WrongCredentials || llm.AsError(err).Param != "passkey" {
			t.Errorf("%s: got %v, want WrongCredentials for passkey", name, err)
		}
	}
	for _, text := range []string{"", "null", "{}", `{"id":"x"}`, `[]`, strings.Repeat("[", 100)} {
		prompt, err := f.BeginSignIn("")
		f.must(err)
		if err := f.enter("", json.RawMessage(text), prompt.Cookie); kind(err) != llm.WrongCredentials {
			t.Errorf("response %q: got %v, want WrongCredentials", text, err)
		}
	}
	f.must(f.signIn(a))
}

func TestInvalidRegistrationsAreRefused(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	for name, change := range map[string]func(*authenticator){
		"wrong origin":              func(a *authenticator) { a.origin = "https://evil.example" },
		"wrong site":                func(a *authenticator) { a.site = "evil.example" },
		"without user verification": func(a *authenticator) { a.flags &^= userVerified },
	} {
		a := newAuthenticator(t)
		change(a)
		prompt, err := f.BeginAdd(f.ctx, f.owner, "")
		f.must(err)
		_, err = f.FinishAdd(f.ctx, f.owner, passkey.Answer{Name: "x", Response: a.create(prompt.Options), Cookie: prompt.Cookie})
		if kind(err) != llm.InvalidRequest {
			t.Errorf("%s: got %v, want InvalidRequest", name, err)
		}
	}
	a := newAuthenticator(t)
	prompt, err := f.BeginAdd(f.ctx, f.owner, "")
	f.must(err)
	answer := passkey.Answer{Name: "x", Response: a.create(prompt.Options), Cookie: prompt.Cookie}
	other := f.owner
	other.SessionID = "another session"
	if _, err := f.FinishAdd(f.ctx, other, answer); kind(err) != llm.Conflict {
		t.Errorf("another session: got %v, want Conflict", err)
	}
	for _, name := range []string{"", " ", "a\x00b", strings.Repeat("x", 101)} {
		named := answer
		named.Name = name
		if _, err := f.FinishAdd(f.ctx, f.owner, named); kind(err) != llm.InvalidRequest {
			t.Errorf("name %q: got %v, want InvalidRequest", name, err)
		}
	}
	if _, err = f.FinishAdd(f.ctx, f.owner, answer); err != nil {
		t.Fatal(err)
	}
	if _, err := f.FinishAdd(f.ctx, f.owner, answer); kind(err) != llm.Conflict {
		t.Errorf("replayed: got %v, want Conflict", err)
	}
	bob, err := f.accounts.CreateAccount(f.ctx, "bob@example.com", password, "")
	f.must(err)
	thief := passkey.Owner{Account: bob, SessionID: "0022"}
	prompt, err = f.BeginAdd(f.ctx, thief, "")
	f.must(err)
	if _, err = f.FinishAdd(f.ctx, thief, passkey.Answer{Name: "x", Response: a.create(prompt.Options), Cookie: prompt.Cookie}); kind(err) != llm.Conflict {
		t.Errorf("the credential of another account: got %v, want Conflict", err)
	}
	prompt, err = f.BeginAdd(f.ctx, f.owner, "")
	f.must(err)
	f.pass(passkey.FlowLife)
	if _, err = f.FinishAdd(f.ctx, f.owner, passkey.Answer{Name: "x", Response: newAuthenticator(t).create(prompt.Options), Cookie: prompt.Cookie}); kind(err) != llm.Conflict {
		t.Errorf("expired: got %v, want Conflict", err)
	}
	for range 19 {
		f.add(f.owner, newAuthenticator(t), "x")
	}
	if _, err := f.BeginAdd(f.ctx, f.owner, ""); kind(err) != llm.Conflict {
		t.Errorf("too many: got %v, want Conflict", err)
	}
}

func TestChallengesAreAcceptedOnceOnAllReplicas(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	a := newAuthenticator(t)
	f.add(f.owner, a, "Laptop")
	prompt, err := f.BeginSignIn("")
	f.must(err)
	response := a.get(prompt.Options)
	replicas := []*replica{f.replica, f.start(origin)}
	var won atomic.Int64
	var all sync.WaitGroup
	for n := range 4 {
		all.Go(func() {
			c := account.Credentials{Passkey: &account.PasskeyResponse{Response: response, Cookie: prompt.Cookie}}
			if _, _, err := replicas[n%2].accounts.SignIn(f.ctx, c, visitor); err == nil {
				won.Add(1)
			} else if kind(err) != llm.WrongCredentials {
				t.Errorf("got %v, want WrongCredentials", err)
			}
		})
	}
	all.Wait()
	if won.Load() != 1 {
		t.Errorf("the response was accepted %d times, want 1", won.Load())
	}
	other, err := f.BeginSignIn("")
	f.must(err)
	if err := f.enter("", a.get(prompt.Options), other.Cookie); kind(err) != llm.WrongCredentials {
		t.Errorf("the challenge of another browser: got %v, want WrongCredentials", err)
	}
	if err := f.enter("", a.get(other.Options), ""); kind(err) != llm.WrongCredentials {
		t.Errorf("without the cookie: got %v, want WrongCredentials", err)
	}
	adding, err := f.BeginAdd(f.ctx, f.owner, "")
	f.must(err)
	if err := f.enter("", a.get(adding.Options), adding.Cookie); kind(err) != llm.WrongCredentials {
		t.Errorf("the challenge of a registration: got %v, want WrongCredentials", err)
	}
	f.pass(passkey.FlowLife)
	if err := f.enter("", a.get(other.Options), other.Cookie); kind(err) != llm.WrongCredentials {
		t.Errorf("expired: got %v, want WrongCredentials", err)
	}
}

func TestCounterMustIncrease(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	a := newAuthenticator(t)
	a.count = 5
	f.add(f.owner, a, "Key")
	clone := *a
	a.count = 7
	f.must(f.signIn(a))
	for _, count := range []uint32{7, 6, 0} {
		clone.count = count
		err := f.signIn(&clone)
		if kind(err) != llm.WrongCredentials || !errors.Is(err, passkey.ErrCounter) {
			t.Errorf("counter %d: got %v, want WrongCredentials and ErrCounter", count, err)
		}
	}
	if n := f.actions()["account.passkey_refused"]; n != 3 {
		t.Errorf("got %d refusals in the audit log, want 3", n)
	}
	a.count = 8
	f.must(f.signIn(a))
}

func TestPasskeyOfAnotherAccountIsRefusedAsSecondFactor(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	anns, bobs := newAuthenticator(t), newAuthenticator(t)
	f.add(f.owner, anns, "Laptop")
	bob, err := f.accounts.CreateAccount(f.ctx, "bob@example.com", password, "")
	f.must(err)
	f.add(passkey.Owner{Account: bob}, bobs, "Phone")
	for range 10 {
		prompt, err := f.BeginSignIn("")
		f.must(err)
		if err := f.enter(email, bobs.get(prompt.Options), prompt.Cookie); kind(err) != llm.WrongCredentials {
			t.Fatalf("the passkey of another account: got %v, want WrongCredentials", err)
		}
	}
	prompt, err := f.BeginSignIn("")
	f.must(err)
	if err := f.enter(email, anns.get(prompt.Options), prompt.Cookie); kind(err) != llm.RateLimited {
		t.Errorf("after ten wrong passkeys: got %v, want RateLimited", err)
	}
}

func TestRemovingTheLastFactorDeletesRecoveryCodes(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	id := f.owner.Account.ID
	one, two := f.add(f.owner, newAuthenticator(t), "One"), f.add(f.owner, newAuthenticator(t), "Two")
	if len(two.Codes) != 0 {
		t.Errorf("codes of the second passkey: got %v, want none", two.Codes)
	}
	bob, err := f.accounts.CreateAccount(f.ctx, "bob@example.com", password, "")
	f.must(err)
	if err := f.Remove(f.ctx, bob.ID, one.Passkey.ID); kind(err) != llm.NotFound {
		t.Errorf("removed by another account: got %v, want NotFound", err)
	}
	if err := f.Rename(f.ctx, bob.ID, one.Passkey.ID, "Mine"); kind(err) != llm.NotFound {
		t.Errorf("renamed by another account: got %v, want NotFound", err)
	}
	f.must(f.Rename(f.ctx, id, two.Passkey.ID, "Phone"))
	f.must(f.Remove(f.ctx, id, one.Passkey.ID))
	codes, err := f.factors.RenewRecoveryCodes(f.ctx, id)
	f.must(err)
	if ok, err := f.factors.Accept(f.ctx, id, one.Codes[0]); ok || err != nil {
		t.Errorf("Accept(replaced recovery code) = %v, %v; want false, nil", ok, err)
	}
	if ok, err := f.factors.Accept(f.ctx, id, codes[0]); !ok || err != nil {
		t.Errorf("Accept(new recovery code) = %v, %v; want true, nil", ok, err)
	}
	if state, err := f.factors.State(f.ctx, id); err != nil || state != (factor.State{Passkeys: 1, Recovery: 9}) {
		t.Errorf("State = %+v, %v; want one passkey and 9 recovery codes", state, err)
	}
	f.must(f.Remove(f.ctx, id, two.Passkey.ID))
	if state, err := f.factors.State(f.ctx, id); err != nil || state != (factor.State{}) {
		t.Errorf("State = %+v, %v; want no factor", state, err)
	}
	_, _, err = f.accounts.SignIn(f.ctx, account.Credentials{Email: email, Password: password}, visitor)
	f.must(err)
	f.add(f.owner, newAuthenticator(t), "Three")
	f.must(f.factors.Reset(f.ctx, id))
	if list, err := f.Passkeys(f.ctx, id); err != nil || len(list) != 0 {
		t.Errorf("Passkeys after Reset = %v, %v; want none", list, err)
	}
	seen := f.actions()
	for action, n := range map[string]int{
		"account.passkey_add": 3, "account.passkey_rename": 1, "account.passkey_remove": 2, "account.recovery_codes_renew": 1, "account.second_factor_reset": 1,
	} {
		if seen[action] != n {
			t.Errorf("%s: %d events, want %d", action, seen[action], n)
		}
	}
}

func TestSingleSignOnOnlyTurnsPasskeysOff(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	a := newAuthenticator(t)
	f.add(f.owner, a, "Laptop")
	f.ssoOnly.Store(true)
	if err := f.signIn(a); kind(err) != llm.PermissionDenied {
		t.Errorf("sign-in: got %v, want PermissionDenied", err)
	}
	if _, err := f.BeginAdd(f.ctx, f.owner, ""); kind(err) != llm.Conflict {
		t.Errorf("registration: got %v, want Conflict", err)
	}
}

func TestSiteComesFromThePublicURL(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		public, request string
		want            passkey.Site
	}{
		{"https://Models.example.com", "http://10.0.0.1:8080", passkey.Site{ID: host, Origin: origin}},
		{"https://models.example.com:8443/", "", passkey.Site{ID: host, Origin: origin + ":8443"}},
		{"http://models.example.com", "", passkey.Site{ID: host, Origin: "http://models.example.com", Unavailable: passkey.NotHTTPS}},
		{"https://203.0.113.9", "", passkey.Site{ID: "203.0.113.9", Origin: "https://203.0.113.9", Unavailable: passkey.IPAddress}},
		{"https://[2001:db8::1]", "", passkey.Site{ID: "2001:db8::1", Origin: "https://[2001:db8::1]", Unavailable: passkey.IPAddress}},
		{"", "http://localhost:8080", passkey.Site{ID: "localhost", Origin: "http://localhost:8080"}},
		{"", "http://127.0.0.1:8080", passkey.Site{ID: "127.0.0.1", Origin: "http://127.0.0.1:8080", Unavailable: passkey.NoPublicURL}},
		{"", "https://evil.example", passkey.Site{ID: "evil.example", Origin: "https://evil.example", Unavailable: passkey.NoPublicURL}},
		{"", "", passkey.Site{Unavailable: passkey.NoPublicURL}},
	} {
		if got := passkey.New(passkey.Parts{PublicURL: tc.public}).Site(tc.request); got != tc.want {
			t.Errorf("%s from %s: %+v, want %+v", tc.public, tc.request, got, tc.want)
		}
	}
}

func TestPasskeysAreBoundToTheHost(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	a := newAuthenticator(t)
	f.add(f.owner, a, "Laptop")
	moved := f.start("https://other.example.com")
	prompt, err := moved.BeginSignIn("")
	f.must(err)
	a.site, a.origin = "other.example.com", "https://other.example.com"
	c := account.Credentials{Passkey: &account.PasskeyResponse{Response: a.get(prompt.Options), Cookie: prompt.Cookie}}
	if _, _, err := moved.accounts.SignIn(f.ctx, c, visitor); kind(err) != llm.WrongCredentials {
		t.Errorf("after the host changed: got %v, want WrongCredentials", err)
	}
	plain := f.start("http://models.example.com")
	if _, err := plain.BeginSignIn(""); kind(err) != llm.Conflict || llm.AsError(err).Details["reason"] != passkey.NotHTTPS {
		t.Errorf("without https: got %v, want Conflict with reason NotHTTPS", err)
	}
}
