package main

import (
	"encoding/json"
	"io"
	"maps"
	"slices"
	"strings"

	"fairlead.dev/internal/catalog"
	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/money"
	"fairlead.dev/internal/provider"
	"fairlead.dev/internal/route"
	"fairlead.dev/internal/route/predict"
)

type evaluation struct {
	catalog  *catalog.Catalog
	table    *predict.Table
	prices   map[string]*catalog.Price // of models that the catalog does not list
	names    map[string]string         // model names by the lower-case name in the data
	outcomes []*outcome
	folds    [foldCount]*fold
}

// fixedAbilities are known abilities by model.
type fixedAbilities map[string]predict.Ability

// Ability implements route.Predictor.
func (a fixedAbilities) Ability(m *catalog.Model) predict.Ability { return a[m.Name] }

// servedName is the name of a model in a snapshot. Old previews are ordinary models here, but the default pool leaves previews out.
func servedName(model string) string {
	return strings.NewReplacer("-preview", "", "-instant-", "-").Replace(model)
}

// newSnapshot returns a snapshot of the models. Outcomes were recorded only at the default effort.
func (e *evaluation) newSnapshot(models []string, price func(model string) *catalog.Price, k knowledge, f *fold) *route.Snapshot {
	p := &provider.Provider{Name: "pool"}
	abilities := fixedAbilities{}
	for _, name := range models {
		m := catalog.Model{Name: name, Op: llm.Chat}
		if listed, ok := e.catalog.Model(name); ok {
			m = *listed
			m.Deprecated, m.Context, m.MaxInput, m.MaxOutput = false, 0, 0, 0
		}
		ability := f.abilities[name]
		if !k.fitted {
			ability = e.table.Ability(&m)
		}
		m.Name = servedName(name)
		m.Abilities |= llm.Tools | llm.JSONMode | llm.JSONSchema
		abilities[m.Name] = ability
		p.Targets = append(p.Targets, &provider.Target{Provider: p.Name, Model: &m, Upstream: name, Price: price(name)})
	}
	return route.NewSnapshot(e.catalog, []*provider.Provider{p}, abilities)
}

// compare makes the decisions for the tasks of a pool. It returns nil for a pool that has fewer than two models, or no model with a row in
// the ability table.
func (e *evaluation) compare(p *pool, k knowledge) (*comparison, error) {
	tasks := slices.DeleteFunc(slices.Clone(e.outcomes), func(o *outcome) bool { return !slices.Contains(p.sources, o.source) })
	if len(tasks) == 0 {
		return nil, nil
	}
	recorded := len(tasks[0].costs) > 0
	counts := map[string]int{}
	for _, o := range tasks {
		for m := range o.scores {
			counts[m]++
		}
	}
	c := &comparison{models: slices.DeleteFunc(slices.Sorted(maps.Keys(counts)), func(m string) bool {
		listed, known := e.catalog.Model(m)
		unpriced := (!recorded || p.listed) && e.listPrice(m) == nil
		return 20*counts[m] < 19*len(tasks) || p.models != nil && !slices.Contains(p.models, m) || unpriced || !k.fitted && (!known || listed.Rating == nil)
	})}
	c.tasks = slices.DeleteFunc(tasks, func(o *outcome) bool {
		return slices.ContainsFunc(c.models, func(m string) bool { _, ok := o.scores[m]; return !ok })
	})
	if len(c.models) < 2 {
		return nil, nil
	}
	c.costs, c.picks = make([][]float64, len(c.tasks)), make([][]int, len(c.tasks))
	for n, f := range e.folds {
		price := e.listPrice
		if recorded && !p.listed {
			price = f.meanCost(p)
		}
		snapshot := e.newSnapshot(c.models, price, k, f)
		for i, o := range c.tasks {
			if o.fold != n {
				continue
			}
			in := o.input
			if told := f.features(o); k.told {
				in.Features = told
			} else if k.family {
				in.Features.Task = told.Task
			}
			if err := c.decide(i, in, snapshot, recorded); err != nil {
				return nil, err
			}
		}
	}
	return c, nil
}

// decide stores the choices for a task and the costs of all models.
func (c *comparison) decide(task int, in route.Input, snapshot *route.Snapshot, recorded bool) error {
	every := in
	every.Route = &route.Route{Name: "auto"} // with all models, because the default pool leaves some out
	for _, m := range c.models {
		every.Route.Pool = append(every.Route.Pool, servedName(m))
	}
	d, err := route.Decide(&every, snapshot, route.Conditions{})
	if err != nil {
		return err
	}
	for _, m := range c.models {
		at := slices.IndexFunc(d.Candidates, func(cand route.Candidate) bool { return cand.Model == servedName(m) })
		cost := d.Candidates[at].Price.Dollars()
		if recorded {
			cost = c.tasks[task].costs[m]
		}
		c.costs[task] = append(c.costs[task], cost)
	}
	for _, in.Objective = range goals() {
		d, err := route.Decide(&in, snapshot, route.Conditions{})
		if err != nil {
			return err
		}
		c.picks[task] = append(c.picks[task], slices.IndexFunc(c.models, func(m string) bool { return servedName(m) == d.Candidates[0].Model }))
	}
	return nil
}

// meanCost returns the mean recorded costs as prices per request.
func (f *fold) meanCost(p *pool) func(model string) *catalog.Price {
	return func(model string) *catalog.Price {
		sum, n := 0.0, 0.0
		for _, o := range f.outcomes {
			if slices.Contains(p.sources, o.source) {
				sum += o.costs[model]
				n++
			}
		}
		return &catalog.Price{PerRequest: money.Amount(sum / n * float64(money.Dollar))}
	}
}

func (e *evaluation) listPrice(model string) *catalog.Price {
	if price := e.prices[model]; price != nil {
		return price
	}
	return e.catalog.ListPrice(model)
}

// writeBehaviour writes the decision of an installation with three vendors for each request: {"id", "model", "chance": {model: 0 to 1},
// "cost": {model: dollars}}.
func (e *evaluation) writeBehaviour(out io.Writer, path string) error {
	var providers []*provider.Provider
	for _, name := range []string{"openai", "anthropic", "gemini"} {
		p := &provider.Provider{Name: name}
		for _, offer := range e.catalog.Offers(name) {
			if m := e.catalog.At(offer); m.Op == llm.Chat && offer.Needs == "" && e.catalog.ListPrice(m.Name) != nil {
				p.Targets = append(p.Targets, &provider.Target{Provider: name, Model: m, Upstream: offer.Upstream, Price: e.catalog.ListPrice(m.Name), Efforts: catalog.EffortsFor(name, m.Name)})
			}
		}
		providers = append(providers, p)
	}
	snapshot := route.NewSnapshot(e.catalog, providers, e.table)
	encoder := json.NewEncoder(out)
	return eachLine(path, func(text []byte) error {
		var item struct{ Requests []line }
		if err := json.Unmarshal(text, &item); err != nil {
			return err
		}
		for i := range item.Requests {
			in, err := item.Requests[i].read()
			if err != nil {
				return err
			}
			in.Objective = route.Objective{Name: "auto", Tradeoff: 0.5}
			d, err := route.Decide(&in, snapshot, route.Conditions{})
			if err != nil {
				return err
			}
			chance, cost := map[string]float64{}, map[string]float64{}
			for _, c := range d.Candidates {
				if c.Excluded == nil {
					chance[c.Model], cost[c.Model] = c.Quality, c.Price.Dollars()
				}
			}
			if err := encoder.Encode(map[string]any{"id": item.Requests[i].ID, "model": d.Candidates[0].Model, "chance": chance, "cost": cost}); err != nil {
				return err
			}
		}
		return nil
	})
}
