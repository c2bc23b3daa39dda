package accounttest

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"fairlead.dev/internal/account"
	"fairlead.dev/internal/store"
)

// formerNamesAreKept looks up the names of a current account, a deleted account, and accounts that accepted an
// invitation.
func formerNamesAreKept(t *testing.T, db *store.DB) {
	ctx := t.Context()
	Enrol(t, db, "ann")
	Enrol(t, db, "bob")
	Enrol(t, db, "cat")
	invite(t, db, "ws_ann", "acc_ann", "forbob", account.Developer)
	accept := Event("", "invitation.accept")
	accept.Object = "acc_bob"
	_, err := db.Accounts.AcceptInvitation(ctx, []byte("forbob"), "acc_bob", accept)
	must(t, err)
	invite(t, db, "ws_ann", "acc_ann", "fordan", account.Viewer)
	register := Event("", "account.register")
	register.Object = "acc_dan"
	_, err = db.Accounts.Enrol(ctx, account.Enrolment{Account: Person("dan"), Invitation: []byte("fordan"), Event: register})
	must(t, err)
	invite(t, db, "ws_ann", "acc_ann", "open", account.Viewer)
	gone := Event("", "account.delete")
	gone.Object, gone.Before = "acc_cat", json.RawMessage(`{"email":"cat@example.com"}`)
	must(t, db.Accounts.DeleteAccount(ctx, "acc_cat", gone))

	names, err := db.Accounts.Names(ctx, "ws_ann", []string{"acc_ann", "acc_cat", "acc_nobody", "inv_forbob", "inv_fordan", "inv_open", "key_1", "acc_ann"})
	must(t, err)
	want := map[string]string{
		"acc_ann": "ann@example.com", "acc_cat": "cat@example.com", "acc_bob": "bob@example.com", "acc_dan": "dan@example.com",
		"inv_forbob": "bob@example.com", "inv_fordan": "dan@example.com",
	}
	if diff := cmp.Diff(want, names); diff != "" {
		t.Error(diff)
	}
	elsewhere, err := db.Accounts.Names(ctx, "ws_bob", []string{"inv_forbob"})
	must(t, err)
	if len(elsewhere) > 0 {
		t.Errorf("names in another workspace = %v, want none", elsewhere)
	}
}
