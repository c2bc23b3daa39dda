package account

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestRights repeats the permission table, so that a change of permissions must be made in two places.
func TestRights(t *testing.T) {
	t.Parallel()
	const all = "owner admin developer viewer"
	want := map[Permission]string{
		ReadWorkspace:    all + " read manage",
		ReadFigures:      all + " read manage",
		ReadRequests:     all + " read manage",
		ReadBodies:       "owner admin developer read manage",
		ReadModels:       all + " read manage",
		ReadOwnSessions:  all + " inference read manage",
		ReadProviders:    all + " read manage",
		ReadPolicies:     all + " read manage",
		ReadKeys:         all + " read manage",
		ReadMembers:      all,
		ReadAudit:        "owner admin manage",
		UseModels:        "owner admin developer inference",
		UsePlayground:    "owner admin developer",
		ManageOwnKeys:    "owner admin developer manage",
		ManageKeys:       "owner admin manage",
		ManagePolicies:   "owner admin manage",
		ManageWorkspace:  "owner admin manage",
		ManageAlerts:     "owner admin manage",
		DeleteRequests:   "owner admin",
		ManageMembers:    "owner admin",
		ManageProviders:  "owner admin manage",
		ConnectProviders: "owner admin manage",
		ManageModels:     "owner admin manage",
		ManageInstance:   "owner",
	}
	got := map[Permission]string{}
	for _, p := range Permissions() {
		var holders []string
		for _, role := range []Role{Owner, Admin, Developer, Viewer} {
			if (Actor{Role: role, Operator: true}).May(p) {
				holders = append(holders, string(role))
			}
		}
		for _, scope := range []Scope{Inference, Read, Manage} {
			if (Actor{KeyID: "key_1", Role: Owner, Scopes: []Scope{scope}, Operator: true}).May(p) {
				holders = append(holders, string(scope))
			}
		}
		got[p] = strings.Join(holders, " ")
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestInstancePermissionsRequireOperatorWorkspace(t *testing.T) {
	t.Parallel()
	for _, p := range Permissions() {
		got := Actor{Role: Owner}.May(p)
		if want := !slices.Contains(instanceWide, p); got != want {
			t.Errorf("%s for the owner of another workspace: got %v, want %v", p, got, want)
		}
	}
}

func TestActorWithoutRoleOrScopeHasNoPermissions(t *testing.T) {
	t.Parallel()
	for _, p := range Permissions() {
		for _, actor := range []Actor{
			{Operator: true},
			{Role: "root", Operator: true},
			{KeyID: "key_1", Role: Owner, Operator: true},
			{KeyID: "key_1", Scopes: []Scope{"all"}, Operator: true},
		} {
			if actor.May(p) {
				t.Errorf("%+v may %s", actor, p)
			}
		}
	}
}

func TestGrantingStaysWithinOwnRights(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name   string
		actor  Actor
		scopes string
		roles  string
	}{
		{"owner", Actor{Role: Owner}, "inference read manage", "owner admin developer viewer"},
		{"admin", Actor{Role: Admin}, "inference read manage", "admin developer viewer"},
		{"developer", Actor{Role: Developer}, "inference read", ""},
		{"viewer", Actor{Role: Viewer}, "", ""},
		{"managing key", Actor{KeyID: "key_1", Scopes: []Scope{Manage}}, "read manage", ""},
		{"reading key", Actor{KeyID: "key_1", Scopes: []Scope{Read}}, "read", ""},
		{"managing key of a viewer", Actor{KeyID: "key_1", Role: Viewer, Scopes: []Scope{Inference, Read, Manage}}, "", ""},
		{"managing key of a developer", Actor{KeyID: "key_1", Role: Developer, Scopes: []Scope{Inference, Manage}}, "inference read", ""},
		{"key for models", Actor{KeyID: "key_1", Scopes: []Scope{Inference}}, "inference", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var scopes, roles []string
			for _, scope := range []Scope{Inference, Read, Manage} {
				if tt.actor.mayGrantScope(scope) {
					scopes = append(scopes, string(scope))
				}
			}
			for _, role := range []Role{Owner, Admin, Developer, Viewer, "root", ""} {
				if tt.actor.mayGrantRole(role) {
					roles = append(roles, string(role))
				}
			}
			if diff := cmp.Diff([]string{tt.scopes, tt.roles}, []string{strings.Join(scopes, " "), strings.Join(roles, " ")}); diff != "" {
				t.Error(diff)
			}
		})
	}
}
