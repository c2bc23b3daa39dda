package route

import (
	"strings"
	"testing"

	"fairlead.dev/internal/catalog"
	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/money"
	"fairlead.dev/internal/policy"
	"fairlead.dev/internal/predict"
	"fairlead.dev/internal/provider"
)

// TestCascadeStartsWithACheaperModelIfItSaves uses a plan with the models mid, nano, small and best. The router chooses mid.
func TestCascadeStartsWithACheaperModelIfItSaves(t *testing.T) {
	t.Parallel()
	no := false
	for name, tc := range map[string]struct {
		change func(in *Input, v *policy.ResponseChecks, r *ranking)
		steps  string // steps of the cascade; empty for none
		plan   string
		cost   money.Amount
	}{
		// nano: 2 + 0.6*100 = 62, small: 10 + 0.4*100 = 50
		"the least expected cost": {nil, "small mid", "small mid nano best", 50},
		"observed failures": {func(_ *Input, _ *policy.ResponseChecks, r *ranking) {
			r.ready[2].Seen = State{Checked: 96, CheckFailed: 78.4} // (4*0.4+78.4)/100 = 0.8
		}, "nano mid", "nano mid small best", 62},
		"no cheaper model saves": {func(_ *Input, _ *policy.ResponseChecks, r *ranking) {
			for _, i := range []int{1, 2} {
				r.ready[i].Seen = State{Checked: 1000, CheckFailed: 999}
			}
		}, "mid best", "mid best nano small", 100 + 0.2*400},
		"the lowest latency":   {func(_ *Input, _ *policy.ResponseChecks, r *ranking) { r.objective.Name = "speed" }, "mid best", "mid best nano small", 180},
		"reasoning of a loop":  {func(_ *Input, _ *policy.ResponseChecks, r *ranking) { r.discards = 1 }, "mid best", "mid best nano small", 180},
		"a preference":         {func(_ *Input, _ *policy.ResponseChecks, r *ranking) { prefer(r, 1, 0, 1, 1) }, "nano mid", "nano mid small best", 62},
		"a preference is kept": {func(_ *Input, _ *policy.ResponseChecks, r *ranking) { prefer(r, 0, 1, 1, 1) }, "mid nano", "mid nano small best", 100 + 0.2*2 - 0.4},
		"a skipped preference": {func(_ *Input, _ *policy.ResponseChecks, r *ranking) {
			prefer(r, 1, 0, 2, 2)
			r.ready[0].Seen = State{Checked: 1000, CheckFailed: 1000}
		}, "mid small", "mid small nano best", 102},
		"no schema": {func(in *Input, _ *policy.ResponseChecks, _ *ranking) { in.Needs = 0 }, "", "mid nano small best", 0},
		"code": {func(in *Input, v *policy.ResponseChecks, _ *ranking) {
			in.Needs, v.Checks, in.Features.Task = 0, []string{"code"}, predict.Code
		}, "small mid", "small mid nano best", 50},
		"a hook":            {func(in *Input, v *policy.ResponseChecks, _ *ranking) { in.Needs, v.Checks = 0, []string{"hook"} }, "small mid", "small mid nano best", 50},
		"several responses": {func(in *Input, _ *policy.ResponseChecks, _ *ranking) { in.Choices = 2 }, "", "mid nano small best", 0},
		"a stream":          {func(in *Input, _ *policy.ResponseChecks, _ *ranking) { in.Stream = true }, "small mid", "small mid nano best", 50},
		"no streams":        {func(in *Input, v *policy.ResponseChecks, _ *ranking) { in.Stream, v.Streams = true, &no }, "", "mid nano small best", 0},
		"one model":         {func(_ *Input, _ *policy.ResponseChecks, r *ranking) { r.ready = r.ready[:1] }, "", "mid", 0},
		"no prices":         {func(_ *Input, _ *policy.ResponseChecks, r *ranking) { r.ready[0].target.Price = nil }, "", "mid nano small best", 0},
	} {
		v := &policy.ResponseChecks{Checks: []string{"schema", "tools"}}
		in := &Input{Op: llm.Chat, ResponseOptions: ResponseOptions{Choices: 1, Needs: llm.JSONSchema}, Model: "auto"}
		r := &ranking{in: in, rules: &rules{Outcome: policy.Outcome{Verify: policy.Setting[*policy.ResponseChecks]{Value: v, Policy: "checked"}}}}
		for _, m := range []struct {
			name    string
			cost    money.Amount
			quality float64
		}{{"mid", 100, 0.8}, {"nano", 2, 0.4}, {"small", 10, 0.6}, {"best", 400, 0.9}} {
			r.ready = append(r.ready, &candidate{
				Candidate: Candidate{Target: "p/" + m.name, Model: m.name, Scores: Scores{Quality: m.quality}},
				target:    &provider.Target{Price: &catalog.Price{}}, estimates: estimates{cost: m.cost}, scored: true,
			})
		}
		if tc.change != nil {
			tc.change(in, v, r)
		}
		c := r.cascade()
		var steps, plan []string
		cost := money.Amount(0)
		if c != nil {
			cost = c.Cost
			for _, s := range c.Steps {
				steps = append(steps, s.Model)
			}
		}
		for _, cand := range r.ready {
			plan = append(plan, cand.Model)
		}
		if got := strings.Join(steps, " "); got != tc.steps || strings.Join(plan, " ") != tc.plan || cost != tc.cost {
			t.Errorf("%s: cascade %q for %d, plan %v; want %q for %d, plan %q", name, got, cost, plan, tc.steps, tc.cost, tc.plan)
		}
	}
}

// prefer assigns the given preference ranks to mid, nano, small and best, and sorts these models by rank.
func prefer(r *ranking, ranks ...int) {
	var sorted []*candidate
	for rank := range 3 {
		for i, cand := range r.ready {
			if ranks[i] == rank {
				cand.preference = rank
				sorted = append(sorted, cand)
			}
		}
	}
	r.ready = sorted
}
