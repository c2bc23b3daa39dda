package bundle

import (
	"errors"
	"fmt"
	"strings"

	"fairlead.dev/internal/catalog"
	"fairlead.dev/internal/money"
)

// ErrChange is returned for a catalog that differs implausibly from the active one.
var ErrChange = errors.New("implausible change")

// maxNamed is the maximum number of prices that an error lists.
const maxNamed = 3

// CheckChange rejects a catalog that has fewer than half of the active catalog's offers, or in which an offer's input or output rate
// becomes 0 or changes by more than factor. A factor of 0 allows every change.
func CheckChange(active, next *catalog.Catalog, factor float64) error {
	if factor <= 0 {
		return nil
	}
	kept, total := 0, 0
	var jumps []string
	for _, before := range active.AllOffers() {
		total++
		after, ok := next.Offer(before.Provider, before.Model)
		if !ok {
			continue
		}
		kept++
		if before.Price == nil || after.Price == nil {
			continue
		}
		for _, one := range []struct {
			what     string
			old, new money.Rate
		}{{"input", before.Price.Input, after.Price.Input}, {"output", before.Price.Output, after.Price.Output}} {
			ratio := float64(one.new) / float64(one.old)
			if one.old != 0 && (ratio > factor || ratio < 1/factor) { // a free model may become paid
				jumps = append(jumps, fmt.Sprintf("%s/%s %s from $%s to $%s", before.Provider, before.Model, one.what, money.Amount(one.old), money.Amount(one.new)))
			}
		}
	}
	if 2*kept < total {
		return fmt.Errorf("%w: only %d of the %d offers in the active catalog remain", ErrChange, kept, total)
	}
	if len(jumps) > 0 {
		more := ""
		if len(jumps) > maxNamed {
			more = fmt.Sprintf(" and %d more", len(jumps)-maxNamed)
		}
		return fmt.Errorf("%w: a rate changes by more than a factor of %g: %s%s", ErrChange, factor, strings.Join(jumps[:min(len(jumps), maxNamed)], ", "), more)
	}
	return nil
}
