package admin

import (
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"fairlead.dev/internal/account"
	"fairlead.dev/internal/admin/workspaces"
	"fairlead.dev/internal/redact"
)

func TestRedactionIsPartOfTheWorkspace(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	var none *redact.Rules
	for body, want := range map[string]**redact.Rules{
		`{"name":"x"}`:       nil,
		`{"redaction":null}`: &none,
		`{"redaction":{"builtin":[],"custom":[]}}`: new(&redact.Rules{Builtin: []string{}, Custom: []redact.Custom{}}),
		`{"redaction":{"builtin":["email"],"custom":[{"name":"t","pattern":"T-\\d+"}]}}`: new(&redact.Rules{
			Builtin: []string{"email"}, Custom: []redact.Custom{{Name: "t", Pattern: `T-\d+`}},
		}),
	} {
		s.call("PATCH", "/workspace", body, as("acc_admin")).want(200)
		if diff := cmp.Diff(want, s.fake.wsChange.Redaction); diff != "" {
			t.Errorf("%s: %s", body, diff)
		}
	}
	var view workspaces.WorkspaceView
	s.fake.workspaces[home] = account.Workspace{ID: home, Redaction: &redact.Rules{Builtin: []string{"card"}}}
	s.call("GET", "/workspace", "", as("acc_viewer")).want(200).into(&view)
	if diff := cmp.Diff(&workspaces.RedactionView{Builtin: []string{"card"}, Custom: []workspaces.RedactionCustomRule{}}, view.Redaction); diff != "" {
		t.Error(diff)
	}
}

func TestRedactionRulesAreTested(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	try := func(body string) workspaces.RedactionResult {
		t.Helper()
		var got workspaces.RedactionResult
		s.call("POST", "/workspace/redaction/test", body, as("acc_admin")).want(200).into(&got)
		return got
	}
	text := `{"text":"ann@example.com, T-1, bob@example.com"`
	own := workspaces.RedactionResult{Text: "[redacted: email], [redacted: t], [redacted: email]", Counts: map[string]int{"email": 2, "t": 1}}
	if diff := cmp.Diff(own, try(text+`,"rules":{"builtin":["email"],"custom":[{"name":"t","pattern":"T-\\d"}]}}`)); diff != "" {
		t.Error(diff)
	}
	none := workspaces.RedactionResult{Text: "ann@example.com, T-1, bob@example.com", Counts: map[string]int{}}
	if diff := cmp.Diff(none, try(text+`}`)); diff != "" {
		t.Error(diff)
	}
	s.fake.redact = []string{"email"}
	if got := try(text + `}`); got.Counts["email"] != 2 {
		t.Errorf("rules of the instance: got %+v, want 2 emails", got)
	}
	s.fake.workspaces[home] = account.Workspace{ID: home, Redaction: &redact.Rules{}}
	if got := try(text + `}`); len(got.Counts) != 0 {
		t.Errorf("rules turned off in the workspace: got %+v, want no matches", got)
	}
	if s.fake.wsChange.Redaction != nil {
		t.Error("a test of rules stored them")
	}
	s.call("POST", "/workspace/redaction/test", `{"text":"`+strings.Repeat("x", 20001)+`"}`, as("acc_admin")).rejected(http.StatusBadRequest, "INVALID_REQUEST")
}
