package route

import (
	"math"
	"testing"

	"pgregory.net/rapid"
)

func TestRoundMatchesMath(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		f := rapid.Float64Range(-1e9, 1e9).Draw(t, "f") * rapid.SampledFrom([]float64{1, 1e-6, 1e-9, 1e-15}).Draw(t, "scale")
		if half := rapid.Bool().Draw(t, "half"); half {
			f = (math.Trunc(f) + 0.5) / 1e6
		}
		if got, want := round(f), math.Round(f*1e6)/1e6; got != want {
			t.Fatalf("round(%v) = %v, want %v", f, got, want)
		}
	})
}
