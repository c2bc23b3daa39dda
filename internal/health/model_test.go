package health

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"fairlead.dev/internal/llm"
)

// TestBreakerInvariants checks for random sequences of results: an open circuit admits one probe at a time and no probe before it is
// due, a recovery starts with at most a tenth of the traffic, and a target that responds recovers in time.
func TestBreakerInvariants(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		m := &breakerModel{now: time.Unix(1_700_000_000, 0)}
		m.tracker = New(Options{Now: func() time.Time { return m.now }, Random: func() float64 { return 0.5 }})
		t.Repeat(map[string]func(*rapid.T){
			"admit":  m.admit,
			"report": m.report,
			"wait": func(t *rapid.T) {
				m.now = m.now.Add(time.Duration(rapid.Int64Range(0, int64(8*time.Second)).Draw(t, "wait")))
			},
			"reset": func(*rapid.T) { m.tracker.Reset(here); m.running, m.probes = nil, 0 },
		})
		m.recovers(t)
	})
}

type breakerModel struct {
	now     time.Time
	tracker *Tracker
	running []bool // attempts in flight; true for a probe
	probes  int
	probed  time.Time
}

func (m *breakerModel) circuit() *circuit { return m.tracker.target(here, m.now).circuit("") }

func (m *breakerModel) admit(t *rapid.T) {
	c := *m.circuit()
	sendable := !m.tracker.State(here).Open
	probe, ok := m.tracker.admit(here, false)
	switch {
	case probe && !ok, probe != (c.open && ok):
		t.Fatalf("probe = %t, ok = %t with open = %t; want a probe for each attempt at an open circuit, and only there", probe, ok, c.open)
	case ok && !sendable:
		t.Fatal("an attempt was admitted although State reports no available credential")
	case c.open && ok && m.now.Before(c.nextProbe):
		t.Fatal("a probe was admitted before the next probe was due")
	}
	if !ok {
		return
	}
	if probe {
		m.probes++
		if m.probes > 1 && m.now.Sub(m.probed) < 5*time.Second {
			t.Fatal("two probes ran at the same time")
		}
		m.probes, m.probed = 1, m.now
	}
	m.running = append(m.running, probe)
}

func (m *breakerModel) report(t *rapid.T) {
	if len(m.running) == 0 {
		t.Skip("this step does not apply while no call is under way; another is drawn")
	}
	probe := m.running[0]
	m.running = m.running[1:]
	r := Report{Target: here, Probe: probe}
	if kind := rapid.SampledFrom([]llm.Kind{"", llm.UpstreamServer, llm.UpstreamConnect, llm.UpstreamRejected, llm.ClientCancelled}).Draw(t, "kind"); kind != "" {
		r.Err = fail(kind)
	}
	wasOpen := m.circuit().open
	m.tracker.Report(r)
	if probe {
		m.probes = 0
	}
	if c := m.circuit(); !wasOpen && c.open && classify(r.Err) != failed {
		t.Fatalf("the circuit was opened by %v, which is not a provider failure", r.Err)
	}
	if c := m.circuit(); !c.open && c.ramp.active() && c.ramp.since.Equal(m.now) && c.share(m.now) != rampStart {
		t.Fatalf("share %v immediately after an outage, want %v", c.share(m.now), rampStart)
	}
}

// recovers lets the target respond to every further attempt and checks that it recovers.
func (m *breakerModel) recovers(t *rapid.T) {
	for range 2000 {
		m.now = m.now.Add(100 * time.Millisecond)
		if probe, ok := m.tracker.admit(here, false); ok {
			m.tracker.Report(Report{Target: here, Probe: probe})
		}
	}
	if c := m.circuit(); c.open || c.share(m.now) != 1 {
		t.Fatalf("not recovered after successful attempts: %+v", c)
	}
}
