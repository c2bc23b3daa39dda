package main

import (
	"strings"
	"testing"

	"fairlead/internal/requestlog"
)

const (
	firstPolicies = `# what we allow
policies:
  - name: no-code-outside
    when: >-
      request.task == "code" &&
      key.tags["team"] == "infra"
    allow: {providers: [simulator]}
  - name: nights
    enabled: false
    when: time.hour < 6
    deny: Sleep.
`
	secondPolicies = `policies:
  - name: nights
    when: time.hour < 6
    objective: cost
    max_cost_usd: "0.02"
    prefer: [sim-small, sim-nano]
`
)

func TestPoliciesAreAppliedListedAndRolledBack(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	first, second := l.file("first.yaml", firstPolicies), l.file("second.yaml", secondPolicies)

	_, err := l.run(exitDone, "policies", "list")
	mustContain(t, err, "no policies; write some")
	_, err = l.run(exitDone, "policies", "apply", first, "--note", "begin")
	mustContain(t, err, "Version 1 is in force; a running server takes it up within a few seconds.")
	out, _ := l.run(exitDone, "policies", "list")
	golden(t, "policies.txt", out)
	out, _ = l.run(exitDone, "policies", "show")
	if out != firstPolicies {
		t.Errorf("shown is\n%s", out)
	}

	_, err = l.run(exitDone, "policies", "apply", first)
	mustContain(t, err, "Version 1 says the same already")
	out, _ = l.run(exitDone, "policies", "diff", second)
	mustContain(t, out, "-  - name: no-code-outside", "+    objective: cost")
	_, err = l.run(exitDone, "policies", "apply", second)
	mustContain(t, err, "Version 2 is in force", "fairlead policies rollback 1")
	out, _ = l.run(exitDone, "policies", "diff")
	mustContain(t, out, "-  - name: no-code-outside", "+    objective: cost")
	forwards, _ := l.run(exitDone, "policies", "diff", "1", "2")
	backwards, _ := l.run(exitDone, "policies", "diff", "2", "1")
	if forwards != out || backwards == out || !strings.Contains(backwards, "-    objective: cost") {
		t.Errorf("forwards\n%s\nbackwards\n%s", forwards, backwards)
	}

	_, err = l.run(exitDone, "policies", "rollback", "1")
	mustContain(t, err, "Version 3 is in force")
	out, _ = l.run(exitDone, "policies", "show")
	if out != firstPolicies {
		t.Errorf("shown is\n%s", out)
	}
	out, _ = l.run(exitDone, "policies", "history", "--json")
	history := lines(t, out)
	if len(history) != 3 || history[0]["version"] != 3.0 || history[0]["note"] != "back to version 1" || history[2]["note"] != "begin" || history[2]["saved_by"] != "command line" {
		t.Errorf("%v", history)
	}
	out, _ = l.run(exitDone, "policies", "history")
	mustContain(t, out, "VERSION", "back to version 1", "command line")
}

func TestAppliedPoliciesAreNotedAndDecide(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.run(exitDone, "policies", "apply", l.file("pin.yaml", "policies:\n  - {name: best, pin: sim-flagship}\n"))

	out, _ := l.run(exitDone, "explain", "--prompt", "hi", "--model", "auto:cost")
	mustContain(t, out, "Would go to simulator/sim-flagship – policy route by policy best; without policies it would go to simulator/sim-nano")

	ids := l.asked(func(e *requestlog.Entry) {}, "hi")
	out, _ = l.run(exitDone, "verify", ids[0])
	mustContain(t, out, "policy, 1 candidate, 1 policy")
	i, w := l.open()
	events, err := i.Accounts.Audit(t.Context(), w.ID, "", 10)
	if err != nil || len(events) == 0 || events[0].Action != "policies.save" {
		t.Errorf("%v, %v", events, err)
	}
}

func TestSomebodyElseWasFaster(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	first, second := l.file("first.yaml", firstPolicies), l.file("second.yaml", secondPolicies)
	l.run(exitDone, "policies", "apply", first)
	_, err := l.run(exitFailed, "policies", "apply", second, "--based-on", "0")
	mustContain(t, err, "the policies were changed in the meantime: the newest version is 1", "--based-on 1")
	l.run(exitDone, "policies", "apply", second, "--based-on", "1")
}

func TestProblemsOfPoliciesAreShownWithTheirLine(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	path := l.file("wrong.yaml", `policies:
  - name: cheap-first
    when: request.tokns < 100
    objektive: cost
  - name: nothing
    pin: sim-smal
`)
	out, _ := l.run(exitProblems, "policies", "validate", path)
	golden(t, "policies_problems.txt", strings.ReplaceAll(out, path, "policies.yaml"))
	out, err := l.run(exitProblems, "policies", "apply", path)
	if out != "" || !strings.Contains(err, "[E2031]") {
		t.Errorf("out %s, err %s", out, err)
	}
	out, _ = l.run(exitProblems, "policies", "validate", path, "--json")
	if got := lines(t, out); len(got) != 3 || got[0]["line"] != 3.0 || got[0]["code"] != "E2041" {
		t.Errorf("%v", got)
	}
	out, _ = l.run(exitDone, "policies", "validate", l.file("right.yaml", firstPolicies))
	mustContain(t, out, "right.yaml: fine – 2 policies")
}

func TestVersionsThatAreNot(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	for _, test := range []struct {
		line string
		code int
		want string
	}{
		{"show 7", exitFailed, "there is no version 7"},
		{"show x", exitUsage, `"x" is not the number of a version`},
		{"rollback 7", exitFailed, "there is no version 7"},
		{"rollback 0", exitUsage, `"0" is not the number of a version`},
		{"diff 0", exitUsage, `"0" is not the number of a version`},
		{"diff nowhere.yaml", exitFailed, "nowhere.yaml"},
		{"diff 1 2 3", exitUsage, `unexpected "3"`},
		{"apply nowhere.yaml", exitFailed, "nowhere.yaml"},
		{"history", exitDone, "no policies of its own yet"},
		{"show", exitDone, "no policies of its own yet"},
		{"diff", exitDone, "nothing differs"},
	} {
		_, err := l.run(test.code, append([]string{"policies"}, strings.Fields(test.line)...)...)
		mustContain(t, err, test.want)
	}
}
