package admin

import (
	"net/http"
	"strings"
	"testing"

	"fairlead.dev/internal/account"
	"fairlead.dev/internal/admin/requests"
	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/money"
	"fairlead.dev/internal/requestlog"
)

// Texts that only some callers may read.
const (
	operatorCanary = "credential-canary"
	costCanary     = "0.777000123"
	textCanary     = "prompt-canary"
)

// canaryEntry returns a request whose operator data and request text can be recognised in responses.
func canaryEntry(workspaceID string) requestlog.Entry {
	e := entry("req_in_"+workspaceID, workspaceID)
	e.Preview = textCanary
	e.Outcome, e.Error = requestlog.UpstreamError, &requestlog.Failure{Code: "PROVIDER_UPSTREAM_ERROR", Message: "invalid content: " + textCanary, Origin: llm.FromProvider}
	e.Attempts = []requestlog.Attempt{
		{Target: requestlog.Target{Provider: "acme", Model: "gpt", Credential: operatorCanary}, AttemptResult: requestlog.AttemptResult{Status: 400, Class: llm.UpstreamRejected, Message: "invalid content: " + textCanary}},
		{Target: requestlog.Target{Provider: "acme", Model: "gpt", Credential: operatorCanary}, AttemptResult: requestlog.AttemptResult{Status: 500, Class: llm.UpstreamServer}, Cost: new(money.Amount(777_000_123))},
	}
	return e
}

// TestResponsesHideOperatorDataAndBodies calls every GET operation and the exports as each kind of caller and searches the
// responses for data that the caller must not see.
func TestResponsesHideOperatorDataAndBodies(t *testing.T) {
	t.Parallel()
	callers := []struct {
		name           string
		with           with
		workspace      string
		operator, text bool // whether the caller may see operator data, and whether it may read texts
	}{
		{"operator's owner", as("acc_owner"), home, true, true},
		{"operator's admin", as("acc_admin"), home, true, true},
		{"operator's developer", as("acc_developer"), home, false, true},
		{"operator's viewer", as("acc_viewer"), home, false, false},
		{"operator's read key", key("fl_read"), home, false, true},
		{"operator's manage key", key("fl_manage"), home, true, true},
		{"tenant's owner", as(stranger), abroad, false, true},
		{"tenant's viewer", as("acc_guest"), abroad, false, false},
		{"tenant's manage key", key("fl_abroad"), abroad, false, true},
	}
	for _, caller := range callers {
		t.Run(caller.name, func(t *testing.T) {
			t.Parallel()
			s := newSite(t)
			s.fake.join("acc_guest", abroad, account.Viewer)
			s.log.entries = append(s.log.entries, canaryEntry(home), canaryEntry(abroad))
			s.log.bodies = map[string]requestlog.Body{}
			for _, e := range s.log.entries {
				s.log.bodies[e.ID] = requestlog.Body{Request: []byte(`{"messages":"` + textCanary + `"}`)}
			}
			paths := []string{
				"/requests/export?format=csv&columns=" + strings.Join(requests.Columns(), ","),
				"/requests/export?format=jsonl&columns=" + strings.Join(requests.Columns(), ","),
			}
			for _, op := range s.api.Operations() {
				if op.Method == http.MethodGet && !strings.HasSuffix(op.Path, "/tail") {
					paths = append(paths, pathParam.ReplaceAllString(op.Path, "req_in_"+caller.workspace))
				}
			}
			seen := map[string]bool{}
			for _, path := range paths {
				body := s.call("GET", path, "", caller.with).Body.String()
				for canary, allowed := range map[string]bool{operatorCanary: caller.operator, costCanary: caller.operator, textCanary: caller.text} {
					if strings.Contains(body, canary) {
						seen[canary] = true
						if !allowed {
							t.Errorf("GET %s shows %s: %s", path, canary, body)
						}
					}
				}
			}
			if seen[operatorCanary] != caller.operator || seen[costCanary] != caller.operator || seen[textCanary] != caller.text {
				t.Errorf("responses contain %v; want operator data %t, texts %t", seen, caller.operator, caller.text)
			}
		})
	}
}
