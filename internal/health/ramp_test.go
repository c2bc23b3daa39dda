package health

import (
	"math"
	"testing"
	"time"

	"fairlead.dev/internal/llm"
)

// After an outage a target gets at most a tenth of its normal traffic in the first second and later never more than a tenth above
// normal. This includes other credentials, clients that retry and requests that waited.
func TestReturningTrafficFollowsTheRamp(t *testing.T) {
	t.Parallel()
	const rate = 200
	for _, test := range []struct {
		name        string
		credentials []string
		history     time.Duration // duration of normal traffic before the outage
		fallback    bool          // whether requests have another target
		retry       bool          // whether clients retry rejected requests up to five times, even while the circuit is open
	}{
		{name: "the only target", history: 20 * time.Second},
		{name: "a target with a fallback", history: 20 * time.Second, fallback: true},
		{name: "three credentials", history: 20 * time.Second, credentials: []string{"p#1", "p#2", "p#3"}},
		{name: "three credentials and a fallback", history: 20 * time.Second, credentials: []string{"p#1", "p#2", "p#3"}, fallback: true},
		{name: "clients that retry", history: 20 * time.Second, retry: true},
		{name: "an outage from the start", history: 0},
		{name: "an outage from the start with a fallback", history: 0, fallback: true},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			s := &rampRun{target: here, credentials: test.credentials, last: !test.fallback, retry: test.retry, due: map[int][]func(){}}
			s.tracker = New(Options{Now: func() time.Time { return time.Unix(1_700_000_000, 0).Add(time.Duration(s.tick) * time.Millisecond) }, Random: func() float64 { return 0.5 }})
			down, up := int(test.history/time.Millisecond), int(test.history/time.Millisecond)+6000
			s.run(up+40_000, 1000/rate, func(tick int) bool { return tick < down || tick >= up })

			if s.first < up || s.first > up+6000 {
				t.Fatalf("back at %d ms, the first call that succeeds is at %d ms", up, s.first)
			}
			probes := max(1, len(test.credentials))
			if n := s.calls(0); n > rate/10+probes-1 {
				t.Errorf("%d calls in the first second, want at most %d", n, rate/10+probes-1)
			}
			for second := 1; second < int(rampEnd.Seconds()); second++ {
				if n := s.calls(second); n > rate*11/10+2 {
					t.Errorf("%d calls in second %d, want at most %d: %v", n, second, rate*11/10+2, s.profile(30))
				}
			}
			if n := s.calls(29); n < rate*95/100 {
				t.Errorf("%d calls in second 29, want at least %d: %v", n, rate*95/100, s.profile(30))
			}
			if s.last && !s.retry && s.rejected > 0 {
				t.Errorf("%d requests rejected after the recovery", s.rejected)
			}
		})
	}
}

// rampRun sends requests to one target in ticks of one millisecond.
type rampRun struct {
	tracker     *Tracker
	target      string
	credentials []string
	last, retry bool
	tick        int
	first       int  // tick of the first call that succeeds after the outage
	back        bool // whether the circuit is closed again
	rejected    int  // requests rejected since the circuit closed
	served      []int
	due         map[int][]func()
	well        func(tick int) bool
}

func (s *rampRun) run(until, every int, well func(int) bool) {
	s.well = well
	for s.tick = 0; s.tick < until; s.tick++ {
		for _, do := range s.due[s.tick] {
			do()
		}
		delete(s.due, s.tick)
		if s.tick%every == 0 {
			s.request(0)
		}
	}
}

func (s *rampRun) after(ticks int, do func()) {
	s.due[s.tick+max(1, ticks)] = append(s.due[s.tick+max(1, ticks)], do)
}

func (s *rampRun) request(tries int) {
	p, ok := s.tracker.Admit(s.target, s.credentials, s.last)
	switch {
	case !ok:
		if s.back {
			s.rejected++
		}
		if s.retry && tries < 5 {
			s.after(200, func() { s.request(tries + 1) })
		}
	case p.Delay > 0:
		s.after(int(p.Delay/time.Millisecond), func() {
			if s.tracker.Closed(s.target, p) {
				s.call(p)
			}
		})
	default:
		s.call(p)
	}
}

func (s *rampRun) call(p Pass) {
	r := Report{Target: s.target, Credential: p.Credential, Probe: p.Probe}
	if !s.well(s.tick) {
		r.Err = llm.Errorf(llm.UpstreamServer, "down")
		s.first, s.served, s.rejected, s.back = 0, nil, 0, false
	} else {
		if s.first == 0 && p.Probe {
			s.first = s.tick
		}
		s.served = append(s.served, s.tick)
	}
	s.after(20, func() {
		s.tracker.Report(r)
		s.back = s.back || s.first > 0
	})
}

// calls returns the number of calls in a given second after the outage.
func (s *rampRun) calls(second int) (n int) {
	for _, tick := range s.served {
		if tick >= s.first && (tick-s.first)/1000 == second {
			n++
		}
	}
	return n
}

func (s *rampRun) profile(seconds int) (list []int) {
	for second := range seconds {
		list = append(list, s.calls(second))
	}
	return list
}

func TestLightTrafficHardlyWaitsAfterAnOutage(t *testing.T) {
	t.Parallel()
	now := time.Unix(1_700_000_000, 0)
	r := ramp{since: now, normal: 0.1, taken: 1}
	for i := range 20 { // a request every 700 ms, with no other target
		at := now.Add(time.Duration(i+1) * 700 * time.Millisecond)
		if r.over(at) || r.admit(at) {
			continue
		}
		wait, ok := r.wait(at)
		if !ok || wait > 500*time.Millisecond {
			t.Errorf("request %d waits %s, admitted = %t; want at most 500ms, true", i, wait, ok)
		}
		r.taken++
	}
}

func TestWhenAllowedInvertsAllowance(t *testing.T) {
	t.Parallel()
	for ms := time.Duration(0); ms < rampEnd; ms += 10 * time.Millisecond {
		if got := whenAllowed(allowance(ms)); math.Abs((got - ms).Seconds()) > 1e-6 {
			t.Fatalf("whenAllowed(allowance(%s)) = %s", ms, got)
		}
	}
}
