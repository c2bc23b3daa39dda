package health

import (
	"math"
	"testing"
	"time"
)

func TestWhenAllowedInvertsAllowance(t *testing.T) {
	t.Parallel()
	for ms := time.Duration(0); ms < rampEnd; ms += 10 * time.Millisecond {
		if got := whenAllowed(allowance(ms)); math.Abs((got - ms).Seconds()) > 1e-6 {
			t.Fatalf("whenAllowed(allowance(%s)) = %s", ms, got)
		}
	}
}
