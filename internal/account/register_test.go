package account_test

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"fairlead.dev/internal/account"
	"fairlead.dev/internal/llm"
)

func TestRegistrationAfterTheFirstAccount(t *testing.T) {
	t.Parallel()
	tests := []struct {
		mode    string
		visitor account.Visitor
		ok      bool
	}{
		{"", local, false},
		{"", distant, false},
		{"invitation", local, false},
		{"invitation", distant, false},
		{"open", local, true},
		{"open", distant, true},
	}
	for _, tt := range tests {
		t.Run(fmt.Sprintf("%q from %s", tt.mode, tt.visitor.IP), func(t *testing.T) {
			t.Parallel()
			f := newFixture(t, tt.mode)
			first := f.owner("first@example.com")
			_, _, err := f.Register(f.ctx, account.Registration{Email: "Second@Example.com ", Password: password, Visitor: tt.visitor})
			if !tt.ok {
				f.refused(err, llm.PermissionDenied)
			} else {
				f.must(err)
				a, err := f.db.Accounts.AccountByEmail(f.ctx, "second@example.com")
				f.must(err)
				home := f.home(a.ID)
				if home.ID == first.WorkspaceID {
					t.Errorf("account %+v is in the workspace of the first account, %s", a, home.ID)
				}
				if home.Budget == nil || home.Budget.Amount != 0 {
					t.Errorf("budget %+v, want 0", home.Budget)
				}
			}

			_, invitation, err := f.Invite(f.ctx, first, account.Developer)
			f.must(err)
			guest, _, err := f.Register(f.ctx, account.Registration{Email: "guest@example.com", Password: password, Invitation: invitation, Visitor: tt.visitor})
			f.must(err)
			if got := f.actor(guest.ID, first.WorkspaceID); got.Role != account.Developer {
				t.Errorf("the guest is %+v, want role Developer", got)
			}
			_, _, err = f.Register(f.ctx, account.Registration{Email: "late@example.com", Password: password, Invitation: invitation, Visitor: tt.visitor})
			f.refused(err, llm.NotFound, "invitation")
		})
	}
}

func TestInvalidInvitationDoesNotRevealAccounts(t *testing.T) {
	t.Parallel()
	f := newFixture(t, "invitation")
	f.register("known@example.com")
	for _, email := range []string{"known@example.com", "unknown@example.com"} {
		_, _, err := f.Register(f.ctx, account.Registration{Email: email, Password: password, Invitation: "invented", Visitor: distant})
		f.refused(err, llm.NotFound, "invitation")
	}
}

func TestFirstAccountRequiresSetupCode(t *testing.T) {
	t.Parallel()
	for _, visitor := range []account.Visitor{local, distant, {}} {
		for _, mode := range []string{"invitation", "open"} { // the first account requires the setup code even with open registration
			t.Run(mode+" from "+visitor.IP, func(t *testing.T) {
				t.Parallel()
				firstAccountRequiresSetupCode(t, mode, visitor)
			})
		}
	}
}

func firstAccountRequiresSetupCode(t *testing.T, mode string, visitor account.Visitor) {
	t.Helper()
	f := newFixture(t, mode)
	try := func(code string) error {
		_, _, err := f.Register(f.ctx, account.Registration{Email: "first@example.com", Password: password, SetupCode: code, Visitor: visitor})
		return err
	}
	f.refused(try(""), llm.WrongCredentials)
	f.refused(try("ABCD-EFGH"), llm.WrongCredentials)
	old, _, needed, err := f.SetupCode(f.ctx)
	f.must(err)
	if !needed || !regexp.MustCompile(`^[2-9A-Z]{4}(-[2-9A-Z]{4}){3}$`).MatchString(old) {
		t.Errorf("code %q, needed %v", old, needed)
	}
	stale, _, _, err := f.SetupCode(f.ctx)
	f.must(err)
	f.refused(try(old), llm.WrongCredentials)
	f.clock.pass(time.Hour)
	f.refused(try(stale), llm.WrongCredentials)

	code, expires, _, err := f.SetupCode(f.ctx)
	f.must(err)
	if !expires.Equal(f.clock.now().Add(time.Hour)) {
		t.Errorf("code expires at %v, want in one hour", expires)
	}
	f.must(try(" " + strings.ToLower(strings.ReplaceAll(code, "-", ""))))

	if code, _, needed, err := f.SetupCode(f.ctx); needed || code != "" || err != nil {
		t.Errorf("SetupCode with an account = %q, %v, %v; want no code", code, needed, err)
	}
}

func TestWrongSetupCodesDoNotLockOutTheOperator(t *testing.T) {
	t.Parallel()
	f := newFixture(t, "invitation")
	code, _, _, err := f.SetupCode(f.ctx)
	f.must(err)
	try := func(code string) error {
		_, _, err := f.Register(f.ctx, account.Registration{Email: "first@example.com", Password: password, SetupCode: code, Visitor: distant})
		return err
	}
	for range 100 {
		f.refused(try("AAAA-AAAA-AAAA-AAAA"), llm.WrongCredentials)
	}
	f.must(try(code))
}

func TestOnlyOneFirstAccount(t *testing.T) {
	t.Parallel()
	f := newFixture(t, "invitation")
	code, _, _, err := f.SetupCode(f.ctx)
	f.must(err)
	var all sync.WaitGroup
	errs := make([]error, 4)
	for i := range errs {
		all.Go(func() {
			_, _, errs[i] = f.Register(f.ctx, account.Registration{Email: string(rune('a'+i)) + "@example.com", Password: password, SetupCode: code, Visitor: local})
		})
	}
	all.Wait()
	won := 0
	for _, err := range errs {
		if err == nil {
			won++
		} else if kind := llm.AsError(err).Kind; kind != llm.Conflict && kind != llm.PermissionDenied && kind != llm.WrongCredentials {
			t.Errorf("got %v, want Conflict, PermissionDenied or WrongCredentials", err)
		}
	}
	if won != 1 {
		t.Errorf("got %d first accounts, want 1", won)
	}
}

func TestFirstAccountOwnsCommandLineWorkspace(t *testing.T) {
	t.Parallel()
	f := newFixture(t, "invitation")
	w, err := f.FirstWorkspace(f.ctx)
	f.must(err)
	key, _, err := f.CreateKey(f.ctx, account.CommandLine(w.ID), account.KeySettings{Name: "ci"})
	f.must(err)
	owner := f.owner("first@example.com")
	if owner.WorkspaceID != w.ID || owner.Role != account.Owner || !owner.Operator || key.CreatedBy != "" {
		t.Errorf("owner %+v, key by %q", owner, key.CreatedBy)
	}
	again, err := f.FirstWorkspace(f.ctx)
	f.must(err)
	if second := f.owner("second@example.com"); again.ID != w.ID || second.WorkspaceID == w.ID || second.Operator {
		t.Errorf("second %+v; first workspace %s", second, again.ID)
	}
}

func TestRegistrationChecksItsFields(t *testing.T) {
	t.Parallel()
	f := newFixture(t, "invitation")
	tests := []struct {
		name  string
		r     account.Registration
		param string
	}{
		{"no address", account.Registration{Password: password}, "email"},
		{"not an address", account.Registration{Email: "someone", Password: password}, "email"},
		{"a name with an address", account.Registration{Email: "Ann <ann@example.com>", Password: password}, "email"},
		{"NUL in the address", account.Registration{Email: "a\x00@example.com", Password: password}, "email"},
		{"no password", account.Registration{Email: "a@example.com"}, "password"},
		{"short password", account.Registration{Email: "a@example.com", Password: "123456789"}, "password"},
		{"address as password", account.Registration{Email: "a.long@example.com", Password: "A.Long@example.com"}, "password"},
		{"control characters in the name", account.Registration{Email: "a@example.com", Password: password, Name: "a\x1b[31m"}, "name"},
		{"no text in the workspace's name", account.Registration{Email: "a@example.com", Password: password, Workspace: "\xff"}, "workspace"},
	}
	for _, tt := range tests {
		tt.r.Visitor = local
		_, _, err := f.Register(f.ctx, tt.r)
		t.Log(tt.name)
		f.refused(err, llm.InvalidRequest, tt.param)
	}
	f.register("a@example.com")
	_, err := f.CreateAccount(f.ctx, "A@example.com", password, "")
	f.refused(err, llm.Conflict)
	if !errors.Is(err, account.ErrConflict) {
		t.Errorf("got %v, want ErrConflict", err)
	}
}

func TestTheCommandLineCreatesAccounts(t *testing.T) {
	t.Parallel()
	f := newFixture(t, "invitation")
	f.register("first@example.com")
	a, err := f.CreateAccount(f.ctx, "second@example.com", password, "Second")
	f.must(err)
	if _, _, err := f.Login(f.ctx, "second@example.com", password, distant); err != nil {
		t.Error(err)
	}
	events, err := f.Audit(f.ctx, f.home(a.ID).ID, "", 10)
	f.must(err)
	if len(events) != 1 || events[0].Actor != "command line" {
		t.Errorf("%+v", events)
	}
}

// commits is a store that counts write transactions. Their number must not depend on whether an account exists, because clients
// can measure the response time.
type commits struct {
	account.Store
	account.AuditStore
	n int
}

func (c *commits) Enrol(ctx context.Context, e account.Enrolment) (account.Member, error) {
	m, err := c.Store.Enrol(ctx, e)
	if err == nil {
		c.n++
	}
	return m, err
}

func (c *commits) WriteAudit(ctx context.Context, e account.AuditEvent) error {
	c.n++
	return c.AuditStore.WriteAudit(ctx, e)
}

func TestOpenRegistrationRevealsNoAccounts(t *testing.T) {
	t.Parallel()
	f := newFixture(t, "open")
	known := f.register("known@example.com")
	counting := &commits{Store: f.db.Accounts, AuditStore: f.db.Accounts}
	stores := f.db.Accounts.Stores()
	stores.Accounts, stores.Audit = counting, counting
	refreshed := 0
	service, err := account.New(stores, account.Options{
		MasterKey: master, Now: f.clock.now, Registration: "open", Changed: func(context.Context) { refreshed++ },
	})
	f.must(err)
	for _, email := range []string{"known@example.com", "KNOWN@example.com", "new@example.com"} {
		counting.n, refreshed = 0, 0
		a, token, err := service.Register(f.ctx, account.Registration{Email: email, Password: "another long password", Visitor: distant})
		if err != nil || a != (account.Account{}) || token != "" || counting.n != 1 || refreshed != 1 {
			t.Errorf("%s: account %q, token %q, %d commits, %d refreshes, %v", email, a.ID, token, counting.n, refreshed, err)
		}
	}
	if got, err := f.db.Accounts.AccountByEmail(f.ctx, "known@example.com"); err != nil || got != known {
		t.Errorf("the known account was changed: %+v, %v", got, err)
	}
	if _, _, err := service.Login(f.ctx, "new@example.com", "another long password", distant); err != nil {
		t.Errorf("the new account cannot sign in: %v", err)
	}
}
