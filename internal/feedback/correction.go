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
	"fairlead/internal/predict/ability"
)

// Corrections are the ability corrections derived from a workspace's ratings. They are immutable; nil means none.
type Corrections struct {
	Version   string            // hash of Abilities; empty without corrections
	Abilities map[string]*Shift // by model
}

// Shift is the correction of one model.
type Shift struct {
	Base      []float64       `json:"base"`    // ability vector that the correction was computed from
	Corrected predict.Ability `json:"ability"` // corrected ability
	Ratings   int             `json:"ratings"` // number of ratings it was computed from
}

// Ability returns the corrected ability of a model, or base for a model without a correction. The result is shared and must not be
// changed. If base differs from the vector that the correction was computed from, the difference between the corrected and the
// original vector is added to base, provided that both have the same skills.
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

// Encode returns the corrections as JSON for storage. Equal corrections have equal bytes.
func (c *Corrections) Encode() ([]byte, error) {
	if c == nil {
		return []byte("{}"), nil
	}
	body, err := json.Marshal(c.Abilities) // keys are sorted
	if err != nil {
		return nil, fmt.Errorf("encode corrections: %w", err)
	}
	return body, nil
}

// Decode parses the output of Encode.
func Decode(body []byte) (*Corrections, error) {
	c := &Corrections{}
	if err := json.Unmarshal(body, &c.Abilities); err != nil {
		return nil, fmt.Errorf("decode corrections: %w", err)
	}
	for model, s := range c.Abilities {
		if s == nil || len(s.Base) != len(s.Corrected.Vector) {
			return nil, fmt.Errorf("decode corrections: incomplete correction of %s", model)
		}
	}
	return c, c.setVersion()
}

// setVersion computes the version of the corrections.
func (c *Corrections) setVersion() error {
	c.Version = ""
	if len(c.Abilities) == 0 {
		return nil
	}
	body, err := c.Encode()
	sum := sha256.Sum256(body)
	c.Version = hex.EncodeToString(sum[:8])
	return err
}

// decay weights ratings by age.
type decay struct {
	halfLife time.Duration
	today    time.Time // day to which ages are computed, so that corrections are stable within a day
}

// dayOf returns the start of the UTC day of t.
func dayOf(t time.Time) time.Time { return t.UTC().Truncate(24 * time.Hour) }

func (d decay) weight(at time.Time) float64 {
	age := max(0, d.today.Sub(at))
	return math.Exp2(-float64(age) / float64(d.halfLife))
}

// labels converts ratings to labels for fitting abilities.
func (d decay) labels(ratings []Rating) []ability.Label {
	all := make([]ability.Label, len(ratings))
	for i := range ratings {
		r := &ratings[i]
		all[i] = ability.Label{Skills: r.Skills, Score: r.Score, Weight: d.weight(r.Time)}
	}
	return all
}
