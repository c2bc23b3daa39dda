package stores

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"syscall"
	"testing"
	"time"

	"fairlead.dev/internal/simulator"
	"fairlead.dev/test/faults/scenario"
	"fairlead.dev/test/harness"
)

// StopUnderLoad is fault case F07: after the stop signal, requests that end within the drain time complete. The others end with an error.
func StopUnderLoad(t *testing.T, size scenario.Size) string {
	url := harness.Serve(t, scenario.Paced(size.Of(10, 40)))
	mock, silentURL := harness.Upstream(t)
	mock.Always(simulator.Behaviour{Text: []string{"one", " two", " three"}, SilentAfter: 3})
	g := harness.Start(t, harness.Options{Config: harness.Config(t, []harness.Provider{
		{Name: "alpha", BaseURL: url + "/v1", Models: []harness.Model{harness.Chat("plain", 0.4, 1.6, 0.5)}},
		{Name: "silent", BaseURL: silentURL, Models: []harness.Model{harness.Chat("silent", 0.4, 1.6, 0.5)}},
	}, "timeouts: {idle: 5m}")})
	reader := g.Key(t, "--scopes", "read")
	k := g.NewKey(t, "--budget", "100000", "--period", "total")
	endless := openEndless(t, g, k.Text, size.Of(0, 5)) // endless streams use the whole drain time of 30 s
	l := &scenario.Load{Gateway: g, Client: scenario.Client(t), Key: k.Text}
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	l.Start(ctx, size.Of(150, 500), size.Of(20, 200))
	time.Sleep(time.Second) // wait until all requests are running

	g.Signal(t, syscall.SIGTERM)
	signalled := time.Now()
	harness.Eventually(t, "readyz returns 503", func() bool {
		return g.Call(t, harness.Request{Method: http.MethodGet, Path: "/readyz"}).Status == http.StatusServiceUnavailable
	})
	unready := time.Since(signalled)
	stop()
	l.Running.Wait()
	for e := range endless {
		if e.Failed() != "SERVER_SHUTDOWN" || e.Done() {
			t.Errorf("an endless stream ended with %v, want SERVER_SHUTDOWN", e.Data)
		}
	}
	g.Stop(t) // Stop requires exit status 0
	took := time.Since(signalled)
	if took > 40*time.Second || unready > size.Limit(time.Second) {
		t.Errorf("readyz changed after %s and the process exited after %s, want at most %s and 40 s",
			unready, took, size.Limit(time.Second))
	}

	g.Restart(t)
	scenario.Settled(t, g, reader)
	rows := scenario.Export(t, g, reader)
	cutOff := slices.DeleteFunc(slices.Clone(rows), func(r scenario.Row) bool { return r.Session != "endless" })
	verdict := scenario.CompareLog(t, l.Seen, slices.DeleteFunc(rows, func(r scenario.Row) bool { return r.Session == "endless" }))
	if verdict.Interrupted > 0 || len(cutOff) != size.Of(0, 5) {
		t.Errorf("the log has %d interrupted requests and %d interrupted streams, want 0 and %d",
			verdict.Interrupted, len(cutOff), size.Of(0, 5))
	}
	return fmt.Sprintf("%s; readyz 503 after %s, ended after %s", verdict, unready.Round(time.Millisecond), took.Round(100*time.Millisecond))
}

// openEndless opens endless streams and returns the events read from them.
func openEndless(t *testing.T, g *harness.Gateway, key string, n int) <-chan scenario.Events {
	t.Helper()
	ended := make(chan scenario.Events, n)
	var reading sync.WaitGroup
	for range n {
		resp := g.Open(t, harness.Request{Key: key, Body: scenario.Chat("silent", scenario.Streaming), Header: http.Header{"X-Fairlead-Session": {"endless"}}})
		reading.Go(func() {
			defer resp.Body.Close()
			ended <- scenario.ReadEvents(resp.Body)
		})
	}
	go func() {
		reading.Wait()
		close(ended)
	}()
	return ended
}
