package router

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"fairlead.dev/internal/catalog"
	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/money"
	"fairlead.dev/internal/predict"
	"fairlead.dev/internal/predict/ability"
	"fairlead.dev/internal/predict/protocol"
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

// newDecider returns a decider that chooses among the given models, using the given prices and efforts. The abilities come from
// the roster.
func newDecider(r *roster, objective route.Objective, models []string, price func(model string) *catalog.Price, efforts func(*catalog.Model) []catalog.Effort) *decider {
	known := func(name string) predict.Ability {
		a, _ := r.ability(name)
		return a
	}
	return newDeciderBy(r, objective, models, price, efforts, known)
}

// newDeciderBy is like newDecider, but gets the abilities from the function known instead of from the roster.
func newDeciderBy(r *roster, objective route.Objective, models []string, price func(model string) *catalog.Price, efforts func(*catalog.Model) []catalog.Effort, known func(model string) predict.Ability) *decider {
	p := &provider.Provider{Name: poolProvider}
	abilities := poolAbilities{byModel: map[string]predict.Ability{}, typical: r.predictor.Typical()}
	for _, name := range models {
		m := catalog.Model{Name: name, Op: llm.Chat, Assumed: true}
		if listed, ok := r.catalog.Model(name); ok {
			m = *listed
			m.Name, m.Deprecated = name, false
		}
		m.Abilities |= llm.Tools | llm.JSONMode | llm.JSONSchema
		abilities.byModel[name] = known(name)
		p.Targets = append(p.Targets, &provider.Target{Provider: p.Name, Model: &m, Upstream: name, Price: price(name), Efforts: efforts(&m)})
	}
	return &decider{r.predictor, route.NewSnapshot(r.catalog, []*provider.Provider{p}, abilities), objective}
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
func (d *decider) choose(ctx context.Context, rows []*protocol.Row, prompts map[string]asked) ([]protocol.Chosen, error) {
	choices := make([]protocol.Chosen, len(rows))
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
				chosen := protocol.Chosen{Model: decision.Candidates[0].Model, Costs: map[string]float64{}}
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
func (e *evaluation) auto(ctx context.Context, objective route.Objective, prices map[string]*catalog.Price) ([]protocol.AutoResult, error) {
	var results []protocol.AutoResult
	for _, pool := range e.plan.Pools {
		rows, models, price := e.poolOf(&pool, prices)
		if len(models) < 2 {
			continue
		}
		choices, err := newDecider(e.guess.roster, objective, models, price, recordedEffort).choose(ctx, rows, e.prompts)
		if err != nil {
			return nil, err
		}
		if result, ok := protocol.EvaluateChoices(pool.Name, rows, models, choices); ok {
			results = append(results, result)
		}
	}
	return results, nil
}

// poolOf returns the rows, the models and the prices of a pool.
func (e *evaluation) poolOf(pool *protocol.Pool, prices map[string]*catalog.Price) ([]*protocol.Row, []string, func(model string) *catalog.Price) {
	roster := e.guess.roster
	known := func(model string) bool { return e.guess.ability(model) != nil }
	rows, models := protocol.PoolRows(*pool, e.rows, known)
	price := func(model string) *catalog.Price { // the mean recorded cost
		sum := 0.0
		for _, r := range rows {
			sum += r.Costs[model]
		}
		return &catalog.Price{PerRequest: money.Amount(sum / float64(len(rows)) * float64(money.Dollar)), Source: "recorded"}
	}
	if !protocol.HasCosts(rows, models) {
		price = func(model string) *catalog.Price {
			if p := prices[model]; p != nil {
				return p
			}
			return roster.catalog.ListPrice(model)
		}
	}
	pool.Models = slices.DeleteFunc(models, func(m string) bool { return price(m) == nil || otherName(roster.catalog, m, models) })
	rows, models = protocol.PoolRows(*pool, e.rows, known)
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

// readPrices reads a file with the prices of models that the catalog does not list.
func readPrices(path string) (map[string]*catalog.Price, error) {
	prices := map[string]*catalog.Price{}
	err := readTable(path, "model,input_usd_per_mtok,output_usd_per_mtok", func(row []string) error {
		var rates [2]float64
		for i, text := range row[1:] {
			if _, err := fmt.Sscanf(text, "%g", &rates[i]); err != nil || rates[i] < 0 {
				return fmt.Errorf("%q is not a price", text)
			}
		}
		prices[ability.Canonical(row[0])] = &catalog.Price{Input: money.PerMillion(rates[0]), Output: money.PerMillion(rates[1]), Source: "file"}
		return nil
	})
	return prices, err
}

// readNames reads a file that maps names in the data files, as lower-case keys, to model names.
func readNames(path string) (map[string]string, error) {
	names := map[string]string{}
	err := readTable(path, "name,model", func(row []string) error {
		names[strings.ToLower(row[0])] = row[1]
		return nil
	})
	return names, err
}
