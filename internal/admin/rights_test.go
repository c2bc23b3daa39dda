package admin

import (
	"fmt"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"fairlead.dev/internal/account"
	"fairlead.dev/internal/admin/adminapi"
	"fairlead.dev/internal/alert"
)

// A GET request must not require a permission to change data, because other sites can make a browser send it.
func TestGetRequiresNoPermissionToChangeData(t *testing.T) {
	t.Parallel()
	for _, op := range newSite(t).api.Operations() {
		changes := strings.HasPrefix(string(op.Permission), "manage_") || op.Permission == account.ConnectProviders || op.Permission == account.DeleteRequests
		if op.Method == http.MethodGet && changes && op.ID != "list-invitations" {
			t.Errorf("%s is a GET request and requires permission to change data", op.ID)
		}
	}
}

var pathParam = regexp.MustCompile(`\{[^}]+\}`)

// TestEveryCallerAtEveryOperation calls every operation as every kind of caller. A dot means that the call was admitted.
func TestEveryCallerAtEveryOperation(t *testing.T) {
	t.Parallel()
	callers := []struct {
		name string
		with []with
	}{
		{"nobody", nil},
		{"viewer", []with{as("acc_viewer")}},
		{"developer", []with{as("acc_developer")}},
		{"admin", []with{as("acc_admin")}},
		{"owner", []with{as("acc_owner")}},
		{"stranger", []with{as(stranger)}},
		{"stranger-here", []with{as(stranger), inWorkspace(home)}},
		{"inference", []with{key("fl_inference")}},
		{"read", []with{key("fl_read")}},
		{"manage", []with{key("fl_manage")}},
		{"key-elsewhere", []with{key("fl_manage"), inWorkspace(abroad)}},
		{"bad-key", []with{key("fl_nonsense"), as("acc_owner")}},
		{"bad-session", []with{header("Cookie", adminapi.SessionCookie+"=nonsense")}},
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%-48s", "")
	for _, caller := range callers {
		fmt.Fprintf(&b, " %s", caller.name)
	}
	s := newSite(t)
	for _, op := range s.api.Operations() {
		fmt.Fprintf(&b, "\n%-48s", op.Method+" "+op.Path)
		s.reset() // changes by one operation must not affect the next
		for _, caller := range callers {
			got := s.call(op.Method, pathParam.ReplaceAllString(op.Path, "nothing"), "", append(caller.with, briefly)...)
			cell := "."
			if got.Code == http.StatusUnauthorized || got.Code == http.StatusForbidden || strings.Contains(got.Body.String(), "Workspace not found") {
				cell = strconv.Itoa(got.Code)
			}
			fmt.Fprintf(&b, " %*s", len(caller.name), cell)
		}
	}
	golden(t, "testdata/rights.txt", append([]byte(b.String()), '\n'))
}

func inWorkspace(id string) with {
	return func(r *http.Request) {
		q := r.URL.Query()
		q.Set("workspace", id)
		r.URL.RawQuery = q.Encode()
	}
}

// briefly changes the request of a stream to HEAD, so that the response ends.
func briefly(r *http.Request) {
	if strings.HasSuffix(r.URL.Path, "/tail") {
		r.Method = http.MethodHead
	}
}

// TestForeignIDsReturnNotFound compares the whole responses, except for the request IDs.
func TestForeignIDsReturnNotFound(t *testing.T) {
	t.Parallel()
	cases := []struct{ method, path, foreign, body string }{
		{"GET", "/keys/%s", "key_abroad", ""},
		{"PATCH", "/keys/%s", "key_abroad", `{"name":"x"}`},
		{"DELETE", "/keys/%s", "key_abroad", ""},
		{"POST", "/keys/%s/rotate", "key_abroad", `{}`},
		{"GET", "/alerts/rules/%s", "rule_abroad", ""},
		{"PATCH", "/alerts/rules/%s", "rule_abroad", `{"enabled":false}`},
		{"DELETE", "/alerts/rules/%s", "rule_abroad", ""},
		{"POST", "/alerts/channels/%s/test", "chan_abroad", ""},
		{"GET", "/requests/%s", "req_abroad", ""},
		{"GET", "/requests/%s/body", "req_abroad", ""},
		{"GET", "/requests/%s/verify", "req_abroad", ""},
		{"GET", "/requests/%s/feedback", "req_abroad", ""},
		{"POST", "/requests/%s/feedback", "req_abroad", `{"score":1}`},
		{"POST", "/policies/dry-run", "req_abroad", `{"source":"","request_ids":["%s"]}`},
		{"POST", "/policies/dry-run", "key_abroad", `{"source":"","key_id":"%s","request":{"model":"auto"}}`},
		{"PATCH", "/workspace/members/%s", stranger, `{"role":"viewer"}`},
		{"DELETE", "/workspace/members/%s", stranger, ""},
		{"DELETE", "/workspace/invitations/%s", "inv_abroad", ""},
		{"GET", "/workspace?workspace=%s", abroad, ""},
		{"GET", "/keys?workspace=%s", abroad, ""},
		{"GET", "/requests?workspace=%s", abroad, ""},
		{"POST", "/routing/explain", "key_abroad", `{"key_id":"%s","request":{"model":"auto"}}`},
	}
	requestID := regexp.MustCompile(`adm_[0-9A-Z]{26}`)
	for _, tc := range cases {
		t.Run(tc.method+" "+tc.path, func(t *testing.T) {
			t.Parallel()
			s := newSite(t)
			s.log.entries = append(s.log.entries, entry("req_abroad", abroad))
			s.alerts.rules, s.alerts.channels = []alert.Rule{{ID: "rule_abroad", WorkspaceID: abroad, Kind: alert.Spend}}, []alert.Channel{{ID: "chan_abroad", WorkspaceID: abroad}}
			ask := func(id string) string {
				fill := strings.NewReplacer("%s", id)
				got := s.call(tc.method, fill.Replace(tc.path), fill.Replace(tc.body), as("acc_owner"))
				got.rejected(http.StatusNotFound, "NOT_FOUND")
				return requestID.ReplaceAllString(got.Body.String(), "ID")
			}
			if foreign, unknown := ask(tc.foreign), ask("nothing"); foreign != unknown {
				t.Errorf("foreign: %s\nunknown: %s", foreign, unknown)
			}
		})
	}
}
