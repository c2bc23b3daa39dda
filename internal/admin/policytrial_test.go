package admin

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"fairlead.dev/internal/admin/policies"
	"fairlead.dev/internal/requestlog"
)

func TestDraftIsComparedWithActivePolicies(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	logged := entry("req_home", home)
	logged.Requested = "auto"
	s.log.entries = append(s.log.entries, logged)
	try := func(source string) policies.PolicyTrial {
		t.Helper()
		var got policies.PolicyTrial
		s.call("POST", "/policies/dry-run", body("source", source, "request", map[string]any{"model": "auto"}, "request_ids", []string{"req_home"}), as("acc_viewer")).
			want(200).into(&got)
		return got
	}
	same := try("policies: []")
	if len(same.Trials) != 2 || same.Trials[0].Changed || same.Trials[0].RequestID != nil || *same.Trials[1].RequestID != "req_home" || same.Recent != nil {
		t.Errorf("%+v", same)
	}
	moved := try("policies:\n  - {name: pinned, pin: odd}\n").Trials[0]
	if !moved.Changed || moved.Live.Choice() != "acme/gpt" || moved.Draft.Choice() != "acme/odd" || moved.Draft.Decision.Policy != "pinned" {
		t.Errorf("%+v", moved)
	}
	refused := try(closing).Trials[1]
	if !refused.Changed || refused.Draft.Refusal == nil || refused.Draft.Refusal.Code != "POLICY_REJECTED" || refused.Live.Refusal != nil {
		t.Errorf("%+v", refused)
	}
	if len(s.policies.versions) != 0 || len(s.fake.noted) != 0 {
		t.Errorf("the dry run stored versions %v and audit events %v", s.policies.versions, s.fake.noted)
	}
}

func TestInstancePoliciesPrecedeDraft(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.instanceRules("policies:\n  - {name: house, pin: gpt}\n")
	s.call("POST", "/policies/dry-run", body("source", "policies:\n  - {name: own, prefer: [odd]}\n", "recent", 20), as("acc_viewer")).want(200)
	names := []string{}
	for _, p := range s.past.queries[0].Draft.Policies() {
		names = append(names, p.Name)
	}
	if diff := cmp.Diff([]string{"house", "own"}, names); diff != "" {
		t.Error(diff)
	}
}

func TestDraftIsComparedOnRecentRequests(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	var got policies.PolicyTrial
	s.call("POST", "/policies/dry-run", body("source", "", "recent", 200), as("acc_viewer")).want(200).into(&got)
	if got.Recent == nil || got.Recent.Considered != 7 || len(got.Trials) != 0 {
		t.Errorf("%+v", got)
	}
	q := s.past.queries[0]
	if diff := cmp.Diff(requestlog.Filter{WorkspaceID: home, From: noon.Add(-30 * 24 * time.Hour), To: noon}, q.Filter); diff != "" || q.Limit != 200 {
		t.Errorf("limit %d, %s", q.Limit, diff)
	}
	if q.Draft == nil || q.Draft.Len() != 0 {
		t.Errorf("Draft = %v, want an empty draft", q.Draft)
	}
}
