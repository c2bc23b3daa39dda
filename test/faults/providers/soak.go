package providers

import (
	"testing"
	"time"

	"fairlead.dev/test/faults/scenario"
	"fairlead.dev/test/soak"
)

// SteadyLoad is fault case F47 for three minutes, which is enough to check only the peak of memory, goroutines and files. `make
// soak` runs for thirty minutes, checks the growth, and uses the race detector.
func SteadyLoad(t *testing.T, size scenario.Size) string {
	plan := soak.Usual(3 * time.Minute)
	if size == scenario.Fast {
		plan = soak.Plan{For: 3 * time.Second, Rate: 100, Streams: 20}
	}
	r := soak.Run(t, plan)
	r.Judge(t)
	return r.String() + " (three minutes of it: growth is checked by make soak)"
}
