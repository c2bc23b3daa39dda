package admin

import (
	"net/http"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"fairlead.dev/internal/account"
	"fairlead.dev/internal/admin/accounts"
	"fairlead.dev/internal/admin/adminapi"
	"fairlead.dev/internal/admin/workspaces"
	"fairlead.dev/internal/money"
)

func TestWorkspaceUpdateDistinguishesNullFromAbsent(t *testing.T) {
	t.Parallel()
	var none *account.Budget
	cases := map[string]account.WorkspaceChange{
		`{}`:                          {},
		`{"name":"New"}`:              {Name: new("New")},
		`{"default_model":null}`:      {DefaultModel: new("")},
		`{"default_model":"gpt"}`:     {DefaultModel: new("gpt")},
		`{"log_bodies":false}`:        {LogBodies: new(false)},
		`{"entry_retention_ms":1000}`: {EntryRetention: new(time.Second)},
		`{"body_retention_ms":null}`:  {BodyRetention: new(time.Duration(0))},
		`{"budget":null}`:             {Budget: &none},
		`{"budget":{"amount_usd":"5","period":"week","zone":"Europe/Paris"}}`: {Budget: new(&account.Budget{Amount: 5 * money.Dollar, Period: account.Weekly, Zone: "Europe/Paris"})},
	}
	s := newSite(t)
	for body, want := range cases {
		s.call("PATCH", "/workspace", body, as("acc_admin")).want(200)
		if diff := cmp.Diff(want, s.fake.wsChange); diff != "" {
			t.Errorf("%s: %s", body, diff)
		}
	}
	for _, body := range []string{`{"entry_retention_ms":-1}`, `{"entry_retention_ms":9223372036854775807}`, `{"name":""}`} {
		s.call("PATCH", "/workspace", body, as("acc_admin")).rejected(http.StatusBadRequest, "INVALID_REQUEST")
	}
}

func TestUnknownDefaultModelIsRejected(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	got := s.call("PATCH", "/workspace", `{"default_model":"gtp"}`, as("acc_admin"))
	e := got.rejected(http.StatusBadRequest, "INVALID_REQUEST")
	var all struct {
		Details struct{ Suggestions []string }
	}
	got.into(&all)
	want := []adminapi.Problem{{In: "body", Param: "default_model", Message: `unknown model "gtp"`, Suggestion: "gpt"}}
	if diff := cmp.Diff(want, e.Details.Problems); diff != "" || e.Details.Param != "default_model" || !cmp.Equal(all.Details.Suggestions, []string{"gpt"}) {
		t.Errorf("%s%+v", diff, all)
	}
	if s.fake.wsChange.DefaultModel != nil {
		t.Errorf("the default model was changed to %v", s.fake.wsChange.DefaultModel)
	}
}

func TestOperatorSetsBudgetOfOtherWorkspace(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	path := "/instance/workspaces/" + abroad + "/budget"
	s.call("PUT", path, `{"budget":{"amount_usd":"5","period":"month"}}`, as("acc_owner")).want(200)
	if got := *s.fake.wsChange.Budget; got.Amount != 5*money.Dollar {
		t.Errorf("%+v", got)
	}
	s.call("PUT", path, `{"budget":null}`, as("acc_owner")).want(200)
	if *s.fake.wsChange.Budget != nil {
		t.Error("null does not remove the budget")
	}
	s.call("PUT", path, `{}`, as("acc_owner")).rejected(http.StatusBadRequest, "INVALID_REQUEST")
}

func TestWorkspacesAreListedAndCreated(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	var list accounts.WorkspaceList
	s.call("GET", "/workspaces", "", as("acc_owner")).want(200).into(&list)
	if len(list.Workspaces) != 1 || list.Workspaces[0].ID != home || !list.Workspaces[0].Operator {
		t.Errorf("%+v", list)
	}
	var made workspaces.WorkspaceView
	s.call("POST", "/workspaces", `{"name":"Second"}`, as("acc_owner")).want(http.StatusCreated).into(&made)
	if made.Name != "Second" || *made.DefaultModel != home {
		t.Errorf("the creator is missing: %+v", made)
	}
}

func TestMembersAndInvitations(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	owner := as("acc_owner")
	var members workspaces.MemberList
	s.call("GET", "/workspace/members", "", owner).want(200).into(&members)
	if len(members.Members) != 4 || members.Members[0].Role != "owner" {
		t.Errorf("%+v", members)
	}
	s.call("PATCH", "/workspace/members/acc_viewer", `{"role":"admin"}`, owner).want(http.StatusNoContent)
	s.call("PATCH", "/workspace/members/acc_viewer", `{"role":"root"}`, owner).rejected(http.StatusBadRequest, "INVALID_REQUEST")
	for query, want := range map[string][]workspaces.RevokedKey{"": {{ID: "key_of_member", Name: "ci"}}, "?keep_keys=true": {}} {
		var removed workspaces.RemovedMember
		s.call("DELETE", "/workspace/members/acc_viewer"+query, "", owner).want(200).into(&removed)
		if diff := cmp.Diff(want, removed.RevokedKeys); diff != "" {
			t.Errorf("%q: %s", query, diff)
		}
	}
	s.call("POST", "/workspace/leave", "", as("acc_viewer")).want(200)
	var made workspaces.NewInvitation
	s.call("POST", "/workspace/invitations", `{"role":"viewer"}`, owner).want(http.StatusCreated).into(&made)
	if made.Token != "the-token" || made.Role != "viewer" {
		t.Errorf("%+v", made)
	}
	var open workspaces.InvitationList
	s.call("GET", "/workspace/invitations", "", as(stranger)).want(200).into(&open)
	if len(open.Invitations) != 1 {
		t.Errorf("%+v", open)
	}
	var joined workspaces.Joined
	s.call("POST", "/invitations/accept", `{"token":"t"}`, owner).want(200).into(&joined)
	if joined.WorkspaceID != abroad {
		t.Errorf("%+v", joined)
	}
}
