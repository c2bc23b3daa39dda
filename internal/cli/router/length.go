package router

import (
	"maps"
	"slices"

	"fairlead.dev/internal/catalog"
	"fairlead.dev/internal/length"
	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/predict/protocol"
	"fairlead.dev/internal/requestlog"
	"fairlead.dev/internal/route"
)

const (
	constantOutput = 400 // output length in tokens that serves as the baseline for expected lengths
	charsPerToken  = 4.3 // characters per token in English responses
)

// lengths compares the expected output and cost of requests with the recorded values. It skips unknown models.
func (e *evaluation) lengths(prices map[string]*catalog.Price) []protocol.LengthResult {
	var results []protocol.LengthResult
	for _, source := range e.plan.Lengths {
		tokens, dollars := newLengthTally(source, "output tokens"), newLengthTally(source, "dollars")
		observed := length.NewTracker()
		for i := range e.rows {
			row := &e.rows[i]
			if row.Source != source {
				continue
			}
			parsed := e.prompts[row.ID]
			features := e.guess.roster.predictor.Features(parsed.prompt)
			correction := observed.Factors(source, features.Task).Visible
			expected := func(model string) expectation {
				raw := float64(features.Output)
				return expectation{constantOutput, raw, raw * orOne(correction) * orOne(observed.Model("recorded/"+model))}
			}
			outputs := map[string]float64{}
			for model, chars := range row.Chars {
				if e.guess.ability(model) != nil {
					outputs[model] = chars / charsPerToken
					tokens.add(expected(model), outputs[model])
				}
			}
			for model, cost := range row.Costs {
				price := prices[model]
				if price == nil {
					price = e.guess.roster.catalog.ListPrice(model)
				}
				if price == nil || e.guess.ability(model) == nil {
					continue
				}
				of := func(output float64) float64 {
					return price.Cost(llm.Usage{Input: parsed.prompt.Tokens, Output: int64(output)}).Dollars()
				}
				if perToken := (of(1e6) - of(0)) / 1e6; perToken > 0 && outputs[model] == 0 {
					outputs[model] = (cost - of(0)) / perToken
				}
				x := expected(model)
				dollars.add(expectation{of(x.constant), of(x.raw), of(x.corrected)}, cost)
			}
			if models := slices.Sorted(maps.Keys(outputs)); len(models) > 0 { // each request is served by one model, in rotation
				model := models[i%len(models)]
				observed.Observe(&requestlog.Entry{
					Owner: requestlog.Owner{WorkspaceID: source},
					Routing: requestlog.Routing{
						Provider: "recorded", Model: model,
						Decision: &route.Decision{Input: route.Input{Op: llm.Chat, ResponseOptions: route.ResponseOptions{Choices: 1}, Prediction: route.Prediction{Predictor: "recorded", Features: features}}},
					},
					Result: requestlog.Result{Outcome: requestlog.OK, Finish: "stop"},
					Charge: requestlog.Charge{Usage: llm.Usage{Output: int64(outputs[model])}},
				})
			}
		}
		for _, t := range []*lengthTally{tokens, dollars} {
			if len(t.expected) > 0 {
				t.Count, t.Constant, t.Expected, t.Corrected = len(t.expected), t.constant.Error(), t.expected.Error(), t.corrected.Error()
				results = append(results, t.LengthResult)
			}
		}
	}
	return results
}

func orOne(factor float64) float64 {
	if factor == 0 {
		return 1
	}
	return factor
}

// expectation holds an output or a cost under three assumptions about the length.
type expectation struct{ constant, raw, corrected float64 }

// lengthTally collects the error factors for a source.
type lengthTally struct {
	protocol.LengthResult
	constant, expected, corrected protocol.Factors
}

func newLengthTally(source, unit string) *lengthTally {
	return &lengthTally{LengthResult: protocol.LengthResult{Source: source, Unit: unit}}
}

func (t *lengthTally) add(x expectation, real float64) {
	t.constant.Add(x.constant, real)
	t.expected.Add(x.raw, real)
	t.corrected.Add(x.corrected, real)
}
