package factor_test

import (
	"context"
	"encoding/xml"
	"errors"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/pquerna/otp/totp"

	"fairlead.dev/internal/account"
	"fairlead.dev/internal/account/factor"
	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/store"
	"fairlead.dev/internal/vault"
)

const (
	email    = "ann@example.com"
	password = "correct horse battery"
)

var (
	master  = []byte("0123456789abcdef0123456789abcdef")
	visitor = account.Visitor{IP: "203.0.113.9", Client: "Firefox"}
)

type fixture struct {
	*factor.Service
	t        *testing.T
	ctx      context.Context
	db       *store.DB
	accounts *account.Service
	person   account.Account
	at       atomic.Int64 // current time in Unix seconds
}

func (f *fixture) now() time.Time       { return time.Unix(f.at.Load(), 0) }
func (f *fixture) pass(d time.Duration) { f.at.Add(int64(d / time.Second)) }

func newFixture(t *testing.T) *fixture {
	t.Helper()
	f := &fixture{t: t, ctx: t.Context()}
	f.at.Store(1_800_000_000)
	var err error
	f.db, err = store.Open(f.ctx, "sqlite", t.TempDir(), store.Options{Now: f.now})
	f.must(err)
	t.Cleanup(func() { _ = f.db.Close() })
	sealer, err := vault.New(f.db.Config, master, f.now)
	f.must(err)
	f.Service, err = factor.New(f.db.Accounts, sealer, master, f.now)
	f.must(err)
	f.accounts, err = account.New(f.db.Accounts.Stores(), account.Options{MasterKey: master, Now: f.now, HashSlots: 2, SecondFactor: f.Service})
	f.must(err)
	f.person, err = f.accounts.CreateAccount(f.ctx, email, password, "")
	f.must(err)
	return f
}

func (f *fixture) must(err error) {
	f.t.Helper()
	if err != nil {
		f.t.Fatal(err)
	}
}

// enable sets up the second factor and returns its secret and recovery codes.
func (f *fixture) enable() (string, []string) {
	f.t.Helper()
	setup, err := f.Begin(f.ctx, f.person, "models.example.com")
	f.must(err)
	codes, err := f.Confirm(f.ctx, f.person.ID, f.code(setup.Secret))
	f.must(err)
	f.pass(30 * time.Second)
	return setup.Secret, codes
}

func (f *fixture) code(secret string) string {
	f.t.Helper()
	code, err := totp.GenerateCode(secret, f.now())
	f.must(err)
	return code
}

func (f *fixture) signIn(code string) error {
	_, _, err := f.accounts.SignIn(f.ctx, account.Credentials{Email: email, Password: password, Code: code}, visitor)
	return err
}

func kind(err error) llm.Kind {
	if err == nil {
		return ""
	}
	return llm.AsError(err).Kind
}

func TestSignInRequiresACodeThatWorksOnce(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.must(f.signIn(""))
	setup, err := f.Begin(f.ctx, f.person, "")
	f.must(err)
	f.must(f.signIn("")) // the second factor is not active before it is confirmed
	if _, err := f.Confirm(f.ctx, f.person.ID, "000000"); kind(err) != llm.InvalidRequest {
		t.Errorf("wrong first code: got %v, want InvalidRequest", err)
	}
	first := f.code(setup.Secret)
	codes, err := f.Confirm(f.ctx, f.person.ID, first)
	f.must(err)
	if len(codes) != 10 {
		t.Errorf("got %d recovery codes, want 10", len(codes))
	}
	if err := f.signIn(""); kind(err) != llm.SecondFactorRequired {
		t.Errorf("without a code: got %v, want SecondFactorRequired", err)
	}
	if err := f.signIn(first); kind(err) != llm.WrongCredentials {
		t.Errorf("code of the setup used again: got %v, want WrongCredentials", err)
	}
	f.pass(30 * time.Second)
	code := f.code(setup.Secret)
	f.must(f.signIn(" " + code[:3] + " " + code[3:]))
	if err := f.signIn(code); kind(err) != llm.WrongCredentials {
		t.Errorf("replayed: got %v, want WrongCredentials", err)
	}
	f.pass(30 * time.Second)
	late := f.code(setup.Secret)
	f.pass(30 * time.Second)
	f.must(f.signIn(late)) // the code may be one time step old
	f.pass(90 * time.Second)
	stale := f.code(setup.Secret)
	f.pass(60 * time.Second)
	if err := f.signIn(stale); kind(err) != llm.WrongCredentials {
		t.Errorf("two steps late: got %v, want WrongCredentials", err)
	}
	_, _, err = f.accounts.SignIn(f.ctx, account.Credentials{Email: email, Password: "wrong password", Code: f.code(setup.Secret)}, visitor)
	if kind(err) != llm.WrongCredentials {
		t.Errorf("wrong password: got %v, want WrongCredentials", err)
	}
}

func TestRecoveryCodesWorkOnce(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	_, codes := f.enable()
	var won atomic.Int64
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			if f.signIn(strings.ToLower(codes[0])) == nil {
				won.Add(1)
			}
		})
	}
	all.Wait()
	if won.Load() != 1 {
		t.Errorf("the code worked %d times, want 1", won.Load())
	}
	state, err := f.State(f.ctx, f.person.ID)
	if err != nil || state != (factor.State{App: true, Recovery: 9}) {
		t.Errorf("State = %+v, %v; want the app and 9 recovery codes", state, err)
	}
	other, err := f.accounts.CreateAccount(f.ctx, "bob@example.com", password, "")
	f.must(err)
	if ok, err := f.Accept(f.ctx, other.ID, codes[1]); ok || err != nil {
		t.Errorf("Accept(code of another account) = %v, %v; want false, nil", ok, err)
	}
}

func TestWrongCodesAreLimitedLikePasswords(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	secret, _ := f.enable()
	for range 20 { // the password is correct, so these attempts do not count as wrong passwords
		if err := f.signIn(""); kind(err) != llm.SecondFactorRequired {
			t.Fatal(err)
		}
	}
	for range 10 {
		if err := f.signIn("000000"); kind(err) != llm.WrongCredentials {
			t.Fatal(err)
		}
	}
	if err := f.signIn(f.code(secret)); kind(err) != llm.RateLimited {
		t.Errorf("after ten wrong codes: got %v, want RateLimited", err)
	}
}

func TestResetAndDisable(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.enable()
	if _, err := f.Begin(f.ctx, f.person, ""); kind(err) != llm.Conflict {
		t.Errorf("Begin with a confirmed factor: got %v, want Conflict", err)
	}
	f.must(f.Disable(f.ctx, f.person.ID))
	f.must(f.signIn(""))
	if err := f.Reset(f.ctx, f.person.ID); !errors.Is(err, account.ErrNotFound) {
		t.Errorf("Reset without a factor: got %v, want ErrNotFound", err)
	}
	f.enable()
	f.must(f.Reset(f.ctx, f.person.ID))
	f.must(f.signIn(""))
	events, err := f.accounts.Audit(f.ctx, "", "", 100)
	f.must(err)
	seen := map[string]string{}
	for _, e := range events {
		seen[e.Action] = e.Actor
	}
	for action, actor := range map[string]string{
		"account.second_factor_enable": f.person.ID, "account.second_factor_disable": f.person.ID, "account.second_factor_reset": "command line",
	} {
		if seen[action] != actor {
			t.Errorf("%s by %q, want %q", action, seen[action], actor)
		}
	}
}

func TestSetupShowsTheSecretAndStoresItEncrypted(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	setup, err := f.Begin(f.ctx, f.person, "models.example.com")
	f.must(err)
	u, err := url.Parse(setup.URI)
	f.must(err)
	q := u.Query()
	if u.Scheme != "otpauth" || u.Path != "/Fairlead (models.example.com):"+email || q.Get("secret") != setup.Secret || q.Get("issuer") != "Fairlead (models.example.com)" {
		t.Errorf("uri %s", setup.URI)
	}
	if err := xml.Unmarshal([]byte(setup.QR), new(struct{})); err != nil || !strings.HasPrefix(setup.QR, "<svg ") {
		t.Errorf("QR: got error %v and %.40q, want an SVG image", err, setup.QR)
	}
	stored, err := f.db.Accounts.FactorOf(f.ctx, f.person.ID)
	if err != nil || strings.Contains(string(stored.Sealed), setup.Secret) {
		t.Errorf("stored in plain text: %v", err)
	}
}
