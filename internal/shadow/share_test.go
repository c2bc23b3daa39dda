package shadow

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"fairlead.dev/internal/proof"
)

// recorded returns the given samples.
type recorded struct {
	Store
	samples []proof.Sample
}

func (s recorded) Samples(context.Context, string, time.Time, time.Time) ([]proof.Sample, error) {
	return s.samples, nil
}

func TestSharesFallWhenTheIntervalIsNarrow(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 11, 17, 12, 0, 0, 0, time.UTC)
	var samples []proof.Sample
	random := rand.New(rand.NewPCG(1, 2)) //nolint:gosec // the test must be reproducible
	add := func(task, baseline string, n int, losses float64) {
		for i := range n {
			s := proof.Sample{Request: fmt.Sprint(task, i), At: at.Add(time.Duration(i-n) * time.Second), Task: task, Baseline: baseline, Propensity: 0.5}
			if random.Float64() < losses {
				s.Difference = -1
			}
			samples = append(samples, s)
		}
	}
	add("tie", "large", 20_000, 0)
	add("mixed", "large", 500, 0.5)
	add("former baseline", "other", 20_000, 0)
	c := New(Options{Store: recorded{samples: samples}, Report: func(task string, err error) {
		if err != nil {
			t.Errorf("%s: %v", task, err)
		}
	}})
	c.review(t.Context(), &proof.Record{Workspace: "w", Sample: proof.Sample{At: at, Baseline: "large"}}, 0.5)
	for task, want := range map[string]float64{"tie": 0.05, "mixed": 0.5, "former baseline": 0.5, "unknown": 0.5} {
		if got := c.Share("w", task, 0.5); got != want {
			t.Errorf("%s: share %v, want %v", task, got, want)
		}
	}
	if got := c.Share("other workspace", "tie", 0.5); got != 0.5 {
		t.Errorf("another workspace: share %v, want 0.5", got)
	}
}
