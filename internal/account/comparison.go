package account

import (
	"context"
	"errors"

	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/money"
)

// Comparison configures how routed responses are compared with the responses of a baseline model.
type Comparison struct {
	Share    float64      `json:"share"`             // share of routed requests that are also sent to the baseline model
	Holdout  float64      `json:"holdout,omitempty"` // share of routed requests that the baseline model serves
	Baseline string       `json:"baseline"`          // name of the baseline model
	Budget   money.Amount `json:"budget_usd"`        // monthly budget for all comparison calls
	Judge    string       `json:"judge,omitempty"`   // model that compares responses if the checks and the hook give no verdict; empty for none
	Hook     string       `json:"hook,omitempty"`    // URL that scores responses; empty for none
}

// maxHookURL is the maximum length of a hook URL.
const maxHookURL = 2000

// maxHoldout is the largest share of requests that the baseline model may serve.
const maxHoldout = 0.5

func (s *Service) checkComparison(ctx context.Context, c *Comparison) error {
	if c == nil {
		return nil
	}
	validModel := func(name string) bool { return len(name) <= maxModelName && !hasControl(name) }
	switch {
	case !(c.Share > 0 && c.Share <= 1):
		return invalid("settings.share", "The share must be above 0 and at most 1.")
	case !(c.Holdout >= 0 && c.Holdout <= maxHoldout):
		return invalid("settings.holdout", "The holdout share must be between 0 and %v.", maxHoldout)
	case c.Share+c.Holdout > 1:
		return invalid("settings.holdout", "The share and the holdout share must add up to at most 1.")
	case c.Baseline == "" || !validModel(c.Baseline):
		return invalid("settings.baseline", "A baseline model is required.")
	case !validModel(c.Judge):
		return invalid("settings.judge", "This is not a valid model name.")
	case c.Budget <= 0:
		return invalid("settings.budget_usd", "The monthly budget must be above 0.")
	}
	if c.Hook == "" {
		return nil
	}
	if len(c.Hook) > maxHookURL {
		return invalid("settings.hook", "The URL is too long.")
	}
	err := s.checkURL(ctx, c.Hook)
	if e, ok := errors.AsType[*llm.Error](err); ok {
		return invalid("settings.hook", "%s", e.Message)
	}
	return err
}
