package router

import (
	"strings"
	"testing"

	"fairlead.dev/internal/cli"
	"fairlead.dev/internal/cli/clitest"
)

func TestAgentsComparesExpectedAndRecordedCosts(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	run := `{"source": "shop", "outcome": 1, "tokens": {"in": 60000, "out": 1200}, "tools": [{"name": "order"}], "messages": [` +
		`{"role": "system", "content": "Policy of the shop.\n[... 9000 characters cut ...]\nThe end."}, {"role": "user", "content": "Cancel my order 17."}, ` +
		`{"role": "assistant", "content": "It is cancelled."}]}` + "\n"
	l.Console.In = strings.NewReader(strings.Repeat(run, 3) + strings.Replace(run, `"tokens": {"in": 60000, "out": 1200}, `, "", 1))
	out, _ := l.Run(cli.ExitOK, "router", "agents")
	clitest.MustContain(t, out, "runs: 4, requests: 4", "cost of a run, shop, 3 runs")
	_, after, _ := strings.Cut(out, "with the expected session ")
	before, _, _ := strings.Cut(after, " (p90")
	if before < "1.00" || before > "2.50" {
		t.Errorf("error factor %s: the cut text is not counted\n%s", before, out)
	}
}
