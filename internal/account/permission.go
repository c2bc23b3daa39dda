package account

import "slices"

// Permission allows a group of operations of the admin API.
type Permission string

// The permissions, ordered from read access to instance management.
const (
	ReadWorkspace   Permission = "read_workspace"    // name and settings
	ReadFigures     Permission = "read_figures"      // totals and charts
	ReadRequests    Permission = "read_requests"     // entries without bodies
	ReadOwnSessions Permission = "read_own_sessions" // sums of the sessions that the own key began
	ReadBodies      Permission = "read_bodies"       // bodies of requests and responses
	ReadModels      Permission = "read_models"
	ReadProviders   Permission = "read_providers" // health and names; credentials are never read
	ReadPolicies    Permission = "read_policies"  // includes explanations and dry runs
	ReadKeys        Permission = "read_keys"
	ReadMembers     Permission = "read_members"
	ReadAudit       Permission = "read_audit"
	UseModels       Permission = "use_models" // permission to call the model API
	UsePlayground   Permission = "use_playground"
	ManageOwnKeys   Permission = "manage_own_keys"
	ManageKeys      Permission = "manage_keys"
	ManagePolicies  Permission = "manage_policies"
	ManageWorkspace Permission = "manage_workspace" // name, baseline, retention, body logging
	ManageAlerts    Permission = "manage_alerts"    // rules, channels and their tests
	DeleteRequests  Permission = "delete_requests"
	ManageMembers   Permission = "manage_members"
	ManageProviders Permission = "manage_providers" // test, enable and disable providers, and close circuits
	// ConnectProviders allows adding, changing and deleting providers and their credentials.
	ConnectProviders Permission = "connect_providers"
	ManageModels     Permission = "manage_models"   // prices and overrides
	ManageInstance   Permission = "manage_instance" // the instance, including the budgets of workspaces
)

// instanceWide lists the permissions that affect every workspace. Only actors of the operator's workspace have them.
var instanceWide = []Permission{ManageProviders, ConnectProviders, ManageModels, ManageInstance}

// roleRights and scopeRights map roles and scopes to their permissions.
var roleRights, scopeRights = rights()

func rights() (map[Role][]Permission, map[Scope][]Permission) {
	viewer := []Permission{
		ReadWorkspace, ReadFigures, ReadRequests, ReadOwnSessions, ReadModels, ReadProviders, ReadPolicies, ReadKeys, ReadMembers,
	}
	developer := append(slices.Clone(viewer), ReadBodies, UseModels, UsePlayground, ManageOwnKeys)
	admin := append(slices.Clone(developer),
		ReadAudit, ManageKeys, ManagePolicies, ManageWorkspace, ManageAlerts, DeleteRequests, ManageMembers, ManageProviders, ConnectProviders, ManageModels)
	owner := append(slices.Clone(admin), ManageInstance)

	read := []Permission{
		ReadWorkspace, ReadFigures, ReadRequests, ReadOwnSessions, ReadBodies, ReadModels, ReadProviders, ReadPolicies, ReadKeys,
	}
	manage := append(slices.Clone(read),
		ReadAudit, ManageOwnKeys, ManageKeys, ManagePolicies, ManageWorkspace, ManageAlerts, ManageProviders, ConnectProviders, ManageModels)
	return map[Role][]Permission{Viewer: viewer, Developer: developer, Admin: admin, Owner: owner},
		map[Scope][]Permission{Inference: {UseModels, ReadOwnSessions}, Read: read, Manage: manage}
}

// roleRank orders the roles. It is 0 for an unknown role.
var roleRank = map[Role]int{Viewer: 1, Developer: 2, Admin: 3, Owner: 4}

// AtLeast reports whether the role includes the permissions of other.
func (r Role) AtLeast(other Role) bool { return roleRank[r] >= roleRank[other] }

// Permissions lists all permissions.
func Permissions() []Permission { return slices.Clone(roleRights[Owner]) }

// Actor is the caller of an operation: a signed-in member of a workspace, or an API key.
type Actor struct {
	AccountID   string
	KeyID       string // key ID; empty unless the actor is a key
	WorkspaceID string
	Role        Role // for a key, the present role of its creator, which limits the scopes; empty if only the scopes limit it
	Scopes      []Scope
	Operator    bool // whether the workspace is the oldest one, whose members operate the gateway
}

// May reports whether the actor has the permission in its workspace.
func (a Actor) May(p Permission) bool {
	return a.holds(p) && (a.Operator || !slices.Contains(instanceWide, p))
}

func (a Actor) holds(p Permission) bool {
	if (a.KeyID == "" || a.Role != "") && !slices.Contains(roleRights[a.Role], p) {
		return false
	}
	return a.KeyID == "" || slices.ContainsFunc(a.Scopes, func(s Scope) bool { return slices.Contains(scopeRights[s], p) })
}

// mayGrantScope reports whether the actor has all permissions of the scope.
func (a Actor) mayGrantScope(s Scope) bool {
	for _, p := range scopeRights[s] {
		if !a.holds(p) {
			return false
		}
	}
	return true
}

// mayGrantRole reports whether the actor may manage members and the role is not above its own.
func (a Actor) mayGrantRole(r Role) bool {
	return a.May(ManageMembers) && roleRank[r] > 0 && roleRank[r] <= roleRank[a.Role]
}

// commandLine is the name of the actor in the audit log for changes made on the command line.
const commandLine = "command line"

// SingleSignOn is the name of the actor in the audit log for changes that an identity provider causes.
const SingleSignOn = "single sign-on"

// CommandLine returns the actor for changes made on the command line.
func CommandLine(workspaceID string) Actor {
	return Actor{WorkspaceID: workspaceID, Role: Owner, Operator: true}
}
