package replicas

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	"fairlead.dev/internal/simulator"
	"fairlead.dev/test/faults/scenario"
)

// hintsOverReplicas checks that replicas notify each other of a failing target. After one replica has opened the
// circuit, a single failure opens the circuit of the other replicas.
func hintsOverReplicas(t *testing.T, _ scenario.Size) string {
	w := startReplicas(t, setting{})
	k := w.newKey(t)
	for i := range w.gateways { // a replica ignores hints about targets that it has not used
		if r := w.send(t, i, k, scenario.Chat("m")); r.status != http.StatusOK {
			t.Fatalf("replica %d: got %+v, want status 200", i, r)
		}
	}
	w.mock.Always(simulator.Fail(http.StatusInternalServerError))
	before := len(w.mock.Calls())
	for range 3 {
		w.send(t, 0, k, scenario.Chat("m"))
	}
	first := len(w.mock.Calls()) - before
	time.Sleep(500 * time.Millisecond) // time for the message between processes
	var others []int
	for i := 1; i < replicas; i++ {
		before := len(w.mock.Calls())
		w.send(t, i, k, scenario.Chat("m"))
		others = append(others, len(w.mock.Calls())-before)
	}
	for i, n := range others {
		if n != 1 {
			t.Errorf("replica %d called the failing target %d times, want 1, because another replica opened its circuit after %d calls",
				i+1, n, first)
		}
	}
	return fmt.Sprintf("detected with %d calls by one, %v by the others", first, others)
}
