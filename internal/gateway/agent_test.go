package gateway

import (
	"testing"
	"time"

	"fairlead.dev/internal/bill"
	"fairlead.dev/internal/catalog"
	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/money"
	"fairlead.dev/internal/predict"
	"fairlead.dev/internal/promptcache"
	"fairlead.dev/internal/promptcache/cachetest"
	"fairlead.dev/internal/provider"
	"fairlead.dev/internal/route"
)

// agentModels returns three models for an agent: a model with the lowest list price and without a prompt cache, a model with a cache, and a
// strong model with a cache.
func agentModels(t *testing.T) (*route.Snapshot, map[string]*cachetest.Cache) {
	t.Helper()
	cat, err := catalog.Default()
	if err != nil {
		t.Fatal(err)
	}
	offer := func(name, vendor string, in, out, cached float64) *provider.Target {
		p := &catalog.Price{Input: money.PerMillion(in), Output: money.PerMillion(out)}
		if cached > 0 {
			rate := money.PerMillion(cached)
			p.CacheRead = &rate
		}
		m := &catalog.Model{Name: name, Op: llm.Chat, Abilities: catalog.Common | llm.Tools, Context: 400_000}
		return &provider.Target{Provider: "p", Vendor: vendor, Model: m, Upstream: name, Price: p}
	}
	p := &provider.Provider{Name: "p", Targets: []*provider.Target{
		offer("plain", "other", 0.25, 1, 0), offer("keeps", "openai", 0.4, 1.6, 0.04), offer("strong", "openai", 0.6, 2.4, 0.06),
	}}
	automatic := cachetest.Settings{Minimum: 1024, Step: 128, Lifetime: 5 * time.Minute}
	caches := map[string]*cachetest.Cache{
		"p/plain": cachetest.NewCache(cachetest.Settings{}), "p/keeps": cachetest.NewCache(automatic), "p/strong": cachetest.NewCache(automatic),
	}
	return route.NewSnapshot(cat, []*provider.Provider{p}, agentAbilities{}), caches
}

// agentAbilities makes all models good at easy prompts, and the weak ones worse at hard prompts.
type agentAbilities struct{}

func (agentAbilities) Ability(m *catalog.Model) predict.Ability {
	weakness := map[string]float64{"plain": -0.9, "keeps": -0.8, "strong": -0.3}[m.Name]
	return predict.Ability{Vector: []float64{2.5, weakness}, Source: "trained"}
}

// play holds the actual cost of an agent's conversation, and the number of times its target changed.
type play struct {
	cost     money.Amount
	switches int
}

// replayAgent makes a decision for every turn. The caches of the providers are simulated; the router has only estimates.
func replayAgent(t *testing.T, seed uint64, tradeoff float64, aware bool) play {
	t.Helper()
	snap, caches := agentModels(t)
	memory := promptcache.NewMemory(10_000)
	began := time.Date(2026, 11, 2, 9, 0, 0, 0, time.UTC)
	var p play
	last := ""
	for i, turn := range cachetest.Conversation(cachetest.Agent(seed)) {
		at := began.Add(turn.At)
		in := route.Input{
			Op: llm.Chat, Model: "auto", ResponseOptions: route.ResponseOptions{Choices: 1, Needs: llm.Tools}, PromptSize: route.PromptSize{InputTokens: turn.Tokens}, At: at,
			Objective:  route.Objective{Name: "number", Tradeoff: tradeoff},
			Prediction: route.Prediction{Features: predict.Features{Task: predict.ToolUse, Skills: []float64{float64(i * 7 % 3)}}}, // some turns are harder
		}
		digest := promptcache.Build(turn.Request, turn.Tokens)
		view := memory.Lookup("ws", digest, at)
		c := route.Conditions{}
		if aware {
			c.CacheHit, in.Turns, in.Last = cacheHits(&view), max(turn.Request.Answers, view.Turns()), view.Last()
		}
		d, err := route.Decide(&in, snap, c)
		if err != nil {
			t.Fatal(err)
		}
		target := d.Plan[0]
		used := caches[target.ID()].Read(at, turn.Messages)
		used.Output = cachetest.Tokens(turn.Answer)
		memory.Record("ws", digest, target.ID(), bill.CacheRules(target), used, at)
		p.cost = p.cost.Add(target.Price.Cost(used))
		if last != "" && last != target.ID() {
			p.switches++
		}
		last = target.ID()
	}
	return p
}

// TestAgentConversationIsCheaperWithCacheEstimates replays conversations of forty turns with a growing prompt.
func TestAgentConversationIsCheaperWithCacheEstimates(t *testing.T) {
	t.Parallel()
	for seed := range uint64(5) {
		aware, blind, cheapest := replayAgent(t, seed, 0.5, true), replayAgent(t, seed, 0.5, false), replayAgent(t, seed, 0, false)
		t.Logf("conversation %d: aware $%s with %d switches, unaware $%s with %d, always cheapest $%s with %d",
			seed, aware.cost, aware.switches, blind.cost, blind.switches, cheapest.cost, cheapest.switches)
		if aware.switches >= blind.switches || aware.cost >= blind.cost || aware.cost >= cheapest.cost {
			t.Errorf("conversation %d: cache estimates do not reduce the cost", seed)
		}
		if estimated := replayAgent(t, seed, 0, true); estimated.cost >= cheapest.cost {
			t.Errorf("conversation %d: with cache estimates the objective cost pays $%s, the cheapest list price $%s", seed, estimated.cost, cheapest.cost)
		}
	}
}
