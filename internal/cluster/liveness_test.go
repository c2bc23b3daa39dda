package cluster

import (
	"testing"
	"testing/synctest"
	"time"
)

func TestLivenessMarkerBecomesStale(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var l Liveness
		if l.fresh("") {
			t.Error("an empty marker is fresh")
		}
		for _, marker := range []string{"a", "b"} {
			if !l.fresh(marker) {
				t.Errorf("%q is stale when first read", marker)
			}
			time.Sleep(livenessAge - time.Millisecond)
			if !l.fresh(marker) {
				t.Errorf("%q is stale too early", marker)
			}
			time.Sleep(time.Millisecond)
			if l.fresh(marker) {
				t.Errorf("%q does not become stale", marker)
			}
		}
	})
}
