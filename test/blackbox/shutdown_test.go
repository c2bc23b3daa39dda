package blackbox

import (
	"net/http"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"fairlead.dev/test/faults/scenario"
	"fairlead.dev/test/harness"
)

func TestStopLetsRunningRequestsFinish(t *testing.T) {
	t.Parallel()
	g, mock := serve(t)
	k := g.Key(t)
	behaviour, release := pause(t, 2, "one", " two")
	mock.Always(behaviour)
	var streams []*stream
	for range 3 {
		s := open(t, g, harness.Request{Key: k, Body: scenario.Chat(small, scenario.Streaming)})
		s.next()
		streams = append(streams, s)
	}

	g.Signal(t, syscall.SIGTERM)
	harness.Eventually(t, "readyz returns 503", func() bool {
		return g.Call(t, harness.Request{Method: "GET", Path: "/readyz"}).Status == http.StatusServiceUnavailable
	})
	refused := g.Call(t, harness.Request{Key: k, Body: scenario.Chat(small)})
	wantError(t, refused, http.StatusServiceUnavailable, "SERVER_SHUTDOWN")
	if refused.Header.Get("Retry-After") == "" {
		t.Error("the SERVER_SHUTDOWN response has no Retry-After")
	}
	wantOK(t, g.Call(t, harness.Request{Method: "GET", Path: "/livez"}))
	release()

	var ids []string
	for _, s := range streams {
		if events := s.rest(); !slices.Contains(events, "[DONE]") {
			t.Errorf("a stream ended with %v, want [DONE]", events)
		}
		ids = append(ids, s.resp.Header.Get("X-Request-Id"))
	}
	g.Stop(t) // Stop requires exit status 0
	g.Restart(t)
	for _, id := range append(ids, refused.Header.Get("X-Request-Id")) {
		want := "ok"
		if id == refused.Header.Get("X-Request-Id") {
			want = "rejected"
		}
		if entry := g.Entry(t, id); entry.Outcome != want {
			t.Errorf("the outcome of %s is %s, want %s", id, entry.Outcome, want)
		}
	}
}

// A second signal stops without draining. Signals within a second count as one.
func TestSecondSignalExitsWithoutDraining(t *testing.T) {
	t.Parallel()
	for _, signal := range []syscall.Signal{syscall.SIGTERM, syscall.SIGINT} {
		g, mock := serve(t)
		behaviour, _ := pause(t, 2, "one", " two")
		mock.Always(behaviour)
		open(t, g, harness.Request{Key: g.Key(t), Body: scenario.Chat(small, scenario.Streaming)}).next()
		harness.Eventually(t, "the gateway exits", func() bool {
			g.Signal(t, signal)
			select {
			case <-g.Done(t):
				return true
			default:
				return false
			}
		})
		if code := g.ExitCode(t); code != 130 || !strings.Contains(g.Log(), "interrupted again: exiting immediately") {
			t.Errorf("exit code after a second %v is %d, want 130 and a log line\n%s", signal, code, g.Log())
		}
	}
}

func TestIdleServerStopsImmediately(t *testing.T) {
	t.Parallel()
	g, _ := serve(t)
	wantOK(t, g.Call(t, harness.Request{Key: g.Key(t), Body: scenario.Chat(small)}))
	for _, signal := range []syscall.Signal{syscall.SIGTERM, syscall.SIGINT} {
		began := time.Now()
		g.Signal(t, signal)
		g.Stop(t)
		if took := time.Since(began); took > 5*time.Second {
			t.Errorf("stopping took %s, want at most 5 s", took)
		}
		g.Restart(t)
	}
	if strings.Contains(g.Log(), `"level":"ERROR"`) || strings.Contains(g.Log(), `"level":"WARN"`) {
		t.Errorf("a clean stop was logged as a warning or an error:\n%s", g.Log())
	}
}

// A connection on which nothing was sent is not a running request. A stopping gateway does not wait for it, so enough time
// remains to deliver log entries.
func TestSilentConnectionDoesNotDelayEntries(t *testing.T) {
	t.Parallel()
	g, _ := serve(t)
	k := g.Key(t)
	dial(t, g)
	answer := wantOK(t, g.Call(t, harness.Request{Key: k, Body: scenario.Chat(small)}))

	g.Stop(t)

	if strings.Contains(g.Log(), "remain in the spool") {
		t.Error("an entry remained in the spool")
	}
	stdout, stderr, code := g.CLI(t, "requests", "show", answer.Header.Get("X-Request-Id"), "--json")
	if code != 0 || !strings.Contains(stdout, `"outcome":"ok"`) {
		t.Errorf("requests show after the stop: exit code %d, want 0 and the outcome ok\n%s%s", code, stdout, stderr)
	}
}
