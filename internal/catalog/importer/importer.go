// Package importer reads the price lists that others publish and says what they would change in a catalog. It fetches and
// stores nothing: text comes in, and accepted prices go into a catalog.Book.
package importer

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"fairlead/internal/catalog"
	"fairlead/internal/llm"
	"fairlead/internal/money"
)

// The lists that can be read.
const (
	LiteLLM   = "litellm"
	ModelsDev = "models.dev"
)

// Sources lists them.
func Sources() []string { return []string{LiteLLM, ModelsDev} }

// Address is where a list is published.
func Address(source string) string {
	if source == LiteLLM {
		return "https://raw.githubusercontent.com/BerriAI/litellm/main/model_prices_and_context_window.json"
	}
	return "https://models.dev/api.json"
}

// Row is one model at one provider as a list has it. Provider is our name of it; unknown facts are zero.
type Row struct {
	Provider   string
	ID         string // as the provider knows it
	Op         llm.Op
	Needs      string // as in catalog.Offer
	Price      *catalog.Price
	Context    int64
	MaxOutput  int64
	Abilities  llm.Abilities
	Dimensions []int64
	Deprecated bool
}

var (
	errSource = errors.New("no such price list")
	errShape  = errors.New("not a list of this kind")
)

// Read parses a list. Entries that are no chat or embedding models of a provider that we know are left out; an entry that
// cannot be read is left out too, because one slip must not cost all the others.
func Read(source string, text []byte) ([]Row, error) {
	var rows []Row
	var err error
	switch source {
	case LiteLLM:
		rows, err = readLiteLLM(text)
	case ModelsDev:
		rows, err = readModelsDev(text)
	default:
		return nil, fmt.Errorf("%q: %w", source, errSource)
	}
	if err != nil {
		return nil, fmt.Errorf("read the price list of %s: %w", source, err)
	}
	if len(rows) == 0 {
		return nil, fmt.Errorf("read the price list of %s: %w: no model in it", source, errShape)
	}
	slices.SortStableFunc(rows, func(a, b Row) int {
		return cmp.Or(cmp.Compare(a.Provider, b.Provider), cmp.Compare(strings.ToLower(a.ID), strings.ToLower(b.ID)))
	})
	return rows, nil
}

// perMillion makes a rate of a number of dollars per so many tokens. Numbers that are no price are none.
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

// factor is a multiplier of a rate in thousandths, 0 when there is none.
func factor(rate, of *money.Rate) int64 {
	if rate == nil || of == nil || *of == 0 || *rate == 0 {
		return 0
	}
	return int64(math.Round(float64(*rate) / float64(*of) * 1000))
}

// whole is a number of tokens, which lists sometimes write with a point.
func whole(n *float64) int64 {
	if n == nil || math.IsNaN(*n) || *n < 1 || *n > 1e9 {
		return 0
	}
	return int64(*n)
}
