package feedback

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"time"

	"fairlead.dev/internal/route/predict"
)

// Corrections are what a workspace learned about models from its outcomes. They are immutable; nil means none.
type Corrections struct {
	Version string                                // hash of Shifts; empty without corrections
	Shifts  map[string]map[predict.Family]float64 // changes of the abilities in logits, by model
}

// Shift returns the change of a model's ability in a task family, in logits.
func (c *Corrections) Shift(model string, task predict.Family) float64 {
	if c == nil {
		return 0
	}
	return c.Shifts[model][task]
}

// Encode returns the corrections as JSON for storage. Equal corrections have equal bytes.
func (c *Corrections) Encode() ([]byte, error) {
	if c == nil {
		return []byte("{}"), nil
	}
	body, err := json.Marshal(c.Shifts) // keys are sorted
	if err != nil {
		return nil, fmt.Errorf("encode corrections: %w", err)
	}
	return body, nil
}

// Decode parses the output of Encode.
func Decode(body []byte) (*Corrections, error) {
	c := &Corrections{}
	if err := json.Unmarshal(body, &c.Shifts); err != nil {
		return nil, fmt.Errorf("decode corrections: %w", err)
	}
	return c, c.setVersion()
}

// setVersion computes the version of the corrections.
func (c *Corrections) setVersion() error {
	c.Version = ""
	if len(c.Shifts) == 0 {
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
