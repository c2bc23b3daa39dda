package accounttest

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"fairlead.dev/internal/account"
	"fairlead.dev/internal/account/factor"
	"fairlead.dev/internal/account/passkey"
	"fairlead.dev/internal/sso"
	"fairlead.dev/internal/store"
)

const issuer = "https://login.example.com"

// signIn returns the sign-in of a person with grants.
func signIn(name string, refresh string, grants ...sso.Grant) sso.SignIn {
	person := Person(name)
	person.PasswordHash = account.NoPassword
	return sso.SignIn{
		Identity: sso.Identity{Issuer: issuer, Subject: "subject of " + name, Refresh: []byte(refresh), CheckedAt: now, CheckedUntil: now.Add(time.Minute)},
		Draft:    person,
		Session:  account.Session{TokenHash: []byte("session " + name + refresh), Issuer: issuer, CreatedAt: now, SeenAt: now, ExpiresAt: now.Add(time.Hour)},
		Grants:   grants, Event: account.AuditEvent{At: now, Actor: account.SingleSignOn},
	}
}

func identitiesFollowTheirGroups(t *testing.T, db *store.DB) {
	ctx, s := t.Context(), db.Accounts
	w, err := s.EnsureWorkspace(ctx, account.Workspace{ID: "ws_one", Name: "One", CreatedAt: now}, Event("ws_one", "workspace.create"))
	must(t, err)
	out, err := s.SignInIdentity(ctx, signIn("ann", "first", sso.Grant{WorkspaceID: w.ID, Role: account.Developer}, sso.Grant{WorkspaceID: "ws_unknown", Role: account.Owner}))
	must(t, err)
	ann := out.Account
	if m, err := s.MemberOf(ctx, w.ID, ann.ID); err != nil || m.Role != account.Developer || m.Source != account.ByGroup || !cmp.Equal(out.Unknown, []string{"ws_unknown"}) {
		t.Errorf("member %+v, %v, unknown workspaces %v; want role developer, source group and unknown workspace ws_unknown", m, err, out.Unknown)
	}
	session, _, err := s.SessionByHash(ctx, []byte("session annfirst"))
	if err != nil || session.Issuer != issuer || !session.CheckedUntil.Equal(now.Add(time.Minute)) {
		t.Errorf("session %+v, %v; want it confirmed for a minute", session, err)
	}
	again, err := s.SignInIdentity(ctx, signIn("ann", "second", sso.Grant{WorkspaceID: w.ID, Role: account.Admin}))
	must(t, err)
	if again.Account.ID != ann.ID {
		t.Error("the second sign-in created another account")
	}
	other := signIn("bob", "x")
	other.Draft.Email = ann.Email
	if _, err := s.SignInIdentity(ctx, other); !errors.Is(err, account.ErrConflict) {
		t.Errorf("sign-in with the address of another account: %v, want ErrConflict", err)
	}
	other.Link = true // still a conflict: the account is already linked to another subject
	if _, err := s.SignInIdentity(ctx, other); !errors.Is(err, account.ErrConflict) {
		t.Errorf("second identity of an account: %v, want ErrConflict", err)
	}

	due := sso.Due{Issuer: issuer, CheckedBefore: now, ActiveSince: now.Add(-time.Minute), Now: now, Limit: 10}
	list, err := s.DueIdentities(ctx, due)
	if err != nil || len(list) != 1 || string(list[0].Refresh) != "second" {
		t.Fatalf("due identities %+v, %v; want one with the second token", list, err)
	}
	i := list[0]
	for n, want := range []bool{true, false} {
		if got, err := s.ClaimIdentity(ctx, i, now, now.Add(time.Second)); got != want || err != nil {
			t.Errorf("claim %d = %t, %v; want %t", n, got, err, want)
		}
	}
	if list, err := s.DueIdentities(ctx, due); err != nil || len(list) != 0 {
		t.Errorf("due identities after the claim: %v, %v; want none", list, err)
	}
	key := keyBy(w.ID, ann.ID)
	must(t, s.CreateKey(ctx, key, 0, Event(w.ID, "key.create")))
	next := i
	next.Refresh, next.CheckedAt, next.CheckedUntil = []byte("third"), now.Add(time.Second), time.Time{}
	result := sso.Result{Identity: next, Old: []byte("first"), Event: account.AuditEvent{At: now, Actor: account.SingleSignOn}}
	if out, err := s.ConfirmIdentity(ctx, result); err != nil || len(out.Revoked) != 0 {
		t.Errorf("ConfirmIdentity with an old token: %+v, %v; want no revoked keys", out, err)
	}
	result.Old = i.Refresh
	out, err = s.ConfirmIdentity(ctx, result)
	if err != nil || len(out.Revoked) != 1 || out.Revoked[0].ID != key.ID {
		t.Errorf("revoked keys %+v, %v; want the key of the member", out.Revoked, err)
	}
	if _, err := s.MemberOf(ctx, w.ID, ann.ID); !errors.Is(err, account.ErrNotFound) {
		t.Errorf("MemberOf without a group: %v, want ErrNotFound", err)
	}
	if _, _, err := s.SessionByHash(ctx, []byte("session annsecond")); !errors.Is(err, account.ErrNotFound) {
		t.Errorf("session after the identity ended: %v, want ErrNotFound", err)
	}
	_, err = s.SignInIdentity(ctx, signIn("ann", "fourth", sso.Grant{WorkspaceID: w.ID, Role: account.Viewer}))
	must(t, err)
	must(t, s.EndIdentity(ctx, next, Event("", "session.refused"))) // next has an old token, so the call must not change anything
	if _, _, err := s.SessionByHash(ctx, []byte("session annfourth")); err != nil {
		t.Errorf("EndIdentity with an old token ended a new session: %v", err)
	}
	next.Refresh = []byte("fourth")
	must(t, s.EndIdentity(ctx, next, Event("", "session.refused")))
	if _, _, err := s.SessionByHash(ctx, []byte("session annfourth")); !errors.Is(err, account.ErrNotFound) {
		t.Errorf("session after the identity ended: %v, want ErrNotFound", err)
	}
	if left, err := s.IdentityOf(ctx, ann.ID, issuer); err != nil || len(left.Refresh) != 0 {
		t.Errorf("identity %+v, %v; want it without a token", left, err)
	}
}

func linkingRemovesOtherAccess(t *testing.T, db *store.DB) {
	ctx, s := t.Context(), db.Accounts
	Enrol(t, db, "ann")
	must(t, s.CreateSession(ctx, account.Session{TokenHash: []byte("old"), AccountID: "acc_ann", CreatedAt: now, SeenAt: now, ExpiresAt: now.Add(time.Hour)}, Person("ann").PasswordHash))
	must(t, s.SaveFactor(ctx, factor.Factor{AccountID: "acc_ann", Sealed: []byte("one"), CreatedAt: now}))
	must(t, s.ConfirmFactor(ctx, factor.Factor{AccountID: "acc_ann", Sealed: []byte("one"), ConfirmedAt: now, LastStep: 7}, [][]byte{[]byte("a")}, Event("", "x")))
	_, err := s.Passkeys().AddPasskey(ctx, passkey.Addition{
		Passkey:   passkey.Passkey{ID: "pk_1", AccountID: "acc_ann", Name: "One", CredentialID: []byte("one"), PublicKey: []byte("key"), CreatedAt: now},
		Challenge: passkey.Challenge{Hash: []byte("c"), Expires: now.Add(time.Minute)}, Maximum: 2, Event: Event("", "x"),
	})
	must(t, err)
	must(t, s.CreateInvitation(ctx, account.Invitation{ID: "inv_1", WorkspaceID: "ws_ann", Role: account.Owner, TokenHash: []byte("inv"), CreatedBy: "acc_ann", CreatedAt: now, ExpiresAt: now.Add(time.Hour)}, Event("ws_ann", "x")))
	key := keyBy("ws_ann", "acc_ann")
	must(t, s.CreateKey(ctx, key, 0, Event("ws_ann", "key.create")))

	in := signIn("ann", "x")
	in.Draft.ID, in.Link = "acc_new", true
	out, err := s.SignInIdentity(ctx, in)
	must(t, err)
	if out.Account.ID != "acc_ann" || out.Account.HasPassword() || len(out.Revoked) != 1 {
		t.Errorf("linked %+v, revoked keys %v; want ann's account without a password and one revoked key", out.Account, out.Revoked)
	}
	stored, err := s.AccountByID(ctx, "acc_ann")
	must(t, err)
	f, err := s.FactorOf(ctx, "acc_ann")
	must(t, err)
	sessions, err := s.SessionsOf(ctx, "acc_ann")
	must(t, err)
	invitations, err := s.InvitationsOf(ctx, "ws_ann", now)
	must(t, err)
	if stored.HasPassword() || len(f.Sealed)+f.Passkeys+f.Recovery+len(invitations) > 0 || len(sessions) != 1 || sessions[0].Issuer != issuer {
		t.Errorf("after linking: %+v, factor %+v, sessions %v, invitations %v; want only the new session", stored, f, sessions, invitations)
	}
	if k, err := s.KeyByID(ctx, "ws_ann", key.ID); err != nil || k.RevokedAt.IsZero() {
		t.Errorf("ann's key: %+v, %v; want it revoked", k, err)
	}
}

func secondFactorsWorkOnce(t *testing.T, db *store.DB) {
	ctx, s := t.Context(), db.Accounts
	out, err := s.SignInIdentity(ctx, signIn("ann", "x"))
	must(t, err)
	id := out.Account.ID
	f := factor.Factor{AccountID: id, Sealed: []byte("one"), CreatedAt: now}
	must(t, s.SaveFactor(ctx, f))
	if used, err := s.UseStep(ctx, id, 5); used || err != nil {
		t.Errorf("UseStep of an unconfirmed factor = %t, %v; want false", used, err)
	}
	replaced := f
	f.Sealed = []byte("two")
	must(t, s.SaveFactor(ctx, f))
	f.ConfirmedAt, f.LastStep = now, 7
	codes := [][]byte{[]byte("a"), []byte("b")}
	if err := s.ConfirmFactor(ctx, replaced, codes, Event("", "x")); !errors.Is(err, account.ErrConflict) {
		t.Errorf("ConfirmFactor with a replaced secret: %v, want ErrConflict", err)
	}
	must(t, s.ConfirmFactor(ctx, f, codes, Event("", "x")))
	if err := s.SaveFactor(ctx, f); !errors.Is(err, account.ErrConflict) {
		t.Errorf("SaveFactor over a confirmed factor: %v, want ErrConflict", err)
	}
	for _, tc := range []struct {
		step int64
		want bool
	}{{7, false}, {8, true}, {8, false}, {6, false}, {9, true}} {
		if got, err := s.UseStep(ctx, id, tc.step); got != tc.want || err != nil {
			t.Errorf("UseStep(%d) = %t, %v; want %t", tc.step, got, err, tc.want)
		}
	}
	for n, want := range []bool{true, false} {
		if got, err := s.UseRecovery(ctx, id, []byte("a"), Event("", "x")); got != want || err != nil {
			t.Errorf("use %d of the recovery code = %t, %v; want %t", n, got, err, want)
		}
	}
	got, err := s.FactorOf(ctx, id)
	f.LastStep, f.Recovery = 9, 1
	if diff := cmp.Diff(f, got); err != nil || diff != "" {
		t.Errorf("FactorOf: %v, factor (-want +got):\n%s", err, diff)
	}
	must(t, s.DeleteFactor(ctx, id, Event("", "x")))
	if got, err := s.FactorOf(ctx, id); err != nil || len(got.Sealed) != 0 || got.Recovery != 0 {
		t.Errorf("factor after the deletion: %+v, %v; want none", got, err)
	}
	if _, err := s.FactorOf(ctx, "acc_unknown"); !errors.Is(err, account.ErrNotFound) {
		t.Errorf("FactorOf an unknown account: %v, want ErrNotFound", err)
	}
}

func passkeysWorkOncePerChallenge(t *testing.T, db *store.DB) {
	ctx, s, passkeys := t.Context(), db.Accounts, db.Accounts.Passkeys()
	out, err := s.SignInIdentity(ctx, signIn("ann", "x"))
	must(t, err)
	id := out.Account.ID
	challenge := func(text string) passkey.Challenge {
		return passkey.Challenge{Hash: []byte(text), Expires: now.Add(time.Minute)}
	}
	codes := [][]byte{[]byte("a"), []byte("b")}
	p := passkey.Passkey{
		ID: "pk_1", AccountID: id, Name: "One", SiteID: "example.com", CredentialID: []byte("one"), PublicKey: []byte("key"),
		Transports: []string{"usb", "nfc"}, Flags: 0xff, SignCount: 1<<32 - 2, CreatedAt: now,
	}
	add := passkey.Addition{Passkey: p, Challenge: challenge("add"), Recovery: codes, Maximum: 2, Event: Event("", "x")}
	if first, err := passkeys.AddPasskey(ctx, add); !first || err != nil {
		t.Errorf("first passkey: first = %t, %v; want true", first, err)
	}
	add.Passkey.ID, add.Passkey.CredentialID = "pk_2", []byte("two")
	if _, err := passkeys.AddPasskey(ctx, add); !errors.Is(err, account.ErrConflict) {
		t.Errorf("used challenge: %v, want ErrConflict", err)
	}
	add.Challenge, add.Passkey.CredentialID = challenge("add 2"), []byte("one")
	if _, err := passkeys.AddPasskey(ctx, add); !errors.Is(err, account.ErrConflict) {
		t.Errorf("registered credential: %v, want ErrConflict", err)
	}
	add.Passkey.CredentialID, add.Event = []byte("two"), Event("", "x")
	if first, err := passkeys.AddPasskey(ctx, add); first || err != nil {
		t.Errorf("second passkey: first = %t, %v; want false", first, err)
	}
	add.Passkey.ID, add.Passkey.CredentialID, add.Challenge, add.Event = "pk_3", []byte("three"), challenge("add 3"), Event("", "x")
	if _, err := passkeys.AddPasskey(ctx, add); !errors.Is(err, account.ErrTooMany) {
		t.Errorf("third passkey: %v, want ErrTooMany", err)
	}
	for _, tc := range []struct {
		challenge string
		count     uint32
		want      error
	}{
		{"1", 1<<32 - 1, nil}, {"1", 1<<32 - 1, account.ErrConflict}, {"2", 1<<32 - 1, passkey.ErrCounter}, {"2", 0, account.ErrConflict},
	} {
		use := passkey.Use{PasskeyID: "pk_1", Challenge: challenge(tc.challenge), SignCount: tc.count, Flags: 5, At: now.Add(time.Second), Refusal: Event("", "x")}
		if err := passkeys.UsePasskey(ctx, use); !errors.Is(err, tc.want) {
			t.Errorf("challenge %s with counter %d: %v, want %v", tc.challenge, tc.count, err, tc.want)
		}
	}
	p.SignCount, p.Flags, p.LastUsedAt = 1<<32-1, 5, now.Add(time.Second)
	got, err := passkeys.PasskeyByCredential(ctx, []byte("one"))
	if diff := cmp.Diff(p, got); err != nil || diff != "" {
		t.Errorf("PasskeyByCredential: %v, passkey (-want +got):\n%s", err, diff)
	}
	if f, err := s.FactorOf(ctx, id); err != nil || f.Passkeys != 2 || f.Recovery != 2 || len(f.Sealed) != 0 {
		t.Errorf("factor %+v, %v; want 2 passkeys and 2 recovery codes", f, err)
	}
	must(t, passkeys.DeletePasskey(ctx, id, "pk_1", Event("", "x")))
	must(t, s.ReplaceRecovery(ctx, id, codes[:1], Event("", "x")))
	if f, err := s.FactorOf(ctx, id); err != nil || f.Passkeys != 1 || f.Recovery != 1 {
		t.Errorf("factor %+v, %v; want 1 passkey and 1 recovery code", f, err)
	}
	must(t, passkeys.DeletePasskey(ctx, id, "pk_2", Event("", "x")))
	if f, err := s.FactorOf(ctx, id); err != nil || f.Passkeys != 0 || f.Recovery != 0 {
		t.Errorf("factor %+v, %v; want no passkeys and no recovery codes", f, err)
	}
	for doing, err := range map[string]error{
		"delete": passkeys.DeletePasskey(ctx, id, "pk_2", Event("", "x")), "rename": passkeys.RenamePasskey(ctx, id, "pk_2", "x", Event("", "x")),
		"replace codes": s.ReplaceRecovery(ctx, id, codes, Event("", "x")), "reset": s.DeleteFactors(ctx, id, Event("", "x")),
	} {
		if !errors.Is(err, account.ErrNotFound) {
			t.Errorf("%s without passkeys: %v, want ErrNotFound", doing, err)
		}
	}
}
