package health

import (
	"testing"
	"testing/synctest"
	"time"

	"fairlead.dev/internal/llm"
)

// answer reports a response with the given times.
func (t *Tracker) answer(ttft, duration time.Duration) {
	t.Report(Report{Target: here, TTFT: ttft, Duration: duration})
}

// answers reports one response per second for span.
func (t *Tracker) answers(ttft, span time.Duration) {
	for ; span > 0; span -= time.Second {
		time.Sleep(time.Second)
		t.answer(ttft, ttft)
	}
}

// recovered waits until the circuit admits a probe and reports its success.
func (t *Tracker) recovered(test *testing.T, ttft time.Duration) {
	test.Helper()
	time.Sleep(3 * time.Second)
	if probe, ok := t.admit(here, false); !ok || !probe {
		test.Fatalf("probe, ok = %t, %t; want a probe", probe, ok)
	}
	t.Report(Report{Target: here, TTFT: ttft, Duration: ttft, Probe: true})
}

func TestResponsesDelayedByOutageDoNotCountForSpeed(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		tr := tracker()
		tr.answers(100*time.Millisecond, 10*time.Second)
		tr.repeat(5, Report{Target: here, Err: fail(llm.UpstreamServer)})
		tr.answer(30*time.Second, 30*time.Second)
		if got := tr.State(here).Latency; got != 100*time.Millisecond {
			t.Errorf("latency %s after a response that was in flight when the circuit opened, want 100ms", got)
		}
		tr.recovered(t, 100*time.Millisecond)
		time.Sleep(settling)
		tr.answer(time.Minute, time.Minute)
		if got := tr.State(here).Latency; got != 100*time.Millisecond {
			t.Errorf("latency %s after a response that began before the outage and ended after it, want 100ms", got)
		}
	})
}

func TestSpeedIsMeasuredAgainAfterOutage(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name string
		end  func(*testing.T, *Tracker)
	}{
		{"by a probe", func(t *testing.T, tr *Tracker) { tr.recovered(t, 100*time.Millisecond) }},
		{"by an operator", func(_ *testing.T, tr *Tracker) {
			tr.Reset(here)
			time.Sleep(time.Second)
			tr.answer(100*time.Millisecond, 100*time.Millisecond)
		}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				tr := tracker()
				tr.answers(5*time.Second, 20*time.Second)
				tr.repeat(5, Report{Target: here, Err: fail(llm.UpstreamServer)})
				test.end(t, tr)
				time.Sleep(settling)
				if got := tr.State(here).Latency; got != 100*time.Millisecond {
					t.Errorf("latency %s, want 100ms as in the only response after the outage", got)
				}
			})
		})
	}
}
