package route

import (
	"bytes"
	"encoding/json"
	"fmt"

	"fairlead.dev/internal/catalog"
	"fairlead.dev/internal/provider"
	"fairlead.dev/internal/route/predict"
)

// archived is the stored form of a snapshot. It is used to recompute decisions after targets and prices have changed.
type archived struct {
	Catalog   string             `json:"catalog"`
	Providers []archivedProvider `json:"providers"`
	Models    []archivedModel    `json:"models"`
}

type archivedProvider struct {
	Name    string            `json:"name"`
	Targets []provider.Target `json:"targets"`
}

type archivedModel struct {
	Name    string          `json:"name"`
	Ability predict.Ability `json:"ability"`
}

// Version returns a hash of the snapshot's content.
func (s *Snapshot) Version() string { return s.version }

// Archive encodes the data on which decisions depend, for Restore.
func (s *Snapshot) Archive() ([]byte, error) {
	kept := archived{Models: make([]archivedModel, len(s.models))}
	if s.Catalog != nil {
		kept.Catalog = s.Catalog.Version()
	}
	last := -1
	byName := map[string]int{}
	for _, t := range s.targets {
		at, known := byName[t.Provider]
		if !known {
			last++
			at, byName[t.Provider] = last, last
			kept.Providers = append(kept.Providers, archivedProvider{Name: t.Provider})
		}
		kept.Providers[at].Targets = append(kept.Providers[at].Targets, *t)
	}
	for i, m := range s.models {
		kept.Models[i] = archivedModel{Name: m.model.Name, Ability: m.ability}
	}
	data, err := json.Marshal(kept)
	if err != nil {
		return nil, fmt.Errorf("archive snapshot: %w", err)
	}
	return data, nil
}

// Restore returns a snapshot that makes the same decisions as the archived snapshot. Models without a target are looked up in cat.
func Restore(data []byte, cat *catalog.Catalog) (*Snapshot, error) {
	var kept archived
	decoder := json.NewDecoder(bytes.NewReader(data))
	if err := decoder.Decode(&kept); err != nil {
		return nil, fmt.Errorf("read archived snapshot: %w", err)
	}
	abilities := archivedAbilities{byModel: make(map[string]predict.Ability, len(kept.Models))}
	for _, m := range kept.Models {
		abilities.byModel[m.Name] = m.Ability
	}
	providers := make([]*provider.Provider, len(kept.Providers))
	for i, p := range kept.Providers {
		providers[i] = &provider.Provider{Name: p.Name}
		for j := range p.Targets {
			if p.Targets[j].Model == nil {
				return nil, fmt.Errorf("read archived snapshot: a target of %s has no model", p.Name)
			}
			providers[i].Targets = append(providers[i].Targets, &p.Targets[j])
		}
	}
	return NewSnapshot(cat, providers, abilities), nil
}

type archivedAbilities struct {
	byModel map[string]predict.Ability
}

// Ability implements Predictor.
func (r archivedAbilities) Ability(m *catalog.Model) predict.Ability { return r.byModel[m.Name] }
