package proofs

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"fairlead.dev/internal/admin/adminapi"
	"fairlead.dev/internal/admin/requests"
	"fairlead.dev/internal/requestlog"
)

// Limits on computing the savings compared with a chosen model.
const (
	maxRepriced = 100_000
	repriceTime = 15 * time.Second
)

// against computes the savings compared with the named model and stores them in p.
func (a *handlers) against(ctx context.Context, p *Proof, rollup requestlog.RollupFilter, name string) error {
	if known, near := a.Models.Known(name); !known {
		p := adminapi.Problem{In: "query", Param: "baseline", Message: fmt.Sprintf("unknown model %q", name)}
		if len(near) > 0 {
			p.Suggestion = near[0]
		}
		return adminapi.InvalidAll([]adminapi.Problem{p}).With("suggestions", near)
	}
	if err := a.begin(ctx); err != nil {
		return err
	}
	defer a.end()
	report, err := newBaseline(ctx, a.Log, a.Prices.PastSnapshots(), BaselineOptions{
		Filter: requestlog.Filter{
			WorkspaceID: rollup.WorkspaceID, From: rollup.From, To: rollup.To, Source: rollup.Source,
			Simulated: rollup.Simulated,
			Lists:     requestlog.Lists{Key: rollup.Key, Model: rollup.Model, Provider: rollup.Provider, Policy: rollup.Policy},
		},
		Model: name, Limit: maxRepriced, Within: repriceTime,
	})
	if err != nil {
		return err
	}
	total := report.Total.Total()
	p.Savings, p.Against = requests.FiguresOf(&total), &report.Coverage
	p.Models, p.Keys = savingsOf(report.Models, nil), savingsOf(report.Keys, p.KeyNames)
	return nil
}

// savingsOf returns the savings of the groups with the most requests.
func savingsOf(groups map[string]*requestlog.Sums, names map[string]string) []Saving {
	list := []Saving{}
	for name, sums := range groups {
		list = append(list, saving(name, cmp.Or(names[name], name), &sums.Figures))
	}
	slices.SortFunc(list, func(a, b Saving) int { return cmp.Or(cmp.Compare(b.Requests, a.Requests), cmp.Compare(a.Name, b.Name)) })
	return list[:min(len(list), maxRows)]
}

// begin waits until no other report reads the log. The caller must call end when its report is done.
func (a *handlers) begin(ctx context.Context) error {
	select {
	case a.turn <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (a *handlers) end() { <-a.turn }
