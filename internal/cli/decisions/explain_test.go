package decisions

import (
	"strings"
	"testing"

	"fairlead.dev/internal/cli"
	"fairlead.dev/internal/cli/clitest"
	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/route"
	"fairlead.dev/internal/route/predict"
)

// sampleDecision returns a decision that contains every part of the explanation.
func sampleDecision() *route.Decision {
	d := *clitest.Served().Decision
	d.Kind, d.Policy, d.Alone = route.Policy, "cheap", "provider-y/large-a"
	d.Input.Features = predict.Features{Task: predict.Code, Difficulty: 2.2, Language: "en", Known: 0.81}
	d.Input.Turns, d.Input.Last = 3, "provider-x/small-b"
	d.Because = "Policy cheap chose small-b (low effort) instead of large-a."
	d.MaxOutput, d.OmitBodies = 500, true
	d.Candidates = append([]route.Candidate{}, d.Candidates...)
	d.Candidates[0].Spread, d.Candidates[0].Effort, d.Candidates[0].Output, d.Candidates[0].Cache = 0.04, "low", 350, route.CacheHit{Read: 1800}
	d.Policies = []route.PolicyHit{
		route.NewPolicyHit("cheap", "workspace", true, "objective cost", ""),
		route.NewPolicyHit("night", "workspace", false, "", "time.hour < 6 is false (time.hour is 12)"),
	}
	d.Versions = route.Versions{Router: "pool-1", Catalog: "c91d73960d7b", Predictor: "p-1", Policy: "57ff86d50bba"}
	return &d
}

func TestExplanationText(t *testing.T) {
	t.Parallel()
	p := &Page{cli.Page{Width: 120}}
	p.explanation(sampleDecision(), nil)
	clitest.Golden(t, "explain.txt", p.String())
}

func TestExplanationOfARejection(t *testing.T) {
	t.Parallel()
	d := sampleDecision()
	d.Policy, d.Because, d.Candidates, d.Baseline = "no-code", "", nil, nil
	p := &Page{cli.Page{Width: 120}}
	p.explanation(d, llm.Errorf(llm.PolicyRejected, "Code stays inside."))
	text := p.String()
	clitest.MustContain(t, text, "Rejected (POLICY_REJECTED): Code stays inside. Rejected by policy no-code.")
	if strings.Contains(text, "Choice") {
		t.Errorf("the explanation of a rejected request lists candidates:\n%s", text)
	}
}

func TestExplainDecidesWithoutCalling(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	out, _ := l.Run(cli.ExitOK, "explain", "--prompt", "Translate into German: good morning")
	clitest.MustContain(t, out, "Routed to simulator/", "(expected)", "Choice", "ROLE", "chosen", "Request")

	body := l.File("request.json", `{"model":"auto:quality","messages":[{"role":"user","content":"Hello"}],"tools":[{"type":"function","function":{"name":"f"}}]}`)
	out, _ = l.Run(cli.ExitOK, "explain", body, "--json")
	got := clitest.Lines(t, out)[0]
	input := got["decision"].(map[string]any)["input"].(map[string]any)
	if input["model"] != "auto:quality" || input["objective"].(map[string]any)["name"] != "quality" {
		t.Errorf("%v", input)
	}

	l.Console.In = strings.NewReader(`{"model":"sim-small","messages":[{"role":"user","content":"Hello"}]}`)
	out, _ = l.Run(cli.ExitOK, "explain", "-")
	clitest.MustContain(t, out, "Routed to simulator/sim-small", "the model that the caller requested")
}

func TestExplainUsesPolicyDraft(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	draft := l.File("draft.yaml", "policies:\n  - name: halt\n    deny: Not today.\n")
	out, _ := l.Run(cli.ExitOK, "explain", "--prompt", "hi", "--policies", draft)
	clitest.MustContain(t, out, "Rejected (POLICY_REJECTED): Not today. Rejected by policy halt.", "matched       halt: deny")

	out, _ = l.Run(cli.ExitOK, "explain", "--prompt", "hi", "--policies", draft, "--json")
	got := clitest.Lines(t, out)[0]
	if got["refusal"].(map[string]any)["code"] != "POLICY_REJECTED" || got["decision"] == nil {
		t.Errorf("%v", got)
	}

	wrong := l.File("wrong.yaml", "policies:\n  - name: halt\n    denny: Not today.\n")
	out, err := l.Run(cli.ExitProblems, "explain", "--prompt", "hi", "--policies", wrong)
	clitest.MustContain(t, err, `unknown field "denny"`, `did you mean "deny"?`, "[E2031]")
	if out != "" {
		t.Errorf("stdout: got %s, want none", out)
	}
}

func TestExplainByTheRulesOfAKey(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.Run(cli.ExitOK, "keys", "create", "--name", "ci", "--models", "sim-small")
	out, _ := l.Run(cli.ExitOK, "explain", "--prompt", "hi", "--key", "ci")
	clitest.MustContain(t, out, "Routed to simulator/sim-small", "not_allowed_by_key")
	_, err := l.Run(cli.ExitFailed, "explain", "--prompt", "hi", "--key", "cy")
	clitest.MustContain(t, err, `key "cy" not found`, `did you mean "ci"?`)
}

func TestExplainRejectsInvalidRequests(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name string
		args []string
		want string
		code int
	}{
		{"nothing", nil, "no request given", cli.ExitUsage},
		{"both", []string{"a.json", "--prompt", "b"}, "both a file and --prompt are given", cli.ExitUsage},
		{"a model without a prompt", []string{"a.json", "--model", "b"}, "--model requires --prompt", cli.ExitUsage},
		{"no such file", []string{"nowhere.json"}, "nowhere.json", cli.ExitFailed},
		{"unknown objective", []string{"--prompt", "x", "--model", "auto:fun"}, "has an unknown objective", cli.ExitUsage},
		{"no such model", []string{"--prompt", "x", "--model", "nobody-9"}, `Model \"nobody-9\" does not exist`, cli.ExitOK},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			out, err := newLab(t).Run(test.code, append([]string{"explain"}, test.args...)...)
			clitest.MustContain(t, strings.ReplaceAll(out+err, `\"`, `"`), strings.ReplaceAll(test.want, `\"`, `"`))
		})
	}
}
