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
	// FeedbackOfAll returns the ratings and signals of requests. It omits requests without any.
	FeedbackOfAll(ctx context.Context, workspaceID string, requestIDs []string) (map[string][]feedback.Rating, error)
}

// Measured compares the quality of two sets of choices on rated requests. The estimates are doubly robust: the predicted quality of a
// choice is corrected by the difference between rating and prediction. The weight of this correction is the probability of the rated
// model in the set of choices, divided by its probability in the log. The estimates are correct if the recorded probabilities are
// correct, even if the predictions are wrong.
type Measured struct {
	Requests  int64           `json:"requests"`         // rated requests with a prediction for all models that could be chosen
	Before    *proof.Estimate `json:"before,omitempty"` // mean quality; nil for too few requests
	After     *proof.Estimate `json:"after,omitempty"`  // mean quality
	Change    *proof.Estimate `json:"change,omitempty"` // mean of the differences
	Overlap   float64         `json:"overlap"`          // share of the choices that the logged decisions could have made
	Effective float64         `json:"effective"`        // effective sample size: number of equally weighted ratings with the same information
	Warning   string          `json:"warning,omitempty"`
}

// Bounds below which a measured quality has a warning.
const (
	minOverlap   = 0.9
	minEffective = 100
)

// chances are the probabilities with which a decision chooses each model, in the order of the candidates. They sum to 1.
type chances []chance

type chance struct {
	model       string
	probability float64
}

// add adds to the probability of a model.
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
		return nil, nil //nolint:nilnil // no request is rated
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

// evidence is a rated request with the predictions for the models that its decisions could choose.
type evidence struct {
	model   string             // model that was chosen and responded
	quality float64            // measured quality of the model
	logged  chances            // probabilities in the logged decision
	predict map[string]float64 // predicted quality by model
}

// value returns the doubly robust estimate of the quality of the request with other choice probabilities, and the weight of the rating.
func (e *evidence) value(of chances) (value, weight float64) {
	for _, c := range of {
		value += c.probability * e.predict[c.model]
	}
	weight = of.of(e.model) / e.logged.of(e.model)
	return value + weight*(e.quality-e.predict[e.model]), weight
}

// knows reports whether all models in the list have a prediction.
func (e *evidence) knows(of chances) bool {
	for _, c := range of {
		if _, ok := e.predict[c.model]; !ok {
			return false
		}
	}
	return true
}

// measured sums evidence.
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

// report returns the estimates, or nil without evidence.
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
		r.Warning = fmt.Sprintf("The ratings are worth only %.0f equally weighted ones. Collect more ratings or explore more.", r.Effective)
	}
	return r
}

// anytime returns the mean with an interval that stays valid when the backtest is repeated on a growing log.
func (m *mean) anytime() *proof.Estimate {
	return new(proof.Asymptotic(m.n, m.average, m.squares/float64(m.n-1)))
}
