package feedback

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"fairlead.dev/internal/predict"
)

// Corrections are the ability corrections learned from a workspace's outcomes. They are immutable; nil means none.
type Corrections struct {
	Version   string            // hash of Abilities; empty without corrections
	Abilities map[string]*Shift // corrections by model
}

// Shift is the correction of one model.
type Shift struct {
	Base      []float64       `json:"base"`    // ability vector that the correction was computed from
	Corrected predict.Ability `json:"ability"` // corrected ability
	Ratings   int             `json:"ratings"` // number of outcomes it was computed from

	Tasks  map[predict.Task]float64          `json:"tasks,omitempty"` // additional change of the logit per task
	ByTask map[predict.Task]*predict.Ability `json:"-"`               // corrected abilities of the tasks in Tasks
}

// ability returns the corrected ability for a task.
func (s *Shift) ability(task predict.Task) *predict.Ability {
	if a := s.ByTask[task]; a != nil {
		return a
	}
	return &s.Corrected
}

// Ability returns the corrected ability of a model for a task, or base for a model without a correction. The result is shared and must not
// be changed. If base differs from the vector that the correction was computed from, the difference between the corrected and the original
// vector is added to base, provided that both have the same skills.
func (c *Corrections) Ability(model string, task predict.Task, base *predict.Ability) *predict.Ability {
	if c == nil || base == nil {
		return base
	}
	s, ok := c.Abilities[model]
	if !ok || len(s.Base) != len(base.Vector) {
		return base
	}
	if slices.Equal(s.Base, base.Vector) {
		return s.ability(task)
	}
	moved := *s.ability(task)
	corrected := moved.Vector
	moved.Vector = make([]float64, len(base.Vector))
	for i, v := range base.Vector {
		moved.Vector[i] = v + corrected[i] - s.Base[i]
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
		if s == nil || len(s.Base) == 0 && len(s.Tasks) > 0 || len(s.Base) != len(s.Corrected.Vector) {
			return nil, fmt.Errorf("decode corrections: incomplete correction of %s", model)
		}
	}
	return c, c.setVersion()
}

// setVersion computes the version of the corrections and prepares them for use.
func (c *Corrections) setVersion() error {
	c.Version = ""
	for _, s := range c.Abilities {
		s.ByTask = nil
		if len(s.Tasks) > 0 {
			s.ByTask = make(map[predict.Task]*predict.Ability, len(s.Tasks))
		}
		for task, shift := range s.Tasks {
			a := s.Corrected
			a.Vector = slices.Clone(a.Vector)
			a.Vector[0] += shift
			s.ByTask[task] = &a
		}
	}
	if len(c.Abilities) == 0 {
		return nil
	}
	body, err := c.Encode()
	sum := sha256.Sum256(body)
	c.Version = hex.EncodeToString(sum[:8])
	return err
}

// dayOf returns the start of the UTC day of t. The ages of ratings are computed relative to this time, so that corrections are stable
// within a day.
func dayOf(t time.Time) time.Time { return t.UTC().Truncate(24 * time.Hour) }
