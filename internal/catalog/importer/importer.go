// Package importer reads public price lists and computes the changes they would make to a catalog. It performs no
// I/O: it takes the text of a list and returns accepted prices for a catalog.PriceHistory.
package importer

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"fairlead.dev/internal/catalog"
	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/money"
)

// The supported price lists.
const (
	LiteLLM   = "litellm"
	ModelsDev = "models.dev"
)

// Sources lists the supported price lists.
func Sources() []string { return []string{LiteLLM, ModelsDev} }

// Address returns the URL of a list.
func Address(source string) string {
	if source == LiteLLM {
		return "https://raw.githubusercontent.com/BerriAI/litellm/main/model_prices_and_context_window.json"
	}
	return "https://models.dev/api.json"
}

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

// Read parses a list. It skips entries that are not chat or embedding models of a known provider. It also skips
// malformed entries, so that the other entries can still be used.
func Read(source string, text []byte) ([]Row, error) {
	var rows []Row
	var err error
	switch source {
	case LiteLLM:
		rows, err = readLiteLLM(text)
	case ModelsDev:
		rows, err = readModelsDev(text)
	default:
		return nil, fmt.Errorf("unknown price list %q", source)
	}
	if err != nil {
		return nil, fmt.Errorf("read price list %s: %w", source, err)
	}
	if len(rows) == 0 {
		return nil, fmt.Errorf("read price list %s: unexpected format: no models", source)
	}
	slices.SortStableFunc(rows, func(a, b Row) int {
		return cmp.Or(cmp.Compare(a.Provider, b.Provider), cmp.Compare(strings.ToLower(a.ID), strings.ToLower(b.ID)))
	})
	return rows, nil
}

// perMillion converts a price for a number of tokens to a rate. It returns nil for an invalid price.
func perMillion(dollars *float64, tokens float64) *money.Rate {
	if dollars == nil {
		return nil
	}
	perMillion := *dollars * 1e6 / tokens
	if math.IsNaN(perMillion) || perMillion < 0 || perMillion > 1e6 {
		return nil
	}
	return new(money.PerMillion(perMillion))
}

// factor returns the ratio of rate to base in thousandths, or 0 if either is missing or zero.
func factor(rate, base *money.Rate) int64 {
	if rate == nil || base == nil || *base == 0 || *rate == 0 {
		return 0
	}
	return int64(math.Round(float64(*rate) / float64(*base) * 1000))
}

// whole converts a token count to an integer. Lists sometimes write token counts as floats.
func whole(n *float64) int64 {
	if n == nil || math.IsNaN(*n) || *n < 1 || *n > 1e9 {
		return 0
	}
	return int64(*n)
}
