package accounttest

import (
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"fairlead.dev/internal/account"
	"fairlead.dev/internal/account/keyring"
	"fairlead.dev/internal/money"
	"fairlead.dev/internal/store"
	"fairlead.dev/internal/vault"
)

// sampleKey returns a key with every field set.
func sampleKey(workspaceID string) account.Key {
	n := serial.Add(1)
	off := false
	return account.Key{
		ID: fmt.Sprintf("key_%08d", n), WorkspaceID: workspaceID,
		KeySettings: account.KeySettings{
			Name: "it's \"ci\" ä€😀", Scopes: []account.Scope{account.Inference, account.Read},
			AllowedModels: []string{"gpt-4.1*", "a,b"}, Limits: account.Limits{RequestsPerMinute: 1, TokensPerMinute: 2, Concurrent: 3},
			Budget:   &account.Budget{Amount: 50 * money.Dollar, Period: account.Monthly, Zone: "Europe/Paris", WarnPercent: 80},
			Baseline: "gpt-4.1", LogBodies: &off, ErrorFormat: "openai", AllowUnpriced: true, Tags: map[string]string{"team": "search"}, ExpiresAt: now.Add(time.Hour),
		},
		CreatedBy: "acc_ann", MakerRole: account.Owner, CreatedAt: now,
		Secrets: []account.Secret{
			{Hash: fmt.Appendf(nil, "%032d", 2*n), Start: "fl_aaaa", End: "zzzz", CreatedAt: now, ExpiresAt: now.Add(time.Minute), AfterUse: time.Hour},
			{Hash: fmt.Appendf(nil, "%032d", 2*n+1), Start: "fl_bbbb", End: "yyyy", CreatedAt: now.Add(time.Second)},
		},
	}
}

func keysReadBack(t *testing.T, db *store.DB) {
	ctx := t.Context()
	Enrol(t, db, "ann")
	full := sampleKey("ws_ann")
	plain := account.Key{ID: "key_zplain", WorkspaceID: "ws_ann", KeySettings: account.KeySettings{Name: "plain", Scopes: []account.Scope{account.Inference}}, CreatedAt: now, Secrets: sampleKey("").Secrets[:1]}
	must(t, db.Accounts.CreateKey(ctx, full, 0, Event("ws_ann", "key.create")))
	must(t, db.Accounts.CreateKey(ctx, plain, 0, Event("ws_ann", "key.create")))
	keys, err := db.Accounts.KeysOf(ctx, "ws_ann")
	must(t, err)
	if diff := cmp.Diff([]account.Key{plain, full}, keys); diff != "" {
		t.Error(diff)
	}

	third := sampleKey("").Secrets[0]
	want := full
	want.Name, want.RevokedAt, want.Tags, want.Budget, want.LogBodies = "renamed", now, nil, nil, nil
	want.Secrets = []account.Secret{full.Secrets[1], third}
	want.Secrets[0].ExpiresAt = now.Add(time.Hour)
	changed, err := db.Accounts.ChangeKey(ctx, "ws_ann", full.ID, func(k *account.Key) (account.AuditEvent, error) {
		secrets := want.Secrets
		*k = want
		k.Secrets = secrets
		return Event("ws_ann", "key.rotate"), nil
	})
	must(t, err)
	stored, err := db.Accounts.KeyByID(ctx, "ws_ann", full.ID)
	must(t, err)
	if diff := cmp.Diff(want, stored); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(stored, changed); diff != "" {
		t.Errorf("the change returned: %s", diff)
	}
}

func foreignKeys(t *testing.T, db *store.DB) {
	ctx := t.Context()
	Enrol(t, db, "ann")
	Enrol(t, db, "bob")
	key := sampleKey("ws_ann")
	must(t, db.Accounts.CreateKey(ctx, key, 0, Event("ws_ann", "key.create")))
	called := false
	change := func(*account.Key) (account.AuditEvent, error) {
		called = true
		return Event("ws_bob", "key.update"), nil
	}
	for _, ids := range [][2]string{{"ws_bob", key.ID}, {"ws_bob", "key_unknown"}, {"ws_unknown", key.ID}} {
		if _, err := db.Accounts.KeyByID(ctx, ids[0], ids[1]); !errors.Is(err, account.ErrNotFound) {
			t.Errorf("KeyByID(%v): %v, want ErrNotFound", ids, err)
		}
		if _, err := db.Accounts.ChangeKey(ctx, ids[0], ids[1], change); !errors.Is(err, account.ErrNotFound) || called {
			t.Errorf("ChangeKey(%v): %v, called %t; want ErrNotFound without a call", ids, err, called)
		}
	}
	if keys, err := db.Accounts.KeysOf(ctx, "ws_bob"); err != nil || len(keys) != 0 {
		t.Errorf("KeysOf = %v, %v; want none", keys, err)
	}
}

// changedKeysInOrder checks that a reader that polls by revision during concurrent changes does not miss any change.
func changedKeysInOrder(t *testing.T, db *store.DB) {
	ctx := t.Context()
	Enrol(t, db, "ann")
	const makers, each = 4, 15
	var all sync.WaitGroup
	for range makers {
		all.Go(func() {
			for range each {
				key := sampleKey("ws_ann")
				if err := db.Accounts.CreateKey(ctx, key, 0, Event("ws_ann", "key.create")); err != nil {
					t.Errorf("create key: %v", err)
				}
				_, err := db.Accounts.ChangeKey(ctx, "ws_ann", key.ID, func(k *account.Key) (account.AuditEvent, error) {
					k.Name = "changed"
					return Event("ws_ann", "key.update"), nil
				})
				if err != nil {
					t.Errorf("change key: %v", err)
				}
			}
		})
	}
	done := make(chan struct{})
	go func() {
		all.Wait()
		close(done)
	}()
	seen := map[string]string{}
	var last int64
	for finished := false; !finished; {
		select {
		case <-done:
			finished = true // read once more, because the last changes might not have been read
		default:
		}
		revisions, err := db.Revisions(ctx)
		must(t, err)
		must(t, db.Accounts.ChangedKeys(ctx, last, func(k *account.Key) error {
			if len(k.Secrets) != 2 {
				t.Errorf("key %s has %d secrets, want 2", k.ID, len(k.Secrets))
			}
			seen[k.ID] = k.Name
			return nil
		}))
		last = revisions["keys"]
	}
	for keyID, name := range seen {
		if name != "changed" {
			t.Errorf("last name of key %s = %q, want changed", keyID, name)
		}
	}
	if len(seen) != makers*each {
		t.Errorf("read %d of %d keys", len(seen), makers*each)
	}
	must(t, db.Accounts.ChangedKeys(ctx, last, func(k *account.Key) error {
		t.Errorf("ChangedKeys returned the unchanged key %s", k.ID)
		return nil
	}))
	var names []string
	must(t, db.Accounts.ChangedWorkspaces(ctx, 0, func(w *account.Workspace) error {
		names = append(names, w.Name)
		return nil
	}))
	if diff := cmp.Diff([]string{"ann"}, names); diff != "" {
		t.Error(diff)
	}
}

func usesKeepRevocation(t *testing.T, db *store.DB) {
	ctx := t.Context()
	Enrol(t, db, "ann")
	for round := range 40 {
		key := sampleKey("ws_ann")
		must(t, db.Accounts.CreateKey(ctx, key, 0, Event("ws_ann", "key.create")))
		var all sync.WaitGroup
		all.Go(func() {
			_, err := db.Accounts.ChangeKey(ctx, "ws_ann", key.ID, func(k *account.Key) (account.AuditEvent, error) {
				k.RevokedAt = now
				return Event("ws_ann", "key.revoke"), nil
			})
			if err != nil {
				t.Errorf("revoke key: %v", err)
			}
		})
		all.Go(func() {
			_, err := db.Accounts.ChangeKey(ctx, "ws_ann", key.ID, func(k *account.Key) (account.AuditEvent, error) {
				k.Name = "renamed"
				return Event("ws_ann", "key.update"), nil
			})
			if err != nil {
				t.Errorf("rename key: %v", err)
			}
		})
		all.Go(func() {
			use := keyring.KeyUse{KeyID: key.ID, At: now, Client: "c", First: []keyring.SecretUse{{Hash: key.Secrets[1].Hash, At: now}}}
			if err := db.Accounts.RecordUses(ctx, []keyring.KeyUse{use}); err != nil {
				t.Errorf("record use: %v", err)
			}
		})
		all.Wait()
		got, err := db.Accounts.KeyByID(ctx, "ws_ann", key.ID)
		must(t, err)
		if got.RevokedAt.IsZero() || got.Name != "renamed" || got.LastUsedBy != "c" || got.Secrets[1].UsedAt.IsZero() {
			t.Fatalf("round %d: a change was lost: %+v", round, got)
		}
	}
}

func usesAreRecorded(t *testing.T, db *store.DB) {
	ctx := t.Context()
	Enrol(t, db, "ann")
	key := sampleKey("ws_ann")
	must(t, db.Accounts.CreateKey(ctx, key, 0, Event("ws_ann", "key.create")))
	revision := func() int64 {
		revisions, err := db.Revisions(ctx)
		must(t, err)
		return revisions["keys"]
	}
	before := revision()
	must(t, db.Accounts.RecordUses(ctx, []keyring.KeyUse{{KeyID: key.ID, Client: "second", At: now.Add(2 * time.Second)}}))
	must(t, db.Accounts.RecordUses(ctx, []keyring.KeyUse{{KeyID: key.ID, Client: "first", At: now.Add(time.Second)}, {KeyID: "key_gone", At: now}}))
	if after := revision(); after != before {
		t.Errorf("ordinary uses changed the revision from %d to %d", before, after)
	}
	first := keyring.SecretUse{Hash: key.Secrets[1].Hash, At: now.Add(time.Second)}
	later := keyring.SecretUse{Hash: key.Secrets[1].Hash, At: now.Add(time.Minute)}
	must(t, db.Accounts.RecordUses(ctx, []keyring.KeyUse{{KeyID: key.ID, First: []keyring.SecretUse{first}}}))
	must(t, db.Accounts.RecordUses(ctx, []keyring.KeyUse{{KeyID: key.ID, First: []keyring.SecretUse{later}}}))
	want := key
	want.LastUsedAt, want.LastUsedBy = now.Add(2*time.Second), "second"
	want.Secrets[1].UsedAt = first.At
	var changed []account.Key
	must(t, db.Accounts.ChangedKeys(ctx, before, func(k *account.Key) error {
		changed = append(changed, *k)
		return nil
	}))
	if diff := cmp.Diff([]account.Key{want}, changed); diff != "" {
		t.Error(diff)
	}
}

// invalidIDsAreNotFound looks up malformed IDs. IDs come from URLs, so they may contain any text.
func invalidIDsAreNotFound(t *testing.T, db *store.DB) {
	ctx := t.Context()
	for _, text := range []string{"\x00", "\xff", "' or 1=1 --", "%", `\`} {
		_, accountErr := db.Accounts.AccountByID(ctx, text)
		_, emailErr := db.Accounts.AccountByEmail(ctx, text)
		_, workspaceErr := db.Accounts.WorkspaceByID(ctx, text)
		_, memberErr := db.Accounts.MemberOf(ctx, text, text)
		_, keyErr := db.Accounts.KeyByID(ctx, text, text)
		_, changeErr := db.Accounts.ChangeKey(ctx, text, text, nil)
		_, spaceErr := db.Accounts.ChangeWorkspace(ctx, text, nil)
		_, roleErr := db.Accounts.ChangeMember(ctx, text, text, true, nil)
		for i, err := range []error{
			accountErr, emailErr, workspaceErr, memberErr, keyErr, changeErr, spaceErr, roleErr,
			db.Accounts.DeleteInvitation(ctx, text, text, Event("", "x")), db.Accounts.DeleteAccount(ctx, text, Event("", "x")), db.Accounts.SetPassword(ctx, text, "", nil, Event("", "x")),
		} {
			if !errors.Is(err, account.ErrNotFound) {
				t.Errorf("%q, call %d: %v, want ErrNotFound", text, i, err)
			}
		}
		if err := db.Config.DeleteCredential(ctx, text, text); !errors.Is(err, vault.ErrNotFound) {
			t.Errorf("DeleteCredential(%q): %v, want ErrNotFound", text, err)
		}
		if err := db.Config.ReplaceCredential(ctx, vault.Credential{ID: text, Provider: text}); !errors.Is(err, vault.ErrNotFound) {
			t.Errorf("ReplaceCredential(%q): %v, want ErrNotFound", text, err)
		}
		keys, err := db.Accounts.KeysOf(ctx, text)
		must(t, err)
		members, err := db.Accounts.MembersOf(ctx, text)
		must(t, err)
		if len(keys)+len(members) > 0 {
			t.Errorf("%q: keys %v, members %v; want none", text, keys, members)
		}
	}
}

func auditPages(t *testing.T, db *store.DB) {
	ctx := t.Context()
	var want []account.AuditEvent
	for range 5 {
		e := Event("ws_a", "key.create")
		must(t, db.Accounts.WriteAudit(ctx, e))
		must(t, db.Accounts.WriteAudit(ctx, Event("ws_b", "key.create")))
		want = append([]account.AuditEvent{e}, want...)
	}
	first, err := db.Accounts.Audit(ctx, "ws_a", "", "", 3)
	must(t, err)
	second, err := db.Accounts.Audit(ctx, "ws_a", "key.create", first[2].ID, 3)
	must(t, err)
	if diff := cmp.Diff(want, append(first, second...)); diff != "" {
		t.Error(diff)
	}
}

func credentialsAreKept(t *testing.T, db *store.DB) {
	ctx := t.Context()
	a := vault.Credential{ID: "cred_a", Provider: "openai", Sealed: []byte{0, 1, 255}, Hint: "abcd", CreatedBy: "acc_ann", CreatedAt: now}
	b := vault.Credential{ID: "cred_b", Provider: "mistral", Sealed: []byte{2}, CreatedAt: now.Add(time.Second)}
	must(t, db.Config.SaveCredential(ctx, a))
	must(t, db.Config.SaveCredential(ctx, b))
	if err := db.Config.DeleteCredential(ctx, "mistral", "cred_a"); !errors.Is(err, vault.ErrNotFound) {
		t.Errorf("DeleteCredential of another provider: %v, want ErrNotFound", err)
	}
	all, err := db.Config.Credentials(ctx)
	must(t, err)
	if diff := cmp.Diff([]vault.Credential{a, b}, all); diff != "" {
		t.Error(diff)
	}
	b.Sealed, b.Hint, b.CreatedBy = []byte{3}, "wxyz", "acc_bob"
	must(t, db.Config.ReplaceCredential(ctx, b))
	if err := db.Config.ReplaceCredential(ctx, vault.Credential{ID: "cred_b", Provider: "openai", Sealed: []byte{4}}); !errors.Is(err, vault.ErrNotFound) {
		t.Errorf("ReplaceCredential of another provider: %v, want ErrNotFound", err)
	}
	must(t, db.Config.DeleteCredential(ctx, "openai", "cred_a"))
	revisions, err := db.Revisions(ctx)
	must(t, err)
	all, err = db.Config.Credentials(ctx)
	if diff := cmp.Diff([]vault.Credential{b}, all); diff != "" || err != nil || revisions["credentials"] != 4 {
		t.Errorf("after DeleteCredential: credentials %v, %v, revision %d; want only cred_b and revision 4", all, err, revisions["credentials"])
	}
}
