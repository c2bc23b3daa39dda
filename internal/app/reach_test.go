package app

import (
	"testing"
	"testing/synctest"
	"time"
)

func TestASignOfReachingRedisGrowsOld(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var r reach
		if r.see("") {
			t.Error("no sign counts as one")
		}
		for _, sign := range []string{"a", "b"} {
			if !r.see(sign) {
				t.Errorf("%q is not fresh when it is first seen", sign)
			}
			time.Sleep(reachFor - time.Millisecond)
			if !r.see(sign) {
				t.Errorf("%q is old too early", sign)
			}
			time.Sleep(time.Millisecond)
			if r.see(sign) {
				t.Errorf("%q does not grow old", sign)
			}
		}
	})
}
