package replay

import (
	"testing"

	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/money"
	"fairlead.dev/internal/requestlog"
	"fairlead.dev/internal/route"
)

// A response of 1,500 tokens costs 0.0015 dollars with the small model, 0.006 with the middle model and 0.024 with the large model. Of
// 100 responses of the small model, about 2.5 fail the checks.
func TestBacktestPricesBothAttemptsOfACascade(t *testing.T) {
	t.Parallel()
	snap := trio(t)
	const verify = "policies: [{name: checked, verify: [tools]}]"
	seen := func(target string) route.State {
		if target == "east/small" || target == "west/small" {
			return route.State{Checked: 96}
		}
		return route.State{}
	}
	attempt := func(model string, check requestlog.CheckState, cost string) requestlog.Attempt {
		return requestlog.Attempt{Target: requestlog.Target{Provider: "east", Model: model}, Check: check, Cost: amount(cost)}
	}
	failure := 4 * (1 - qualityOf(0, 0.5)) / 100
	expected := func(first, second string) money.Amount {
		return amount(first).Add(money.Amount(failure * float64(*amount(second))))
	}
	for name, test := range map[string]struct {
		tradeoff      float64
		logged, draft string // policies of the logged request and of the draft
		attempts      []requestlog.Attempt
		want          money.Amount
	}{
		"checks of a request that the large model served": {1, "", verify, nil, expected("0.0015", "0.024")},
		"checks of a request that the small model served": {0, "", verify, nil, expected("0.0015", "0.006")},
		"the same checks, which the response passed": {
			1, verify, verify, []requestlog.Attempt{attempt("small", requestlog.CheckPassed, "0.0015")}, *amount("0.0015"),
		},
		"the same checks, which the response failed": {
			1, verify, verify, []requestlog.Attempt{attempt("small", requestlog.CheckFailed, "0.0015"), attempt("large", requestlog.CheckPassed, "0.024")}, *amount("0.0255"),
		},
		"no checks, the large model": {
			1, verify, "", []requestlog.Attempt{attempt("small", requestlog.CheckFailed, "0.0015"), attempt("large", requestlog.CheckPassed, "0.024")}, *amount("0.024"),
		},
		"no checks, the small model": {
			1, verify, "policies: [{name: cheap, pin: small}]",
			[]requestlog.Attempt{attempt("small", requestlog.CheckFailed, "0.0015"), attempt("large", requestlog.CheckPassed, "0.024")},
			*amount("0.0015"),
		},
		"no checks, another model": {
			1, verify, "policies: [{name: other, pin: middle}]",
			[]requestlog.Attempt{attempt("small", requestlog.CheckFailed, "0.0015"), attempt("large", requestlog.CheckPassed, "0.024")},
			*amount("0.006"),
		},
		"the response passed, then no checks": {
			1, verify, "", []requestlog.Attempt{attempt("small", requestlog.CheckPassed, "0.0015")}, *amount("0.024"),
		},
		"the next model did not respond, and the failed response was served": {
			1, verify, verify, []requestlog.Attempt{attempt("small", requestlog.CheckFailed, "0.0015"), {Target: requestlog.Target{Provider: "east", Model: "large"}, AttemptResult: requestlog.AttemptResult{Class: llm.Overloaded}}}, *amount("0.0015"),
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			in := asked(0, test.tradeoff)
			in.Needs = llm.Tools
			c := route.Conditions{State: seen}
			if test.logged != "" {
				c.Policies = parse(t, snap, test.logged)
			}
			e := logged(t, 0, in, snap, c)
			before := *e.Cost
			if n := len(test.attempts); n > 0 {
				e.Attempts, before = test.attempts, 0
				for i := range test.attempts {
					if a := &test.attempts[i]; a.Cost != nil {
						before = before.Add(*a.Cost)
						e.Model, e.Provider = a.Model, a.Provider
					}
				}
				e.Cost = &before
			}
			rules := Rules{Snapshot: snap}
			if test.draft != "" {
				rules.Policies = parse(t, snap, test.draft)
			}

			got := run(t, traffic{row(t, &e)}, Options{Live: Rules{Snapshot: snap}, Draft: &rules, Predictor: predictor}).Logged.Cost

			if difference := got.After.Sub(test.want); got.Priced != 1 || got.Before != before || difference > 1000 || difference < -1000 { // probabilities are rounded
				t.Errorf("cost changed from %s to %s for %d priced requests, want %s to %s",
					got.Before, got.After, got.Priced, before, test.want)
			}
		})
	}
}
