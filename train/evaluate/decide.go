package main

import (
	"encoding/json"
	"fmt"
	"io"
	"runtime"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"

	"fairlead.dev/internal/catalog"
	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/money"
	"fairlead.dev/internal/provider"
	"fairlead.dev/internal/route"
	"fairlead.dev/internal/route/predict"
)

var parallel = runtime.GOMAXPROCS(0)

type evaluation struct {
	catalog *catalog.Catalog
	prices  map[string]*catalog.Price
	*outcomes
	folds [foldCount]*fold
}

// fixedAbilities are known abilities by model.
type fixedAbilities map[string]predict.Ability

// Ability implements route.Predictor.
func (a fixedAbilities) Ability(m *catalog.Model) predict.Ability { return a[m.Name] }

// decider chooses among the models of a pool like the gateway.
type decider struct {
	snapshot *route.Snapshot
	everyOne *route.Route // route with all models, for their costs
}

// servedName is the name of a model in the snapshot. Old previews are ordinary models here, but the default pool leaves previews out.
func servedName(model string) string {
	return strings.NewReplacer("-preview", "", "-instant-", "-").Replace(model)
}

// newDecider returns a decider that chooses among the models at the given prices. Outcomes were recorded only at the default effort.
func (e *evaluation) newDecider(models []string, price func(model string) *catalog.Price, abilityOf func(*catalog.Model) predict.Ability) *decider {
	p := &provider.Provider{Name: "pool"}
	d := &decider{everyOne: &route.Route{Name: "auto"}}
	abilities := fixedAbilities{}
	for _, name := range models {
		m := catalog.Model{Name: name, Op: llm.Chat}
		if listed, ok := e.catalog.Model(name); ok {
			m = *listed
			m.Name, m.Deprecated, m.Context, m.MaxInput, m.MaxOutput = name, false, 0, 0, 0
		}
		a := abilityOf(&m)
		m.Name = servedName(name)
		m.Abilities |= llm.Tools | llm.JSONMode | llm.JSONSchema
		abilities[m.Name] = a
		p.Targets = append(p.Targets, &provider.Target{Provider: p.Name, Model: &m, Upstream: name, Price: price(name)})
		d.everyOne.Pool = append(d.everyOne.Pool, m.Name)
	}
	d.snapshot = route.NewSnapshot(e.catalog, []*provider.Provider{p}, abilities)
	return d
}

// decide returns the decision for a request, as the gateway makes it without observations.
func (d *decider) decide(in *route.Input, o route.Objective, r *route.Route) (*route.Decision, error) {
	asked := *in
	asked.Objective, asked.Route = o, r
	return route.Decide(&asked, d.snapshot, route.Conditions{})
}

// fold is the knowledge from the outcomes outside of a part of the groups.
type fold struct {
	rows         []*outcome
	difficulty   map[string]float64         // of the benchmarks
	told, reread map[string]predict.Ability // fitted to the benchmarks' families and difficulties, and to those that the router reads
}

func newFold(all []*outcome, n int) *fold {
	f := &fold{rows: slices.DeleteFunc(slices.Clone(all), func(r *outcome) bool { return r.fold == n })}
	f.difficulty = benchmarkDifficulties(f.rows)
	f.told = fitAbilities(f.rows, f.features)
	f.reread = fitAbilities(f.rows, func(r *outcome) predict.Features { return r.input.Features })
	return f
}

// features returns the features of a task with the family and the difficulty of its benchmark.
func (f *fold) features(r *outcome) predict.Features {
	features := r.input.Features
	features.Task, features.Difficulty = r.family, f.difficulty[r.source]
	return features
}

// compare makes the decisions for a pool. It returns nil for a pool without tasks or with fewer than two models, and without an ability
// table for the models.
func (e *evaluation) compare(p *pool, k knowledge) (*comparison, error) {
	recorded := true
	rows, models := p.usable(e.rows, func(m string) bool {
		_, listed := e.catalog.Model(m)
		return k.fitted || listed
	})
	for _, r := range rows {
		recorded = recorded && len(r.costs) > 0
	}
	rows, models = p.usable(e.rows, func(m string) bool {
		_, listed := e.catalog.Model(m)
		priced := recorded && !p.listed || e.listPrice(m) != nil
		return slices.Contains(models, m) && priced && (listed || k.fitted)
	})
	if len(rows) == 0 || len(models) < 2 || !k.fitted && !recorded {
		return nil, nil
	}
	c := &comparison{rows: rows, models: models, cost: make([][]float64, len(rows)), picks: make([][]int, len(rows))}
	goals := objectives()
	for n, f := range e.folds {
		d := e.foldDecider(p, k, f, models, recorded && !p.listed)
		g := new(errgroup.Group)
		g.SetLimit(parallel)
		for i, r := range rows {
			if r.fold != n {
				continue
			}
			g.Go(func() error {
				in := r.input
				if k.asked {
					in.Features = f.features(r)
				}
				all, err := d.decide(&in, goals[0], d.everyOne)
				if err != nil {
					return fmt.Errorf("decide on %s: %w", r.id, err)
				}
				c.cost[i] = make([]float64, len(models))
				for j, m := range models {
					at := slices.IndexFunc(all.Candidates, func(cand route.Candidate) bool { return cand.Model == servedName(m) })
					if c.cost[i][j] = all.Candidates[at].Price.Dollars(); recorded {
						c.cost[i][j] = r.costs[m]
					}
				}
				for _, o := range goals {
					decision, err := d.decide(&in, o, nil)
					if err != nil {
						return fmt.Errorf("decide on %s: %w", r.id, err)
					}
					c.picks[i] = append(c.picks[i], slices.IndexFunc(models, func(m string) bool { return servedName(m) == decision.Candidates[0].Model }))
				}
				return nil
			})
		}
		if err := g.Wait(); err != nil {
			return nil, err
		}
	}
	return c, nil
}

// foldDecider returns a decider with the abilities and the mean costs outside of a part of the groups.
func (e *evaluation) foldDecider(p *pool, k knowledge, f *fold, models []string, recorded bool) *decider {
	price := e.listPrice
	if recorded {
		price = func(model string) *catalog.Price {
			sum, n := 0.0, 0.0
			for _, r := range f.rows {
				if slices.Contains(p.sources, r.source) {
					sum += r.costs[model]
					n++
				}
			}
			return &catalog.Price{PerRequest: money.Amount(sum / n * float64(money.Dollar))}
		}
	}
	return e.newDecider(models, price, func(m *catalog.Model) predict.Ability {
		switch {
		case !k.fitted:
			return predict.NewTable(e.catalog).Ability(m)
		case k.told:
			return f.told[m.Name]
		}
		return f.reread[m.Name]
	})
}

func (e *evaluation) listPrice(model string) *catalog.Price {
	if price := e.prices[model]; price != nil {
		return price
	}
	return e.catalog.ListPrice(model)
}

// writeBehaviour writes the decision of an installation with three vendors for each request of a behaviour file: {"id", "model",
// "chance": {model: 0 to 1}, "cost": {model: dollars}}.
func writeBehaviour(out io.Writer, cat *catalog.Catalog, path string) error {
	var providers []*provider.Provider
	for _, name := range []string{"openai", "anthropic", "gemini"} {
		p := &provider.Provider{Name: name}
		for _, offer := range cat.Offers(name) {
			if m := cat.At(offer); m.Op == llm.Chat && offer.Needs == "" && cat.ListPrice(m.Name) != nil {
				p.Targets = append(p.Targets, &provider.Target{Provider: name, Model: m, Upstream: offer.Upstream, Price: cat.ListPrice(m.Name), Efforts: catalog.EffortsFor(name, m.Name)})
			}
		}
		providers = append(providers, p)
	}
	d := &decider{snapshot: route.NewSnapshot(cat, providers, nil)}
	middle, err := route.ParseObjective("auto", true, "")
	if err != nil {
		return err
	}
	encoder := json.NewEncoder(out)
	return eachLine(path, func(text []byte) error {
		var item struct{ Requests []line }
		if err := json.Unmarshal(text, &item); err != nil {
			return err
		}
		for i := range item.Requests {
			in, err := item.Requests[i].decode()
			if err != nil {
				return err
			}
			decision, err := d.decide(&in, middle, nil)
			if err != nil {
				return err
			}
			chance, cost := map[string]float64{}, map[string]float64{}
			for _, c := range decision.Candidates {
				if c.Excluded == nil {
					chance[c.Model], cost[c.Model] = c.Quality, c.Price.Dollars()
				}
			}
			if err := encoder.Encode(map[string]any{"id": item.Requests[i].ID, "model": decision.Candidates[0].Model, "chance": chance, "cost": cost}); err != nil {
				return err
			}
		}
		return nil
	})
}
