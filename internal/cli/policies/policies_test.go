package policies

import (
	"strings"
	"testing"

	"fairlead.dev/internal/cli"
	"fairlead.dev/internal/cli/clitest"
)

const (
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
	first, second := l.File("first.yaml", clitest.FirstPolicies), l.File("second.yaml", secondPolicies)

	_, err := l.Run(cli.ExitOK, "policies", "list")
	clitest.MustContain(t, err, "no policies. Apply a file")
	_, err = l.Run(cli.ExitOK, "policies", "apply", first, "--note", "begin")
	clitest.MustContain(t, err, "Version 1 is active. Running servers use it within a few seconds.")
	out, _ := l.Run(cli.ExitOK, "policies", "list")
	clitest.Golden(t, "policies.txt", out)
	out, _ = l.Run(cli.ExitOK, "policies", "show")
	if out != clitest.FirstPolicies {
		t.Errorf("policies show printed\n%s\nwant\n%s", out, clitest.FirstPolicies)
	}

	_, err = l.Run(cli.ExitOK, "policies", "apply", first)
	clitest.MustContain(t, err, "Version 1 is identical")
	out, _ = l.Run(cli.ExitOK, "policies", "diff", second)
	clitest.MustContain(t, out, "-  - name: no-code-outside", "+    objective: cost")
	_, err = l.Run(cli.ExitOK, "policies", "apply", second)
	clitest.MustContain(t, err, "Version 2 is active", "fairlead policies rollback 1")
	out, _ = l.Run(cli.ExitOK, "policies", "diff")
	clitest.MustContain(t, out, "-  - name: no-code-outside", "+    objective: cost")
	forwards, _ := l.Run(cli.ExitOK, "policies", "diff", "1", "2")
	backwards, _ := l.Run(cli.ExitOK, "policies", "diff", "2", "1")
	if forwards != out || backwards == out || !strings.Contains(backwards, "-    objective: cost") {
		t.Errorf("forwards\n%s\nbackwards\n%s", forwards, backwards)
	}

	_, err = l.Run(cli.ExitOK, "policies", "rollback", "1")
	clitest.MustContain(t, err, "Version 3 is active")
	out, _ = l.Run(cli.ExitOK, "policies", "show")
	if out != clitest.FirstPolicies {
		t.Errorf("policies show printed\n%s\nwant\n%s", out, clitest.FirstPolicies)
	}
	out, _ = l.Run(cli.ExitOK, "policies", "history", "--json")
	history := clitest.Lines(t, out)
	if len(history) != 3 || history[0]["version"] != 3.0 || history[0]["note"] != "Restored version 1" || history[2]["note"] != "begin" || history[2]["saved_by"] != "command line" {
		t.Errorf("%v", history)
	}
	out, _ = l.Run(cli.ExitOK, "policies", "history")
	clitest.MustContain(t, out, "VERSION", "Restored version 1", "command line")
}

func TestApplyRejectsConcurrentChange(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	first, second := l.File("first.yaml", clitest.FirstPolicies), l.File("second.yaml", secondPolicies)
	l.Run(cli.ExitOK, "policies", "apply", first)
	_, err := l.Run(cli.ExitFailed, "policies", "apply", second, "--based-on", "0")
	clitest.MustContain(t, err, "the policies have changed: the newest version is 1", "--based-on 1")
	l.Run(cli.ExitOK, "policies", "apply", second, "--based-on", "1")
}

func TestProblemsOfPoliciesAreShownWithTheirLine(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	path := l.File("wrong.yaml", `policies:
  - name: cheap-first
    when: request.tokns < 100
    objektive: cost
  - name: nothing
    pin: sim-smal
`)
	out, _ := l.Run(cli.ExitProblems, "policies", "validate", path)
	clitest.Golden(t, "policies_problems.txt", strings.ReplaceAll(out, path, "policies.yaml"))
	out, err := l.Run(cli.ExitProblems, "policies", "apply", path)
	if out != "" || !strings.Contains(err, "[E2031]") {
		t.Errorf("out %s, err %s", out, err)
	}
	out, _ = l.Run(cli.ExitProblems, "policies", "validate", path, "--json")
	if got := clitest.Lines(t, out); len(got) != 3 || got[0]["line"] != 3.0 || got[0]["code"] != "E2041" {
		t.Errorf("%v", got)
	}
	out, _ = l.Run(cli.ExitOK, "policies", "validate", l.File("right.yaml", clitest.FirstPolicies))
	clitest.MustContain(t, out, "right.yaml: ok – 2 policies")
}

func TestApplyAsksBeforeItRemovesAllPolicies(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	policies := l.File("policies.yaml", clitest.FirstPolicies)
	for name, document := range map[string]string{"empty": "", "comment": "# nothing here\n", "list": "policies: []\n"} {
		t.Run(name, func(t *testing.T) {
			l.T = t
			l.Console.CanAsk = false
			l.Run(cli.ExitOK, "policies", "apply", policies)
			empty := l.File(name+".yaml", document)

			_, err := l.Run(cli.ExitUsage, "policies", "apply", empty)
			clitest.MustContain(t, err, "no-code-outside, nights", "--yes")
			l.Console.CanAsk = true
			l.Console.In = strings.NewReader("n\n")
			_, err = l.Run(cli.ExitFailed, "policies", "apply", empty)
			clitest.MustContain(t, err, "no changes were made")
			if out, _ := l.Run(cli.ExitOK, "policies", "show"); out != clitest.FirstPolicies {
				t.Errorf("after answering no:\n%s\nwant\n%s", out, clitest.FirstPolicies)
			}

			l.Run(cli.ExitOK, "policies", "apply", empty, "--yes")
			if _, err := l.Run(cli.ExitOK, "policies", "list"); !strings.Contains(err, "no policies") {
				t.Errorf("after --yes: %s", err)
			}
		})
	}
}
