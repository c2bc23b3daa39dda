package admin

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"fairlead.dev/internal/admin/adminapi"
)

func TestUnknownPathsReturnErrorBody(t *testing.T) {
	t.Parallel()
	large := `{"name":"` + strings.Repeat("x", (1<<20)) + `"}`
	cases := []struct {
		name, method, path, body string
		with                     []with
		status                   int
		code                     string
	}{
		{name: "unknown path", method: "GET", path: "/api/v1/nothing", status: 404, code: "NOT_FOUND"},
		{name: "below another version", method: "GET", path: "/api/v2/keys", status: 404, code: "NOT_FOUND"},
		{name: "trailing slash", method: "GET", path: "/api/v1/keys/", status: 404, code: "NOT_FOUND"},
		{name: "unclean path", method: "GET", path: "/api/v1//keys", status: 404, code: "NOT_FOUND"},
		{name: "dots in the path", method: "GET", path: "/api/v1/requests/../keys", status: 404, code: "NOT_FOUND"},
		{name: "docs page", method: "GET", path: "/api/v1/docs", status: 404, code: "NOT_FOUND"},
		{name: "wrong method", method: "PUT", path: "/api/v1/keys", status: 405, code: "METHOD_NOT_ALLOWED"},
		{name: "preflight", method: "OPTIONS", path: "/api/v1/keys", status: 405, code: "METHOD_NOT_ALLOWED"},
		{name: "wrong method on the document", method: "POST", path: "/api/openapi.json", status: 405, code: "METHOD_NOT_ALLOWED"},
		{name: "wrong content type", method: "POST", path: "/api/v1/keys", body: `{"name":"x"}`, with: []with{header("Content-Type", "text/plain")}, status: 415, code: "UNSUPPORTED_MEDIA_TYPE"},
		{name: "form", method: "POST", path: "/api/v1/keys", body: `name=x`, with: []with{header("Content-Type", "application/x-www-form-urlencoded")}, status: 415, code: "UNSUPPORTED_MEDIA_TYPE"},
		{name: "too large", method: "POST", path: "/api/v1/keys", body: large, status: 413, code: "PAYLOAD_TOO_LARGE"},
		{name: "not JSON", method: "POST", path: "/api/v1/keys", body: `{"name":`, status: 400, code: "INVALID_JSON"},
		{name: "repeated field", method: "POST", path: "/api/v1/keys", body: `{"name":"a","name":"b"}`, status: 400, code: "INVALID_JSON"},
		{name: "trailing data", method: "POST", path: "/api/v1/keys", body: `{"name":"a"}{}`, status: 400, code: "INVALID_JSON"},
		{name: "no body", method: "POST", path: "/api/v1/keys", status: 400, code: "INVALID_REQUEST"},
		{name: "a list", method: "POST", path: "/api/v1/keys", body: `[]`, status: 400, code: "INVALID_REQUEST"},
		{name: "field in another case", method: "POST", path: "/api/v1/keys", body: `{"Name":"a"}`, status: 400, code: "INVALID_REQUEST"},
		{name: "NUL in a workspace", method: "GET", path: "/api/v1/keys?workspace=%00", status: 404, code: "NOT_FOUND"},
		{name: "NUL in an id", method: "GET", path: "/api/v1/keys/%00", status: 404, code: "NOT_FOUND"},
	}
	for _, tc := range cases {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			newSite(t).raw(tc.method, tc.path, tc.body, append([]with{as("acc_owner")}, tc.with...)...).rejected(tc.status, tc.code)
		})
	}
}

func TestProblemsOmitValues(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	body := `{"name":"","scopes":["root"],"budget":{"amount_usd":"lots","perid":"day"},"tgas":{},"limits":{"concurrent":-1}}`
	got := s.call("POST", "/keys", body, as("acc_owner")).rejected(http.StatusBadRequest, "INVALID_REQUEST")
	type short struct{ Param, Suggestion string }
	var list []short
	for _, p := range got.Details.Problems {
		list = append(list, short{p.Param, p.Suggestion})
		if p.In != "body" || p.Message == "" {
			t.Errorf("%+v", p)
		}
	}
	want := []short{
		{"budget.amount_usd", ""}, {"budget.perid", "period"}, {"budget.period", ""}, {"limits.concurrent", ""}, {"name", ""}, {"scopes[0]", ""}, {"tgas", "tags"},
	}
	if diff := cmp.Diff(want, list); diff != "" {
		t.Error(diff)
	}
	if got.Details.Param != "budget.amount_usd" || s.fake.made != 0 {
		t.Errorf("param %q, %d keys created; want budget.amount_usd, 0", got.Details.Param, s.fake.made)
	}
	secret := s.call("POST", "/session", `{"email":"a@example.com","password":{"x":"hunter2"}}`).rejected(http.StatusBadRequest, "INVALID_REQUEST")
	if text, _ := json.Marshal(secret); strings.Contains(string(text), "hunter2") {
		t.Errorf("a password is echoed: %s", text)
	}
}

// TestUnknownFieldsAreRejected sends fields that would grant the caller more permissions.
func TestUnknownFieldsAreRejected(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	tried := 0
	for _, op := range s.api.Operations() {
		item := s.api.Spec().Paths[op.Path]
		for method, documented := range map[string]bool{
			"POST": item.Post != nil && item.Post.RequestBody != nil, "PUT": item.Put != nil && item.Put.RequestBody != nil,
			"PATCH": item.Patch != nil && item.Patch.RequestBody != nil,
		} {
			if method != op.Method || !documented || op.ID == "playground-chat" { // this operation forwards its body
				continue
			}
			tried++
			path := pathParam.ReplaceAllString(op.Path, "nothing")
			body := `{"spent_usd":"-5","workspace_id":"ws_abroad","account_id":"acc_stranger","operator":true}`
			got := s.call(method, path, body, as("acc_owner")).rejected(http.StatusBadRequest, "INVALID_REQUEST")
			for _, name := range []string{"spent_usd", "workspace_id", "account_id", "operator"} {
				if !slices.ContainsFunc(got.Details.Problems, func(p adminapi.Problem) bool { return p.Param == name && p.Message == "unknown field" }) {
					t.Errorf("%s %s does not reject %s: %+v", method, op.Path, name, got.Details.Problems)
				}
			}
		}
	}
	if tried < 15 {
		t.Errorf("only %d operations have a body", tried)
	}
}

func TestUnavailableStoreIsNotInternalError(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.api.Unreachable = func(err error) bool { return errors.Is(err, errDisk) }
	s.fake.broken = errDisk
	got := s.call("GET", "/keys", "", as("acc_owner")).rejected(http.StatusServiceUnavailable, "LEDGER_UNAVAILABLE")
	if !got.Details.Retryable {
		t.Error("Retryable = false, want true")
	}
}

func TestInternalErrorsAreLoggedOnceAndHidden(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.fake.broken = errDisk
	got := s.call("GET", "/keys", "", as("acc_owner")).rejected(http.StatusInternalServerError, "INTERNAL_ERROR")
	if strings.Contains(got.Error, "secret-path") || !got.Details.Retryable {
		t.Errorf("%+v", got)
	}
	if n := strings.Count(s.lines.String(), "secret-path"); n != 1 || !strings.Contains(s.lines.String(), got.Details.RequestID) {
		t.Errorf("logged %d times: %s", n, s.lines)
	}
}

func TestPanicReturnsInternalError(t *testing.T) {
	t.Parallel()
	s := newSite(t, func(p *Parts) { p.Overview.Instance = nil })
	s.call("GET", "/settings", "", as("acc_owner")).rejected(http.StatusInternalServerError, "INTERNAL_ERROR")
	if n := strings.Count(s.lines.String(), "panicked"); n != 1 {
		t.Errorf("logged %d times, want 1: %s", n, s.lines)
	}
	s.call("GET", "/keys", "", as("acc_owner")).want(200)
}

// FuzzBody checks that every body gets a success or a structured error, never an internal error.
func FuzzBody(f *testing.F) {
	for _, seed := range []string{
		`{"name":"x"}`, `{"name":"x","budget":{"amount_usd":"1","period":"day"}}`, `{"name":null}`, `[1,2]`, `"x"`, `{"tags":{"a":1}}`,
		`{"name":"x","expires_at":"2027-01-01"}`, `{"limits":{"concurrent":1e400}}`, "{\"name\":\"\xff\"}", `{"name":"\u0000"}`,
	} {
		f.Add(seed)
	}
	s := &site{}
	api, err := New(s.newParts())
	if err != nil {
		f.Fatal(err)
	}
	s.api = api
	f.Fuzz(func(t *testing.T, body string) {
		s.T = t
		s.reset()
		for _, op := range [][2]string{{"POST", "/keys"}, {"PATCH", "/keys/key_read"}, {"PATCH", "/workspace"}} {
			if got := s.call(op[0], op[1], body, as("acc_owner"), header("Content-Type", "application/json")); got.Code >= 500 {
				t.Errorf("%s %s: %d %s\n%s", op[0], op[1], got.Code, got.Body, s.lines)
			}
		}
	})
}

func TestNumberOfProblemsIsLimited(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	b.WriteString(`{"name":"x"`)
	for i := range 20_000 {
		fmt.Fprintf(&b, `,"nam%d":0`, i)
	}
	got := newSite(t).call("POST", "/keys", b.String()+"}", as("acc_owner"))
	if e := got.rejected(http.StatusBadRequest, "INVALID_REQUEST"); len(e.Details.Problems) != adminapi.MaxProblems || got.Body.Len() > 10_000 {
		t.Errorf("%d problems in %d bytes", len(e.Details.Problems), got.Body.Len())
	}
}
