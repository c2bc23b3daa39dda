// Package predict estimates the probability that a model responds well to a prompt. A prompt becomes a Features
// value, a short vector of the skills it requires; a model is an Ability, a vector of the same length with an
// intercept; the success probability is the logistic function of their product. The weights come from a small file in
// the binary, trained by the scripts in train/. The package performs no I/O, and its results depend only on
// the prompt and the ability.
package predict

import "math"

// Prompt is the part of a request that the predictor reads.
type Prompt struct {
	Text     string // text of the last user message
	System   string // system instructions; may be empty
	Tools    bool   // whether the model may call tools
	Images   bool   // whether the prompt contains images
	JSON     bool   // whether the response must be JSON
	Messages int    // number of messages in the conversation
	Tokens   int64  // estimated length of the whole request, in tokens
}

// Features describes a prompt. The features are stored with the decision, so that the decision can be recomputed without the text.
type Features struct {
	Task     Task      `json:"task"`
	Language string    `json:"language,omitempty"` // language of the prompt as an ISO 639-1 code; empty if unknown
	Skills   []float64 `json:"skills"`             // skills that the prompt requires, rounded to thousandths so that storing them is lossless
	Ease     float64   `json:"ease,omitempty"`     // ease of the prompt for every model, in logits; negative for a demanding prompt
	Known    float64   `json:"known"`              // similarity to the training data, 0 to 1
	Output   int64     `json:"output,omitempty"`   // expected visible output tokens; 0 if unknown
}

// The sources of an ability.
const (
	FromTraining   = "trained"
	FromBenchmarks = "benchmarks"
	FromQuality    = "quality"
	FromPrior      = "prior"
)

// Ability describes the skills of a model.
type Ability struct {
	Vector []float64 `json:"vector"` // intercept, followed by one weight per skill
	Spread float64   `json:"spread"` // standard deviation of the logit due to uncertainty of the vector
	Source string    `json:"source"` // source of the ability: trained, benchmarks, prior or quality
	Mean   float64   `json:"mean"`   // mean success probability over general prompts; used to compare models regardless of the prompt

	// Records holds the number of recorded outcomes by family of a trained ability. It determines how much of the vector was measured.
	Records []float64 `json:"-"`

	// Precision is the inverse covariance of a fitted vector, the lower half in row-major order. It determines
	// how much ratings change the vector. It is not stored because success probabilities do not need it.
	Precision []float64 `json:"-"`
}

// Estimate is a success probability with its uncertainty.
type Estimate struct {
	Probability float64 // probability of a good response, 0 to 1
	Spread      float64 // standard deviation of the probability
}

// Success returns the probability that a model with the given ability responds well to the prompt.
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
	return Estimate{Probability: p, Spread: p * (1 - p) * math.Hypot(a.Spread, unknownSpread*(1-s.Known))}
}

// unknownSpread is an additional standard deviation of the logit for a prompt unlike the training data. It is the standard deviation of the
// difference between predicted and observed success, measured on sources without training data.
const unknownSpread = 0.8

// Shift returns the estimate with d added to the logit of the probability. The spread of the logit is unchanged.
func (e Estimate) Shift(d float64) Estimate {
	if d == 0 || e.Probability <= 0 || e.Probability >= 1 {
		return e
	}
	odds := e.Probability / (1 - e.Probability) * math.Exp(d)
	p := odds / (1 + odds)
	return Estimate{Probability: p, Spread: e.Spread * p * (1 - p) / (e.Probability * (1 - e.Probability))}
}
