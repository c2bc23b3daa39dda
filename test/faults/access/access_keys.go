package access

import (
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"

	"fairlead.dev/test/faults/scenario"
	"fairlead.dev/test/harness"
)

// modelPaths returns the routes of the model API, from the error for an unknown path.
func modelPaths(t testing.TB, g *harness.Gateway) []string {
	t.Helper()
	a := g.Call(t, harness.Request{Path: "/proxy/v1/nothing"})
	match := regexp.MustCompile(`The paths below /proxy/v1 are (.*) and models`).FindStringSubmatch(string(a.Body))
	if match == nil {
		t.Fatalf("the error for an unknown path does not list the routes: %s", a.Body)
	}
	paths := []string{"/proxy/v1/feedback"}
	for path := range strings.SplitSeq(match[1], ", ") {
		paths = append(paths, "/proxy/v1/"+path)
	}
	return paths
}

// checkKeyHeaders tries every route of the model API with every way to send a key.
func (s *site) checkKeyHeaders(t *testing.T) int {
	t.Helper()
	g, k, other := s.gateway, s.inference.Text, s.bobs.Text
	ways := []struct {
		name   string
		header http.Header
		query  string
		status int // 0 if access is allowed
		code   string
	}{
		{"bearer", http.Header{"Authorization": {"Bearer " + k}}, "", 0, ""},
		{"lower case", http.Header{"Authorization": {"bearer " + k}}, "", 0, ""},
		{"x-api-key", http.Header{"X-Api-Key": {k}}, "", 0, ""},
		{"x-goog-api-key", http.Header{"X-Goog-Api-Key": {k}}, "", 0, ""},
		{"another x-goog-api-key", http.Header{"X-Api-Key": {k}, "X-Goog-Api-Key": {other}}, "", 400, "INVALID_REQUEST"},
		{"the same key twice", http.Header{"Authorization": {"Bearer " + k}, "X-Api-Key": {k}}, "", 0, ""},
		{"two bearers", http.Header{"Authorization": {"Bearer " + k, "Bearer " + other}}, "", 400, "INVALID_REQUEST"},
		{"two headers", http.Header{"Authorization": {"Bearer " + k}, "X-Api-Key": {other}}, "", 400, "INVALID_REQUEST"},
		{"two x-api-keys", http.Header{"X-Api-Key": {k, other}}, "", 400, "INVALID_REQUEST"},
		{"x-api-key and api-key", http.Header{"X-Api-Key": {k}, "Api-Key": {other}}, "", 400, "INVALID_REQUEST"},
		{"none", nil, "", 401, "MISSING_API_KEY"},
		{"in the query", nil, "?key=" + k + "&api_key=" + k, 401, "MISSING_API_KEY"},
		{"basic", http.Header{"Authorization": {"Basic " + k}}, "", 401, "MISSING_API_KEY"},
		{"a cookie", http.Header{"Cookie": {"Authorization=" + k}}, "", 401, "MISSING_API_KEY"},
		{"a session", s.owner.Cookie(), "", 401, "MISSING_API_KEY"},
		{"without the scope", http.Header{"Authorization": {"Bearer " + s.read.Text}}, "", 403, "SCOPE_DENIED"},
		{"only the scope manage", http.Header{"Authorization": {"Bearer " + s.manage.Text}}, "", 403, "SCOPE_DENIED"},
		{"the key ID", http.Header{"Authorization": {"Bearer " + s.inference.ID}}, "", 401, "INVALID_API_KEY"},
		{"truncated", http.Header{"Authorization": {"Bearer " + k[:len(k)-1]}}, "", 401, "INVALID_API_KEY"},
		{"upper case", http.Header{"Authorization": {"Bearer " + strings.ToUpper(k)}}, "", 401, "INVALID_API_KEY"},
	}
	n := 0
	for _, path := range modelPaths(t, g) {
		for _, way := range ways {
			n++
			header := http.Header{"X-Fairlead-Error-Format": {"flat"}}
			maps.Copy(header, way.header)
			request := harness.Request{Path: path + way.query, Body: "{}", Header: header}
			if strings.HasSuffix(path, "/realtime") { // the route upgrades to a WebSocket
				request.Method, request.Body = http.MethodGet, ""
				header.Set("Connection", "Upgrade")
				header.Set("Upgrade", "websocket")
				header.Set("Sec-WebSocket-Version", "13")
				header.Set("Sec-WebSocket-Key", "AAAAAAAAAAAAAAAAAAAAAA==")
			}
			a := g.Call(t, request)
			if way.status == 0 {
				if a.Status == http.StatusUnauthorized || a.Status == http.StatusForbidden {
					t.Errorf("%s with a key as %s: status %d, want access: %s", path, way.name, a.Status, scenario.Clip(a.Body))
				}
				continue
			}
			scenario.WantError(t, path+" with a key as "+way.name, a, way.status, way.code)
		}
	}
	return n
}

// owned returns, for each resource with an ID in its route, an ID that exists in the owner's workspace and one that does not
// exist.
func (s *site) owned() map[string]struct{ own, unknown, body string } {
	type ids = struct{ own, unknown, body string }
	unknown := func(id string) string { return id[:len(id)-20] + strings.Repeat("0", 20) }
	keyIDs := ids{s.inference.ID, unknown(s.inference.ID), `{"name":"x"}`}
	requestIDs := ids{s.request, unknown(s.request), `{"score":1}`}
	sessionIDs := ids{sessionID, unknown(sessionID), ""}
	return map[string]ids{
		"/keys/{id}": keyIDs, "/keys/{id}/rotate": {keyIDs.own, keyIDs.unknown, `{}`},
		"/requests/{id}": requestIDs, "/requests/{id}/body": requestIDs, "/requests/{id}/feedback": requestIDs, "/requests/{id}/verify": requestIDs,
		"/workspace/members/{account_id}": {s.view.ID, unknown(s.view.ID), `{"role":"viewer"}`},
		"/workspace/invitations/{id}":     {s.invitation, unknown(s.invitation), ""},
		"/account/sessions/{id}":          {s.session, strings.Repeat("0", len(s.session)), ""},
		"/account/passkeys/{id}":          {passkeyID, unknown(passkeyID), `{"name":"x"}`},
		"/account/passkeys/{id}/remove":   {passkeyID, unknown(passkeyID), `{"password":"x"}`},
		"/alerts/rules/{id}":              {s.alertRule, unknown(s.alertRule), `{"enabled":false}`},
		"/alerts/channels/{id}":           {s.alertChannel, unknown(s.alertChannel), `{"name":"x"}`},
		"/alerts/channels/{id}/test":      {s.alertChannel, unknown(s.alertChannel), ""},
		"/budgets/{id}":                   {s.manage.ID, unknown(s.manage.ID), ""},
		"/backtests/{id}":                 {s.backtest, unknown(s.backtest), ""},
		"/policies/versions/{n}":          {"1", "99", ""},
		"/sessions/{id}":                  sessionIDs, "/sessions/{id}/turns": sessionIDs, "/sessions/{id}/turns/{request}/messages": requestIDs,
	}
}

// shared lists the routes to resources of the gateway, which belong to no single workspace. foreignIDs skips them, because only
// permissions protect them.
var shared = []string{
	"/instance/workspaces/{id}/budget", "/models/{name}", "/models/{name}/prices/{provider}", "/providers/{name}", "/providers/{name}/credentials",
	"/providers/{name}/credentials/{id}", "/providers/{name}/credentials/{id}/rotate", "/providers/{name}/reset", "/providers/{name}/test",
}

// sessionID is the session of a request in the owner's workspace.
const sessionID = "session-of-the-owner"

// passkeyID is a well-formed ID of a passkey that does not exist. The owner has no passkey, because this test has no authenticator. The
// tests of package passkey check that accounts cannot change each other's passkeys.
const passkeyID = "pk_01M7K479Q92S3DXK6X15ZRAV2S"

var adminID = regexp.MustCompile(`(adm|req)_[0-9A-Z]{26}|"doc_url":"[^"]*",`)

// foreignIDs requests existing and unknown IDs as a member of another workspace. The responses must not differ.
func (s *site) foreignIDs(t *testing.T, ops []operation) int {
	t.Helper()
	owned := s.owned()
	var comparisons []func()
	differ := func(what, method, path, body, own, unknown string) {
		ask := func(id string) string {
			put := strings.NewReplacer("ID", id)
			a := s.bob.Call(t, method, put.Replace(path), put.Replace(body))
			if a.Status < 400 && path != filterPath {
				t.Errorf("%s: status %d, want an error: %s", what, a.Status, scenario.Clip(a.Body))
			}
			return strings.ReplaceAll(adminID.ReplaceAllString(string(a.Body), "-"), id, "-")
		}
		if foreign, unknown := ask(own), ask(unknown); foreign != unknown {
			t.Errorf("%s: the response for an ID of another workspace is %s and for an unknown ID %s, want the same",
				what, foreign, unknown)
		}
	}
	compare := func(what, method, path, body, own, unknown string) {
		comparisons = append(comparisons, func() { differ(what, method, path, body, own, unknown) })
	}
	for _, op := range ops {
		if !strings.Contains(op.path, "{") {
			continue
		}
		ids, ok := owned[op.path]
		if !ok {
			if !slices.Contains(shared, op.path) {
				t.Errorf("%s %s has an ID in its path; add the path to owned or to shared", op.method, op.path)
			}
			continue
		}
		compare(op.method+" "+op.path, op.method, pathParam.ReplaceAllString(op.path, "ID"), ids.body, ids.own, ids.unknown)
	}
	request, key := owned["/requests/{id}"], owned["/keys/{id}"]
	compare("dry run of a request", http.MethodPost, "/policies/dry-run", `{"source":"","request_ids":["ID"]}`, request.own, request.unknown)
	compare("dry run with a key", http.MethodPost, "/policies/dry-run", `{"source":"","key_id":"ID","request":{"model":"auto"}}`, key.own, key.unknown)
	compare("explain with a key", http.MethodPost, "/routing/explain", `{"key_id":"ID","request":{"model":"auto"}}`, key.own, key.unknown)
	compare("requests of a key", http.MethodGet, filterPath, "", key.own, key.unknown)
	scenario.Together(16, len(comparisons), func(i int) { comparisons[i]() }) // in parallel, because the gateway waits for an unknown request ID, which might not be stored yet
	rate := func(id string) string {
		a := s.gateway.Call(t, harness.Request{Path: "/proxy/v1/feedback", Key: s.bobs.Text, Body: `{"request_id":"` + id + `","score":1}`})
		return strings.ReplaceAll(adminID.ReplaceAllString(string(a.Body), "-"), id, "-")
	}
	if foreign, unknown := rate(request.own), rate(request.unknown); foreign != unknown {
		t.Errorf("feedback for a request of another workspace returned %s and for an unknown request %s, want the same", foreign, unknown)
	}
	s.checkUnchanged(t)
	return len(comparisons) + 1
}

const filterPath = "/requests?key=ID"

// checkUnchanged checks that the requests of the other workspace have not changed the owner's data.
func (s *site) checkUnchanged(t *testing.T) {
	t.Helper()
	for _, path := range []string{"/keys/" + s.inference.ID, "/requests/" + s.request, "/backtests/" + s.backtest, "/policies/versions/1"} {
		if a := s.owner.Call(t, http.MethodGet, path, ""); a.Status != http.StatusOK {
			t.Errorf("GET %s: status %d, want 200", path, a.Status)
		}
	}
	if a := s.owner.Call(t, http.MethodGet, "/workspace/invitations", ""); !strings.Contains(string(a.Body), s.invitation) {
		t.Errorf("the invitation was deleted: %s", scenario.Clip(a.Body))
	}
	if a := s.view.Call(t, http.MethodGet, "/keys", ""); a.Status != http.StatusOK {
		t.Errorf("GET /keys by the viewer: status %d, want 200", a.Status)
	}
	if a := s.gateway.Call(t, harness.Request{Key: s.inference.Text, Body: scenario.Chat("m")}); a.Status != http.StatusOK {
		t.Errorf("request with the owner's key: status %d, want 200", a.Status)
	}
}
