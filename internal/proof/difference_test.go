package proof

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestDifferenceEqualsThatOfTheReport(t *testing.T) {
	t.Parallel()
	var samples []Sample
	for i := range 200 {
		samples = append(samples, Sample{At: time.Unix(int64(i), 0), Difference: float64(i%3 - 1), Propensity: 0.05 + 0.01*float64(i%2)})
	}
	n, got := Difference(samples)
	if report := Summarize(samples, 0); n != 200 || cmp.Diff(report.Difference, got) != "" {
		t.Errorf("%d samples: %+v, report %+v", n, got, report.Difference)
	}
	if n, got := Difference(samples[:MinSamples-1]); n != MinSamples-1 || got != nil {
		t.Errorf("%d samples: %+v, want no difference below the minimum", n, got)
	}
}
