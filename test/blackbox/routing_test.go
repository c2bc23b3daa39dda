package blackbox

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"fairlead.dev/test/harness"
)

// asking returns a request whose task the router can recognize.
func asking(text string) string {
	return `{"model":"auto","messages":[{"role":"user","content":` + quote(text) + `}]}`
}

func TestADecisionIsExplainedVerifiedAndReplayed(t *testing.T) {
	t.Parallel()
	g := harness.Start(t, harness.Options{})
	k := g.Key(t)
	id := ""
	for _, text := range []string{"Hello!", "Write a Python function that merges two sorted lists.", "What is 17 * 23?"} {
		answer := g.Call(t, harness.Request{Key: k, Body: asking(text)})
		if answer.Status != 200 {
			t.Fatalf("%d %s", answer.Status, answer.Body)
		}
		id = answer.Header.Get("X-Request-Id")
	}
	entry := g.Entry(t, id)
	if !strings.Contains(string(entry.Raw), `"task"`) || !strings.Contains(string(entry.Raw), `"quality_target"`) {
		t.Errorf("the trace lacks what the router saw: %s", entry.Raw)
	}
	harness.Eventually(t, "the versions of the decision are kept", func() bool {
		_, _, code := g.CLI(t, "verify", id)
		return code == 0
	})
	if out, errs, code := g.CLI(t, "backtest", "--since", "1h", "--objective", "cost"); code != 0 || !strings.Contains(out, "3") {
		t.Errorf("backtest ended with %d\n%s%s", code, out, errs)
	}
	dry := g.Call(t, harness.Request{Key: k, Body: asking("Hello!"), Header: http.Header{"X-Fairlead-Dry-Run": {"true"}}})
	if dry.Status != 200 || !strings.Contains(string(dry.Body), `"fairlead.decision"`) {
		t.Errorf("dry run: %d %s", dry.Status, dry.Body)
	}
	if all := g.Entries(t, "", 3); len(all) != 3 {
		t.Errorf("%d entries: a dry run is no request", len(all))
	}
}

func TestPoliciesAppliedByTheCommandLineTakeEffect(t *testing.T) {
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
		t.Fatalf("a policy with a misspelt name: %d\n%s%s", code, out, errs)
	}
	write("policies:\n  - name: no-code\n    when: request.task == \"code\"\n    deny: Code stays inside.\n")
	if out, errs, code := g.CLI(t, "policies", "apply", draft, "--note", "first"); code != 0 {
		t.Fatalf("apply ended with %d\n%s%s", code, out, errs)
	}
	code := func() string {
		answer := g.Call(t, harness.Request{Key: k, Body: asking("Write a Python function that merges two sorted lists.")})
		var body struct{ Code string }
		harness.Decode(t, answer.Body, &body)
		return body.Code
	}
	harness.Eventually(t, "the running server takes the policy", func() bool { return code() == "POLICY_REJECTED" })
	if answer := g.Call(t, harness.Request{Key: k, Body: asking("Hello!")}); answer.Status != 200 {
		t.Errorf("what the policy does not mean is refused too: %d %s", answer.Status, answer.Body)
	}
}

func TestFeedbackIsKeptWithTheRequest(t *testing.T) {
	t.Parallel()
	g := harness.Start(t, harness.Options{})
	k := g.Key(t)
	id := g.Call(t, harness.Request{Key: k, Body: asking("What is 17 * 23?")}).Header.Get("X-Request-Id")
	rated := g.Call(t, harness.Request{Key: k, Path: "/proxy/v1/feedback", Body: `{"request_id":` + quote(id) + `,"label":"bad","comment":"wrong"}`})
	if rated.Status != 200 || !strings.Contains(string(rated.Body), `"score":0`) {
		t.Fatalf("%d %s", rated.Status, rated.Body)
	}
	unknown := g.Call(t, harness.Request{Key: k, Path: "/proxy/v1/feedback", Body: `{"request_id":"req_01M7FBPKVG2EMMN8GJD6PMBCYZ","score":1}`})
	if unknown.Status != http.StatusNotFound || !strings.Contains(string(unknown.Body), `"NOT_FOUND"`) {
		t.Errorf("a request that nobody made: %d %s", unknown.Status, unknown.Body)
	}
}
