package catalog

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
)

// archived is the stored form of a catalog.
type archived struct {
	Version string  `json:"version"`
	Models  []Model `json:"models"`
	Offers  []Offer `json:"offers"`
}

// Archive encodes the names and prices of the catalog, for Restore. Benchmarks are omitted, because decisions store the
// abilities derived from them.
func (c *Catalog) Archive() ([]byte, error) {
	kept := archived{Version: c.version, Models: make([]Model, len(c.sorted)), Offers: c.offers}
	for i, m := range c.sorted {
		kept.Models[i] = *m
		kept.Models[i].Benchmarks = nil
	}
	data, err := json.Marshal(kept)
	if err != nil {
		return nil, fmt.Errorf("archive catalog: %w", err)
	}
	return data, nil
}

// Restore returns the archived catalog, with its version.
func Restore(data []byte) (*Catalog, error) {
	var kept archived
	if err := json.Unmarshal(data, &kept); err != nil {
		return nil, fmt.Errorf("read archived catalog: %w", err)
	}
	models := make(map[string]*Model, len(kept.Models))
	for i := range kept.Models {
		models[kept.Models[i].Name] = &kept.Models[i]
	}
	if slices.ContainsFunc(kept.Offers, func(o Offer) bool { return models[o.Model] == nil }) {
		return nil, errors.New("read archived catalog: invalid catalog: an offer has no model")
	}
	return index(models, kept.Offers, kept.Version), nil
}
