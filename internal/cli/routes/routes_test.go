package routes

import (
	"testing"

	"go.uber.org/goleak"

	"fairlead.dev/internal/cli"
	"fairlead.dev/internal/cli/clitest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestRoutesCommands(t *testing.T) {
	t.Parallel()
	l := clitest.New(t, New).WithProviders()
	out, _ := l.Run(cli.ExitOK, "routes", "--json")
	auto := clitest.Lines(t, out)[0]
	pool := auto["pool"].([]any)
	if len(pool) == 0 || auto["name"] != "auto" {
		t.Fatalf("%v", auto)
	}
	model := pool[0].(map[string]any)["model"].(string)
	_, err := l.Run(cli.ExitOK, "routes", "set", "support", "--pool", model, "--share", model+"=5", "--tradeoff", "0.2")
	clitest.MustContain(t, err, "route support saved")
	out, _ = l.Run(cli.ExitOK, "routes", "show", "support")
	clitest.MustContain(t, out, "5 % of sessions go to "+model, "0.2 from 0", "pinned", "defined in the workspace")
	out, _ = l.Run(cli.ExitOK, "routes", "show", "auto")
	clitest.MustContain(t, out, model, "the cheapest", "computed from the connected accounts")
	_, err = l.Run(cli.ExitUsage, "routes", "set", "support", "--pool", "no-such-model-anywhere")
	clitest.MustContain(t, err, `unknown model "no-such-model-anywhere"`)
	_, err = l.Run(cli.ExitUsage, "routes", "set", "support", "--share", "half")
	clitest.MustContain(t, err, "--share MODEL=PERCENT")
	l.Run(cli.ExitOK, "routes", "delete", "support")
	_, err = l.Run(cli.ExitFailed, "routes", "delete", "support")
	clitest.MustContain(t, err, `route "support" not found`)
}
