package admin

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"fairlead.dev/internal/admin/adminapi"
	"fairlead.dev/internal/admin/policies"
	"fairlead.dev/internal/policy"
	"fairlead.dev/internal/policy/condition"
	"fairlead.dev/internal/requestlog"
)

const (
	pinned  = "policies:\n  - name: pinned # why not\n    when: request.tokens < 2000\n    pin: gpt\n"
	closing = "policies:\n  - name: closed\n    deny: \"Not today.\"\n"
	broken  = "policies:\n  - name: pinned\n    modle: gpt\n"
)

// body encodes alternating names and values as a JSON object.
func body(pairs ...any) string {
	m := map[string]any{}
	for i := 0; i < len(pairs); i += 2 {
		m[pairs[i].(string)] = pairs[i+1]
	}
	text, err := json.Marshal(m)
	if err != nil {
		panic(err)
	}
	return string(text)
}

// save saves the policies as a new version and returns the active version.
func (s *site) save(source string, basedOn int64) policies.WorkspacePolicies {
	s.Helper()
	var got policies.WorkspacePolicies
	s.call("PUT", "/policies", body("source", source, "based_on", basedOn, "note", "because"), as("acc_admin")).want(200).into(&got)
	return got
}

func TestPoliciesIncludeEditorData(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.instanceRules("policies:\n  - {name: house, exclude: {tags: [eu]}}\n")
	var book policies.PolicyBook
	s.call("GET", "/policies", "", as("acc_viewer")).want(200).into(&book)

	if book.Workspace.Version != 0 || book.Workspace.SavedAt != nil || book.Workspace.Source != "" || len(book.Workspace.Policies) != 0 {
		t.Errorf("before the first version: %+v", book.Workspace)
	}
	if book.Instance.Policies[0].Name != "house" || book.Instance.Version == "" || !strings.Contains(book.Instance.Source, "name: house") {
		t.Errorf("%+v", book.Instance)
	}
	if book.Instance.File == nil || *book.Instance.File != "/etc/fairlead/fairlead.yaml" {
		t.Errorf("file %v", book.Instance.File)
	}
	want := policies.PolicyNames{Models: []string{"gpt", "odd"}, Providers: []string{"acme"}, Targets: []string{"acme/gpt", "acme/odd"}, Tags: []string{"eu"}}
	if diff := cmp.Diff(want, book.Names); diff != "" {
		t.Error(diff)
	}
	if len(book.Fields) != len(condition.Fields()) || book.Fields[0].Doc == "" {
		t.Errorf("%d fields, want %d with documentation", len(book.Fields), len(condition.Fields()))
	}
}

func TestPoliciesReportWhetherTheyAreEditable(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	ask := func(caller with) policies.PolicyBook {
		t.Helper()
		var book policies.PolicyBook
		s.call("GET", "/policies", "", caller).want(200).into(&book)
		return book
	}
	if book := ask(as("acc_admin")); !book.Editable || book.Reason != nil {
		t.Errorf("an admin: %+v", book.Reason)
	}
	if book := ask(as("acc_developer")); book.Editable || !strings.Contains(*book.Reason, "manage_policies") {
		t.Errorf("a developer: %+v", book)
	}
	if book := ask(as(stranger)); book.Instance.File != nil {
		t.Error("the path of the policy file is shown to a user of another workspace")
	}
	s.fake.closed = "They are kept in policies.yaml."
	if book := ask(as("acc_admin")); book.Editable || *book.Reason != s.fake.closed {
		t.Errorf("closed: %+v", book)
	}
	e := s.call("PUT", "/policies", body("source", pinned, "based_on", 0), as("acc_admin")).rejected(http.StatusConflict, "CONFLICT")
	if e.Error != s.fake.closed || len(s.policies.versions) != 0 {
		t.Errorf("%s, %d saved", e.Error, len(s.policies.versions))
	}
}

func TestCheckFormatsPoliciesAsYAML(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	var form, source policies.PolicyCheck
	s.call("POST", "/policies/check", `{"policies":[{"name":"pinned","when":"request.tokens < 2000","pin":"gpt"}]}`, as("acc_viewer")).want(200).into(&form)
	s.call("POST", "/policies/check", body("source", pinned), as("acc_viewer")).want(200).into(&source)
	if !form.OK || form.Hash == "" || form.Hash != source.Hash || form.Source != source.Source {
		t.Errorf("form: %+v\nsource: %+v", form, source)
	}
	var wrong policies.PolicyCheck
	s.call("POST", "/policies/check", `{"policies":[{"name":"a","pin":"gtp"}]}`, as("acc_viewer")).want(200).into(&wrong)
	if wrong.OK || wrong.Problems[0].Path != "policies[0].pin" || wrong.Problems[0].Line != 3 {
		t.Errorf("%+v", wrong)
	}
	var none policies.PolicyCheck
	s.call("POST", "/policies/check", `{"policies":[]}`, as("acc_viewer")).want(200).into(&none)
	if !none.OK || none.Hash != "" {
		t.Errorf("%+v", none)
	}
	for _, bad := range []string{`{}`, `{"source":"","policies":[]}`} {
		s.call("POST", "/policies/check", bad, as("acc_viewer")).rejected(http.StatusBadRequest, "INVALID_REQUEST")
	}
	if len(s.policies.versions) != 0 || len(s.fake.noted) != 0 {
		t.Errorf("a check stored versions %v and audit events %v", s.policies.versions, s.fake.noted)
	}
}

func TestSavedPoliciesAreActiveImmediately(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.later(time.Hour)
	got := s.save(pinned, 0)
	want := policies.WorkspacePolicies{
		PolicyVersion: policies.PolicyVersion{
			Version: 1, Hash: s.books.Own(home).Version(), SavedAt: new(s.fake.now), SavedBy: new("acc_admin"), Label: new("admin@example.com"), Note: "because",
		},
		Source: pinned, Policies: []policy.Policy{{Name: "pinned", When: "request.tokens < 2000", Pin: "gpt"}}, Problems: []policies.PolicyProblem{},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if s.books.For(abroad).Len() != 0 {
		t.Error("the policies are active in another workspace")
	}
	s.save(pinned, 1) // the version is already active
	s.save(closing, 1)
	first := fmt.Sprintf(`{"version":1,"hash":%q,"note":"because"}`, want.Hash)
	second := fmt.Sprintf(`{"version":2,"hash":%q,"note":"because"}`, s.books.Own(home).Version())
	if diff := cmp.Diff([]note{{"policies.save", "policies", "", first}, {"policies.save", "policies", first, second}}, s.fake.noted); diff != "" {
		t.Error(diff)
	}
}

func TestInvalidPoliciesAreRejectedWithPositions(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	for _, c := range []struct{ method, path, param, body string }{
		{"PUT", "/policies", "source", body("source", broken, "based_on", 0)},
		{"POST", "/policies/dry-run", "source", body("source", broken, "recent", 5)},
		{"POST", "/backtests", "source", body("source", broken)},
		{"POST", "/routing/explain", "draft", body("draft", broken, "request", map[string]any{"model": "auto"})},
	} {
		e := s.call(c.method, c.path, c.body, as("acc_admin")).rejected(http.StatusBadRequest, "INVALID_REQUEST")
		if len(e.Details.Problems) != 1 || e.Details.Param != c.param {
			t.Fatalf("%s: %+v", c.path, e)
		}
		p := e.Details.Problems[0]
		want := adminapi.Problem{
			In: "body", Param: c.param, Message: `unknown field "modle"`, Line: 3, Column: 5, Width: 5,
			Path: "policies[0].modle", Hint: p.Hint, Code: string(policy.UnknownField),
		}
		if diff := cmp.Diff(want, p); diff != "" {
			t.Errorf("%s: %s", c.path, diff)
		}
	}
	if len(s.policies.versions) != 0 || len(s.past.queries) != 0 {
		t.Errorf("invalid policies: stored %v, backtests %v; want neither", s.policies.versions, s.past.queries)
	}
}

func TestSavingOverNewerVersionIsConflict(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.save(pinned, 0)
	s.save(closing, 1)
	for _, c := range []struct{ method, path, body string }{
		{"PUT", "/policies", body("source", "policies: []", "based_on", 1)},
		{"POST", "/policies/rollback", `{"version":1,"based_on":1}`},
	} {
		got := s.call(c.method, c.path, c.body, as("acc_admin"))
		got.rejected(http.StatusConflict, "CONFLICT")
		var e struct {
			Details struct {
				Version int64 `json:"version"`
			} `json:"details"`
		}
		got.into(&e)
		if e.Details.Version != 2 {
			t.Errorf("%s: the error names version %d, want 2: %s", c.path, e.Details.Version, got.Body)
		}
	}
	if n := len(s.policies.versions[home]); n != 2 {
		t.Errorf("got %d versions, want 2", n)
	}
}

func TestVersionsAreReadComparedAndRestored(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.save(pinned, 0)
	s.save(pinned+"  - name: closed\n    deny: \"Not today.\"\n", 1)

	var list policies.PolicyVersionList
	s.call("GET", "/policies/versions", "", as("acc_viewer")).want(200).into(&list)
	if len(list.Versions) != 2 || list.Versions[0].Version != 2 || *list.Versions[1].Label != "admin@example.com" {
		t.Errorf("%+v", list)
	}
	var one policies.PolicyVersionText
	s.call("GET", "/policies/versions/1", "", as("acc_viewer")).want(200).into(&one)
	if one.Source != pinned || one.Policies[0].Pin != "gpt" || len(one.Problems) != 0 {
		t.Errorf("%+v", one)
	}
	var diff policies.PolicyDiff
	s.call("GET", "/policies/diff?from=1&to=2", "", as("acc_viewer")).want(200).into(&diff)
	want := []policies.DiffLine{
		{Kind: "gap"},
		{Kind: "same", Old: new(2), New: new(2), Text: "  - name: pinned # why not"},
		{Kind: "same", Old: new(3), New: new(3), Text: "    when: request.tokens < 2000"},
		{Kind: "same", Old: new(4), New: new(4), Text: "    pin: gpt"},
		{Kind: "added", New: new(5), Text: "  - name: closed"},
		{Kind: "added", New: new(6), Text: `    deny: "Not today."`},
	}
	if d := cmp.Diff(want, diff.Lines); d != "" || !strings.Contains(diff.Text, "+  - name: closed") {
		t.Errorf("%s\n%s", d, diff.Text)
	}
	var all policies.PolicyDiff
	s.call("GET", "/policies/diff", "", as("acc_viewer")).want(200).into(&all)
	if all.From != 0 || all.To != 2 || len(all.Lines) != 6 {
		t.Errorf("from nothing to the newest: %+v", all)
	}
	var back policies.WorkspacePolicies
	s.call("POST", "/policies/rollback", `{"version":1}`, as("acc_admin")).want(200).into(&back)
	if back.Version != 3 || back.Source != pinned || back.Note != "Restored version 1" {
		t.Errorf("%+v", back)
	}
	if d := cmp.Diff([]string{"policies.save policies", "policies.save policies", "policies.rollback policies"}, actions(t, s)); d != "" {
		t.Error(d)
	}
	for _, path := range []string{"/policies/versions/9", "/policies/diff?from=9", "/policies/diff?to=9"} {
		s.call("GET", path, "", as("acc_viewer")).rejected(http.StatusNotFound, "NOT_FOUND")
	}
	s.call("GET", "/policies/versions/2", "", as(stranger)).rejected(http.StatusNotFound, "NOT_FOUND")
	s.call("POST", "/policies/rollback", `{"version":9}`, as("acc_admin")).rejected(http.StatusNotFound, "NOT_FOUND")
}

func TestPoliciesReportRemovedNames(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.save(pinned, 0)
	names := namesOfAcme()
	names.Models, names.Targets = []string{"odd"}, []string{"acme/odd"}
	s.books.SetInstance(nil, names)

	var book policies.PolicyBook
	s.call("GET", "/policies", "", as("acc_viewer")).want(200).into(&book)
	if len(book.Workspace.Problems) != 1 || book.Workspace.Problems[0].Line != 4 || book.Workspace.Policies[0].Pin != "gpt" {
		t.Errorf("%+v", book.Workspace)
	}
	var one policies.PolicyVersionText
	s.call("GET", "/policies/versions/1", "", as("acc_viewer")).want(200).into(&one)
	if len(one.Problems) != 1 || one.Problems[0].Code != string(policy.UnknownName) {
		t.Errorf("%+v", one.Problems)
	}
}

func TestPolicyHitsCombineRollUpsAndActivePolicies(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.instanceRules("policies:\n  - {name: house, exclude: {tags: [eu]}}\n")
	s.save("policies:\n  - {name: quiet, enabled: false, pin: gpt}\n  - {name: pinned, pin: gpt}\n", 0)
	s.log.groups = map[string][]requestlog.Group{
		"": {{Figures: requestlog.Figures{RequestCounts: requestlog.RequestCounts{Requests: 200}}}},
		"policy": {
			{Name: "", Figures: requestlog.Figures{RequestCounts: requestlog.RequestCounts{Requests: 150}}},
			{Name: "pinned", Figures: requestlog.Figures{RequestCounts: requestlog.RequestCounts{Requests: 40, Rejected: 4, Priced: 30, Compared: 20}, Spending: requestlog.Spending{Cost: 3e9, ComparedCost: 2e9, BaselineCost: 8e9}}},
			{Name: "once", Figures: requestlog.Figures{RequestCounts: requestlog.RequestCounts{Requests: 10}}},
		},
	}
	var got policies.PolicyTraffic
	s.call("GET", "/policies/hits?from=now-7d", "", as("acc_viewer")).want(200).into(&got)
	want := policies.PolicyTraffic{
		From: noon.AddDate(0, 0, -7), To: noon, Requests: 200,
		Policies: []policies.PolicyHits{
			{Name: "house", Source: "instance", Enabled: true, SharePercent: new(0.0)},
			{Name: "quiet", Source: "workspace", SharePercent: new(0.0)},
			{
				Name: "pinned", Source: "workspace", Enabled: true, Requests: 40, SharePercent: new(20.0), Denied: 4, Priced: 30, Compared: 20,
				Cost: 3e9, BaselineCost: 8e9, Saved: 6e9, SavedPercent: new(75.0),
			},
			{Name: "once", Source: "gone", Requests: 10, SharePercent: new(5.0)},
		},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	for _, q := range s.log.queries {
		if q.WorkspaceID != home || q.Source != requestlog.SourceKey {
			t.Errorf("log query %+v", q)
		}
	}
	s.call("GET", "/policies/hits?from=now&to=now-1h", "", as("acc_viewer")).rejected(http.StatusBadRequest, "INVALID_REQUEST")
}
