package gateway

import (
	"context"
	"time"

	"fairlead/internal/catalog"
	"fairlead/internal/feedback"
	"fairlead/internal/llm"
	"fairlead/internal/policy"
	"fairlead/internal/predict"
	"fairlead/internal/promptcache"
	"fairlead/internal/provider"
	"fairlead/internal/route"
)

// Predictor says what prompts ask for.
type Predictor interface {
	Features(predict.Prompt) predict.Features
	Version() string
}

// Policies are the rules in force.
type Policies interface {
	// For returns a workspace's, with the instance's before them; nil when there are none.
	For(workspaceID string) *policy.Set
}

// Feedback is what is said about answers.
type Feedback interface {
	// For returns what a workspace's ratings make of models; nil when nothing.
	For(workspaceID string) *feedback.Corrections
	// Rate takes a rating of a request of the workspace. The error is an *llm.Error where the rater is to blame.
	Rate(ctx context.Context, r feedback.Rating) (feedback.Rating, error)
}

// sketchBytes is how much of a text is looked at to see what it asks for.
const sketchBytes = 12 << 10

// sketch says what the prompt asks for. Only `auto` and policies look at it, and only for conversations.
func (g *Gateway) sketch(x *exchange, policies *policy.Set) predict.Features {
	req := x.req
	if !x.sketched(policies) || !writes(req.Op) {
		return predict.Features{}
	}
	return g.Predictor.Features(predict.Prompt{
		Text: req.Asked.Text(sketchBytes), System: req.Instructed.Text(sketchBytes / 4),
		Tools: req.Needs.Has(llm.Tools), Images: req.Images > 0, JSON: req.Needs&(llm.JSONMode|llm.JSONSchema) != 0,
		Messages: req.Messages, Tokens: x.length,
	})
}

// sketched reports whether the decision depends on what the prompt is like.
func (x *exchange) sketched(policies *policy.Set) bool {
	return route.IsAuto(x.req.Model) || policies.Len() > 0
}

// circumstances are what a decision depends on beside the request and the snapshot.
func (g *Gateway) circumstances(workspaceID string, policies *policy.Set, view promptcache.View) route.Conditions {
	c := route.Conditions{State: g.Health.States(time.Now()), Policies: policies, CacheHit: warmth(view)}
	if corrections := g.Feedback.For(workspaceID); corrections != nil {
		c.Corrections, c.Feedback = corrections, corrections.Version
	}
	return c
}

// warmth says what targets have warm of a prompt.
func warmth(view promptcache.View) func(*provider.Target, int64) route.CacheHit {
	return func(t *provider.Target, prompt int64) route.CacheHit {
		rules := cacheRules(t)
		w := view.CacheHit(t.ID(), rules)
		u := w.Usage(prompt)
		return route.CacheHit{
			Read: u.CacheRead, Write: u.CacheWrite, Long: u.CacheWriteLong > 0,
			Caches: w.Prompt >= max(rules.Minimum, 1) && rules.Reach != promptcache.Nothing && (rules.Reach != promptcache.Marks || w.Tokens+w.Writes > 0),
		}
	}
}

func cacheRules(t *provider.Target) promptcache.Rules {
	if t.Price == nil {
		return promptcache.Rules{}
	}
	return promptcache.For(t.Vendor, t.Model.Name, t.Price)
}

// remember notes what the target has now read of the conversation, and what the baseline would have.
func (g *Gateway) remember(x *exchange, t *provider.Target, u llm.Usage) {
	if x.op != llm.Chat {
		return
	}
	g.Prefixes.Record(x.entry.WorkspaceID, x.digest, t.ID(), cacheRules(t), u, x.start)
	if model := x.entry.BaselineModel; model != "" {
		g.Prefixes.Record(x.entry.WorkspaceID, x.digest, promptcache.Baseline(model), x.baselineRules(), u, x.start)
	}
}

// yardstick is what the baseline charges and how its cache works, looked up when it is needed and then kept: it takes a look
// at every target of the model, and at all names that a model may have.
type yardstick struct {
	price  *catalog.Price // nil when unknown
	rules  promptcache.Rules
	priced bool
	ruled  bool
}

func (x *exchange) baselinePrice() *catalog.Price {
	if y := &x.yardstick; !y.priced {
		y.price, y.priced = x.snap.Price(x.entry.BaselineModel), true
	}
	return x.yardstick.price
}

func (x *exchange) baselineRules() promptcache.Rules {
	price, y := x.baselinePrice(), &x.yardstick
	if price == nil || y.ruled {
		return y.rules
	}
	vendor := ""
	if m, ok := x.snap.Catalog.Model(x.entry.BaselineModel); ok {
		vendor = m.Home
	}
	y.rules, y.ruled = promptcache.For(vendor, x.entry.BaselineModel, price), true
	return y.rules
}

// baselineUsage is what the baseline would have used: the same tokens, of the prompt as much from its cache as it would
// have had there, and no less than was really read from one.
func (x *exchange) baselineUsage(u llm.Usage) llm.Usage {
	if x.op != llm.Chat || x.entry.Model == x.entry.BaselineModel {
		return u
	}
	own := x.view.CacheHit(promptcache.Baseline(x.entry.BaselineModel), x.baselineRules()).Usage(u.Prompt())
	would := u
	would.CacheRead = max(u.CacheRead, own.CacheRead)
	would.CacheWrite = min(own.CacheWrite, u.Prompt()-would.CacheRead)
	would.CacheWriteLong = min(own.CacheWriteLong, would.CacheWrite)
	would.Input = u.Prompt() - would.CacheRead - would.CacheWrite
	would.AudioInput = min(u.AudioInput, would.Input)
	return would
}

// nobody stands in for the parts of routing that a gateway was not given.
type nobody struct{}

func (nobody) Features(predict.Prompt) predict.Features { return predict.Features{} }
func (nobody) Version() string                          { return "" }
func (nobody) Record(string, promptcache.Fingerprint, string, promptcache.Rules, llm.Usage, time.Time) {
}

func (nobody) Lookup(context.Context, string, promptcache.Fingerprint, time.Time) promptcache.View {
	return promptcache.View{}
}

// noPolicies rule nothing.
type noPolicies struct{}

func (noPolicies) For(string) *policy.Set { return nil }

// noFeedback has heard nothing, and takes nothing.
type noFeedback struct{}

func (noFeedback) For(string) *feedback.Corrections { return nil }

func (noFeedback) Rate(context.Context, feedback.Rating) (feedback.Rating, error) {
	return feedback.Rating{}, llm.Errorf(llm.NotFound, "This gateway takes no feedback.")
}
