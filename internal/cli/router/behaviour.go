package router

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"

	"fairlead.dev/internal/catalog"
	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/predict"
	"fairlead.dev/internal/predict/protocol"
	"fairlead.dev/internal/route"
)

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

// behaviour makes a routing decision for each request in a behaviour file and evaluates the relations between the decisions. The
// candidates are catalog models, or the models in --models, at list prices.
func (e *evaluation) behaviour(ctx context.Context, path string, only []string) ([]protocol.BehaviourResult, error) {
	d, err := e.catalogDecider(only)
	if err != nil {
		return nil, err
	}
	var (
		mu        sync.Mutex
		items     []protocol.Behaviour
		decisions = map[string]protocol.Judged{}
	)
	err = e.readFile(ctx, path, func(line []byte) error {
		var in behaviourLine
		if err := json.Unmarshal(line, &in); err != nil {
			return err
		}
		item := protocol.Behaviour{ID: in.ID, Relation: in.Relation, Kind: in.Kind, Requests: map[string]string{}}
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
			// Copy the part of the decision that protocol.EvaluateBehaviour checks.
			j := protocol.Judged{Model: decision.Candidates[0].Model, Success: map[string]float64{}, Cost: map[string]float64{}}
			for i := range decision.Candidates {
				if c := &decision.Candidates[i]; c.Excluded == nil {
					j.Success[c.Model] = c.Quality
					if c.Price != nil {
						j.Cost[c.Model] = c.Price.Dollars()
					}
				}
			}
			mu.Lock()
			item.Requests[request.Role] = request.ID
			decisions[request.ID] = j
			mu.Unlock()
		}
		mu.Lock()
		items = append(items, item)
		mu.Unlock()
		return nil
	})
	if err != nil {
		return nil, err
	}
	return protocol.EvaluateBehaviour(items, decisions), nil
}

// catalogDecider returns a decider that chooses among the given models. If none are given, it uses the chat models of the catalog
// that are not deprecated, support tools, have a list price and have a known ability.
func (e *evaluation) catalogDecider(only []string) (*decider, error) {
	roster := e.guess.roster
	names := only
	if len(names) == 0 {
		for _, m := range roster.catalog.Models() {
			if m.Op == llm.Chat && !m.Deprecated && m.Abilities.Has(llm.Tools) && roster.catalog.ListPrice(m.Name) != nil && roster.fitter.Of(m).Source != predict.FromPrior {
				names = append(names, m.Name)
			}
		}
	}
	objective, err := route.ParseObjective("auto", "")
	if err != nil {
		return nil, err
	}
	efforts := func(m *catalog.Model) []catalog.Effort { return catalog.EffortsFor(m.Home, m.Name) }
	return newDecider(roster, objective, names, roster.catalog.ListPrice, efforts), nil
}
