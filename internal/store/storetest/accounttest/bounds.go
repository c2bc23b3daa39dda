package accounttest

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"fairlead.dev/internal/account"
	"fairlead.dev/internal/store"
)

// keyBy returns a key of the workspace, created by the account.
func keyBy(workspaceID, accountID string) account.Key {
	key := sampleKey(workspaceID)
	key.CreatedBy = accountID
	return key
}

func removedMembersLoseTheirKeys(t *testing.T, db *store.DB) {
	Enrol(t, db, "ann")
	Enrol(t, db, "bob")
	join(t, db, "ws_ann", "acc_bob", account.Developer)
	checkEnd(t, db, "kept", true, func() ([]account.Key, error) { return remove(t, db, false) })
	join(t, db, "ws_ann", "acc_bob", account.Developer)
	checkEnd(t, db, "revoked", false, func() ([]account.Key, error) { return remove(t, db, true) })
	join(t, db, "ws_ann", "acc_bob", account.Developer)
	checkEnd(t, db, "limited", true, func() ([]account.Key, error) {
		return db.Accounts.ChangeMember(t.Context(), "ws_ann", "acc_bob", false, func(m *account.Member, _ int) (account.AuditEvent, error) {
			m.Role = account.Viewer
			return Event("ws_ann", "member.role"), nil
		})
	})
	checkEnd(t, db, "deleted", false, func() ([]account.Key, error) {
		return nil, db.Accounts.DeleteAccount(t.Context(), "acc_bob", Event("", "account.delete"))
	})
}

// remove removes bob from ann's workspace.
func remove(t *testing.T, db *store.DB, revoke bool) ([]account.Key, error) {
	t.Helper()
	return db.Accounts.ChangeMember(t.Context(), "ws_ann", "acc_bob", revoke, func(m *account.Member, _ int) (account.AuditEvent, error) {
		m.Role = ""
		return Event("ws_ann", "member.remove"), nil
	})
}

// checkEnd creates keys, ends bob's membership and checks which keys remain valid.
func checkEnd(t *testing.T, db *store.DB, name string, kept bool, end func() ([]account.Key, error)) {
	t.Helper()
	ctx := t.Context()
	bobs, anns, old := keyBy("ws_ann", "acc_bob"), keyBy("ws_ann", "acc_ann"), keyBy("ws_ann", "acc_bob")
	old.RevokedAt = now.Add(-time.Hour)
	for _, key := range []account.Key{bobs, anns, old} {
		must(t, db.Accounts.CreateKey(ctx, key, 0, Event("ws_ann", "key.create")))
	}
	before, err := db.Revisions(ctx)
	must(t, err)

	revoked, err := end()
	must(t, err)

	after, err := db.Revisions(ctx)
	must(t, err)
	stored, err := db.Accounts.KeyByID(ctx, "ws_ann", bobs.ID)
	must(t, err)
	other, err := db.Accounts.KeyByID(ctx, "ws_ann", anns.ID)
	must(t, err)
	earlier, err := db.Accounts.KeyByID(ctx, "ws_ann", old.ID)
	must(t, err)
	if stored.RevokedAt.IsZero() != kept || !other.RevokedAt.IsZero() || !earlier.RevokedAt.Equal(old.RevokedAt) {
		t.Errorf("%s: bob's key revoked at %v, ann's key at %v, the already revoked key at %v; want kept = %t",
			name, stored.RevokedAt, other.RevokedAt, earlier.RevokedAt, kept)
	}
	if want := map[string]account.Role{"limited": account.Viewer}[name]; stored.MakerRole != want {
		t.Errorf("%s: the role of bob's key is %q, want %q", name, stored.MakerRole, want)
	}
	if after["keys"] == before["keys"] {
		t.Errorf("%s: the revision of the keys did not change", name)
	}
	listed := false
	for _, key := range revoked {
		listed = listed || key.ID == bobs.ID
		if key.CreatedBy != "acc_bob" || key.ID == old.ID {
			t.Errorf("%s: returned key %s, which was not revoked by this call", name, key.ID)
		}
	}
	if name != "deleted" && listed == kept {
		t.Errorf("%s: bob's key among the %d returned keys = %t, want %t", name, len(revoked), listed, !kept)
	}
}

func keysPerAccountAreBounded(t *testing.T, db *store.DB) {
	ctx := t.Context()
	Enrol(t, db, "ann")
	Enrol(t, db, "bob")
	join(t, db, "ws_bob", "acc_ann", account.Developer)
	const most = 3
	for _, creator := range []string{"acc_ann", ""} {
		results := make([]error, 8)
		var all sync.WaitGroup
		for i := range results {
			workspaceID := "ws_ann"
			if creator != "" && i%2 == 0 {
				workspaceID = "ws_bob" // keys of all workspaces count toward the limit
			}
			key := keyBy(workspaceID, creator)
			all.Go(func() { results[i] = db.Accounts.CreateKey(ctx, key, most, Event(workspaceID, "key.create")) })
		}
		all.Wait()
		created := 0
		for _, err := range results {
			switch {
			case err == nil:
				created++
			case !errors.Is(err, account.ErrTooMany):
				t.Error(err)
			}
		}
		if created != most {
			t.Errorf("%q created %d keys, want %d", creator, created, most)
		}
	}
	must(t, db.Accounts.CreateKey(ctx, keyBy("ws_bob", ""), most, Event("ws_bob", "key.create")))
	must(t, db.Accounts.CreateKey(ctx, keyBy("ws_ann", "acc_bob"), most, Event("ws_ann", "key.create")))
	anns, err := db.Accounts.KeysOf(ctx, "ws_ann")
	must(t, err)
	bobs, err := db.Accounts.KeysOf(ctx, "ws_bob")
	must(t, err)
	keys := slices.Concat(anns, bobs)
	i := slices.IndexFunc(keys, func(k account.Key) bool { return k.CreatedBy == "acc_ann" })
	_, err = db.Accounts.ChangeKey(ctx, keys[i].WorkspaceID, keys[i].ID, func(k *account.Key) (account.AuditEvent, error) {
		k.RevokedAt = now
		return Event("ws_ann", "key.revoke"), nil
	})
	must(t, err)
	must(t, db.Accounts.CreateKey(ctx, keyBy("ws_ann", "acc_ann"), most, Event("ws_ann", "key.create"))) // revoked keys do not count
}

func workspacesPerAccountAreBounded(t *testing.T, db *store.DB) {
	ctx := t.Context()
	Enrol(t, db, "ann") // ann owns one workspace
	results := make([]error, 5)
	var all sync.WaitGroup
	for i := range results {
		w := Workspace(fmt.Sprintf("more%d", i), now)
		owner := account.Member{AccountID: "acc_ann", WorkspaceID: w.ID, Role: account.Owner, JoinedAt: now}
		all.Go(func() { results[i] = db.Accounts.CreateWorkspace(ctx, w, owner, 3, Event(w.ID, "workspace.create")) })
	}
	all.Wait()
	created := 0
	for _, err := range results {
		switch {
		case err == nil:
			created++
		case !errors.Is(err, account.ErrTooMany):
			t.Error(err)
		}
	}
	if created != 2 {
		t.Errorf("created %d workspaces in addition to the first, want 2", created)
	}
}
