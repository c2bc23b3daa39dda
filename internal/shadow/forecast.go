package shadow

import (
	"math"

	"fairlead.dev/internal/account"
	"fairlead.dev/internal/catalog"
	"fairlead.dev/internal/money"
	"fairlead.dev/internal/proof"
	"fairlead.dev/internal/route"
)

const (
	// forecastDays is the number of days in a forecast month.
	forecastDays = 30
	// judgeTokens is the length of a judge's instructions in tokens, and answerTokens the length of its answer.
	judgeTokens, answerTokens = 350, 60
)

// Forecast returns the expected monthly cost of comparisons with the given settings. It is a high estimate: it counts two judge
// calls for every comparison, although some comparisons are decided by checks.
func Forecast(snap *route.Snapshot, t proof.Traffic, s *account.Comparison) proof.Forecast {
	f := proof.Forecast{Traffic: t}
	if t.Days <= 0 || t.Served == 0 {
		return f
	}
	input, output := t.InputTokens/t.Served, t.OutputTokens/t.Served
	samples := float64(t.Routed) / t.Days * forecastDays * min(s.Share+s.Holdout, 1)
	f.Samples = int64(math.Round(samples))
	cost := func(price *catalog.Price, input, output int64) money.Amount {
		if price == nil {
			f.Unpriced = true
			return 0
		}
		each := price.Input.Cost(input).Add(price.Output.Cost(output))
		return money.Amount(math.Round(float64(each) * samples))
	}
	f.Shadow = cost(snap.Price(snap.Canonical(s.Baseline)), input, output)
	if s.Judge != "" {
		f.Judge = cost(snap.Price(snap.Canonical(s.Judge)), 2*(judgeTokens+input+2*output), 2*answerTokens)
	}
	f.Total = min(f.Shadow.Add(f.Judge), s.Budget)
	f.Exceeds = f.Shadow.Add(f.Judge) > s.Budget
	return f
}
