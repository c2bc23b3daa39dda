// Package predict estimates the chance that a model answers a prompt well. A prompt becomes a Features, a short vector of
// the skills it asks for; a model is an Ability, a vector of the same length with an intercept; the chance is the
// logistic function of their product. Weights come from a small file inside the binary, learned by the scripts in train/.
// It performs no I/O and depends on nothing but the text.
package predict

import "math"

// Prompt is what of a request the predictor reads.
type Prompt struct {
	Text     string // what the user asks last, as far as it is text
	System   string // the instructions, where there are any
	Tools    bool   // the model may call tools
	Images   bool   // there are pictures to look at
	JSON     bool   // the answer must be JSON
	Messages int    // length of the conversation
	Tokens   int64  // of the whole request, about
}

// Features is what the predictor makes of a prompt. It is stored with the decision, so that the decision can be computed
// again without the text.
type Features struct {
	Task     Task      `json:"task"`
	Language string    `json:"language,omitempty"` // ISO 639-1, as far as the text tells
	Skills   []float64 `json:"skills"`             // rounded to thousandths, so that storing changes nothing
	Ease     float64   `json:"ease,omitempty"`     // how much easier it is than its kind, for every model alike
	Known    float64   `json:"known"`              // how much the prompt is like what was learned from, 0 to 1
}

// Ability is what a model can do.
type Ability struct {
	Vector []float64 `json:"vector"` // the intercept, then one weight for each skill
	Spread float64   `json:"spread"` // standard deviation of the logit: how unsure the vector itself is
	Source string    `json:"source"` // trained, benchmarks, prior, quality

	// Precision is how sure each part of a fitted vector is and how the parts depend on each other: the inverse of its
	// covariance, row by row, the lower half. Ratings are weighed against it. Chances do not need it, so it is not kept.
	Precision []float64 `json:"-"`
}

// Estimate is a chance with its uncertainty.
type Estimate struct {
	Chance float64 // that the answer is good, 0 to 1
	Spread float64 // one standard deviation of it
}

// Success is the chance that a model of this ability answers a prompt of this sketch well.
func Success(s *Features, a *Ability) Estimate {
	logit := s.Ease
	if len(a.Vector) > 0 {
		logit += a.Vector[0]
	}
	for i, z := range s.Skills {
		if i+1 < len(a.Vector) {
			logit += z * a.Vector[i+1]
		}
	}
	p := 1 / (1 + math.Exp(-logit))
	return Estimate{Chance: p, Spread: p * (1 - p) * a.Spread}
}
