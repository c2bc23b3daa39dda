// Package route decides which targets may serve a request, in which order, and why. Decide is a pure function:
// the same input and snapshot give the same decision, so that explaining one is computing it again.
package route

import (
	"time"

	"fairlead/internal/llm"
	"fairlead/internal/money"
	"fairlead/internal/provider"
)

// Kind says how the served model came about.
type Kind string

// The kinds of a decision.
const (
	Expected Kind = "expected" // the router's first choice served it
	Fallback Kind = "fallback" // the first choice failed or was not to be had, and another candidate served it
	Policy   Kind = "policy"   // a policy made the outcome differ from what the router alone would have chosen
)

// Decision is the plan for one request with its reasons. It is stored with the request's entry.
type Decision struct {
	Kind       Kind        `json:"kind"`
	Input      Input       `json:"input"`
	Candidates []Candidate `json:"candidates"` // the plan in order, then what is excluded
	Baseline   *Baseline   `json:"baseline,omitempty"`
	RunnerUp   string      `json:"runner_up,omitempty"` // target that would have been next
	Margin     float64     `json:"margin,omitempty"`    // how far the choice leads the runner-up in score
	Policies   []PolicyHit `json:"policies"`            // evaluated in order
	Versions   Versions    `json:"versions"`
	Micros     int64       `json:"micros"` // time the decision took

	Plan []*provider.Target `json:"-"` // the targets to try, best first
}

// Versions names what a decision was computed from.
type Versions struct {
	Router  string `json:"router"`
	Catalog string `json:"catalog"`
	Policy  string `json:"policy,omitempty"`
}

// PolicyHit is one policy's part in a decision.
type PolicyHit struct {
	Name    string `json:"name"`
	Matched bool   `json:"matched"`
	Effect  string `json:"effect,omitempty"`
	Reason  string `json:"reason,omitempty"` // the condition that failed, for a skipped one
}

// Candidate is a target that was considered: ranked with a score, or excluded with a reason.
type Candidate struct {
	Target   string        `json:"target"` // provider/model
	Model    string        `json:"model"`
	Provider string        `json:"provider"`
	Rank     int           `json:"rank,omitempty"` // 1 is the first choice; 0 when excluded
	Score    float64       `json:"score"`
	Quality  float64       `json:"quality"` // parts of the score, each 0 to 1
	Cost     float64       `json:"cost"`
	Speed    float64       `json:"speed"`
	Price    *money.Amount `json:"expected_cost_usd,omitempty"` // what this request is expected to cost there
	Latency  int64         `json:"expected_ms,omitempty"`
	Excluded *Exclusion    `json:"excluded,omitempty"`
}

// Exclusion says why a candidate is out.
type Exclusion struct {
	Code   Reason `json:"code"`
	Reason string `json:"reason"`
}

// Reason is a code for why a candidate is excluded.
type Reason string

// The reasons for which a candidate is excluded.
const (
	LacksAbility    Reason = "lacks_ability"
	ContextTooSmall Reason = "context_too_small"
	OutputTooLarge  Reason = "output_too_large"
	Retired         Reason = "retired"
	KeyForbids      Reason = "key_forbids"
	PolicyForbids   Reason = "policy_forbids"
	NotRequested    Reason = "not_requested"
	ProviderIgnored Reason = "provider_ignored"
	TooDear         Reason = "too_dear"
	PriceUnknown    Reason = "price_unknown"
	CircuitOpen     Reason = "circuit_open"
	Resting         Reason = "credential_resting"
	CollectsData    Reason = "collects_data"
	KeepsData       Reason = "keeps_data"
	WrongDimensions Reason = "wrong_dimensions"
	NotPinned       Reason = "not_pinned"
	Unsupported     Reason = "unsupported_field"
)

// Baseline is the model the saving is measured against, fixed when the decision is made.
type Baseline struct {
	Model  string `json:"model"`
	Source string `json:"source"` // caller, header, policy, key, default, priciest
}

// Objective is what `auto` optimises for.
type Objective struct {
	Name     string  `json:"name"`     // auto, cost, quality, speed, or number
	Tradeoff float64 `json:"tradeoff"` // 0 cheapest, 1 best
}

// Input is everything about the request that the decision depends on. Snapshot and states hold the rest.
type Input struct {
	Op            llm.Op        `json:"op"`
	Model         string        `json:"model"` // as requested
	Objective     Objective     `json:"objective"`
	InputTokens   int64         `json:"input_tokens"` // for no model in particular; see InputTokens
	Text          llm.Text      `json:"text,omitzero"`
	ImageSizes    []llm.Image   `json:"image_sizes,omitempty"`
	MaxOutput     int64         `json:"max_output,omitempty"`
	Choices       int           `json:"choices"`
	Needs         llm.Abilities `json:"needs"`
	Sampling      []string      `json:"sampling,omitempty"`
	Stream        bool          `json:"stream"`
	Messages      int           `json:"messages,omitempty"`
	Images        int           `json:"images,omitempty"`
	ImageURLs     int           `json:"image_urls,omitempty"`
	Dimensions    int64         `json:"dimensions,omitempty"`
	TokenInput    bool          `json:"token_input,omitempty"`
	Controls      llm.Controls  `json:"controls,omitzero"`
	AllowedModels []string      `json:"allowed_models,omitempty"` // the key's; empty allows all
	AllowUnpriced bool          `json:"allow_unpriced,omitempty"`
	Baseline      Baseline      `json:"baseline_hint,omitzero"` // what caller, policy, key or workspace name; empty for the priciest
	PinnedEmbed   string        `json:"pinned_embedding,omitempty"`
	At            time.Time     `json:"at,omitzero"` // prices change with time
}

// State is what recent calls say about a target, as far as routing cares.
type State struct {
	Open     bool          // the circuit is open: do not send
	Resting  time.Duration // how long until a credential may be used again; 0 when one is ready
	Latency  time.Duration // observed time to the first token; 0 when not observed
	TokensPS float64       // observed output tokens a second; 0 when not observed
}
