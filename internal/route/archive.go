package route

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"

	"fairlead/internal/catalog"
	"fairlead/internal/predict"
	"fairlead/internal/provider"
)

// archived is a snapshot as it is kept, so that a decision can be computed again when targets and prices are others.
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

// Version names the content of the snapshot.
func (s *Snapshot) Version() string { return s.version }

// hash is short: it tells the few snapshots apart that one installation ever has.
func (s *Snapshot) hash() string {
	data, err := s.Archive()
	if err != nil {
		return ""
	}
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:6])
}

// Archive writes what decisions depend on. Restore reads it.
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

// Restore makes a snapshot that decides as the archived one did. Names of models that no target has are looked up in the
// catalog given.
func Restore(data []byte, cat *catalog.Catalog) (*Snapshot, error) {
	var kept archived
	decoder := json.NewDecoder(bytes.NewReader(data))
	if err := decoder.Decode(&kept); err != nil {
		return nil, fmt.Errorf("read archived snapshot: %w", err)
	}
	abilities := restored{}
	for _, m := range kept.Models {
		abilities[m.Name] = m.Ability
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

type restored map[string]predict.Ability

// Ability is what the archive says.
func (r restored) Ability(m *catalog.Model) predict.Ability { return r[m.Name] }
