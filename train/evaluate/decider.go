package main

import (
	"context"
	"encoding/json"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"fairlead.dev/internal/catalog"
	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/money"
	"fairlead.dev/internal/predict"
	"fairlead.dev/internal/predict/ability"
	"fairlead.dev/internal/provider"
	"fairlead.dev/internal/route"
)

// poolProvider is the only provider in a pool of models.
const poolProvider = "pool"

// decider chooses among the models in a pool in the same way as the gateway for a request to `auto`. It uses the gateway's code.
type decider struct {
	predictor *predict.Predictor
	snapshot  *route.Snapshot
	objective route.Objective
}

// newDecider returns a decider that chooses among the given models, using the given prices and efforts.
func (e *evaluation) newDecider(objective route.Objective, models []string, price func(model string) *catalog.Price, efforts func(*catalog.Model) []catalog.Effort) *decider {
	p := &provider.Provider{Name: poolProvider}
	abilities := poolAbilities{byModel: map[string]predict.Ability{}, typical: e.predictor.Typical()}
	for _, name := range models {
		m := catalog.Model{Name: name, Op: llm.Chat, Assumed: true}
		if listed, ok := e.catalog.Model(name); ok {
			m = *listed
			m.Name, m.Deprecated = name, false
		}
		m.Abilities |= llm.Tools | llm.JSONMode | llm.JSONSchema
		abilities.byModel[name], _ = e.fitter.Named(e.catalog, name)
		p.Targets = append(p.Targets, &provider.Target{Provider: p.Name, Model: &m, Upstream: name, Price: price(name), Efforts: efforts(&m)})
	}
	return &decider{e.predictor, route.NewSnapshot(e.catalog, []*provider.Provider{p}, abilities), objective}
}

// recordedEffort returns no efforts, because outcomes were recorded only at the default effort.
func recordedEffort(*catalog.Model) []catalog.Effort { return nil }

// poolAbilities holds the abilities of the models in a pool.
type poolAbilities struct {
	byModel map[string]predict.Ability
	typical []float64
}

// Ability implements route.Predictor.
func (a poolAbilities) Ability(m *catalog.Model) predict.Ability { return a.byModel[m.Name] }

// Typical returns the typical skills of an unknown prompt.
func (a poolAbilities) Typical() []float64 { return a.typical }

// pricedAt is the time of the decisions. Its value has no effect, because list prices apply at all times.
var pricedAt = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)

// decide returns the decision for a prompt or a conversation.
func (d *decider) decide(a *asked) (*route.Decision, error) {
	in := d.input(a)
	return route.Decide(&in, d.snapshot, route.Conditions{})
}

// input returns the decision input for a prompt or a conversation.
func (d *decider) input(a *asked) route.Input {
	in := route.Input{
		Op: llm.Chat, Model: "auto", Objective: d.objective, Prediction: route.Prediction{Features: d.predictor.Features(a.prompt), Predictor: d.predictor.Version()},
		PromptSize: route.PromptSize{InputTokens: a.prompt.Tokens, Text: a.text}, ResponseOptions: route.ResponseOptions{Choices: 1}, PromptParts: route.PromptParts{Messages: a.prompt.Messages}, History: route.History{Turns: a.turns, Conversation: a.state}, At: pricedAt,
	}
	if a.prompt.Tools {
		in.Needs = llm.Tools
	}
	return in
}

// framedRows is the approximate number of prompts per pool for which a second decision is made, with polite phrases around the
// prompt.
const framedRows = 400

// choose returns the decider's choice for each row.
func (d *decider) choose(ctx context.Context, rows []*Row, prompts map[string]asked) ([]Chosen, error) {
	choices := make([]Chosen, len(rows))
	g, ctx := errgroup.WithContext(ctx)
	workers := runtime.GOMAXPROCS(0)
	for w := range workers {
		g.Go(func() error {
			for i := w; i < len(rows) && ctx.Err() == nil; i += workers {
				prompt := prompts[rows[i].ID]
				decision, err := d.decide(&prompt)
				if err != nil {
					return fmt.Errorf("compute the routing decision for %s: %w", rows[i].ID, err)
				}
				chosen := Chosen{Model: decision.Candidates[0].Model, Costs: map[string]float64{}}
				for _, c := range decision.Candidates {
					if c.Price != nil {
						chosen.Costs[c.Model] = c.Price.Dollars()
					}
				}
				if i%max(1, len(rows)/framedRows) == 0 {
					text := "Hello! Could you please help me with the following?\n\n" + prompt.prompt.Text + "\n\nThank you very much in advance!"
					prompt, err := (&promptLine{Prompt: &text}).read()
					if err != nil {
						return fmt.Errorf("read %s: %w", rows[i].ID, err)
					}
					framed, err := d.decide(&prompt)
					if err != nil {
						return fmt.Errorf("compute the routing decision for %s: %w", rows[i].ID, err)
					}
					chosen.Framed, chosen.Flipped = true, framed.Candidates[0].Model != chosen.Model
				}
				choices[i] = chosen
			}
			return ctx.Err()
		})
	}
	return choices, g.Wait()
}

// auto evaluates the choices of `auto` for the pools in the plan.
func (e *evaluation) auto(ctx context.Context) ([]AutoResult, error) {
	var results []AutoResult
	for _, pool := range e.plan.Pools {
		rows, models, price := e.poolOf(&pool)
		if len(models) < 2 {
			continue
		}
		choices, err := e.newDecider(e.objective, models, price, recordedEffort).choose(ctx, rows, e.prompts)
		if err != nil {
			return nil, err
		}
		if result, ok := EvaluateChoices(pool.Name, rows, models, choices); ok {
			results = append(results, result)
		}
	}
	return results, nil
}

// poolOf returns the rows, the models and the prices of a pool.
func (e *evaluation) poolOf(pool *Pool) ([]*Row, []string, func(model string) *catalog.Price) {
	known := func(model string) bool {
		_, ok := e.fitter.Named(e.catalog, model)
		return ok
	}
	rows, models := PoolRows(*pool, e.rows, known)
	price := func(model string) *catalog.Price { // the mean recorded cost
		sum := 0.0
		for _, r := range rows {
			sum += r.Costs[model]
		}
		return &catalog.Price{PerRequest: money.Amount(sum / float64(len(rows)) * float64(money.Dollar)), Source: "recorded"}
	}
	if !HasCosts(rows, models) {
		price = func(model string) *catalog.Price {
			if p := e.prices[model]; p != nil {
				return p
			}
			return e.catalog.ListPrice(model)
		}
	}
	pool.Models = slices.DeleteFunc(models, func(m string) bool { return price(m) == nil || otherName(e.catalog, m, models) })
	rows, models = PoolRows(*pool, e.rows, known)
	return rows, models, price
}

// otherName reports whether name is a dated version of a catalog model whose main name is in the list. Both names have the same
// ability and price, so a choice between them would be arbitrary.
func otherName(known *catalog.Catalog, name string, list []string) bool {
	m, ok := known.Model(name)
	if !ok || m.Name == name || ability.Canonical(m.Name) == name {
		return false
	}
	return slices.Contains(list, m.Name) || slices.Contains(list, ability.Canonical(m.Name))
}

// behaviourLine is one line of the behaviour file.
type behaviourLine struct {
	ID       string `json:"id"`
	Relation string `json:"relation"`
	Kind     string `json:"kind"`
	Requests []struct {
		ID   string `json:"id"`
		Role string `json:"role"`
		promptLine
	} `json:"requests"`
}

// behaviour makes a routing decision for each request in a behaviour file and evaluates the relations between the decisions.
func (e *evaluation) behaviour(ctx context.Context, path string) ([]BehaviourResult, error) {
	d, err := e.catalogDecider()
	if err != nil {
		return nil, err
	}
	var (
		mu        sync.Mutex
		items     []Behaviour
		decisions = map[string]Judged{}
	)
	err = eachLine(ctx, path, func(line []byte) error {
		var in behaviourLine
		if err := json.Unmarshal(line, &in); err != nil {
			return err
		}
		mu.Lock()
		defer mu.Unlock()
		item := Behaviour{ID: in.ID, Relation: in.Relation, Kind: in.Kind, Requests: map[string]string{}}
		for i := range in.Requests {
			request := &in.Requests[i]
			prompt, err := request.read()
			if err != nil {
				return err
			}
			decision, err := d.decide(&prompt)
			if err != nil {
				return fmt.Errorf("compute the routing decision for %s: %w", request.ID, err)
			}
			j := Judged{Model: decision.Candidates[0].Model, Success: map[string]float64{}, Cost: map[string]float64{}}
			for i := range decision.Candidates {
				if c := &decision.Candidates[i]; c.Excluded == nil {
					j.Success[c.Model] = c.Quality
					if c.Price != nil {
						j.Cost[c.Model] = c.Price.Dollars()
					}
				}
			}
			item.Requests[request.Role], decisions[request.ID] = request.ID, j
		}
		items = append(items, item)
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", path, err)
	}
	return EvaluateBehaviour(items, decisions), nil
}

// catalogDecider returns a decider that chooses, at list prices, among the chat models of the catalog that are not deprecated, support
// tools, have a list price and have a known ability.
func (e *evaluation) catalogDecider() (*decider, error) {
	var names []string
	for _, m := range e.catalog.Models() {
		if m.Op == llm.Chat && !m.Deprecated && m.Abilities.Has(llm.Tools) && e.catalog.ListPrice(m.Name) != nil && e.fitter.Of(m).Source != predict.FromPrior {
			names = append(names, m.Name)
		}
	}
	objective, err := route.ParseObjective("auto", "")
	if err != nil {
		return nil, err
	}
	efforts := func(m *catalog.Model) []catalog.Effort { return catalog.EffortsFor(m.Home, m.Name) }
	return e.newDecider(objective, names, e.catalog.ListPrice, efforts), nil
}
