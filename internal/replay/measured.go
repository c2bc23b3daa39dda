package replay

import (
	"context"
	"fmt"
	"slices"

	"fairlead.dev/internal/feedback"
	"fairlead.dev/internal/proof"
)

// Ratings reads the ratings of requests.
type Ratings interface {
	// FeedbackOfAll returns the ratings and signals of the given requests by request ID. It omits requests without ratings and signals.
	FeedbackOfAll(ctx context.Context, workspaceID string, requestIDs []string) (map[string][]feedback.Rating, error)
}

// Measured compares the quality of two sets of choices on rated requests. The estimates are doubly robust: the predicted quality of a
// choice is corrected with the difference between rating and prediction. The weight of this correction is the probability of the rated
// model in the set of choices, divided by its probability in the log. The estimates are correct if the recorded probabilities are correct,
// even if the predictions are wrong.
type Measured struct {
	Requests  int64           `json:"requests"`         // number of rated requests with a prediction for all models that could be chosen
	Before    *proof.Estimate `json:"before,omitempty"` // mean quality before the change; nil for too few requests
	After     *proof.Estimate `json:"after,omitempty"`  // mean quality after the change; nil for too few requests
	Change    *proof.Estimate `json:"change,omitempty"` // mean of the differences between after and before; nil for too few requests
	Overlap   float64         `json:"overlap"`          // share of the new choices that the logged decisions could also have made
	Effective float64         `json:"effective"`        // effective sample size: number of equally weighted ratings with the same information
	Warning   string          `json:"warning,omitempty"`
}

// Thresholds below which a Measured contains a warning.
const (
	minOverlap   = 0.9
	minEffective = 100
)

// chances lists the probability with which a decision chooses each model, in the order of the candidates. The probabilities sum to 1.
type chances []chance

type chance struct {
	model       string
	probability float64
}

// add increases the probability of a model.
func (c *chances) add(model string, probability float64) {
	if i := slices.IndexFunc(*c, func(one chance) bool { return one.model == model }); i >= 0 {
		(*c)[i].probability += probability
		return
	}
	*c = append(*c, chance{model, probability})
}

// complete sets the probability of the chosen model to 1 if the decision recorded no probabilities.
func (c *chances) complete(chosen string) {
	if len(*c) == 0 {
		*c = chances{{chosen, 1}}
	}
}

// of returns the probability of a model.
func (c chances) of(model string) float64 {
	for _, one := range c {
		if one.model == model {
			return one.probability
		}
	}
	return 0
}

// outcome is the measured quality of a response.
type outcome struct {
	model   string // model that responded
	quality float64
}

// outcomes reads the mean rating of each rated request. Signals and verdicts of comparisons are not ratings.
func outcomes(ctx context.Context, source Ratings, workspaceID string, rows []Row) (map[string]outcome, error) {
	if source == nil || len(rows) == 0 {
		return nil, nil //nolint:nilnil // a nil result means that no request is rated
	}
	ids := make([]string, len(rows))
	for i := range rows {
		ids[i] = rows[i].ID
	}
	ratings, err := source.FeedbackOfAll(ctx, workspaceID, ids)
	if err != nil {
		return nil, fmt.Errorf("read ratings: %w", err)
	}
	found := make(map[string]outcome, len(ratings))
	for id, list := range ratings {
		var sum float64
		var n int
		var model string
		for i := range list {
			if list[i].Source.IsRating() {
				sum += list[i].Score
				model = list[i].Model
				n++
			}
		}
		if n > 0 {
			found[id] = outcome{model, sum / float64(n)}
		}
	}
	return found, nil
}

// evidence is a rated request with predictions for the models that its decisions could choose.
type evidence struct {
	model   string             // model that was chosen and responded
	quality float64            // measured quality of the model
	logged  chances            // probabilities in the logged decision
	predict map[string]float64 // predicted qualities by model
}

// value returns the doubly robust quality estimate for the request under the given choice probabilities, and the weight of the rating.
func (e *evidence) value(choices chances) (value, weight float64) {
	for _, c := range choices {
		value += c.probability * e.predict[c.model]
	}
	weight = choices.of(e.model) / e.logged.of(e.model)
	return value + weight*(e.quality-e.predict[e.model]), weight
}

// knows reports whether there is a prediction for all models in choices.
func (e *evidence) knows(choices chances) bool {
	for _, c := range choices {
		if _, ok := e.predict[c.model]; !ok {
			return false
		}
	}
	return true
}

// measured accumulates the evidence of rated requests.
type measured struct {
	before, after, change mean
	overlap               float64
	weights, squares      float64
}

func (m *measured) add(e *evidence, from, to chances) {
	if e == nil || len(from) == 0 || len(to) == 0 || !e.knows(from) || !e.knows(to) {
		return
	}
	before, _ := e.value(from)
	after, weight := e.value(to)
	m.before.add(before)
	m.after.add(after)
	m.change.add(after - before)
	m.weights += weight
	m.squares += weight * weight
	for _, c := range to {
		if e.logged.of(c.model) > 0 {
			m.overlap += c.probability
		}
	}
}

// report returns the estimates, or nil if there is no evidence.
func (m *measured) report() *Measured {
	if m.change.n == 0 {
		return nil
	}
	r := &Measured{Requests: m.change.n, Overlap: m.overlap / float64(m.change.n)}
	if m.squares > 0 {
		r.Effective = m.weights * m.weights / m.squares
	}
	if m.change.n < proof.MinSamples {
		r.Warning = fmt.Sprintf("Only %d rated requests. Estimates need at least %d.", m.change.n, proof.MinSamples)
		return r
	}
	r.Before, r.After, r.Change = m.before.anytime(), m.after.anytime(), m.change.anytime()
	switch {
	case r.Overlap < minOverlap:
		r.Warning = fmt.Sprintf("The logged decisions could have made only %.0f %% of these choices. The estimate for the others is a prediction. Enable exploration to measure them.", 100*r.Overlap)
	case r.Effective < minEffective:
		r.Warning = fmt.Sprintf("The ratings have the statistical weight of only %.0f equally weighted ratings. Collect more ratings or explore more.", r.Effective)
	}
	return r
}

// anytime returns the mean with an interval that is valid even if the backtest is repeated on a growing log.
func (m *mean) anytime() *proof.Estimate {
	return new(proof.Asymptotic(m.n, m.average, m.squares/float64(m.n-1)))
}
