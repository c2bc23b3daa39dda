package gateway

import (
	"context"
	"testing"
	"time"

	"fairlead/internal/bill"
	"fairlead/internal/catalog"
	"fairlead/internal/llm"
	"fairlead/internal/money"
	"fairlead/internal/predict"
	"fairlead/internal/promptcache"
	"fairlead/internal/promptcache/prefixtest"
	"fairlead/internal/provider"
	"fairlead/internal/route"
)

// agentField is a field of three models for an agent: one without a cache that is the cheapest by its list price, one with a
// cache, and a strong one with a cache.
func agentField(t *testing.T) (*route.Snapshot, map[string]*prefixtest.Cache) {
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
	automatic := prefixtest.Settings{Minimum: 1024, Step: 128, Lifetime: 5 * time.Minute}
	caches := map[string]*prefixtest.Cache{
		"p/plain": prefixtest.NewCache(prefixtest.Settings{}), "p/keeps": prefixtest.NewCache(automatic), "p/strong": prefixtest.NewCache(automatic),
	}
	return route.NewSnapshot(cat, []*provider.Provider{p}, agentAbilities{}), caches
}

// agentAbilities: all answer easy prompts, and the weak ones answer hard prompts worse.
type agentAbilities struct{}

func (agentAbilities) Ability(m *catalog.Model) predict.Ability {
	weakness := map[string]float64{"plain": -0.9, "keeps": -0.8, "strong": -0.3}[m.Name]
	return predict.Ability{Vector: []float64{2.5, weakness}, Source: "trained"}
}

// play is an agent's conversation under a router: what it really cost, and how often its target changed.
type play struct {
	cost     money.Amount
	switches int
}

// replayAgent lets a router choose for every turn. The providers' caches are true ones; the router sees only estimates.
func replayAgent(t *testing.T, seed uint64, tradeoff float64, aware bool) play {
	t.Helper()
	snap, caches := agentField(t)
	memory := promptcache.NewMemory(10_000)
	began := time.Date(2026, 11, 2, 9, 0, 0, 0, time.UTC)
	var p play
	last := ""
	for i, turn := range prefixtest.Conversation(prefixtest.Agent(seed)) {
		at := began.Add(turn.At)
		in := route.Input{
			Op: llm.Chat, Model: "auto", Choices: 1, InputTokens: turn.Tokens, Needs: llm.Tools, At: at,
			Objective: route.Objective{Name: "number", Tradeoff: tradeoff},
			Features:  predict.Features{Task: predict.ToolUse, Skills: []float64{float64(i * 7 % 3)}}, // some turns are harder
		}
		digest := promptcache.Build(turn.Request, turn.Tokens)
		view := memory.Lookup(context.Background(), "ws", digest, at)
		c := route.Conditions{}
		if aware {
			c.CacheHit, in.Turns, in.Last = cacheHits(view), max(turn.Request.Answers, view.Turns()), view.Last()
		}
		d, err := route.Decide(&in, snap, c)
		if err != nil {
			t.Fatal(err)
		}
		target := d.Plan[0]
		used := caches[target.ID()].Read(at, turn.Messages)
		used.Output = prefixtest.Tokens(turn.Answer)
		memory.Record("ws", digest, target.ID(), bill.CacheRules(target), used, at)
		p.cost = p.cost.Add(target.Price.Cost(used))
		if last != "" && last != target.ID() {
			p.switches++
		}
		last = target.ID()
	}
	return p
}

// TestAgentConversationIsCheaperWithItsPromptWarm replays conversations of forty turns with a growing prompt.
func TestAgentConversationIsCheaperWithItsPromptWarm(t *testing.T) {
	t.Parallel()
	for seed := range uint64(5) {
		aware, blind, cheapest := replayAgent(t, seed, 0.5, true), replayAgent(t, seed, 0.5, false), replayAgent(t, seed, 0, false)
		t.Logf("conversation %d: aware $%s with %d switches, unaware $%s with %d, always cheapest $%s with %d",
			seed, aware.cost, aware.switches, blind.cost, blind.switches, cheapest.cost, cheapest.switches)
		if aware.switches >= blind.switches || aware.cost >= blind.cost || aware.cost >= cheapest.cost {
			t.Errorf("conversation %d: knowing what is warm does not pay", seed)
		}
		if thrifty := replayAgent(t, seed, 0, true); thrifty.cost >= cheapest.cost {
			t.Errorf("conversation %d: aiming at cost alone pays $%s, always the cheapest by its list price $%s", seed, thrifty.cost, cheapest.cost)
		}
	}
}
