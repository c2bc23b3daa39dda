// Package access holds the fault cases about accounts, permissions, sessions and tenants.
package access

import (
	"fmt"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"

	"fairlead.dev/internal/account"
	"fairlead.dev/internal/admin/adminapi"
	"fairlead.dev/test/faults/scenario"
	"fairlead.dev/test/harness"
)

// operation is a route of the admin API, from its OpenAPI document.
type operation struct {
	method, path string
	permission   account.Permission
}

func operations(t testing.TB, g *harness.Gateway) []operation {
	t.Helper()
	var document struct {
		Paths map[string]map[string]struct {
			Permission account.Permission `json:"x-permission"`
		}
	}
	harness.Decode(t, g.Call(t, harness.Request{Method: http.MethodGet, Path: "/api/openapi.json"}).Body, &document)
	var list []operation
	for _, path := range slices.Sorted(maps.Keys(document.Paths)) {
		for _, method := range slices.Sorted(maps.Keys(document.Paths[path])) {
			list = append(list, operation{strings.ToUpper(method), path, document.Paths[path][method].Permission})
		}
	}
	return list
}

// caller is a client that tries every route.
type caller struct {
	name   string
	header http.Header
	query  string        // query parameter that selects a workspace
	actor  account.Actor // account for the permission table; zero for an anonymous caller
	away   bool          // whether query selects a workspace that the caller does not belong to
	key    bool
}

// expected returns the error status that the permission table requires, or 0 if access is allowed.
func (c caller) expected(p account.Permission) int {
	known := c.actor.AccountID != "" || c.actor.KeyID != ""
	switch {
	case p == adminapi.Public:
		return 0
	case !known:
		return http.StatusUnauthorized
	case p == adminapi.SignedIn && c.key:
		return http.StatusForbidden
	case p == adminapi.SignedIn:
		return 0
	case c.away:
		return http.StatusNotFound
	case c.actor.May(p):
		return 0
	}
	return http.StatusForbidden
}

// Permissions is fault case F49: for every route and every kind of caller, the response matches the permission table.
func Permissions(t *testing.T, _ scenario.Size) string {
	g, _ := scenario.Single(t)
	s := newSite(t, g)
	ops := operations(t, g)
	if len(ops) < 50 {
		t.Fatalf("the OpenAPI document has %d operations, want at least 50", len(ops))
	}
	known := map[account.Permission]bool{adminapi.Public: true, adminapi.SignedIn: true}
	for _, p := range account.Permissions() {
		known[p] = true
	}
	callers := s.callers()
	scenario.Together(8, len(ops), func(i int) {
		op := ops[i]
		if !known[op.permission] {
			t.Errorf("%s %s has the permission %q, which is not in the table", op.method, op.path, op.permission)
		}
		for _, c := range callers {
			// An unknown parameter is rejected after the permission check and before anything is changed.
			path := pathParam.ReplaceAllString(op.path, "1") + "?nonsense=1" + c.query
			a := g.Call(t, harness.Request{Method: op.method, Path: "/api/v1" + path, Body: "{}", Header: c.header})
			got := a.Status
			if a.Status == http.StatusBadRequest && strings.Contains(string(a.Body), "nonsense") {
				got = 0
			}
			if op.path == "/sso/callback" && a.Status == http.StatusOK {
				got = 0 // this route accepts unknown parameters, because identity providers add some; it redirects to the sign-in page
			}
			if want := c.expected(op.permission); got != want {
				t.Errorf("%s %s as %s: got %d %s, want %d", op.method, op.path, c.name, a.Status, scenario.Clip(a.Body), want)
			}
		}
	})
	ways := s.checkKeyHeaders(t)
	foreign := s.foreignIDs(t, ops)
	return fmt.Sprintf("%d operations × %d callers match the permission table; %d ways to present a key; %d IDs of other workspaces handled like unknown ones", len(ops), len(callers), ways, foreign)
}

var pathParam = regexp.MustCompile(`\{[^}]+\}`)

// site is a gateway with two workspaces, each with users and keys. One of the workspaces runs the gateway.
type site struct {
	gateway                       *harness.Gateway
	owner, admin, developer, view scenario.Person
	bob                           scenario.Person
	inference, read, manage, bobs harness.Key

	request, invitation, backtest, session, alertRule, alertChannel string // IDs in the owner's workspace
}

// newSite creates the accounts, the keys and the other resources of the site.
func newSite(t *testing.T, g *harness.Gateway) *site {
	t.Helper()
	s := &site{gateway: g}
	s.owner = scenario.Register(t, g, "ann@example.com")
	s.admin, s.developer, s.view = s.owner.Join(t, "adam@example.com", "admin"), s.owner.Join(t, "dora@example.com", "developer"), s.owner.Join(t, "vera@example.com", "viewer")
	s.bob = scenario.Register(t, g, "bob@example.com")
	s.inference, s.read, s.manage = s.owner.Key(t, `"scopes":["inference"]`), s.owner.Key(t, `"scopes":["read"]`), s.owner.Key(t, `"scopes":["manage"],"budget":{"amount_usd":"100","period":"month"}`)
	s.bobs = s.bob.Key(t, `"scopes":["inference","read","manage"]`)
	served := g.Call(t, harness.Request{Key: s.inference.Text, Body: scenario.Chat("m"), Header: http.Header{"X-Session-Id": {sessionID}}})
	s.request = served.Header.Get("X-Request-Id")
	harness.Eventually(t, "the request is in the log", func() bool {
		return s.owner.Call(t, http.MethodGet, "/requests/"+s.request, "").Status == http.StatusOK
	})
	var made struct{ ID string }
	harness.Decode(t, s.owner.Call(t, http.MethodPost, "/workspace/invitations", `{"role":"viewer"}`).Body, &made)
	s.invitation = made.ID
	harness.Decode(t, s.owner.Call(t, http.MethodPost, "/alerts/rules", `{"kind":"spend"}`).Body, &made)
	s.alertRule = made.ID
	harness.Decode(t, s.owner.Call(t, http.MethodPost, "/alerts/channels", `{"name":"ops","type":"webhook","url":"https://8.8.8.8/hook"}`).Body, &made)
	s.alertChannel = made.ID
	if a := s.owner.Call(t, http.MethodPut, "/policies", `{"source":"policies: []","based_on":0}`); a.Status >= 300 {
		t.Fatalf("save policies: %d %s", a.Status, a.Body)
	}
	harness.Decode(t, s.owner.Call(t, http.MethodPost, "/backtests", `{}`).Body, &made)
	s.backtest = made.ID
	var sessions struct{ Sessions []struct{ ID string } }
	harness.Decode(t, s.owner.Call(t, http.MethodGet, "/account/sessions", "").Body, &sessions)
	s.session = sessions.Sessions[0].ID
	return s
}

func (s *site) callers() []caller {
	member := func(p scenario.Person, role account.Role, operator bool) account.Actor {
		return account.Actor{AccountID: p.ID, WorkspaceID: p.Workspace, Role: role, Operator: operator}
	}
	scoped := func(k harness.Key, operator bool, scopes ...account.Scope) account.Actor {
		return account.Actor{KeyID: k.ID, Scopes: scopes, Operator: operator}
	}
	bearer := func(k harness.Key) http.Header { return http.Header{"Authorization": {"Bearer " + k.Text}} }
	both := s.bob.Cookie()
	both.Set("Authorization", "Bearer "+s.read.Text)
	wrong := s.owner.Cookie()
	wrong.Set("Authorization", "Bearer fl_wrong")
	all := []account.Scope{account.Inference, account.Read, account.Manage}
	return []caller{
		{name: "anonymous"},
		{name: "an invalid session", header: http.Header{"Cookie": {scenario.CookieName + "=" + strings.Repeat("a", len(s.owner.Token))}}},
		{name: "viewer", header: s.view.Cookie(), actor: member(s.view, account.Viewer, true)},
		{name: "developer", header: s.developer.Cookie(), actor: member(s.developer, account.Developer, true)},
		{name: "admin", header: s.admin.Cookie(), actor: member(s.admin, account.Admin, true)},
		{name: "owner", header: s.owner.Cookie(), actor: member(s.owner, account.Owner, true)},
		{name: "owner of another workspace", header: s.bob.Cookie(), actor: member(s.bob, account.Owner, false)},
		{name: "owner of another workspace, in this one", header: s.bob.Cookie(), query: "&workspace=" + s.owner.Workspace, actor: member(s.bob, account.Owner, false), away: true},
		{name: "inference", header: bearer(s.inference), actor: scoped(s.inference, true, account.Inference), key: true},
		{name: "read", header: bearer(s.read), actor: scoped(s.read, true, account.Read), key: true},
		{name: "manage", header: bearer(s.manage), actor: scoped(s.manage, true, account.Manage), key: true},
		{name: "all scopes of another workspace", header: bearer(s.bobs), actor: scoped(s.bobs, false, all...), key: true},
		{name: "all scopes of another workspace, in this one", header: bearer(s.bobs), query: "&workspace=" + s.owner.Workspace, actor: scoped(s.bobs, false, all...), away: true, key: true},
		{name: "a key with the session of another user", header: both, actor: scoped(s.read, true, account.Read), key: true},
		{name: "a wrong key with a session", header: wrong},
		{name: "the ID of a key", header: http.Header{"Authorization": {"Bearer " + s.manage.ID}}},
		{name: "a key as a password", header: http.Header{"Authorization": {"Basic " + s.manage.Text}}},
		{name: "a key as a session", header: http.Header{"Cookie": {scenario.CookieName + "=" + s.manage.Text}}},
	}
}
