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

// Archive encodes the names and prices of the catalog, for Restore. Ratings are omitted, because snapshots store the abilities
// derived from them.
func (c *Catalog) Archive() ([]byte, error) {
	stored := archived{Version: c.version, Models: make([]Model, len(c.sorted)), Offers: c.offers}
	for i, m := range c.sorted {
		stored.Models[i] = *m
		stored.Models[i].Rating = nil
	}
	data, err := json.Marshal(stored)
	if err != nil {
		return nil, fmt.Errorf("archive catalog: %w", err)
	}
	return data, nil
}

// Restore returns the archived catalog, with its version.
func Restore(data []byte) (*Catalog, error) {
	var archive archived
	if err := json.Unmarshal(data, &archive); err != nil {
		return nil, fmt.Errorf("read archived catalog: %w", err)
	}
	models := make(map[string]*Model, len(archive.Models))
	for i := range archive.Models {
		models[archive.Models[i].Name] = &archive.Models[i]
	}
	if slices.ContainsFunc(archive.Offers, func(o Offer) bool { return models[o.Model] == nil }) {
		return nil, errors.New("read archived catalog: invalid catalog: an offer has no model")
	}
	return index(models, archive.Offers, archive.Version), nil
}
