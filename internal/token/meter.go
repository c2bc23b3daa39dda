package token

import (
	"math"
	"slices"

	"fairlead.dev/internal/catalog"
)

// Vocabulary holds the properties of a model that determine the token count of a prompt.
type Vocabulary struct {
	rule   catalog.TokenRule
	family Family
	index  int // index of the family in families
}

// Vocabulary returns the model's vocabulary, or the closest known one.
func (m Model) Vocabulary() Vocabulary {
	rule := catalog.TokenRuleFor(m.Vendor, m.Name)
	family := Family(rule.Vocabulary)
	return Vocabulary{rule, family, slices.Index(families[:], family)}
}

// families lists the families that have weights.
var families = [...]Family{O200K, CL100K, Claude, Gemini, Llama3, Llama4, Tekken, Qwen, DeepSeek, Cohere}

// Meter estimates the tokens of one prompt for many models, with the same results as Model.Prompt. It computes the weighted
// sum of the text once per vocabulary. The zero Meter is an empty prompt.
type Meter struct {
	prompt   Prompt
	features [Dims]float64
	sums     [len(families)]float64
	summed   [len(families)]bool
}

// NewMeter returns a meter for a prompt.
func NewMeter(p Prompt) Meter { return Meter{prompt: p, features: Features(p.Text)} }

// Prompt estimates the tokens of the prompt in a vocabulary, at least one.
func (m *Meter) Prompt(v *Vocabulary) int64 {
	if !m.summed[v.index] {
		m.sums[v.index], m.summed[v.index] = weightedSum(v.family, &m.features), true
	}
	return max(1, int64(math.Ceil(m.sums[v.index]*v.rule.Margin))+v.nonText(&m.prompt))
}

// weightedSum returns the sum of the features times their weights.
func weightedSum(f Family, features *[Dims]float64) (sum float64) {
	for i, w := range weights[f] {
		sum += features[i] * w
	}
	return sum
}
