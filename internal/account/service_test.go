package account_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"fairlead.dev/internal/account"
	"fairlead.dev/internal/egress"
	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/store"
)

const password = "correct horse battery"

var (
	master  = []byte("0123456789abcdef0123456789abcdef")
	local   = account.Visitor{IP: "127.0.0.1", Client: "Firefox"}
	distant = account.Visitor{IP: "203.0.113.9", Client: "Chrome"}
)

// clock is a clock that only advances when a test advances it.
type clock struct {
	mu sync.Mutex
	at time.Time
}

func (c *clock) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.at
}

func (c *clock) pass(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.at = c.at.Add(d)
}

// fixture is a service with an empty database.
type fixture struct {
	*account.Service
	t     *testing.T
	ctx   context.Context
	clock *clock
	db    *store.DB
	dir   string
}

func newFixture(t *testing.T, registration string) *fixture {
	t.Helper()
	f := &fixture{t: t, ctx: t.Context(), clock: &clock{at: time.Date(2026, 3, 1, 9, 0, 0, 0, time.UTC)}, dir: t.TempDir()}
	var err error
	if f.db, err = store.Open(t.Context(), "sqlite", f.dir, store.Options{Now: f.clock.now}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := f.db.Close(); err != nil {
			t.Error(err)
		}
	})
	f.Service, err = account.New(f.db.Accounts.Stores(), account.Options{MasterKey: master, Now: f.clock.now, Registration: registration, CheckURL: egress.New(egress.Options{}).CheckURL})
	f.must(err)
	return f
}

func (f *fixture) must(err error) {
	f.t.Helper()
	if err != nil {
		f.t.Fatal(err)
	}
}

// refused checks the kind of an error and, if given, the parameter it names.
func (f *fixture) refused(err error, kind llm.Kind, param ...string) {
	f.t.Helper()
	if err == nil {
		f.t.Fatalf("got no error, want %s", kind)
	}
	e := llm.AsError(err)
	if e.Kind != kind || len(param) > 0 && e.Param != param[0] {
		f.t.Errorf("got %v about %q, want %s about %v", err, e.Param, kind, param)
	}
}

// setupCode returns a new code for the first account.
func (f *fixture) setupCode() string {
	f.t.Helper()
	code, _, _, err := f.SetupCode(f.ctx)
	f.must(err)
	return code
}

// register creates an account with its own workspace: the first one with the setup code, others on the command line.
func (f *fixture) register(email string) account.Account {
	f.t.Helper()
	code, _, first, err := f.SetupCode(f.ctx)
	f.must(err)
	if !first {
		a, err := f.CreateAccount(f.ctx, email, password, "")
		f.must(err)
		return a
	}
	a, _, err := f.Register(f.ctx, account.Registration{Email: email, Password: password, SetupCode: code, Visitor: local})
	f.must(err)
	return a
}

// owner registers a user and returns the owner of the new workspace.
func (f *fixture) owner(email string) account.Actor {
	f.t.Helper()
	a := f.register(email)
	return f.actor(a.ID, f.home(a.ID).ID)
}

func (f *fixture) actor(accountID, workspaceID string) account.Actor {
	f.t.Helper()
	actor, err := f.Actor(f.ctx, accountID, workspaceID)
	f.must(err)
	return actor
}

// home returns the first workspace of an account.
func (f *fixture) home(accountID string) account.Workspace {
	f.t.Helper()
	all, err := f.Workspaces(f.ctx, accountID)
	f.must(err)
	return all[0].Workspace
}

// member adds a new user to the actor's workspace.
func (f *fixture) member(by account.Actor, email string, role account.Role) account.Actor {
	f.t.Helper()
	_, token, err := f.Invite(f.ctx, by, role)
	f.must(err)
	a, _, err := f.Register(f.ctx, account.Registration{Email: email, Password: password, Invitation: token, Visitor: distant})
	f.must(err)
	return f.actor(a.ID, by.WorkspaceID)
}

// remove removes a member and revokes the member's keys.
func (f *fixture) remove(by, member account.Actor) error {
	f.t.Helper()
	_, err := f.RemoveMember(f.ctx, by, member.AccountID, false)
	return err
}

func TestNewRejectsInvalidOptions(t *testing.T) {
	t.Parallel()
	for name, o := range map[string]account.Options{
		"no master key":        {},
		"short master key":     {MasterKey: master[:31]},
		"unknown registration": {MasterKey: master, Registration: "everybody"},
	} {
		if _, err := account.New(account.Stores{}, o); err == nil {
			t.Errorf("%s: New returned no error", name)
		}
	}
}
