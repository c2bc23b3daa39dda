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

func TestUsualSpeedIsAssumedAfterOutage(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		tr := tracker()
		tr.answers(100*time.Millisecond, 5*time.Minute)
		tr.answers(5*time.Second, 10*time.Second)
		if got := tr.State(here).Latency; got < 3*time.Second {
			t.Errorf("latency %s after ten seconds of slow responses, want at least 3s", got)
		}
		tr.repeat(5, Report{Target: here, Err: fail(llm.UpstreamServer)})
		usual := tr.State(here).Latency
		if usual > 300*time.Millisecond {
			t.Errorf("latency %s while the circuit is open, want at most 300ms", usual)
		}
		tr.recovered(t, 5*time.Second)
		tr.answers(5*time.Second, settling-time.Second)
		if got := tr.State(here).Latency; got != usual {
			t.Errorf("latency %s while the target settles, want the usual %s", got, usual)
		}
		tr.answers(5*time.Second, time.Second)
		if got := tr.State(here).Latency; got < 4*time.Second {
			t.Errorf("latency %s after it has settled, want at least 4s", got)
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

// One account at a provider may fail for days while another works.
func TestFailingCredentialIsNotAnOutage(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		tr := tracker()
		tr.pick("openai", []string{"a", "b"})
		tr.repeat(5, Report{Target: here, Credential: "a", Err: fail(llm.UpstreamServer)})
		for _, ttft := range []time.Duration{100 * time.Millisecond, 5 * time.Second} {
			for range 60 {
				time.Sleep(time.Second)
				tr.Report(Report{Target: here, Credential: "b", TTFT: ttft, Duration: ttft})
			}
			if got := tr.State(here).Latency; got < ttft*9/10 || got > ttft {
				t.Errorf("after a minute with a TTFT of %s the latency is %s", ttft, got)
			}
		}
	})
}

func TestSimultaneousResponsesDoNotDominateAverage(t *testing.T) {
	t.Parallel()
	now := time.Unix(1_700_000_000, 0)
	var m mean
	for range 500 { // 500 responses within five seconds
		now = now.Add(10 * time.Millisecond)
		m.add(now, 100, 5*time.Second)
	}
	for range 500 { // 500 simultaneous responses
		m.add(now, 10, 5*time.Second)
	}
	if m.value < 50 {
		t.Errorf("500 simultaneous values lowered 100 to %v, want at least 50", m.value)
	}
	for range 1000 {
		now = now.Add(10 * time.Millisecond)
		m.add(now, 10, 5*time.Second)
	}
	if m.value > 25 {
		t.Errorf("10 seconds of value 10 gave %v, want at most 25", m.value)
	}
}
