package cascade

import (
	"bufio"
	"encoding/json"
	"flag"
	"fmt"
	"hash/fnv"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"fairlead.dev/internal/catalog"
	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/money"
	"fairlead.dev/internal/policy"
	"fairlead.dev/internal/provider"
	"fairlead.dev/internal/route"
)

// data is a folder with recorded outcomes: one JSON object per line, with scores and costs by model.
var data = flag.String("data", "", "folder with recorded outcomes of models, such as bfcl.jsonl")

// outcome is a prompt with the score and the cost of each model.
type outcome struct {
	Group  string             `json:"group"`
	Scores map[string]float64 `json:"scores"`
	Costs  map[string]float64 `json:"costs"`
}

// passes reports whether the response of a model passes the check.
func (o *outcome) passes(model string) bool { return o.Scores[model] >= 0.5 }

// result is the outcome of one strategy over all prompts.
type result struct {
	passed int
	cost   float64
}

func (r result) String() string { return fmt.Sprintf("%d passed for $%.6f", r.passed, r.cost) }

// replayOutcomes routes prompts as the gateway does with the check hook, and returns the result of the cascade and of every single
// model. Model qualities are measured on the prompts of the training set.
func replayOutcomes(t *testing.T, prompts, training []outcome, prices map[string]float64) (cascade result, single map[string]result) {
	t.Helper()
	quality, single := map[string]float64{}, map[string]result{}
	p := &provider.Provider{Name: "recorded"}
	for _, model := range slices.Sorted(maps.Keys(prices)) {
		for i := range training {
			if training[i].passes(model) {
				quality[model] += 1 / float64(len(training))
			}
		}
		p.Targets = append(p.Targets, &provider.Target{
			Provider: p.Name, Upstream: model,
			Model: &catalog.Model{Name: model, Op: llm.Chat, Abilities: catalog.Common, Quality: quality[model], Context: 100_000, MaxOutput: 8000},
			Price: &catalog.Price{PerRequest: money.Amount(prices[model] * float64(money.Dollar)), Source: "recorded"},
		})
	}
	cat, err := catalog.Default()
	if err != nil {
		t.Fatal(err)
	}
	snap := route.NewSnapshot(cat, []*provider.Provider{p}, nil)
	policies, problems := policy.Parse("test", []byte(`policies: [{name: all, verify: {checks: [hook], hook: "https://example.com"}}]`), policy.Inventory{AllowUnknown: true})
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	checker := New(nil)
	checker.rates.now = func() time.Time { return time.Unix(0, 0) }
	seen := func(target string) (s route.State) {
		s.Checked, s.CheckFailed = checker.Observed("", "", target)
		return s
	}
	costOf := func(o *outcome, model string) float64 {
		if cost, ok := o.Costs[model]; ok {
			return cost
		}
		return prices[model]
	}
	for i := range prompts {
		o := &prompts[i]
		for model := range prices {
			r := single[model]
			if r.cost += costOf(o, model); o.passes(model) {
				r.passed++
			}
			single[model] = r
		}
		in := route.Input{Op: llm.Chat, Model: "auto:quality", Objective: route.Objective{Name: "quality", Tradeoff: 1}, ResponseOptions: route.ResponseOptions{Choices: 1}, PromptSize: route.PromptSize{InputTokens: 200}}
		d, err := route.Decide(&in, snap, route.Conditions{Policies: policies, State: seen})
		if err != nil {
			t.Fatal(err)
		}
		models := []string{d.Plan[0].Model.Name}
		if d.Cascade != nil && len(d.Cascade.Steps) > 1 {
			models = []string{d.Cascade.Steps[0].Model, d.Cascade.Steps[1].Model}
		}
		for _, model := range models {
			cascade.cost += costOf(o, model)
			checker.rates.add(rateKey{"", "", p.Name + "/" + model}, !o.passes(model))
			if o.passes(model) {
				cascade.passed++
				break
			}
		}
	}
	return cascade, single
}

// bestSingle returns the single model with the most passed checks. If several models are equal, it returns the cheapest.
func bestSingle(single map[string]result) (name string, r result) {
	for _, model := range slices.Sorted(maps.Keys(single)) {
		if s := single[model]; name == "" || s.passed > r.passed || s.passed == r.passed && s.cost < r.cost {
			name, r = model, s
		}
	}
	return name, r
}

// TestCascadeOnRecordedOutcomes measures the cascade on recorded outcomes. The check is the recorded score, as a hook would report it.
func TestCascadeOnRecordedOutcomes(t *testing.T) {
	t.Parallel()
	if *data == "" {
		t.Skip("a measurement on recorded outcomes, which are not part of the repository; run it with -data DIR")
	}
	// List prices of 2024 in dollars per million input and output tokens, for sources without recorded costs. A call in bfcl has about
	// 400 prompt tokens and 60 output tokens.
	listed := map[string][2]float64{
		"gpt-4-0125-preview": {10, 30}, "claude-3-5-sonnet-20240620": {3, 15}, "gpt-4o-mini-2024-07-18": {0.15, 0.6}, "gpt-3.5-turbo-0125-fc": {0.5, 1.5},
		"claude-3-haiku-20240307": {0.25, 1.25}, "gpt-4-1106-preview": {10, 30}, "gpt-3.5-turbo-1106": {1, 2}, "gemini-1.0-pro": {0.5, 1.5}, "mixtral-8x7b-instruct-v0.1": {0.6, 0.6},
	}
	for _, source := range []string{"bfcl", "routerbench_mbpp", "gemini_humaneval"} {
		prompts, training := readOutcomes(t, filepath.Join(*data, source+".jsonl"))
		prices := meanCosts(training)
		if len(prices) == 0 {
			for model, price := range listed {
				if _, ok := prompts[0].Scores[model]; ok {
					prices[model] = (400*price[0] + 60*price[1]) / 1e6
				}
			}
		}
		cascade, single := replayOutcomes(t, prompts, training, prices)
		name, best := bestSingle(single)
		t.Logf("%s, %d prompts: cascade %s; best single model %s %s; cost %+.0f %%, passed %+.1f points", source, len(prompts), cascade, name, best,
			100*(cascade.cost/best.cost-1), 100*float64(cascade.passed-best.passed)/float64(len(prompts)))
		if cascade.passed < best.passed || cascade.cost > 0.8*best.cost {
			t.Errorf("%s: cascade %s, best single model %s %s", source, cascade, name, best)
		}
	}
}

func meanCosts(rows []outcome) map[string]float64 {
	sums, counts := map[string]float64{}, map[string]float64{}
	for i := range rows {
		for model, cost := range rows[i].Costs {
			sums[model] += cost
			counts[model]++
		}
	}
	for model := range sums {
		sums[model] /= counts[model]
	}
	return sums
}

// readOutcomes reads a file of outcomes and splits its prompts into evaluation and training prompts. All prompts of a group are in the
// same part.
func readOutcomes(t *testing.T, file string) (prompts, training []outcome) {
	t.Helper()
	f, err := os.Open(file) //nolint:gosec // the person who runs the test chooses the file
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 16<<20)
	for lines.Scan() {
		var o outcome
		if err := json.Unmarshal(lines.Bytes(), &o); err != nil {
			t.Fatal(err)
		}
		h := fnv.New32a()
		_, _ = h.Write([]byte(o.Group))
		if h.Sum32()%2 == 0 {
			prompts = append(prompts, o)
		} else {
			training = append(training, o)
		}
	}
	if len(prompts) == 0 || len(training) == 0 {
		t.Fatalf("%s: %d prompts and %d training prompts, want both", strings.TrimSuffix(filepath.Base(file), ".jsonl"), len(prompts), len(training))
	}
	return prompts, training
}
