package account_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"fairlead.dev/internal/account"
	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/money"
	"fairlead.dev/internal/redact"
)

func TestWorkspaceSettings(t *testing.T) {
	t.Parallel()
	f := newFixture(t, "invitation")
	owner := f.owner("ann@example.com")
	for param, change := range map[string]account.WorkspaceChange{
		"name":                        {Name: new(" ")},
		"default_model":               {DefaultModel: new("a\nb")},
		"entry_retention":             {EntryRetention: new(-time.Second)},
		"body_retention":              {BodyRetention: new(-time.Second)},
		"redaction.custom[0].pattern": {Redaction: new(&redact.Rules{Custom: []redact.Custom{{Name: "x", Pattern: "("}}})},
		"budget.period":               {Budget: new(&account.Budget{Period: "year"})},
	} {
		_, err := f.UpdateWorkspace(f.ctx, owner, owner.WorkspaceID, change)
		f.refused(err, llm.InvalidRequest, param)
	}
	created := f.clock.now()
	f.clock.pass(time.Second) // events within the same millisecond have no order
	got, err := f.UpdateWorkspace(f.ctx, owner, owner.WorkspaceID, account.WorkspaceChange{
		Name: new("Harbour"), DefaultModel: new("gpt-4.1"), LogBodies: new(false), EntryRetention: new(time.Hour), BodyRetention: new(time.Minute),
		Redaction: new(&redact.Rules{Builtin: []string{"email"}}),
		Budget:    new(&account.Budget{Amount: money.Dollar, Period: account.Daily}),
	})
	f.must(err)
	want := account.Workspace{
		ID: owner.WorkspaceID, Name: "Harbour", DefaultModel: "gpt-4.1", EntryRetention: time.Hour, BodyRetention: time.Minute, Redaction: &redact.Rules{Builtin: []string{"email"}},
		Budget: &account.Budget{Amount: money.Dollar, Period: account.Daily}, CreatedAt: created, Revision: 2,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	events, err := f.Audit(f.ctx, owner.WorkspaceID, "", 1)
	f.must(err)
	if e := events[0]; e.Action != "workspace.update" || e.Actor != owner.AccountID || len(e.Before) == 0 || !strings.Contains(string(e.After), `"redaction":{"builtin":["email"]`) {
		t.Errorf("%+v", e)
	}
}

func TestOnlyTheOperatorLoosensBudgets(t *testing.T) {
	t.Parallel()
	f := newFixture(t, "open")
	operator := f.owner("ann@example.com")
	_, _, err := f.Register(f.ctx, account.Registration{Email: "bob@example.com", Password: password, Visitor: distant})
	f.must(err)
	a, err := f.db.Accounts.AccountByEmail(f.ctx, "bob@example.com")
	f.must(err)
	stranger := f.actor(a.ID, f.home(a.ID).ID)
	raise := account.WorkspaceChange{Budget: new(&account.Budget{Amount: 100 * money.Dollar, Period: account.Monthly})}
	for _, change := range []account.WorkspaceChange{raise, {Budget: new(*account.Budget)}, {Budget: new(&account.Budget{Period: account.Monthly, WarnOnly: true})}} {
		_, err := f.UpdateWorkspace(f.ctx, stranger, stranger.WorkspaceID, change)
		f.refused(err, llm.PermissionDenied)
	}
	second, err := f.CreateWorkspace(f.ctx, stranger, "escape")
	f.must(err)
	if second.Budget == nil || second.Budget.Amount != 0 {
		t.Errorf("a second workspace has budget %+v", second.Budget)
	}
	_, err = f.UpdateWorkspace(f.ctx, stranger, operator.WorkspaceID, account.WorkspaceChange{Name: new("mine")})
	f.refused(err, llm.NotFound)

	_, err = f.UpdateWorkspace(f.ctx, operator, stranger.WorkspaceID, raise)
	f.must(err)
	_, err = f.UpdateWorkspace(f.ctx, stranger, stranger.WorkspaceID, account.WorkspaceChange{Budget: new(&account.Budget{Amount: money.Dollar, Period: account.Monthly})})
	f.must(err)
}

// The audit log of a workspace shows that an operator changed the workspace, but not which account. The audit log of the operator's
// workspace contains the account.
func TestOperatorIsAnonymousInOtherWorkspaces(t *testing.T) {
	t.Parallel()
	f := newFixture(t, "open")
	boss, tenant := f.owner("ann@example.com"), f.owner("bob@example.com")
	f.clock.pass(time.Second)
	_, err := f.UpdateWorkspace(f.ctx, boss, tenant.WorkspaceID, account.WorkspaceChange{Budget: new(&account.Budget{Amount: money.Dollar, Period: account.Monthly})})
	f.must(err)
	for workspaceID, want := range map[string]string{tenant.WorkspaceID: "operator", boss.WorkspaceID: boss.AccountID} {
		events, err := f.Audit(f.ctx, workspaceID, "", 1)
		f.must(err)
		if e := events[0]; e.Actor != want || e.Action != "workspace.update" || e.Object != tenant.WorkspaceID || len(e.After) == 0 {
			t.Errorf("%s: %+v", workspaceID, e)
		}
	}
}

func TestTheEmbeddingModelIsPinnedOnce(t *testing.T) {
	t.Parallel()
	f := newFixture(t, "invitation")
	w, err := f.FirstWorkspace(f.ctx)
	f.must(err)
	var all sync.WaitGroup
	pinned := make([]string, 6)
	for i := range pinned {
		all.Go(func() { pinned[i], _ = f.PinEmbedding(f.ctx, w.ID, "embed-"+string(rune('a'+i))) })
	}
	all.Wait()
	stored, err := f.Workspace(f.ctx, w.ID)
	f.must(err)
	for _, model := range pinned {
		if model == "" || model != stored.PinnedEmbed {
			t.Errorf("a caller got %q, stored is %q", model, stored.PinnedEmbed)
		}
	}
	_, err = f.PinEmbedding(f.ctx, "ws_unknown", "embed-a")
	f.refused(err, llm.NotFound)
}

func TestMembers(t *testing.T) {
	t.Parallel()
	f := newFixture(t, "invitation")
	owner := f.owner("owner@example.com")
	admin := f.member(owner, "admin@example.com", account.Admin)
	developer := f.member(admin, "developer@example.com", account.Developer)

	_, _, err := f.Invite(f.ctx, admin, account.Owner)
	f.refused(err, llm.PermissionDenied)
	_, _, err = f.Invite(f.ctx, developer, account.Viewer)
	f.refused(err, llm.PermissionDenied)
	_, _, err = f.Invite(f.ctx, owner, "root")
	f.refused(err, llm.InvalidRequest, "role")
	f.refused(f.SetRole(f.ctx, admin, admin.AccountID, account.Owner), llm.PermissionDenied)
	f.refused(f.SetRole(f.ctx, admin, owner.AccountID, account.Viewer), llm.PermissionDenied)
	f.refused(f.SetRole(f.ctx, developer, developer.AccountID, account.Admin), llm.PermissionDenied)
	f.refused(f.remove(admin, owner), llm.PermissionDenied)
	f.refused(f.remove(developer, admin), llm.PermissionDenied)
	f.refused(f.SetRole(f.ctx, owner, owner.AccountID, account.Admin), llm.Conflict)
	f.refused(f.remove(owner, owner), llm.Conflict)
	f.refused(f.SetRole(f.ctx, owner, "acc_unknown", account.Admin), llm.NotFound)
	f.refused(f.DeleteAccount(f.ctx, owner.AccountID, password, local), llm.Conflict)

	f.must(f.SetRole(f.ctx, admin, developer.AccountID, account.Viewer))
	f.must(f.SetRole(f.ctx, owner, admin.AccountID, account.Owner))
	f.must(f.remove(owner, owner))
	members, err := f.Members(f.ctx, owner.WorkspaceID)
	f.must(err)
	got := map[string]account.Role{}
	for _, m := range members {
		got[m.Email] = m.Role
	}
	if diff := cmp.Diff(map[string]account.Role{"admin@example.com": account.Owner, "developer@example.com": account.Viewer}, got); diff != "" {
		t.Error(diff)
	}
	_, err = f.Actor(f.ctx, owner.AccountID, owner.WorkspaceID)
	f.refused(err, llm.NotFound)
}

func TestInvitations(t *testing.T) {
	t.Parallel()
	f := newFixture(t, "invitation")
	owner, guest := f.owner("owner@example.com"), f.owner("guest@example.com")
	invitation, token, err := f.Invite(f.ctx, owner, account.Viewer)
	f.must(err)
	seen, err := f.Invitation(f.ctx, token)
	f.must(err)
	open, err := f.Invitations(f.ctx, owner.WorkspaceID)
	f.must(err)
	if diff := cmp.Diff([]account.Invitation{invitation, invitation}, append(open, seen)); diff != "" {
		t.Error(diff)
	}
	f.refused(f.RevokeInvitation(f.ctx, guest, invitation.ID), llm.NotFound)
	f.must(f.RevokeInvitation(f.ctx, owner, invitation.ID))
	_, err = f.AcceptInvitation(f.ctx, guest.AccountID, token)
	f.refused(err, llm.NotFound, "invitation")

	_, token, err = f.Invite(f.ctx, owner, account.Viewer)
	f.must(err)
	f.clock.pass(7 * 24 * time.Hour)
	_, err = f.AcceptInvitation(f.ctx, guest.AccountID, token)
	f.refused(err, llm.NotFound, "invitation")
	_, err = f.Invitation(f.ctx, token)
	f.refused(err, llm.NotFound)

	_, token, err = f.Invite(f.ctx, owner, account.Viewer)
	f.must(err)
	_, err = f.AcceptInvitation(f.ctx, owner.AccountID, token)
	f.refused(err, llm.Conflict)
	member, err := f.AcceptInvitation(f.ctx, guest.AccountID, token)
	f.must(err)
	if member.Role != account.Viewer || member.WorkspaceID != owner.WorkspaceID {
		t.Errorf("%+v", member)
	}
}

func TestOnlyInstanceManagersCreateWorkspacesThatSpend(t *testing.T) {
	t.Parallel()
	for _, mode := range []string{"invitation", "open"} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t, mode)
			operator := f.owner("ann@example.com")
			for _, by := range []account.Actor{
				f.member(operator, "admin@example.com", account.Admin),
				f.member(operator, "dev@example.com", account.Developer),
				f.owner("tenant@example.com"),
				{AccountID: f.register("alone@example.com").ID}, // the account belongs to no workspace
			} {
				w, err := f.CreateWorkspace(f.ctx, by, "mine")
				f.must(err)
				if w.Budget == nil || w.Budget.Amount != 0 || w.Budget.WarnOnly {
					t.Errorf("%s: budget %+v, want 0", by.Role, w.Budget)
				}
			}
			w, err := f.CreateWorkspace(f.ctx, operator, "team")
			f.must(err)
			if w.Budget != nil {
				t.Errorf("instance manager: budget %+v, want none", w.Budget)
			}
		})
	}
}

func TestQuotaOfAnAccount(t *testing.T) {
	t.Parallel()
	f := newFixture(t, "open")
	service, err := account.New(f.db.Accounts.Stores(), account.Options{MasterKey: master, Now: f.clock.now, Registration: "open", Quota: account.Quota{
		WorkspaceBudget: 5 * money.Dollar, Workspaces: 2, Keys: 2,
	}})
	f.must(err)
	f.Service = service
	f.owner("ann@example.com")
	tenant := f.owner("bob@example.com")

	w, err := f.CreateWorkspace(f.ctx, tenant, "second")
	f.must(err)
	if w.Budget == nil || w.Budget.Amount != 5*money.Dollar {
		t.Errorf("budget %+v, want the configured one", w.Budget)
	}
	_, err = f.CreateWorkspace(f.ctx, tenant, "third")
	f.refused(err, llm.Conflict)

	manage, _, err := f.CreateKey(f.ctx, tenant, account.KeySettings{Name: "one", Scopes: []account.Scope{account.Manage}})
	f.must(err)
	byKey := account.Actor{KeyID: manage.ID, WorkspaceID: tenant.WorkspaceID, Scopes: manage.Scopes}
	_, _, err = f.CreateKey(f.ctx, byKey, account.KeySettings{Name: "two", Scopes: []account.Scope{account.Read}})
	f.must(err)
	for _, by := range []account.Actor{tenant, byKey, f.actor(tenant.AccountID, w.ID)} { // neither a key nor another workspace bypasses the limit
		_, _, err = f.CreateKey(f.ctx, by, account.KeySettings{Name: "three", Scopes: []account.Scope{account.Read}})
		f.refused(err, llm.Conflict)
	}
	for range 3 { // the operator's command line has no limit
		_, _, err = f.CreateKey(f.ctx, account.CommandLine(tenant.WorkspaceID), account.KeySettings{Name: "ci"})
		f.must(err)
	}
}

func TestRemovingAMemberRevokesTheirKeys(t *testing.T) {
	t.Parallel()
	f := newFixture(t, "invitation")
	var endings []string
	service, err := account.New(f.db.Accounts.Stores(), account.Options{
		MasterKey: master, Now: f.clock.now,
		Ended: func(_ context.Context, e account.Ending) { endings = append(endings, e.KeyID) },
	})
	f.must(err)
	f.Service = service
	owner := f.owner("ann@example.com")
	tests := []struct {
		name    string
		by      func(dev account.Actor) account.Actor
		keep    bool
		refused bool
		revoked bool
	}{
		{name: "removed", by: func(account.Actor) account.Actor { return owner }, revoked: true},
		{name: "removed, keys kept", by: func(account.Actor) account.Actor { return owner }, keep: true},
		{name: "leaves", by: func(dev account.Actor) account.Actor { return dev }, revoked: true},
		{name: "leaves and may not keep keys", by: func(dev account.Actor) account.Actor { return dev }, keep: true, refused: true},
	}
	for i, tt := range tests {
		dev := f.member(owner, fmt.Sprintf("dev%d@example.com", i), account.Developer)
		key, _, err := f.CreateKey(f.ctx, dev, account.KeySettings{Name: "ci"})
		f.must(err)
		endings = nil
		got, err := f.RemoveMember(f.ctx, tt.by(dev), dev.AccountID, tt.keep)
		if tt.refused {
			f.refused(err, llm.PermissionDenied)
			continue
		}
		f.must(err)
		stored, err := f.Key(f.ctx, owner.WorkspaceID, key.ID)
		f.must(err)
		if revoked := !stored.RevokedAt.IsZero(); revoked != tt.revoked || (len(got) == 1) != tt.revoked || (len(endings) == 1) != tt.revoked {
			t.Errorf("%s: revoked %v, returned %d keys, announced %v", tt.name, revoked, len(got), endings)
		}
	}
}
