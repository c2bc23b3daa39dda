package blackbox

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"fairlead.dev/test/harness"
)

// asking returns a request whose task the router can recognise.
func asking(text string) string {
	return `{"model":"auto","messages":[{"role":"user","content":` + quote(text) + `}]}`
}

func TestDecisionIsTracedVerifiedAndBacktested(t *testing.T) {
	t.Parallel()
	g := harness.Start(t, harness.Options{})
	k := g.Key(t)
	id := ""
	for _, text := range []string{"Hello!", "Write a Python function that merges two sorted lists.", "What is 17 * 23?"} {
		answer := g.Call(t, harness.Request{Key: k, Body: asking(text)})
		if answer.Status != 200 {
			t.Fatalf("request: status %d, want 200: %s", answer.Status, answer.Body)
		}
		id = answer.Header.Get("X-Request-Id")
	}
	entry := g.Entry(t, id)
	if !strings.Contains(string(entry.Raw), `"task"`) || !strings.Contains(string(entry.Raw), `"quality_target"`) {
		t.Errorf("the entry lacks task or quality_target: %s", entry.Raw)
	}
	harness.Eventually(t, "the decision is verified", func() bool {
		_, _, code := g.CLI(t, "verify", id)
		return code == 0
	})
	out, errs, code := g.CLI(t, "backtest", "--since", "1h", "--objective", "cost", "--json")
	if code != 0 {
		t.Fatalf("backtest: exit code %d, want 0\n%s", code, errs)
	}
	var report struct{ Considered, Decided int64 }
	harness.Decode(t, []byte(out), &report)
	if report.Considered != 3 || report.Decided != 3 {
		t.Errorf("backtest: %d requests considered and %d re-run, want 3 and 3: %s", report.Considered, report.Decided, out)
	}
	dry := g.Call(t, harness.Request{Key: k, Body: asking("Hello!"), Header: http.Header{"X-Fairlead-Dry-Run": {"true"}}})
	if dry.Status != 200 || !strings.Contains(string(dry.Body), `"fairlead.decision"`) {
		t.Errorf("dry run: status %d, want 200 and a decision: %s", dry.Status, dry.Body)
	}
	if all := g.Entries(t, "", 3); len(all) != 3 {
		t.Errorf("got %d entries, want 3: a dry run has no entry", len(all))
	}
}

func TestAppliedPoliciesTakeEffect(t *testing.T) {
	t.Parallel()
	g := harness.Start(t, harness.Options{})
	k := g.Key(t)
	draft := filepath.Join(t.TempDir(), "policies.yaml")
	write := func(text string) {
		if err := os.WriteFile(draft, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("policies:\n  - name: no-code\n    when: request.tusk == \"code\"\n    deny: Code stays inside.\n")
	if out, errs, code := g.CLI(t, "policies", "apply", draft); code != 3 || !strings.Contains(out+errs, `did you mean "task"`) {
		t.Fatalf("policies apply with a misspelt name: exit code %d, want 3 and a suggestion\n%s%s", code, out, errs)
	}
	write("policies:\n  - name: no-code\n    when: request.task == \"code\"\n    deny: Code stays inside.\n")
	if out, errs, code := g.CLI(t, "policies", "apply", draft, "--note", "first"); code != 0 {
		t.Fatalf("policies apply: exit code %d\n%s%s", code, out, errs)
	}
	code := func() string {
		answer := g.Call(t, harness.Request{Key: k, Body: asking("Write a Python function that merges two sorted lists.")})
		var body struct{ Code string }
		harness.Decode(t, answer.Body, &body)
		return body.Code
	}
	harness.Eventually(t, "the running server applies the policy", func() bool { return code() == "POLICY_REJECTED" })
	if answer := g.Call(t, harness.Request{Key: k, Body: asking("Hello!")}); answer.Status != 200 {
		t.Errorf("a request that does not match the policy: status %d, want 200: %s", answer.Status, answer.Body)
	}
}

func TestFeedbackRequiresAKnownRequest(t *testing.T) {
	t.Parallel()
	g := harness.Start(t, harness.Options{})
	k := g.Key(t)
	id := g.Call(t, harness.Request{Key: k, Body: asking("What is 17 * 23?")}).Header.Get("X-Request-Id")
	rated := g.Call(t, harness.Request{Key: k, Path: "/proxy/v1/feedback", Body: `{"request_id":` + quote(id) + `,"label":"bad","comment":"wrong"}`})
	if rated.Status != 200 || !strings.Contains(string(rated.Body), `"score":0`) {
		t.Fatalf("feedback: status %d, want 200 and the score 0: %s", rated.Status, rated.Body)
	}
	unknown := g.Call(t, harness.Request{Key: k, Path: "/proxy/v1/feedback", Body: `{"request_id":"req_01M7FBPKVG2EMMN8GJD6PMBCYZ","score":1}`})
	if unknown.Status != http.StatusNotFound || !strings.Contains(string(unknown.Body), `"NOT_FOUND"`) {
		t.Errorf("feedback for an unknown request: status %d, want 404: %s", unknown.Status, unknown.Body)
	}
}
