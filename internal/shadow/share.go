package shadow

import (
	"context"
	"time"

	"fairlead.dev/internal/proof"
)

const (
	wantedWidth = 0.02                // width of the confidence interval (±1 point) at which sampling slows down
	watchShare  = 0.1                 // factor for the configured share once the interval is that narrow; not 0, to detect changes
	lookBack    = 30 * 24 * time.Hour // maximum age of the comparisons that are reviewed
	reviewEvery = 50                  // number of comparisons between two reviews of a workspace's shares
)

// shares is the sampling state of a workspace.
type shares struct {
	compared int             // number of comparisons since the last review
	precise  map[string]bool // tasks whose quality difference is known precisely enough
}

// Share implements gateway.Comparer.
func (c *Comparer) Share(workspace, task string, configured float64) float64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	if s := c.shares[workspace]; s != nil && s.precise[task] {
		return configured * watchShare
	}
	return configured
}

// review periodically computes which tasks of a workspace need fewer comparisons.
func (c *Comparer) review(ctx context.Context, r *proof.Record, configured float64) {
	c.mu.Lock()
	s := c.shares[r.Workspace]
	if s != nil && s.compared < reviewEvery {
		s.compared++
		c.mu.Unlock()
		return
	}
	next := &shares{precise: map[string]bool{}}
	if s != nil {
		next.precise = s.precise
	}
	c.shares[r.Workspace] = next
	c.mu.Unlock()

	samples, err := c.o.Store.Samples(ctx, r.Workspace, r.At.Add(-lookBack), r.At.Add(time.Minute))
	if err != nil {
		c.o.Report("review comparisons", err)
		return
	}
	byTask := map[string][]proof.Sample{}
	for _, sample := range samples {
		if sample.Baseline == r.Baseline {
			byTask[sample.Task] = append(byTask[sample.Task], sample)
		}
	}
	precise := map[string]bool{}
	target := proof.Target{Width: wantedWidth, Share: configured, Watch: configured * watchShare}
	for task, list := range byTask {
		precise[task] = proof.Wanted(list, target) < configured
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.shares[r.Workspace] = &shares{precise: precise}
}
