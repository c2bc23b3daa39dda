package feedback

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"time"

	"fairlead/internal/predict"
)

// Corrections are what a workspace's ratings make of the abilities of models. They are never changed once made; nil stands
// for none.
type Corrections struct {
	Version   string            // hash of the rest; empty when there is nothing to correct
	Abilities map[string]*Shift // by model
}

// Shift is the correction of one model.
type Shift struct {
	Base      []float64       `json:"base"`    // the vector it was computed from
	Corrected predict.Ability `json:"ability"` // what became of it
	Ratings   int             `json:"ratings"` // that it was computed from
}

// Ability is the model's ability with the correction, or base itself where there is none. The result is shared: it must
// not be changed. The correction moves with the base: when the caller's base is not the one it was computed from, the
// difference is added to it, unless the two do not speak of the same skills.
func (c *Corrections) Ability(model string, base *predict.Ability) *predict.Ability {
	if c == nil || base == nil {
		return base
	}
	s, ok := c.Abilities[model]
	if !ok || len(s.Base) != len(base.Vector) {
		return base
	}
	if slices.Equal(s.Base, base.Vector) {
		return &s.Corrected
	}
	moved := s.Corrected
	moved.Vector = make([]float64, len(base.Vector))
	for i, v := range base.Vector {
		moved.Vector[i] = v + s.Corrected.Vector[i] - s.Base[i]
	}
	return &moved
}

// Encode writes the corrections for keeping. Equal ones have equal bytes.
func (c *Corrections) Encode() ([]byte, error) {
	if c == nil {
		return []byte("{}"), nil
	}
	body, err := json.Marshal(c.Abilities) // keys come sorted
	if err != nil {
		return nil, fmt.Errorf("write corrections: %w", err)
	}
	return body, nil
}

// Decode reads what Encode wrote.
func Decode(body []byte) (*Corrections, error) {
	c := &Corrections{}
	if err := json.Unmarshal(body, &c.Abilities); err != nil {
		return nil, fmt.Errorf("read corrections: %w", err)
	}
	for model, s := range c.Abilities {
		if s == nil || len(s.Base) != len(s.Corrected.Vector) {
			return nil, fmt.Errorf("read corrections: that of %s is not whole", model)
		}
	}
	return c, c.seal()
}

// seal gives the corrections their version.
func (c *Corrections) seal() error {
	c.Version = ""
	if len(c.Abilities) == 0 {
		return nil
	}
	body, err := c.Encode()
	sum := sha256.Sum256(body)
	c.Version = hex.EncodeToString(sum[:8])
	return err
}

// decay weighs ratings by their age.
type decay struct {
	halfLife time.Duration
	today    time.Time // ages are counted to the beginning of the day, so that corrections stand still within one
}

// dayOf is the beginning of the day, in UTC, wherever the process runs.
func dayOf(t time.Time) time.Time { return t.UTC().Truncate(24 * time.Hour) }

func (d decay) weight(at time.Time) float64 {
	age := max(0, d.today.Sub(at))
	return math.Exp2(-float64(age) / float64(d.halfLife))
}

// labels are the ratings as the predictor learns from them.
func (d decay) labels(ratings []Rating) []predict.Label {
	all := make([]predict.Label, len(ratings))
	for i := range ratings {
		r := &ratings[i]
		all[i] = predict.Label{Skills: r.Skills, Score: r.Score, Weight: d.weight(r.Time)}
	}
	return all
}
