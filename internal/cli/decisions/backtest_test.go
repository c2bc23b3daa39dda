package decisions

import (
	"context"
	"testing"
	"time"

	"fairlead.dev/internal/cli"
	"fairlead.dev/internal/cli/clitest"
	"fairlead.dev/internal/money"
	"fairlead.dev/internal/replay"
	"fairlead.dev/internal/route"
)

func report0() *replay.Report {
	half, more := 0.71, 0.93
	change := replay.Change{
		RequestID: clitest.RequestID(clitest.Noon, 7), Time: clitest.Noon, From: "provider-x/small-b", To: "provider-y/large-a", CostBefore: clitest.Nano(310_000), CostAfter: clitest.Nano(9_410_000),
		SuccessBefore: &half, SuccessAfter: &more, Policy: "better",
	}
	moved := change
	moved.To, moved.CostAfter, moved.SuccessAfter, moved.Policy = "provider-z/gone", nil, nil, ""
	logged := replay.Comparison{
		Changed: 320, Moved: 12, Unchanged: 870, Accepted: 3,
		Rejected: []replay.Rejection{{Code: "POLICY_REJECTED", Policy: "no-code", Requests: 20}, {Code: "NO_ROUTE", Requests: 2}},
		Routes: []replay.Flow{
			{From: "small-b", To: "large-a", Requests: 300, Priced: 290, Change: 2_730_000_000},
			{From: "large-a", To: "", Requests: 20},
			{From: replay.Others, To: replay.Others, Requests: 5, Priced: 5, Change: -1_000_000},
		},
		Cost:    replay.Costs{Priced: 1190, Coverage: 0.982, Before: 41_200_000_000, After: 30_100_000_000, Change: -11_100_000_000, Baseline: new(money.Amount(118_020_000_000)), Based: 1100},
		Quality: replay.Quality{Requests: 1202, Before: 0.871, After: 0.868, Change: -0.003, Low: -0.0041, High: -0.0019},
		ByCost:  []replay.Change{change}, ByQuality: []replay.Change{change, moved},
	}
	live := replay.Comparison{Unchanged: 1227}
	return &replay.Report{
		From: clitest.Noon.Add(-7 * 24 * time.Hour), To: clitest.Noon, Considered: 1500, Decided: 1227, Limited: true,
		Skipped: []replay.Skip{{Reason: replay.Explicit, Words: replay.Explicit.Words(), Requests: 270}, {Reason: replay.NoTrace, Words: replay.NoTrace.Words(), Requests: 3}},
		Draft:   replay.RuleSet{Versions: route.Versions{Policy: "57ff86d50bba"}, Objective: &route.Objective{Name: "number", Tradeoff: 0.7}},
		Live:    replay.RuleSet{Versions: route.Versions{Policy: "0123456789ab"}},
		Logged:  logged, InLive: &live,
		Policies: []replay.PolicyFigures{{Name: "better", Matched: 400, Decided: 300, Priced: 290, Saved: -2_730_000_000}, {Name: "no-code", Matched: 20, Denied: 20}},
	}
}

func TestReportOfABacktest(t *testing.T) {
	t.Parallel()
	p := &backtestPage{Page: cli.Page{Width: 120}, at: func(t time.Time) string { return t.Format(cli.FullTime) }}
	p.report(report0())
	clitest.Golden(t, "backtest.txt", p.String())
}

// traffic stores requests with times within the last week of the lab's clock.
func traffic(l *clitest.Lab) {
	l.StoreDecided(nil, "Write a haiku about the sea.", "What is 17 times 23?", "Hello there", "Translate into French: good night", "Name a capital.")
}

func TestBacktestOfTheStoredTraffic(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	traffic(l)
	draft := l.File("draft.yaml", "policies:\n  - name: best\n    pin: sim-flagship\n")

	out, _ := l.Run(cli.ExitOK, "backtest", "--since", "2d")
	clitest.MustContain(t, out, "5 requests from", "5 of them re-run", "the active policies", "0 (0.0 %) use another model", "known for 100.0 % of requests")

	out, _ = l.Run(cli.ExitOK, "backtest", "--policies", draft, "--json")
	got := clitest.Lines(t, out)[0]
	versus := got["versus_logged"].(map[string]any)
	if got["decided"] != 5.0 || versus["changed"] != 5.0 || got["versus_live"] == nil || versus["cost"].(map[string]any)["coverage"] != 1.0 {
		t.Errorf("%v", got)
	}
	hits := got["policies"].([]any)[0].(map[string]any)
	if hits["name"] != "best" || hits["matched"] != 5.0 || hits["decided"] != 5.0 {
		t.Errorf("%v", hits)
	}

	out, _ = l.Run(cli.ExitOK, "backtest", "--objective", "cost", "--limit", "2")
	clitest.MustContain(t, out, "2 requests from", "older requests were not included", "the active policies, objective cost")

	out, _ = l.Run(cli.ExitOK, "backtest", "--key", "nobody")
	clitest.MustContain(t, out, "No requests match.")
}

func TestBacktestRejectsInvalidInput(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name string
		args []string
		want string
	}{
		{"objective", []string{"--objective", "fun"}, `--objective: "fun" is not an objective`},
		{"number", []string{"--objective", "1.5"}, `--objective: "1.5" is not an objective`},
		{"since", []string{"--since", "yesterdayish"}, `error: --since: invalid time "yesterdayish"`},
		{"from", []string{"--from", "yesterdayish"}, `error: --from: invalid time "yesterdayish"`},
		{"both ends", []string{"--since", "1d", "--from", "now-2d"}, "both --since and --from are given"},
		{"limit", []string{"--limit", "-1"}, "--limit: -1 is out of range"},
		{"order", []string{"--since", "1d", "--until", "2d"}, "error: --until: the end is before the start\n"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			_, err := newLab(t).Run(cli.ExitUsage, append([]string{"backtest"}, test.args...)...)
			clitest.MustContain(t, err, test.want)
		})
	}
}

func TestInterruptedBacktestIsReported(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	traffic(l)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := l.RunContext(ctx, cli.ExitInterrupted, "backtest")
	clitest.MustContain(t, err, "interrupted")
}
