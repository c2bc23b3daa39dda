// Package route decides which targets may serve a request, in which order, and why. Decide is a pure function: the same
// input, snapshot and circumstances give the same decision, so that explaining, verifying and backtesting one is computing
// it again.
package route

import (
	"time"

	"fairlead/internal/llm"
	"fairlead/internal/money"
	"fairlead/internal/policy"
	"fairlead/internal/predict"
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

// Decision is the plan for one request with its reasons. It is stored with the request's entry, and holds all that is
// needed to compute it again from the versions it names.
type Decision struct {
	Kind          Kind          `json:"kind"`
	Input         Input         `json:"input"`
	QualityTarget QualityTarget `json:"aim,omitzero"`
	Candidates    []Candidate   `json:"candidates"` // the plan in order, then what is excluded
	Baseline      *Baseline     `json:"baseline,omitempty"`
	RunnerUp      string        `json:"runner_up,omitempty"` // target that would have been next
	Margin        float64       `json:"margin,omitempty"`    // how far the choice leads the runner-up in score
	Policy        string        `json:"policy,omitempty"`    // that made the choice differ, or refused
	Alone         string        `json:"alone,omitempty"`     // target that the router would have chosen without policies, where another one was
	Aside         []Sighting    `json:"aside,omitempty"`     // what was seen of targets that policies kept out
	Stay          *Stay         `json:"stay,omitempty"`
	Explored      bool          `json:"explored,omitempty"` // the choice was drawn, not the best
	Policies      []PolicyHit   `json:"policies"`           // evaluated in order
	Versions      Versions      `json:"versions"`
	Micros        int64         `json:"micros"` // time the decision took

	// What policies say beyond the choice of a target.
	MaxOutput int64 `json:"max_output,omitempty"` // bound on the answer's tokens; 0 for none
	HideText  bool  `json:"hide_text,omitempty"`  // the request's text is not stored

	Plan []*provider.Target `json:"-"` // the targets to try, best first
}

// Versions names what a decision was computed from.
type Versions struct {
	Router    string `json:"router"`
	Catalog   string `json:"catalog"`
	Snapshot  string `json:"snapshot,omitempty"`  // targets, prices and abilities
	Predictor string `json:"predictor,omitempty"` // that made the sketch
	Policy    string `json:"policy,omitempty"`
	Feedback  string `json:"feedback,omitempty"` // corrections by the workspace's own ratings
}

// QualityTarget is the quality that `auto` looks for.
type QualityTarget struct {
	Best   float64 `json:"best"`   // the highest chance of a good answer that any configured model has
	Target float64 `json:"chance"` // what the trade-off asks for: more is not paid for
}

// Candidate is a target that was considered: ranked with a score, or excluded with a reason.
type Candidate struct {
	Target     string        `json:"target"` // provider/model
	Model      string        `json:"model"`
	Provider   string        `json:"provider"`
	Rank       int           `json:"rank,omitempty"` // 1 is the first choice; 0 when excluded
	Score      float64       `json:"score"`
	Quality    float64       `json:"quality"`          // the predicted chance of a good answer
	Spread     float64       `json:"spread,omitempty"` // one standard deviation of it
	Cost       float64       `json:"cost"`             // cheapness, 0 to 1, as it enters the score
	Speed      float64       `json:"speed"`            // 0 to 1, as it enters the score
	Price      *money.Amount `json:"expected_cost_usd,omitempty"`
	Ahead      money.Amount  `json:"ahead_usd,omitzero"` // what reading this conversation again is expected to cost in turns to come
	Output     int64         `json:"expected_output,omitempty"`
	Cache      CacheHit      `json:"warm,omitzero"`
	Latency    int64         `json:"expected_ms,omitempty"`
	Seen       State         `json:"seen,omitzero"`        // what recent calls said
	Propensity float64       `json:"propensity,omitempty"` // chance of having been the choice, where choices are drawn
	Excluded   *Exclusion    `json:"excluded,omitempty"`
}

// Stay says that a conversation stays where it is because its prompt is warm there.
type Stay struct {
	Target string       `json:"target"`     // that is kept
	Else   string       `json:"else"`       // that would have been chosen if nothing were warm
	Switch money.Amount `json:"switch_usd"` // what switching would cost more, now and in turns to come
}

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

// Input is everything about the request that the decision depends on. Snapshot and circumstances hold the rest.
type Input struct {
	Op            llm.Op           `json:"op"`
	Format        string           `json:"format,omitempty"`
	Model         string           `json:"model"` // as requested
	Objective     Objective        `json:"objective"`
	Features      predict.Features `json:"sketch,omitzero"`
	Predictor     string           `json:"predictor,omitempty"` // version that made the sketch
	InputTokens   int64            `json:"input_tokens"`        // for no model in particular; see InputTokens
	Text          llm.Text         `json:"text,omitzero"`
	ImageSizes    []llm.Image      `json:"image_sizes,omitempty"`
	MaxOutput     int64            `json:"max_output,omitempty"`
	Choices       int              `json:"choices"`
	Needs         llm.Abilities    `json:"needs"`
	Sampling      []string         `json:"sampling,omitempty"`
	Stream        bool             `json:"stream"`
	Messages      int              `json:"messages,omitempty"`
	Images        int              `json:"images,omitempty"`
	ImageURLs     int              `json:"image_urls,omitempty"`
	AttachedBytes int              `json:"attached_bytes,omitempty"` // of inline audio, video and documents
	Unsized       int              `json:"unsized,omitempty"`        // attachments whose tokens only the provider can count
	Longest       float64          `json:"longest,omitempty"`        // of several inputs: the share of the longest one, which a window must hold
	Dimensions    int64            `json:"dimensions,omitempty"`
	TokenInput    bool             `json:"token_input,omitempty"`
	Controls      llm.Controls     `json:"controls,omitzero"`
	AllowedModels []string         `json:"allowed_models,omitempty"` // the key's; empty allows all
	AllowUnpriced bool             `json:"allow_unpriced,omitempty"`
	Baseline      Baseline         `json:"baseline_hint,omitzero"` // what caller, key or workspace name; empty for the priciest
	PinnedEmbed   string           `json:"pinned_embedding,omitempty"`
	At            time.Time        `json:"at,omitzero"` // prices change with time, and policies may look at it

	// The conversation so far.
	Turns int    `json:"turns,omitempty"` // answers that it has had
	Last  string `json:"last,omitempty"`  // target that gave the latest one

	// Who asks, for policies.
	Key       policy.Key        `json:"key,omitzero"`
	Workspace policy.Workspace  `json:"workspace,omitzero"`
	EndUser   string            `json:"end_user,omitempty"`
	Metadata  map[string]string `json:"metadata,omitempty"`
	Tags      map[string]string `json:"tags,omitempty"`

	// Exploration: with a share above 0, a draw below it takes another model than the best.
	Explore float64 `json:"explore,omitempty"`
	Draw    float64 `json:"draw,omitempty"`
}

// State is what recent calls say about a target, as far as routing cares.
type State struct {
	Open       bool          `json:"open,omitempty"`              // the circuit is open: do not send
	BackingOff time.Duration `json:"resting_ns,omitempty"`        // how long the target backs off with every credential; 0 when one is ready
	Refused    bool          `json:"refused,omitempty"`           // BackingOff is after a refusal of the credential or the model: waiting alone does not help
	Latency    time.Duration `json:"latency_ns,omitempty"`        // observed time to the first token; 0 when not observed
	TokensPS   float64       `json:"tokens_per_second,omitempty"` // observed output tokens a second; 0 when not observed
}

// CacheHit is what a provider's cache is expected to do for a prompt.
type CacheHit struct {
	Read   int64 `json:"read,omitempty"`   // tokens of the prompt that are warm
	Write  int64 `json:"write,omitempty"`  // tokens that will be written, at a price of its own
	Long   bool  `json:"long,omitempty"`   // and kept for an hour
	Caches bool  `json:"caches,omitempty"` // the whole prompt will be warm for the next turn
}

// Corrections are what a workspace's own ratings say about models.
type Corrections interface {
	// Ability returns the corrected ability of a model, or base where nothing is known.
	Ability(model string, base *predict.Ability) *predict.Ability
}

// Conditions are what a decision depends on beside the request and the snapshot. The zero value knows nothing: no
// policies, no observations. A decision records what it saw of them.
type Conditions struct {
	State func(target string) State
	// CacheHit says what a target's cache does for the prompt, which has so many tokens for its model.
	CacheHit    func(t *provider.Target, prompt int64) CacheHit
	Policies    *policy.Set
	Corrections Corrections
	Feedback    string // version of the corrections
}

func (c *Conditions) state(target string) State {
	if c.State == nil {
		return State{}
	}
	return c.State(target)
}

func (c *Conditions) warm(t *provider.Target, prompt int64) CacheHit {
	if c.CacheHit == nil {
		return CacheHit{}
	}
	return c.CacheHit(t, prompt)
}
