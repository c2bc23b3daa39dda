package route

import (
	"cmp"
	"encoding/json"
	"time"

	"fairlead.dev/internal/predict"
)

// The methods below decode entries that were stored before fields and values were renamed. Each method decodes the former names in addition
// to the current names, which the embedded pointer provides.

// UnmarshalJSON implements json.Unmarshaler.
func (d *Decision) UnmarshalJSON(data []byte) error {
	type current Decision
	v := struct {
		*current
		Aim      QualityTarget `json:"aim"`
		HideText bool          `json:"hide_text"`
	}{current: (*current)(d)}
	if err := json.Unmarshal(data, &v); err != nil {
		return err
	}
	d.QualityTarget, d.OmitBodies = cmp.Or(d.QualityTarget, v.Aim), d.OmitBodies || v.HideText
	return nil
}

// UnmarshalJSON implements json.Unmarshaler.
func (q *QualityTarget) UnmarshalJSON(data []byte) error {
	type current QualityTarget
	v := struct {
		*current
		Chance float64 `json:"chance"`
	}{current: (*current)(q)}
	if err := json.Unmarshal(data, &v); err != nil {
		return err
	}
	q.Target = cmp.Or(q.Target, v.Chance)
	return nil
}

// UnmarshalJSON implements json.Unmarshaler.
func (c *Candidate) UnmarshalJSON(data []byte) error {
	type current Candidate
	v := struct {
		*current
		Warm CacheHit `json:"warm"`
	}{current: (*current)(c)}
	if err := json.Unmarshal(data, &v); err != nil {
		return err
	}
	c.Cache = cmp.Or(c.Cache, v.Warm)
	return nil
}

// UnmarshalJSON implements json.Unmarshaler.
func (s *Sighting) UnmarshalJSON(data []byte) error {
	type current Sighting
	v := struct {
		*current
		Warm CacheHit `json:"warm"`
	}{current: (*current)(s)}
	if err := json.Unmarshal(data, &v); err != nil {
		return err
	}
	s.Cache = cmp.Or(s.Cache, v.Warm)
	return nil
}

// UnmarshalJSON implements json.Unmarshaler.
func (s *State) UnmarshalJSON(data []byte) error {
	type current State
	v := struct {
		*current
		Resting time.Duration `json:"resting_ns"`
		Refused bool          `json:"refused"`
	}{current: (*current)(s)}
	if err := json.Unmarshal(data, &v); err != nil {
		return err
	}
	s.BackingOff, s.Rejected = cmp.Or(s.BackingOff, v.Resting), s.Rejected || v.Refused
	return nil
}

// UnmarshalJSON implements json.Unmarshaler.
func (s *Stay) UnmarshalJSON(data []byte) error {
	type current Stay
	v := struct {
		*current
		Else string `json:"else"`
	}{current: (*current)(s)}
	if err := json.Unmarshal(data, &v); err != nil {
		return err
	}
	s.Alternative = cmp.Or(s.Alternative, v.Else)
	return nil
}

// UnmarshalText implements encoding.TextUnmarshaler.
func (s *BaselineSource) UnmarshalText(text []byte) error {
	*s = BaselineSource(text)
	if *s == "priciest" {
		*s = BaselineMostExpensive
	}
	return nil
}

// UnmarshalJSON implements json.Unmarshaler.
func (in *Input) UnmarshalJSON(data []byte) error {
	type current Input
	v := struct {
		*current
		Sketch *predict.Features `json:"sketch"`
	}{current: (*current)(in)}
	if err := json.Unmarshal(data, &v); err != nil {
		return err
	}
	if v.Sketch != nil {
		in.Features = *v.Sketch
	}
	return nil
}
