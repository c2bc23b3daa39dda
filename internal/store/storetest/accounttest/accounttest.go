// Package accounttest tests the store of accounts, workspaces, keys and credentials on a database.
package accounttest

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"fairlead.dev/internal/account"
	"fairlead.dev/internal/money"
	"fairlead.dev/internal/redact"
	"fairlead.dev/internal/store"
)

// now is the time of the fixtures. serial makes their IDs unique.
var (
	now    = time.Date(2026, 11, 15, 12, 34, 56, 789e6, time.UTC)
	serial atomic.Int64
)

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// Run runs the suite. open returns a new, empty database.
func Run(t *testing.T, open func(t testing.TB) *store.DB) {
	t.Helper()
	for _, test := range []struct {
		name string
		run  func(*testing.T, *store.DB)
	}{
		{"OnlyOneAccountIsFirst", firstAccountOnce},
		{"FirstAccountOwnsTheOldestWorkspace", firstAccountTakesOver},
		{"OneFirstWorkspace", oneFirstWorkspace},
		{"AccountsAreChangedAndDeleted", accountsAreChangedAndDeleted},
		{"SessionsEndWithThePassword", sessionsEndWithPassword},
		{"GuessesAreCountedExactly", guessesAreCounted},
		{"WorkspacesRoundTrip", workspacesReadBack},
		{"LastOwnerCannotLeave", lastOwnerStays},
		{"InvitationsAreUsedOnce", invitationsUsedOnce},
		{"NamesOfFormerMembersAreKept", formerNamesAreKept},
		{"KeysRoundTrip", keysReadBack},
		{"KeysOfOtherWorkspacesAreNotFound", foreignKeys},
		{"ChangedKeysAreReadInOrder", changedKeysInOrder},
		{"UsesNeverUndoARevocation", usesKeepRevocation},
		{"UsesAreRecorded", usesAreRecorded},
		{"InvalidIDsAreNotFound", invalidIDsAreNotFound},
		{"RemovedMembersLoseTheirKeys", removedMembersLoseTheirKeys},
		{"KeysPerAccountAreBounded", keysPerAccountAreBounded},
		{"WorkspacesPerAccountAreBounded", workspacesPerAccountAreBounded},
		{"AuditPages", auditPages},
		{"CredentialsAreKept", credentialsAreKept},
		{"IdentitiesFollowTheirGroups", identitiesFollowTheirGroups},
		{"LinkingRemovesOtherAccess", linkingRemovesOtherAccess},
		{"SecondFactorsWorkOnce", secondFactorsWorkOnce},
		{"PasskeysWorkOncePerChallenge", passkeysWorkOncePerChallenge},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			test.run(t, open(t))
		})
	}
}

// Event returns an audit event with a unique ID.
func Event(workspaceID, action string) account.AuditEvent {
	return account.AuditEvent{
		ID: fmt.Sprintf("aud_%012d", serial.Add(1)), WorkspaceID: workspaceID, At: now, Actor: "acc_test", Action: action, Object: "object",
		Before: json.RawMessage(`{"a":1}`),
	}
}

// Person returns an account with the given name.
func Person(name string) account.Account {
	return account.Account{ID: "acc_" + name, Email: name + "@example.com", Name: name, PasswordHash: "hash of " + name, TimeZone: "UTC", CreatedAt: now}
}

// Workspace returns a workspace with the given name that was created at the given time.
func Workspace(name string, at time.Time) account.Workspace {
	return account.Workspace{ID: "ws_" + name, Name: name, LogBodies: true, CreatedAt: at}
}

// Enrol registers a person with a workspace of the same name.
func Enrol(t *testing.T, db *store.DB, name string) account.Member {
	t.Helper()
	member, err := db.Accounts.Enrol(t.Context(), account.Enrolment{Account: Person(name), Workspace: Workspace(name, now), Event: Event("", "account.register")})
	must(t, err)
	return member
}

func firstAccountOnce(t *testing.T, db *store.DB) {
	var all sync.WaitGroup
	results := make([]error, 8)
	for i := range results {
		all.Go(func() {
			name := fmt.Sprint("person", i)
			_, results[i] = db.Accounts.Enrol(t.Context(), account.Enrolment{
				Account: Person(name), Workspace: Workspace(name, now), First: true, Event: Event("", "account.register"),
			})
		})
	}
	all.Wait()
	won := 0
	for _, err := range results {
		if err == nil {
			won++
		} else if !errors.Is(err, account.ErrNotFirst) {
			t.Error(err)
		}
	}
	if has, err := db.Accounts.HasAccounts(t.Context()); won != 1 || !has || err != nil {
		t.Errorf("%d accounts became the first account, HasAccounts = %t, %v; want 1, true", won, has, err)
	}
}

func firstAccountTakesOver(t *testing.T, db *store.DB) {
	ctx := t.Context()
	oldest, err := db.Accounts.EnsureWorkspace(ctx, Workspace("default", now.Add(-time.Hour)), Event("ws_default", "workspace.create"))
	must(t, err)
	first, second := Enrol(t, db, "ann"), Enrol(t, db, "bob")
	if first.WorkspaceID != oldest.ID || first.Role != account.Owner || second.WorkspaceID != "ws_bob" {
		t.Errorf("first account is in %s, second in %s; want the oldest workspace and ws_bob", first.WorkspaceID, second.WorkspaceID)
	}
	_, err = db.Accounts.Enrol(ctx, account.Enrolment{Account: account.Account{ID: "acc_x", Email: "ann@example.com"}, Workspace: Workspace("x", now), Event: Event("", "account.register")})
	if !errors.Is(err, account.ErrConflict) {
		t.Errorf("second account with the same address: %v, want ErrConflict", err)
	}
	if _, err := db.Accounts.WorkspaceByID(ctx, "ws_x"); !errors.Is(err, account.ErrNotFound) {
		t.Errorf("workspace of a rejected registration: %v, want ErrNotFound", err)
	}
}

func oneFirstWorkspace(t *testing.T, db *store.DB) {
	if _, err := db.Accounts.OldestWorkspace(t.Context()); !errors.Is(err, account.ErrNotFound) {
		t.Errorf("OldestWorkspace of an empty database: %v, want ErrNotFound", err)
	}
	var all sync.WaitGroup
	ids := make([]string, 8)
	for i := range ids {
		all.Go(func() {
			w, err := db.Accounts.EnsureWorkspace(t.Context(), Workspace(fmt.Sprint(i), now.Add(-time.Duration(i)*time.Hour)), Event("", "workspace.create"))
			if err != nil {
				t.Error(err)
			}
			ids[i] = w.ID
		})
	}
	all.Wait()
	if slices.Sort(ids); len(slices.Compact(ids)) != 1 {
		t.Errorf("EnsureWorkspace returned different workspaces: %v", ids)
	}
}

func accountsAreChangedAndDeleted(t *testing.T, db *store.DB) {
	ctx := t.Context()
	Enrol(t, db, "ann")
	Enrol(t, db, "bob")
	changed, err := db.Accounts.ChangeAccount(ctx, "acc_ann", func(a *account.Account) (account.AuditEvent, error) {
		a.Name, a.TimeZone, a.Email, a.PasswordHash = "Ann", "Europe/Paris", "ignored", "ignored"
		return Event("", "account.update"), nil
	})
	must(t, err)
	want := Person("ann")
	want.Name, want.TimeZone = "Ann", "Europe/Paris"
	stored, err := db.Accounts.AccountByEmail(ctx, "ann@example.com")
	must(t, err)
	if diff := cmp.Diff(want, stored); diff != "" || changed.Name != "Ann" {
		t.Errorf("returned name %q, stored account (-want +got):\n%s", changed.Name, diff)
	}

	must(t, db.Accounts.CreateKey(ctx, sampleKey("ws_ann"), 0, Event("ws_ann", "key.create")))
	key := sampleKey("ws_bob")
	must(t, db.Accounts.CreateKey(ctx, key, 0, Event("ws_bob", "key.create")))
	must(t, db.Accounts.DeleteAccount(ctx, "acc_ann", Event("", "account.delete")))

	if _, err := db.Accounts.AccountByID(ctx, "acc_ann"); !errors.Is(err, account.ErrNotFound) {
		t.Errorf("AccountByID after the deletion: %v, want ErrNotFound", err)
	}
	if err := db.Accounts.DeleteAccount(ctx, "acc_ann", Event("", "account.delete")); !errors.Is(err, account.ErrNotFound) {
		t.Errorf("second deletion: %v, want ErrNotFound", err)
	}
	abandoned, err := db.Accounts.KeysOf(ctx, "ws_ann")
	must(t, err)
	kept, err := db.Accounts.KeyByID(ctx, "ws_bob", key.ID)
	must(t, err)
	if abandoned[0].RevokedAt.IsZero() || !kept.RevokedAt.IsZero() {
		t.Errorf("key of the deleted account revoked at %v, another key at %v; want only the first revoked",
			abandoned[0].RevokedAt, kept.RevokedAt)
	}
}

func sessionOf(accountID, token string) account.Session {
	return account.Session{
		TokenHash: []byte(token), AccountID: accountID, Client: "Firefox", IP: "127.0.0.1",
		CreatedAt: now, SeenAt: now, ExpiresAt: now.Add(time.Hour),
	}
}

func sessionsEndWithPassword(t *testing.T, db *store.DB) {
	ctx := t.Context()
	Enrol(t, db, "ann")
	Enrol(t, db, "bob")
	one, other := sessionOf("acc_ann", "one"), sessionOf("acc_bob", "other")
	must(t, db.Accounts.CreateSession(ctx, one, "hash of ann"))
	must(t, db.Accounts.CreateSession(ctx, other, "hash of bob"))
	got, owner, err := db.Accounts.SessionByHash(ctx, []byte("one"))
	must(t, err)
	if diff := cmp.Diff(one, got); diff != "" || owner.ID != "acc_ann" {
		t.Errorf("owner %s, session (-want +got):\n%s", owner.ID, diff)
	}
	must(t, db.Accounts.TouchSession(ctx, one.TokenHash, now.Add(time.Minute), now.Add(2*time.Hour)))
	must(t, db.Accounts.TouchSession(ctx, one.TokenHash, now.Add(time.Second), now))
	if got, _, _ := db.Accounts.SessionByHash(ctx, []byte("one")); !got.ExpiresAt.Equal(now.Add(2 * time.Hour)) {
		t.Errorf("ExpiresAt = %v, want the time of the later use", got.ExpiresAt)
	}
	if err := db.Accounts.DeleteSession(ctx, "acc_bob", one.TokenHash); !errors.Is(err, account.ErrNotFound) {
		t.Errorf("DeleteSession of another account: %v, want ErrNotFound", err)
	}

	next := sessionOf("acc_ann", "next")
	must(t, db.Accounts.SetPassword(ctx, "acc_ann", "new hash", &next, Event("", "account.password")))

	if err := db.Accounts.CreateSession(ctx, sessionOf("acc_ann", "late"), "hash of ann"); !errors.Is(err, account.ErrConflict) {
		t.Errorf("CreateSession with the old password: %v, want ErrConflict", err)
	}
	sessions, err := db.Accounts.SessionsOf(ctx, "acc_ann")
	must(t, err)
	if diff := cmp.Diff([]account.Session{next}, sessions); diff != "" {
		t.Error(diff)
	}
	if _, _, err := db.Accounts.SessionByHash(ctx, other.TokenHash); err != nil {
		t.Errorf("session of another account: %v", err)
	}
}

func guessesAreCounted(t *testing.T, db *store.DB) {
	ctx, window := t.Context(), 15*time.Minute
	subject := []byte("someone")
	var all sync.WaitGroup
	var mu sync.Mutex
	taken := 0
	for range 40 {
		all.Go(func() {
			wait, err := db.Accounts.TakeGuess(ctx, subject, now, window, 10)
			if err != nil {
				t.Error(err)
			}
			mu.Lock()
			defer mu.Unlock()
			if wait == 0 {
				taken++
			} else if wait != window {
				t.Errorf("wait = %s, want %s", wait, window)
			}
		})
	}
	all.Wait()
	if taken != 10 {
		t.Errorf("%d concurrent guesses, want 10", taken)
	}
	must(t, db.Accounts.ReturnGuess(ctx, subject, now))
	for i, want := range []time.Duration{0, window - time.Second} {
		if wait, err := db.Accounts.TakeGuess(ctx, subject, now.Add(time.Second), window, 10); err != nil || wait != want {
			t.Errorf("guess %d after one was returned: wait %s, %v, want %s", i, wait, err, want)
		}
	}
	if wait, err := db.Accounts.TakeGuess(ctx, []byte("another"), now, window, 10); err != nil || wait != 0 {
		t.Errorf("another subject: wait %s, %v; want 0", wait, err)
	}
	if wait, err := db.Accounts.TakeGuess(ctx, subject, now.Add(window), window, 10); err != nil || wait != 0 {
		t.Errorf("after the window: wait %s, %v; want 0", wait, err)
	}
}

func workspacesReadBack(t *testing.T, db *store.DB) {
	ctx := t.Context()
	Enrol(t, db, "ann")
	want := account.Workspace{
		ID: "ws_full", Name: "full", DefaultModel: "gpt", PinnedEmbed: "embed", EntryRetention: time.Hour, BodyRetention: time.Minute,
		Redaction: &redact.Rules{Builtin: []string{"email"}, Custom: []redact.Custom{{Name: "ticket", Pattern: `T-\d+ "é"`}}},
		Budget:    &account.Budget{Amount: 5 * money.Dollar, Period: account.Weekly, Zone: "Asia/Tokyo", WarnPercent: 80, WarnOnly: true}, CreatedAt: now.Add(time.Second),
		Comparison: &account.Comparison{Share: 0.05, Holdout: 0.01, Baseline: "gpt", Budget: 3 * money.Dollar, Judge: "judge", Hook: "https://example.com/score"},
	}
	owner := account.Member{AccountID: "acc_ann", WorkspaceID: want.ID, Role: account.Owner, JoinedAt: now}
	must(t, db.Accounts.CreateWorkspace(ctx, want, owner, 20, Event(want.ID, "workspace.create")))
	must(t, db.Accounts.ReviseWorkspace(ctx, want.ID))
	got, err := db.Accounts.WorkspaceByID(ctx, want.ID)
	must(t, err)
	want.Revision = 3
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	changed, err := db.Accounts.ChangeWorkspace(ctx, want.ID, func(w *account.Workspace) (account.AuditEvent, error) {
		w.Name, w.Budget, w.LogBodies, w.Redaction = "renamed", nil, true, nil
		return Event(want.ID, "workspace.update"), nil
	})
	must(t, err)
	unchanged, err := db.Accounts.ChangeWorkspace(ctx, want.ID, func(*account.Workspace) (account.AuditEvent, error) { return account.AuditEvent{}, nil })
	must(t, err)
	if diff := cmp.Diff(changed, unchanged); diff != "" {
		t.Error(diff)
	}
	memberships, err := db.Accounts.WorkspacesOf(ctx, "acc_ann")
	must(t, err)
	anns := Workspace("ann", now)
	anns.Revision = 1
	if diff := cmp.Diff([]account.Membership{{Workspace: anns, Role: account.Owner}, {Workspace: changed, Role: account.Owner}}, memberships); diff != "" {
		t.Error(diff)
	}
	rejected := errors.New("rejected")
	_, err = db.Accounts.ChangeWorkspace(ctx, want.ID, func(w *account.Workspace) (account.AuditEvent, error) {
		w.Name = "never"
		return Event(want.ID, "workspace.update"), rejected
	})
	if stored, _ := db.Accounts.WorkspaceByID(ctx, want.ID); !errors.Is(err, rejected) || stored.Name != "renamed" {
		t.Errorf("rejected change: %v, stored name %s; want the callback's error and renamed", err, stored.Name)
	}
}

func lastOwnerStays(t *testing.T, db *store.DB) {
	ctx := t.Context()
	Enrol(t, db, "ann")
	Enrol(t, db, "bob")
	join(t, db, "ws_ann", "acc_bob", account.Owner)
	// Both owners leave at the same time. Each could leave if the other stayed.
	var all sync.WaitGroup
	results := make([]error, 2)
	for i, accountID := range []string{"acc_ann", "acc_bob"} {
		all.Go(func() {
			_, results[i] = db.Accounts.ChangeMember(ctx, "ws_ann", accountID, false, func(m *account.Member, owners int) (account.AuditEvent, error) {
				if owners <= 1 {
					return account.AuditEvent{}, account.ErrLastOwner
				}
				m.Role = ""
				return Event("ws_ann", "member.remove"), nil
			})
		})
	}
	all.Wait()
	members, err := db.Accounts.MembersOf(ctx, "ws_ann")
	must(t, err)
	if len(members) != 1 || (results[0] == nil) == (results[1] == nil) {
		t.Errorf("members %v, results %v; want one remaining owner and one error", members, results)
	}
	left, gone := "acc_ann", "acc_bob"
	if members[0].AccountID == gone {
		left, gone = gone, left
	}
	if _, err := db.Accounts.MemberOf(ctx, "ws_ann", gone); !errors.Is(err, account.ErrNotFound) {
		t.Errorf("MemberOf a removed member: %v, want ErrNotFound", err)
	}
	join(t, db, "ws_ann", gone, account.Viewer)
	if err := db.Accounts.DeleteAccount(ctx, left, Event("", "account.delete")); !errors.Is(err, account.ErrLastOwner) {
		t.Errorf("DeleteAccount of the last owner: %v, want ErrLastOwner", err)
	}
}

func invite(t *testing.T, db *store.DB, workspaceID, by, token string, role account.Role) {
	t.Helper()
	must(t, db.Accounts.CreateInvitation(t.Context(), account.Invitation{
		ID: "inv_" + token, WorkspaceID: workspaceID, Role: role, TokenHash: []byte(token), CreatedBy: by, CreatedAt: now, ExpiresAt: now.Add(time.Hour),
	}, Event(workspaceID, "invitation.create")))
}

func join(t *testing.T, db *store.DB, workspaceID, accountID string, role account.Role) {
	t.Helper()
	token := fmt.Sprint("token", serial.Add(1))
	invite(t, db, workspaceID, "", token, role)
	_, err := db.Accounts.AcceptInvitation(t.Context(), []byte(token), accountID, Event("", "invitation.accept"))
	must(t, err)
}

func invitationsUsedOnce(t *testing.T, db *store.DB) {
	ctx := t.Context()
	Enrol(t, db, "ann")
	people := []string{"bob", "cat", "dan", "eve"}
	for _, name := range people {
		Enrol(t, db, name)
	}
	invite(t, db, "ws_ann", "acc_ann", "shared", account.Developer)
	var all sync.WaitGroup
	results := make([]error, len(people))
	for i, name := range people {
		all.Go(func() {
			_, results[i] = db.Accounts.AcceptInvitation(ctx, []byte("shared"), "acc_"+name, Event("", "invitation.accept"))
		})
	}
	all.Wait()
	won := 0
	for _, err := range results {
		if err == nil {
			won++
		} else if !errors.Is(err, account.ErrNotFound) {
			t.Error(err)
		}
	}
	if won != 1 {
		t.Errorf("%d accounts accepted one invitation, want 1", won)
	}

	invite(t, db, "ws_ann", "acc_ann", "own", account.Admin)
	if _, err := db.Accounts.AcceptInvitation(ctx, []byte("own"), "acc_ann", Event("", "invitation.accept")); !errors.Is(err, account.ErrConflict) {
		t.Errorf("AcceptInvitation by a member: %v, want ErrConflict", err)
	}
	over := Event("", "invitation.accept")
	over.At = now.Add(time.Hour)
	if _, err := db.Accounts.AcceptInvitation(ctx, []byte("own"), "acc_bob", over); !errors.Is(err, account.ErrNotFound) {
		t.Errorf("expired invitation: %v, want ErrNotFound", err)
	}
	if err := db.Accounts.DeleteInvitation(ctx, "ws_bob", "inv_own", Event("ws_bob", "invitation.revoke")); !errors.Is(err, account.ErrNotFound) {
		t.Errorf("DeleteInvitation of another workspace: %v, want ErrNotFound", err)
	}
	join(t, db, "ws_bob", "acc_ann", account.Admin)
	invite(t, db, "ws_bob", "acc_ann", "promise", account.Admin)
	_, err := db.Accounts.ChangeMember(ctx, "ws_bob", "acc_ann", true, func(m *account.Member, _ int) (account.AuditEvent, error) {
		m.Role = account.Viewer
		return Event("ws_bob", "member.role"), nil
	})
	must(t, err)
	open, err := db.Accounts.InvitationsOf(ctx, "ws_bob", now)
	must(t, err)
	kept, err := db.Accounts.InvitationsOf(ctx, "ws_ann", now)
	must(t, err)
	if len(open) != 0 || len(kept) != 1 {
		t.Errorf("%d invitations of the demoted member, %d in another workspace; want 0 and 1", len(open), len(kept))
	}
}
