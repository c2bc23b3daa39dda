package token

import (
	"math"
	"slices"
)

// Vocabulary is what about a model decides how many tokens a prompt is for it.
type Vocabulary struct {
	model  Model
	family Family
	margin float64
	place  int // of the family
}

// Vocabulary is the model's own, or the nearest that is known.
func (m Model) Vocabulary() Vocabulary {
	family, margin := m.family()
	return Vocabulary{m, family, margin, slices.Index(families[:], family)}
}

// families are all that there are weights for.
var families = [...]Family{O200K, CL100K, Claude, Gemini, Llama3, Llama4, Tekken, Qwen, DeepSeek, Cohere}

// Meter estimates one prompt for many models as Model.Prompt does for one. Many share a vocabulary, and its text is measured
// once for each of these. The zero Meter measures nothing.
type Meter struct {
	prompt   Prompt
	features [Dims]float64
	sums     [len(families)]float64
	summed   [len(families)]bool
}

// NewMeter makes a meter of a prompt.
func NewMeter(p Prompt) Meter { return Meter{prompt: p, features: Features(p.Text)} }

// Prompt estimates the tokens of the prompt in a vocabulary; none has fewer than one.
func (m *Meter) Prompt(v *Vocabulary) int64 {
	return max(1, m.text(v)+v.model.beside(v.family, &m.prompt))
}

// text estimates the tokens of the text.
func (m *Meter) text(v *Vocabulary) int64 {
	if !m.summed[v.place] {
		m.sums[v.place], m.summed[v.place] = weighed(v.family, &m.features), true
	}
	return raised(m.sums[v.place], v.margin)
}

// weighed is the sum of the features times their weights.
func weighed(f Family, features *[Dims]float64) (sum float64) {
	for i, w := range weights[f] {
		sum += features[i] * w
	}
	return sum
}

func raised(sum, margin float64) int64 { return int64(math.Ceil(sum * margin)) }
