// Package policy defines the rules that restrict, prefer, pin or reject models. A Set is parsed from YAML once, and problems are
// reported with line and column. A Set is evaluated for each request. The evaluation is a pure function of Facts, so that a
// stored decision can be recomputed. Package route applies the effects to the choice of targets.
package policy

import (
	"errors"
	"strings"
	"time"

	"fairlead.dev/internal/money"
)

// Policy is one rule as written by a user. It has at least one effect. deny cannot be combined with other effects.
type Policy struct {
	Name          string        `json:"name" yaml:"name"`
	Description   string        `json:"description,omitempty" yaml:"description,omitempty"`
	Enabled       *bool         `json:"enabled,omitempty" yaml:"enabled,omitempty"` // whether the policy is active; nil means true
	When          string        `json:"when,omitempty" yaml:"when,omitempty"`       // condition in CEL; empty means always
	Deny          string        `json:"deny,omitempty" yaml:"deny,omitempty"`       // message to the caller
	Pin           string        `json:"pin,omitempty" yaml:"pin,omitempty"`         // model or provider/model
	Allow         *Selector     `json:"allow,omitempty" yaml:"allow,omitempty"`
	Exclude       *Selector     `json:"exclude,omitempty" yaml:"exclude,omitempty"`
	Prefer        []string      `json:"prefer,omitempty" yaml:"prefer,omitempty"`       // patterns of preferred models, best first
	Objective     string        `json:"objective,omitempty" yaml:"objective,omitempty"` // cost, quality, speed, or 0 to 1
	MaxCost       money.Amount  `json:"max_cost_usd,omitempty" yaml:"max_cost_usd,omitempty"`
	MaxOutput     int64         `json:"max_output_tokens,omitempty" yaml:"max_output_tokens,omitempty"`
	MaxEscalation *int64        `json:"max_escalation,omitempty" yaml:"max_escalation,omitempty"` // maximum number of escalation steps; 0 disables escalation, nil sets no limit
	SessionBudget *SessionLimit `json:"session_budget,omitempty" yaml:"session_budget,omitempty"`
	Baseline      string        `json:"baseline,omitempty" yaml:"baseline,omitempty"`     // baseline model
	LogBodies     *bool         `json:"log_bodies,omitempty" yaml:"log_bodies,omitempty"` // whether bodies may be stored; nil or false, because a policy can only disable it
	ResponseCache *CacheAge     `json:"response_cache,omitempty" yaml:"response_cache,omitempty"`
	CacheMarks    *bool         `json:"cache_marks,omitempty" yaml:"cache_marks,omitempty"` // whether the gateway may set prompt-cache marks; nil or false, because a policy can only disable it
}

// Active reports whether the policy is enabled.
func (p *Policy) Active() bool { return p.Enabled == nil || *p.Enabled }

// SessionLimit is the budget of each session.
type SessionLimit struct {
	Amount      money.Amount `json:"amount_usd" yaml:"amount_usd"`
	WarnPercent int64        `json:"warn_percent,omitempty" yaml:"warn_percent,omitempty"` // percentage of the budget that triggers a warning and the downgrade; 0 for no warning and a downgrade at session.DowngradePercent
	Downgrade   bool         `json:"downgrade,omitempty" yaml:"downgrade,omitempty"`       // whether chat requests are served by auto:cost once WarnPercent of the budget is spent
}

// Selector selects targets by model, provider and tag patterns. A pattern is a name, or a prefix followed by a star. A model pattern may
// also have the form provider/model.
type Selector struct {
	Models    []string `json:"models,omitempty" yaml:"models,omitempty"`
	Providers []string `json:"providers,omitempty" yaml:"providers,omitempty"`
	Tags      []string `json:"tags,omitempty" yaml:"tags,omitempty"`
}

// CacheAge is the maximum age of a cached response. 0 disables the response cache. The text form is a duration or off.
type CacheAge time.Duration

// String returns a string that ParseCacheAge accepts.
func (a CacheAge) String() string {
	if a == 0 {
		return "off"
	}
	text := time.Duration(a).String()
	if short, ok := strings.CutSuffix(text, "m0s"); ok {
		text = short + "m"
	}
	if short, ok := strings.CutSuffix(text, "h0m"); ok {
		text = short + "h"
	}
	return text
}

// MarshalText implements encoding.TextMarshaler.
func (a CacheAge) MarshalText() ([]byte, error) { return []byte(a.String()), nil }

// UnmarshalText implements encoding.TextUnmarshaler.
func (a *CacheAge) UnmarshalText(text []byte) (err error) {
	*a, err = ParseCacheAge(string(text))
	return err
}

// ParseCacheAge parses a duration of 1 second to 30 days, or off.
func ParseCacheAge(text string) (CacheAge, error) {
	if text == "off" || text == "false" {
		return 0, nil
	}
	d, err := time.ParseDuration(text)
	if err != nil {
		return 0, errors.New("not a duration")
	}
	if d < time.Second || d > 30*24*time.Hour {
		return 0, errors.New("not between 1s and 720h")
	}
	return CacheAge(d), nil
}

// Limits for a document.
const (
	MaxBytes    = 64 << 10
	MaxPolicies = 200

	maxEntries     = 100 // maximum number of entries in a list
	maxEntry       = 200 // maximum length of a name or pattern in characters
	maxMessage     = 500
	maxDescription = 1000
	maxOutput      = 10_000_000
	maxEscalation  = 3
)
