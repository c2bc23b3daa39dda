// Package route decides which targets may serve a request, in which order, and why. Decide is a pure function: the same input, snapshot and
// conditions give the same decision. The functions that explain, verify and backtest decisions call Decide again.
package route

import (
	"time"

	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/money"
	"fairlead.dev/internal/policy"
	"fairlead.dev/internal/policy/condition"
	"fairlead.dev/internal/provider"
	"fairlead.dev/internal/route/predict"
)

// Kind states whether the router's first choice, a fallback or a policy determined the served model.
type Kind string

// The kinds of a decision.
const (
	Expected Kind = "expected" // the router's first choice served the request
	Fallback Kind = "fallback" // the first choice failed or was unavailable, and another candidate served the request
	Policy   Kind = "policy"   // a policy changed the router's choice
)

// Decision is the plan for one request with its reasons. It is stored in the request's log entry and can be recomputed from its input and
// the data with the recorded versions.
type Decision struct {
	Kind       Kind        `json:"kind"`
	Input      Input       `json:"input"`
	Because    string      `json:"because,omitempty"` // the reason for the choice in one sentence
	Candidates []Candidate `json:"candidates"`        // targets of the plan in order, followed by the excluded targets
	Baseline   *Baseline   `json:"baseline,omitempty"`
	PolicyChange
	Stay *Stay `json:"stay,omitempty"`
	// HeldOut is the target chosen by the router, if the baseline serves the request for comparison.
	HeldOut     string       `json:"held_out,omitempty"`
	Adjustments []Adjustment `json:"adjustments,omitempty"` // effects of the conversation on the decision
	Policies    []PolicyHit  `json:"policies"`              // results of the policies, in the order of evaluation
	Versions    Versions     `json:"versions"`
	Micros      int64        `json:"micros"` // time to compute the decision, in microseconds
	PolicyEffects

	Plan []*provider.Target `json:"-"` // targets to try, best first
}

// PolicyChange describes how policies changed the choice.
type PolicyChange struct {
	Policy string     `json:"policy,omitempty"` // name of the policy that changed the choice or rejected the request
	Alone  string     `json:"alone,omitempty"`  // choice without policies, if it differs
	Aside  []Sighting `json:"aside,omitempty"`  // observed states of targets excluded by policies
}

// PolicyEffects holds the effects of policies other than the choice of a target.
type PolicyEffects struct {
	MaxOutput  int64 `json:"max_output,omitempty"`  // limit on output tokens; 0 for none
	OmitBodies bool  `json:"omit_bodies,omitempty"` // whether prompt and response must not be stored
	// SessionBudget is the session budget set by a policy; nil for none.
	SessionBudget *policy.SessionLimit `json:"session_budget,omitempty"`
	// ResponseCache is the policy's maximum age of cached responses; 0 disables the response cache, nil sets no maximum age.
	ResponseCache *policy.CacheAge `json:"response_cache,omitempty"`
	// NoCacheMarks reports whether the gateway must not set prompt-cache breakpoints.
	NoCacheMarks bool `json:"no_cache_marks,omitempty"`
}

// Versions identifies the data from which a decision was computed.
type Versions struct {
	Router    string `json:"router"`
	Catalog   string `json:"catalog"`
	Snapshot  string `json:"snapshot,omitempty"`  // version of the targets, prices and abilities
	Predictor string `json:"predictor,omitempty"` // version of the predictor that computed the features
	Policy    string `json:"policy,omitempty"`
	Feedback  string `json:"feedback,omitempty"` // version of the corrections from the workspace's ratings
}

// Candidate is a target that was considered: ranked, or excluded with a reason.
type Candidate struct {
	Target   string  `json:"target"` // target name in the form provider/model
	Model    string  `json:"model"`
	Provider string  `json:"provider"`
	Rank     int     `json:"rank,omitempty"`   // position in the plan, starting at 1; 0 if excluded
	Quality  float64 `json:"quality"`          // predicted success probability
	Spread   float64 `json:"spread,omitempty"` // standard deviation of Quality
	ExpectedCost
	Effort   string     `json:"effort,omitempty"` // reasoning effort chosen by the router
	Output   int64      `json:"expected_output,omitempty"`
	Cache    CacheHit   `json:"cached_prefix,omitzero"`
	Latency  int64      `json:"expected_ms,omitempty"`
	Seen     State      `json:"seen,omitzero"` // observed state at the time of the decision
	Excluded *Exclusion `json:"excluded,omitempty"`
}

// ExpectedCost holds the expected costs of a request if the candidate serves it.
type ExpectedCost struct {
	Price *money.Amount `json:"expected_cost_usd,omitempty"`
	Ahead money.Amount  `json:"ahead_usd,omitzero"` // expected cost of later turns in the conversation
}

// Stay reports that the conversation keeps its model although another would have been chosen for the request alone.
type Stay struct {
	Target      string       `json:"target"`      // kept target
	Alternative string       `json:"alternative"` // choice for the request alone
	Switch      money.Amount `json:"switch_usd"`  // additional cost of switching, now and in later turns; negative if switching would save
	Reason      StayReason   `json:"reason"`
}

// StayReason is the reason why a conversation keeps its model.
type StayReason string

// The reasons to stay.
const (
	StayLoop  StayReason = "loop"  // the tool loop makes progress, and its reasoning and its cache belong to the model
	StayGain  StayReason = "gain"  // the other model is not better enough
	StayCache StayReason = "cache" // the other model would have to read the whole prompt again
)

// Baseline is the model used to measure savings.
type Baseline struct {
	Model  string         `json:"model"`
	Source BaselineSource `json:"source"`
}

// BaselineSource names the setting that selected the baseline.
type BaselineSource string

// The sources of a baseline, most specific first.
const (
	BaselineCaller  BaselineSource = "caller" // the baseline is the requested model
	BaselineHeader  BaselineSource = "header"
	BaselinePolicy  BaselineSource = "policy"
	BaselineKey     BaselineSource = "key"
	BaselineDefault BaselineSource = "default"
)

// Objective is the caller's trade-off between quality, cost and speed.
type Objective struct {
	Name     string  `json:"name"`     // name of the objective: auto, cost, quality, speed or number
	Tradeoff float64 `json:"tradeoff"` // trade-off between cost and quality, from 0 (cheapest) to 1 (best)
}

// Input holds the properties of a request on which the decision depends.
type Input struct {
	Op        llm.Op    `json:"op"`
	Format    string    `json:"format,omitempty"`
	Model     string    `json:"model"`           // model name as requested
	Route     *Route    `json:"route,omitempty"` // route that the name stands for; nil for auto itself and for models
	Objective Objective `json:"objective"`
	Downgrade string    `json:"downgrade,omitempty"` // reason why Model replaces the requested model: how much of a budget is spent
	Prediction
	PromptSize
	ResponseOptions
	PromptParts
	EmbeddingOptions
	Settings
	At time.Time `json:"at,omitzero"` // time of the request, used for prices and policies
	History
	Caller
	Holdout *Holdout      `json:"holdout,omitempty"`         // comparison with a baseline model; nil for none
	Room    *money.Amount `json:"budget_left_usd,omitempty"` // what the budgets of the request can still hold; nil without a budget
	Draw    float64       `json:"draw,omitempty"`            // place of the session in the shares of the route, from 0 to 1
}

// Prediction holds the data used to predict the success and the length of a response.
type Prediction struct {
	Features  predict.Features `json:"features,omitzero"`
	Predictor string           `json:"predictor,omitempty"` // version of the predictor that computed the features
	Lengths   LengthFactors    `json:"lengths,omitzero"`
}

// PromptSize holds the data used to compute the number of prompt tokens for a model.
type PromptSize struct {
	InputTokens int64       `json:"input_tokens"` // model-independent estimate of the number of prompt tokens
	Text        llm.Text    `json:"text,omitzero"`
	ImageSizes  []llm.Image `json:"image_sizes,omitempty"`
}

// ResponseOptions holds the caller's settings for the response.
type ResponseOptions struct {
	MaxOutput int64         `json:"max_output,omitempty"`
	Choices   int           `json:"choices"`
	Needs     llm.Abilities `json:"needs"`
	Effort    string        `json:"effort,omitempty"` // reasoning effort set by the caller
	Sampling  []string      `json:"sampling,omitempty"`
	Stream    bool          `json:"stream"`
}

// PromptParts counts the messages and the attachments of the prompt.
type PromptParts struct {
	Messages      int `json:"messages,omitempty"`
	Images        int `json:"images,omitempty"`
	ImageURLs     int `json:"image_urls,omitempty"`
	AttachedBytes int `json:"attached_bytes,omitempty"` // size in bytes of inline audio, video and documents
	Unsized       int `json:"unsized,omitempty"`        // number of attachments whose token count is known only to the provider
}

// EmbeddingOptions describes the inputs and the vectors of an embeddings request.
type EmbeddingOptions struct {
	Longest    float64 `json:"longest,omitempty"` // length of the longest input as a share of the total length; 0 for a single input
	Dimensions int64   `json:"dimensions,omitempty"`
	TokenInput bool    `json:"token_input,omitempty"`
}

// Settings holds the routing settings of the request, its key and its workspace.
type Settings struct {
	Controls      llm.Controls `json:"controls,omitzero"`
	AllowedModels []string     `json:"allowed_models,omitempty"` // models allowed by the key; empty allows all models
	AllowUnpriced bool         `json:"allow_unpriced,omitempty"`
	Baseline      Baseline     `json:"baseline_hint,omitzero"` // baseline set by the caller, the key or the workspace; empty for none
	PinnedEmbed   string       `json:"pinned_embedding,omitempty"`
}

// History describes the conversation so far.
type History struct {
	Turns        int              `json:"turns,omitempty"` // number of previous responses
	Last         string           `json:"last,omitempty"`  // target of the latest response
	Conversation predict.Findings `json:"conversation,omitzero"`
}

// Caller identifies the sender of the request, for policies.
type Caller struct {
	Key       condition.Key       `json:"key,omitzero"`
	Workspace condition.Workspace `json:"workspace,omitzero"`
	EndUser   string              `json:"end_user,omitempty"`
	Metadata  map[string]string   `json:"metadata,omitempty"`
	Tags      map[string]string   `json:"tags,omitempty"`
}

// State is the observed state of a target.
type State struct {
	Open       bool          `json:"open,omitempty"`              // whether the circuit is open
	BackingOff time.Duration `json:"backing_off_ns,omitempty"`    // time until a credential is usable; 0 if a credential is usable now
	QuotaWait  time.Duration `json:"quota_wait_ns,omitempty"`     // time until the rate limits leave enough for the request; 0 if they do now or are unknown
	Rejected   bool          `json:"rejected,omitempty"`          // rejected by the provider (credential or model); waiting does not help
	Denied     bool          `json:"denied,omitempty"`            // whether the provider denies the model to all of its credentials
	Latency    time.Duration `json:"latency_ns,omitempty"`        // observed time to first token; 0 if unknown
	TokensPS   float64       `json:"tokens_per_second,omitempty"` // observed output tokens per second; 0 if unknown
	Length     float64       `json:"length,omitempty"`            // observed length of the model's responses divided by the predicted length; 0 if unknown
}

// LengthFactors holds the observed lengths of a workspace's responses divided by the predicted lengths, for one task type. A factor of 0
// means that no response was observed.
type LengthFactors struct {
	Visible   float64 `json:"visible,omitempty"`
	Reasoning float64 `json:"reasoning,omitempty"`
}

// CacheHit is the expected use of a provider's prompt cache.
type CacheHit struct {
	Read   int64 `json:"read,omitempty"`   // number of cached prompt tokens
	Write  int64 `json:"write,omitempty"`  // number of prompt tokens written to the cache at the write price
	Long   bool  `json:"long,omitempty"`   // whether the tokens are written with a lifetime of one hour
	Caches bool  `json:"caches,omitempty"` // whether the whole prompt will be cached for the next turn
}

// Corrections are what a workspace learned about models.
type Corrections interface {
	// Shift returns the change of a model's ability in a task family, in logits.
	Shift(model string, task predict.Family) float64
}

// Conditions holds the inputs of a decision in addition to the request and the snapshot. The zero value has no policies and no
// observations. A decision records the conditions that it used.
type Conditions struct {
	State func(target string) State
	// CacheHit returns the expected cache use of a prompt with the given number of tokens. If marks is true, the gateway may set
	// breakpoints.
	CacheHit    func(t *provider.Target, prompt int64, marks bool) CacheHit
	Policies    *policy.Set
	Corrections Corrections
	Feedback    string // version of Corrections
}
