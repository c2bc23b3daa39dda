package stores

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"fairlead.dev/test/faults/scenario"
	"fairlead.dev/test/harness"
)

// KillUnderLoad is fault case F01: a killed process neither loses nor duplicates a log entry.
func KillUnderLoad(t *testing.T, size scenario.Size) string {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	draw := rand.New(rand.NewPCG(seed, 1))
	url := harness.Serve(t, scenario.Paced(size.Of(10, 40)))
	g := harness.Start(t, harness.Options{Config: harness.Config(t, []harness.Provider{{
		Name: "alpha", BaseURL: url + "/v1", Models: []harness.Model{harness.Chat("plain", 0.4, 1.6, 0.5)},
	}})})
	reader := g.Key(t, "--scopes", "read")
	k := g.NewKey(t, "--budget", "100000", "--period", "total")
	l := &scenario.Load{Gateway: g, Client: scenario.Client(t), Key: k.Text}
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	l.Start(ctx, size.Of(150, 500), size.Of(20, 200))

	var slowest time.Duration
	for range size.Of(3, 20) {
		least, most := size.Of(300, 800), size.Of(900, 3000)
		time.Sleep(time.Duration(least+draw.IntN(most-least)) * time.Millisecond) // the process is killed at a random moment
		g.Kill(t)
		began := time.Now()
		g.Restart(t)
		slowest = max(slowest, time.Since(began))
	}
	stop()
	l.Running.Wait()
	if slowest > 5*time.Second {
		t.Errorf("ready %s after a kill, want at most 5 s", slowest)
	}
	scenario.Settled(t, g, reader)
	g.Restart(t) // the gateway now reads all data from disk
	verdict := scenario.CompareLog(t, l.Seen, scenario.Export(t, g, reader))
	verdict.CheckSums(t, scenario.SpendingOf(t, g, reader, k.ID))
	return fmt.Sprintf("%s; ready ≤ %s; seed %d", verdict, slowest.Round(10*time.Millisecond), seed)
}
