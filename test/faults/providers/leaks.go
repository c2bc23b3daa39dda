package providers

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"fairlead.dev/internal/simulator"
	"fairlead.dev/test/faults/scenario"
	"fairlead.dev/test/harness"
)

// NoLeaks is fault case F26: after a mixture of requests, all resources are released.
func NoLeaks(t *testing.T, size scenario.Size) string {
	mock := simulator.NewMock()
	upstream := httptest.NewServer(mock)
	defer upstream.Close()
	for model, b := range map[string]simulator.Behaviour{
		"cut":   {CutAfter: 3},
		"fails": simulator.Fail(500),
		"slow":  {SilentAfter: 2},
		"html":  {Body: []byte("<html>")},
	} {
		mock.For(model, b)
	}
	var models []harness.Model
	for _, name := range []string{"fine", "cut", "fails", "slow", "html"} {
		models = append(models, harness.Chat(name, 0.4, 1.6, 0.5))
	}
	g := harness.Start(t, harness.Options{Config: harness.Config(t, []harness.Provider{{Name: "alpha", BaseURL: upstream.URL + "/v1", Models: models}},
		"retries: {attempts: 1}", "timeouts: {first_token: 1s, idle: 300ms}")})
	k, reader := g.Key(t), g.Key(t, "--scopes", "read")

	mixed(t, g, k, 100)
	goroutines, files := atRest(t, g, reader, upstream)
	n := size.Of(600, 10_000)
	mixed(t, g, k, n)
	began := time.Now()
	var afterGoroutines, afterFiles float64
	for {
		afterGoroutines, afterFiles = atRest(t, g, reader, upstream)
		if near(goroutines, afterGoroutines) && near(files, afterFiles) {
			break
		}
		if time.Since(began) > 10*time.Second {
			t.Errorf("got %v goroutines and %v files, before the load %v and %v", afterGoroutines, afterFiles, goroutines, files)
			break
		}
	}
	return fmt.Sprintf("after %d requests goroutines %v (were %v), files %v (were %v)", n, afterGoroutines, goroutines, afterFiles, files)
}

func near(before, after float64) bool { return after <= before+5 }

// atRest reads the values when no request is running and all connections to the provider are closed.
func atRest(t *testing.T, g *harness.Gateway, reader string, upstream *httptest.Server) (goroutines, files float64) {
	t.Helper()
	scenario.Settled(t, g, reader)
	harness.Eventually(t, "no request is running", func() bool { return scenario.Metric(t, g, reader, "fairlead_in_flight_requests") == 0 })
	upstream.CloseClientConnections()
	time.Sleep(100 * time.Millisecond) // the gateway needs time to detect the disconnect, which cannot be observed from outside
	return scenario.Metric(t, g, reader, "go_goroutines"), scenario.Metric(t, g, reader, "process_open_fds")
}

func mixed(t *testing.T, g *harness.Gateway, key string, n int) {
	t.Helper()
	c := scenario.Client(t)
	defer c.CloseIdleConnections()
	bodies := []string{
		scenario.Chat("fine"), scenario.Chat("fine", scenario.Streaming), scenario.Chat("cut", scenario.Streaming), scenario.Chat("fails"), scenario.Chat("slow", scenario.Streaming), scenario.Chat("html"), `{"model":`, scenario.Chat("unknown"),
	}
	scenario.Together(32, n, func(i int) {
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		secret := key
		if i%13 == 0 {
			secret = "fl_wrong"
		}
		req, err := scenario.Post(ctx, g, secret, bodies[i%len(bodies)])
		if err != nil {
			t.Error(err)
			return
		}
		if i%11 == 0 {
			time.AfterFunc(time.Duration(i%7)*time.Millisecond, cancel) // some clients disconnect early
		}
		resp, err := c.Do(req)
		if err != nil {
			return
		}
		defer resp.Body.Close()
		_, _ = io.Copy(io.Discard, resp.Body) // other cases check how the response ends
		if resp.StatusCode == http.StatusInternalServerError {
			t.Errorf("request %d: status 500", i)
		}
	})
}
