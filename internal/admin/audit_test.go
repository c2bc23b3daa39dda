package admin

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"fairlead.dev/internal/account"
	"fairlead.dev/internal/admin/workspaces"
)

func TestAuditNamesFormerMembers(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.fake.names = map[string]string{"acc_left": "left@example.com", "inv_used": "guest@example.com"}
	role := json.RawMessage(`{"role":"developer"}`)
	for _, e := range []account.AuditEvent{
		{Actor: "acc_owner", Object: "inv_used", After: role},
		{Actor: "acc_owner", Object: "inv_open", After: role},
		{Actor: "acc_left", Object: "inv_gone"},
		{Actor: "key_read", Object: "acc_viewer"},
		{Actor: "acc_unknown", Object: "key_read"},
		{Actor: "command line", Object: "acme"},
	} {
		e.WorkspaceID, e.At = home, noon
		s.fake.events = append(s.fake.events, e)
	}
	s.fake.keys[home][1].Name = "ci"

	var page workspaces.AuditPage
	s.call("GET", "/audit", "", as("acc_admin")).want(200).into(&page)

	got := [][2]string{}
	for _, e := range page.Events {
		got = append(got, [2]string{e.Label, e.Target})
	}
	want := [][2]string{
		{"owner@example.com", "guest@example.com"},
		{"owner@example.com", "Invitation as developer"},
		{"left@example.com", "Invitation"},
		{"ci", "viewer@example.com"},
		{"acc_unknown", "ci"},
		{"command line", "acme"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	var asKey workspaces.AuditPage
	s.call("GET", "/audit", "", key("fl_manage")).want(200).into(&asKey) // a key may not read the names of members
	if asKey.Events[2].Label != "acc_left" {
		t.Errorf("%+v", asKey.Events[2])
	}
}
