package replicas

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"fairlead.dev/internal/simulator"
	"fairlead.dev/test/faults/scenario"
	"fairlead.dev/test/harness"
)

// unconnected reports whether the connection failed, so that no request was sent.
func unconnected(err error) bool {
	op, ok := errors.AsType[*net.OpError](err)
	return ok && op.Op == "dial"
}

// rollingRestart checks promise P18: three replicas are restarted one after the other under load. A client that retries at the next
// replica loses no request, every fee is counted once, no unanswered request is charged, and the budget's sum is the
// same at all replicas.
func rollingRestart(t *testing.T, size scenario.Size) string {
	w := startReplicas(t, setting{})
	w.mock.Always(simulator.Behaviour{Handler: scenario.Paced(10)})
	k, reader := w.newKey(t, "--budget", "90", "--period", "total", "--rpm", "900000"), w.newKey(t, "--scopes", "read")
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var served, moved atomic.Int64
	var loading sync.WaitGroup
	for lane := range size.Of(6, 30) {
		loading.Go(func() {
			for i := lane; ctx.Err() == nil; i++ {
				moves, ok := w.sendUntilServed(t, i, k) //nolint:contextcheck // a started request is completed
				moved.Add(int64(moves))
				if ok {
					served.Add(1)
				}
			}
		})
	}
	rounds := size.Of(1, 3)
	w.restarting.Store(true)
	for range rounds {
		for i := range w.gateways {
			seen := served.Load()
			w.gateways[i].Restart(t)
			w.untilReady(t, i)
			harness.Eventually(t, "more requests are served", func() bool { return served.Load() > seen })
		}
	}
	cancel()
	loading.Wait()
	w.agree(t, reader, k, int(served.Load()))
	harness.Eventually(t, "every fee is in the log", func() bool {
		return scenario.Nano(t, scenario.SpendingOf(t, w.gateways[0], reader.Text, k.ID).Rollup) == served.Load()*thousandth
	})
	return fmt.Sprintf("%d restarts during %d requests: 0 lost, 0 twice; %d retried on another replica", rounds*replicas, served.Load(), moved.Load())
}

// sendUntilServed sends a request until a replica serves it, and returns the number of attempts that failed before. A load balancer
// does the same with a replica that is stopping, starting or unavailable. Any other failure fails the test.
func (w *deployment) sendUntilServed(t *testing.T, first int, k harness.Key) (moves int, ok bool) {
	deadline := time.Now().Add(time.Minute)
	for i := first; ; i++ {
		r := w.send(t, i%replicas, k, short("fee"))
		if r.code == "served" {
			return moves, true
		}
		if !slices.Contains([]string{"unsent", "SERVER_SHUTDOWN", "LEDGER_UNAVAILABLE"}, r.code) || time.Now().After(deadline) {
			t.Errorf("replica %d: got %+v, want served", i%replicas, r)
			return moves, false
		}
		moves++
		time.Sleep(10 * time.Millisecond) // real processes need time to restart
	}
}
