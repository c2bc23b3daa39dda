// Package importer reads the price lists of models.dev and OpenRouter and computes the changes it would make to a catalog. It performs no
// I/O: it takes the text of the list and returns accepted prices for a catalog.PriceHistory.
package importer

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"fairlead.dev/internal/catalog"
	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/money"
)

// Source is the name of the price list of models.dev.
const Source = "models.dev"

// Address is the URL of the price list of models.dev. OpenRouter is the URL of OpenRouter's list of its own models.
const (
	Address    = "https://models.dev/api.json"
	OpenRouter = "https://openrouter.ai/api/v1/models"
)

// Row is one model at one provider in a list. Provider is the provider's name in the catalog; unknown facts are zero.
type Row struct {
	Provider   string
	ID         string // model name at the provider
	Op         llm.Op
	Needs      string // requirement; see catalog.Offer
	Price      *catalog.Price
	Context    int64
	MaxOutput  int64
	Abilities  llm.Abilities
	Dimensions []int64
	Deprecated bool
}

// Read parses a list in either format. It skips entries that are not chat or embedding models of a known provider. It also skips
// malformed entries, so that the other entries can still be used.
func Read(text []byte) ([]Row, error) {
	read := readModelsDev
	var list struct{ Data []json.RawMessage }
	if json.Unmarshal(text, &list) == nil && list.Data != nil {
		read = readOpenRouter
	}
	rows, err := read(text)
	if err != nil {
		return nil, fmt.Errorf("read the price list: %w", err)
	}
	if len(rows) == 0 {
		return nil, errors.New("read the price list: unexpected format: no models")
	}
	sortRows(rows)
	return rows, nil
}

// Join combines lists. If several contain a model, the first list applies.
func Join(lists ...[]Row) []Row {
	rows := slices.Concat(lists...)
	sortRows(rows)
	return rows
}

func sortRows(rows []Row) {
	slices.SortStableFunc(rows, func(a, b Row) int {
		return cmp.Or(cmp.Compare(a.Provider, b.Provider), cmp.Compare(strings.ToLower(a.ID), strings.ToLower(b.ID)))
	})
}

// perMillion converts a price in dollars to a rate. It returns nil for an invalid price.
func perMillion(dollars *float64) *money.Rate {
	if dollars == nil || math.IsNaN(*dollars) || *dollars < 0 || *dollars > 1e6 {
		return nil
	}
	return new(money.PerMillion(*dollars))
}

// factor returns the ratio of rate to base in thousandths, or 0 if either is missing or zero.
func factor(rate *money.Rate, base money.Rate) int64 {
	if rate == nil || base == 0 || *rate == 0 {
		return 0
	}
	return int64(math.Round(float64(*rate) / float64(base) * 1000))
}

// whole converts a token count to an integer. Lists sometimes write token counts as floats.
func whole(n *float64) int64 {
	if n == nil || math.IsNaN(*n) || *n < 1 || *n > 1e9 {
		return 0
	}
	return int64(*n)
}
