package route

import (
	"slices"

	"fairlead.dev/internal/llm"
)

// Route is a name that a request may ask for instead of a model. The route auto always exists, with the default pool.
type Route struct {
	Name string `json:"name" yaml:"name"`
	// Pool lists the models that the route chooses among; empty for the default pool. A listed pool never changes by itself.
	Pool      []string `json:"pool,omitempty" yaml:"pool"`
	Tradeoff  *float64 `json:"tradeoff,omitempty" yaml:"tradeoff"`     // place on the dial from 0 (cheapest) to 1 (best); nil for the middle
	MinEffort string   `json:"min_effort,omitempty" yaml:"min_effort"` // lowest reasoning effort that the route may choose
	MaxEffort string   `json:"max_effort,omitempty" yaml:"max_effort"` // highest reasoning effort that the route may choose
	Shares    []Share  `json:"shares,omitempty" yaml:"shares"`         // fixed parts of the sessions
}

// Share sends a fixed part of the sessions of a route to a model.
type Share struct {
	Model   string  `json:"model" yaml:"model"`
	Percent float64 `json:"percent" yaml:"percent"`
}

// effortAllowed reports whether the route may choose an effort. Its limits are levels such as low and high.
func (t *Route) effortAllowed(level string) bool {
	if t == nil {
		return true
	}
	length := llm.EffortLength(level)
	return length >= llm.EffortLength(t.MinEffort) && (t.MaxEffort == "" || length <= llm.EffortLength(t.MaxEffort))
}

// shareModel returns the model that receives the session, or an empty string for the router's choice. draw is the session's place from 0
// to 1.
func (t *Route) shareModel(draw float64) string {
	if t == nil {
		return ""
	}
	for _, share := range t.Shares {
		if draw -= share.Percent / 100; draw < 0 {
			return share.Model
		}
	}
	return ""
}

// moveShare puts the model of the session's share first, if it can serve the request.
func (r *ranking) moveShare() {
	if model := r.in.Route.shareModel(r.in.Draw); model != "" && IsAuto(r.in.Model) {
		r.moveToFront(model)
	}
}

// moveToFront puts the available targets of a model before the others. It reports whether there are any.
func (r *ranking) moveToFront(model string) bool {
	if !slices.ContainsFunc(r.ready, func(cand *candidate) bool { return cand.Model == model }) {
		return false
	}
	slices.SortStableFunc(r.ready, func(a, b *candidate) int {
		switch {
		case a.Model == model && b.Model != model:
			return -1
		case a.Model != model && b.Model == model:
			return 1
		}
		return 0
	})
	return true
}
