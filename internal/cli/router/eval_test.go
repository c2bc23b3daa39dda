package router

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"fairlead.dev/internal/cli"
	"fairlead.dev/internal/cli/clitest"
)

// writeOutcomes writes the data of two sources. In both sources the strong model always succeeds, and the weak model fails on every
// third prompt.
func writeOutcomes(l *clitest.Lab) string {
	l.T.Helper()
	dir := l.T.TempDir()
	for _, source := range []string{"sums", "talk"} {
		var text strings.Builder
		for i := range 120 {
			weak, cost := 1, 0.01
			if i%3 == 0 {
				weak = 0
			}
			fmt.Fprintf(&text, `{"id": "%s/%d", "source": "%s", "prompt": "Question %d?", "scores": {"openai/gpt-4o": 1, "gpt-4o-mini": %d}, "costs": {"gpt-4o": %v, "gpt-4o-mini": 0.001}}`+"\n",
				source, i, source, i, weak, cost)
		}
		if err := os.WriteFile(filepath.Join(dir, source+".jsonl"), []byte(text.String()), 0o600); err != nil {
			l.T.Fatal(err)
		}
	}
	return dir
}

// writePredictions writes predictions that are right for the source sums and wrong for the source talk.
func writePredictions(l *clitest.Lab) string {
	var text strings.Builder
	for i := range 120 {
		lead := 0.1
		if i%3 == 0 {
			lead = 0.9
		}
		fmt.Fprintf(&text, `{"id": "sums/%d", "scores": {"gpt-4o": %v, "gpt-4o-mini": 0}}`+"\n", i, lead)
		fmt.Fprintf(&text, `{"id": "talk/%d", "scores": {"gpt-4o": %v, "gpt-4o-mini": 0}}`+"\n", i, -lead)
	}
	return l.File("predictions.jsonl", text.String())
}

func TestEvalOfGivenPredictions(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	dir, predictions := writeOutcomes(l), writePredictions(l)
	pairs := []string{"--pair", "sums:gpt-4o/gpt-4o-mini", "--pair", "talk:openai/gpt-4o/gpt-4o-mini", "--pair", "none:a/b"}
	out, err := l.Run(cli.ExitOK, append([]string{"router", "eval", dir, "--predictions", predictions}, pairs...)...)
	clitest.MustContain(t, out, "SOURCE", "sums", "talk", "pooled", "APGR")
	clitest.MustContain(t, err, "1 pair excluded")
	out, _ = l.Run(cli.ExitOK, append([]string{"router", "eval", dir, "--predictions", predictions, "--json"}, pairs...)...)
	report := clitest.Lines(t, out)[0]
	apgr := func(i int) float64 { return report["pairs"].([]any)[i].(map[string]any)["apgr"].(float64) }
	if apgr(0) < 0.8 || apgr(1) > 0.2 {
		t.Errorf("APGR of right predictions = %.3f, of wrong ones = %.3f; want at least 0.8 and at most 0.2", apgr(0), apgr(1))
	}
	if pooled := report["pooled"].(map[string]any)["apgr"].(float64); math.Abs(pooled-0.5) > 0.35 {
		t.Errorf("pooled APGR = %.3f, want about 0.5", pooled)
	}
}

func TestEvalUsesThePredictorByDefault(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	dir := writeOutcomes(l)
	out, _ := l.Run(cli.ExitOK, "router", "eval", filepath.Join(dir, "sums.jsonl"), "--pair", "sums:gpt-4o/gpt-4o-mini", "--json")
	pair := clitest.Lines(t, out)[0]["pairs"].([]any)[0].(map[string]any)
	if pair["prompts"] != 120.0 || math.Abs(pair["lead"].(float64)-1.0/3) > 1e-9 {
		t.Errorf("%v", pair)
	}
	again, _ := l.Run(cli.ExitOK, "router", "eval", filepath.Join(dir, "sums.jsonl"), "--pair", "sums:gpt-4o/gpt-4o-mini", "--json")
	if out != again {
		t.Error("a second evaluation has another result")
	}
	out, _ = l.Run(cli.ExitOK, "router", "eval", dir, "--pair", "sums:gpt-4o/gpt-4o-mini", "--models", "gpt-4o", "--json")
	if pair := clitest.Lines(t, out)[0]["pairs"].([]any)[0].(map[string]any); pair["skipped"] != true {
		t.Errorf("pair with a model that is not predicted: got %v, want skipped", pair)
	}
}

func TestEvalReportsInvalidInput(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	_, err := l.Run(cli.ExitUsage, "router", "eval")
	clitest.MustContain(t, err, "no data given")
	_, err = l.Run(cli.ExitFailed, "router", "eval", filepath.Join(l.Dir, "nowhere"))
	clitest.MustContain(t, err, "read the outcomes", "no such file")
	_, err = l.Run(cli.ExitFailed, "router", "eval", t.TempDir())
	clitest.MustContain(t, err, "contains no .jsonl files")
	_, err = l.Run(cli.ExitUsage, "router", "eval", writeOutcomes(l), "--pair", "sums")
	clitest.MustContain(t, err, `--pair "sums" does not have the form SOURCE:STRONG/WEAK`)
	_, err = l.Run(cli.ExitFailed, "router", "eval", l.File("bad.jsonl", `{"id": 1, "prompt": "x"}`))
	clitest.MustContain(t, err, `bad.jsonl: line 1: "source" or "scores" is missing`)
	_, err = l.Run(cli.ExitUsage, "router", "eval", writeOutcomes(l), "--models", "house-model")
	clitest.MustContain(t, err, "no data about the model")
}

// Auto is evaluated with the decisions of the gateway, at recorded costs or list prices.
func TestEvalOfAuto(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	dir := t.TempDir()
	var text strings.Builder
	for i := range 60 {
		fmt.Fprintf(&text, `{"id": "a/%d", "source": "swebench_verified", "prompt": "Question %d?", "scores": {"The Big One": %d, "small": %d}, "costs": {"The Big One": 0.5, "small": 0.01}}`+"\n", i, i, min(1, i%4), i%2)
		fmt.Fprintf(&text, `{"id": "b/%d", "source": "mmlu_pro", "prompt": "Question %d?", "scores": {"gpt-4o": %d, "gpt-4-1106-preview": %d}}`+"\n", i, i, min(1, i%4), i%2)
	}
	if err := os.WriteFile(filepath.Join(dir, "data.jsonl"), []byte(text.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	names := l.File("names.csv", "name,model\nThe big one,gpt-5\nsmall,gpt-5-nano\n")
	prices := l.File("prices.csv", "model,input_usd_per_mtok,output_usd_per_mtok\ngpt-4-1106-preview,10,30\n")
	out, _ := l.Run(cli.ExitOK, "router", "eval", dir, "--names", names, "--prices", prices)
	clitest.MustContain(t, out, "AUTO", "FIXED MIX", "swebench", "mmlu_pro", "CALIBRATION", "gpt-5-nano")
	out, _ = l.Run(cli.ExitOK, "router", "eval", dir, "--names", names, "--tradeoff", "0", "--json")
	results := clitest.Lines(t, out)[0]["auto"].([]any)
	if len(results) != 1 {
		t.Fatalf("got results %v, want 1: gpt-4-1106-preview has no price", results)
	}
	cheapest := results[0].(map[string]any)
	if quality := cheapest["auto"].(map[string]any)["quality"].(float64); cheapest["recorded_costs"] != true || math.Abs(quality-0.5) > 1e-9 {
		t.Errorf("%v", cheapest)
	}
	_, err := l.Run(cli.ExitUsage, "router", "eval", dir, "--tradeoff", "2")
	clitest.MustContain(t, err, "--tradeoff 2 is not between 0 and 1")
	_, err = l.Run(cli.ExitFailed, "router", "eval", dir, "--prices", names)
	clitest.MustContain(t, err, "line 1: wrong number of fields", "fix: write one line for each model")
}

func TestEvalOfBehaviourAndLengths(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	ask := func(role, content string) string {
		return fmt.Sprintf(`{"id": %q, "role": %q, "messages": [{"role": "user", "content": %q}]}`, content, role, content)
	}
	path := l.File("relations.jsonl", fmt.Sprintf(`{"id": "s", "relation": "same", "requests": [%s, %s]}`+"\n"+`{"id": "e", "relation": "easier", "requests": [%s, %s]}`,
		ask("a", "Write a SQL query for the three most recent orders of each customer."),
		ask("b", "Hi! Write a SQL query for the three most recent orders of each customer.\n\nThanks a lot in advance!"),
		ask("a", "hi"), ask("b", "Prove that every bounded monotone sequence converges, and derive a counterexample without completeness.")))
	out, _ := l.Run(cli.ExitOK, "router", "eval", "--behaviour", path, "--models", "gpt-5-nano,gpt-5-mini,gpt-5")
	clitest.MustContain(t, out, "BEHAVIOUR", "easier", "same", "100.0 %")
	data := l.File("lengths.jsonl", strings.Repeat(`{"id": "a", "source": "alpaca_eval", "prompt": "Give me some tips for a job interview.", "scores": {"gpt-4o": 1}, "out_chars": {"gpt-4o": 1720}}`+"\n", 3))
	out, _ = l.Run(cli.ExitOK, "router", "eval", data)
	clitest.MustContain(t, out, "LENGTHS", "output tokens")
}
