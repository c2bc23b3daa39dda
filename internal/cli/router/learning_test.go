package router

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"fairlead.dev/internal/cli"
	"fairlead.dev/internal/cli/clitest"
)

// The recorded outcomes contradict the predictor: the model with the better prediction fails.
func TestLearningFindsThatThePredictorIsWrong(t *testing.T) {
	if testing.Short() {
		t.Skip("long computation: tested without the race detector")
	}
	t.Parallel()
	l := newLab(t)
	dir := t.TempDir()
	var text strings.Builder
	for i := range 240 {
		strong, weak := 0, 1
		if i%4 == 0 {
			strong, weak = 1, 0
		}
		fmt.Fprintf(&text, `{"id": "arc/%d", "source": "routerbench_arc", "group": "g%d", "prompt": "Which of the %d planets is warm?", "scores": {"gpt-4o": %d, "gpt-4o-mini": %d}, "costs": {"gpt-4o": 0.01, "gpt-4o-mini": 0.001}}`+"\n",
			i, i, i, strong, weak)
	}
	if err := os.WriteFile(filepath.Join(dir, "arc.jsonl"), []byte(text.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	out, _ := l.Run(cli.ExitOK, "router", "learning", dir, "--outcomes", "200", "--share", "0.2", "--runs", "1", "--compare", "--json")
	var pool map[string]any
	for _, r := range clitest.Lines(t, `{"pools":`+strings.TrimSpace(out)+`}`)[0]["pools"].([]any) {
		if p := r.(map[string]any); p["name"] == "routerbench" {
			pool = p
		}
	}
	if pool == nil || pool["runs"] != 1.0 || pool["models"] != 2.0 || pool["loss_worst"].(float64) > 0.01 {
		t.Errorf("%s", out)
	}
	out, _ = l.Run(cli.ExitOK, "router", "learning", dir, "--outcomes", "60", "--share", "0.5", "--runs", "1", "--drift", "--explore", "0.1")
	clitest.MustContain(t, out, "POOL", "routerbench", "WORST LOSS")
	recorded, _ := l.Run(cli.ExitOK, "router", "learning", dir, "--outcomes", "60", "--share", "0.5", "--runs", "1", "--json")
	without, _ := l.Run(cli.ExitOK, "router", "learning", dir, "--outcomes", "60", "--share", "0.5", "--runs", "1", "--unrecorded", "2", "--json")
	if recorded == without {
		t.Errorf("--unrecorded does not change the result: %s", without)
	}
	_, err := l.Run(cli.ExitUsage, "router", "learning")
	clitest.MustContain(t, err, "no data given")
}
