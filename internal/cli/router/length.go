package router

import (
	"slices"

	"fairlead/internal/catalog"
	"fairlead/internal/llm"
	"fairlead/internal/predict/protocol"
)

const (
	constantOutput = 400 // output tokens that the expected lengths are compared with
	charsPerToken  = 4.3 // of responses in English
)

// lengths compares the expected output and cost of requests with recorded ones, for models that are known.
func (e *evaluation) lengths(prices map[string]*catalog.Price) []protocol.LengthResult {
	var results []protocol.LengthResult
	for _, source := range e.plan.Lengths {
		tokens, dollars := newLengthTally(source, "output tokens"), newLengthTally(source, "dollars")
		for i := range e.rows {
			row := &e.rows[i]
			if row.Source != source {
				continue
			}
			asked := e.prompts[row.ID]
			expected := float64(e.guess.roster.predictor.Features(asked.prompt).Output)
			for model, chars := range row.Chars {
				if e.guess.ability(model) != nil {
					tokens.add(expected, constantOutput, chars/charsPerToken)
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
					return price.Cost(llm.Usage{Input: asked.prompt.Tokens, Output: int64(output)}).Dollars()
				}
				dollars.add(of(expected), of(constantOutput), cost)
			}
		}
		for _, t := range []*lengthTally{tokens, dollars} {
			if len(t.expected) > 0 {
				results = append(results, t.result())
			}
		}
	}
	return results
}

// lengthTally collects error factors of a source.
type lengthTally struct {
	protocol.LengthResult
	constant, expected protocol.Factors
}

func newLengthTally(source, unit string) *lengthTally {
	return &lengthTally{LengthResult: protocol.LengthResult{Source: source, Unit: unit}}
}

func (t *lengthTally) add(expected, constant, real float64) {
	t.expected.Add(expected, real)
	t.constant.Add(constant, real)
}

func (t *lengthTally) result() protocol.LengthResult {
	t.Count, t.Constant, t.Expected = len(t.expected), t.constant.Error(), t.expected.Error()
	return t.LengthResult
}

// inLengths reports whether the plan compares the lengths of a source.
func (e *evaluation) inLengths(source string) bool { return slices.Contains(e.plan.Lengths, source) }
