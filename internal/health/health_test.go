package health

import (
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/route"
)

const here = "openai/gpt-4.1"

// State returns the current state of a target.
func (t *Tracker) State(target string) route.State { return t.States(t.now(), 0)(target) }

func tracker() *Tracker {
	return New(Options{MaxProbe: 30 * time.Second, Random: func() float64 { return 0 }})
}

func fail(kind llm.Kind) *llm.Error { return llm.Errorf(kind, "no") }

func (t *Tracker) repeat(n int, r Report) {
	for range n {
		t.Report(r)
	}
}

// admit requests an attempt at a target whose provider needs no credential.
func (t *Tracker) admit(target string, last bool) (probe, ok bool) {
	p, ok := t.Admit(target, nil, last)
	return p.Probe, ok
}

// pick requests an attempt with one of the credentials. It returns the chosen credential, or how long all of them back off.
func (t *Tracker) pick(provider string, ids []string) (id string, wait time.Duration) {
	p, _ := t.Admit(provider+"/gpt-4.1", ids, false)
	return p.Credential, p.BackingOff
}

func TestOnlyProviderFailuresOpenTheCircuit(t *testing.T) {
	t.Parallel()
	counts := map[llm.Kind]bool{
		llm.UpstreamConnect: true, llm.UpstreamTimeout: true, llm.UpstreamOverloaded: true,
		llm.UpstreamServer: true, llm.UpstreamMalformed: true, llm.StreamInterrupted: true,
	}
	for _, kind := range llm.Kinds() {
		tr := tracker()
		tr.repeat(10_000, Report{Target: here, Err: fail(kind)})
		if got := tr.State(here).Open; got != counts[kind] {
			t.Errorf("after failures of kind %s open = %t, want %t", kind, got, counts[kind])
		}
	}
}

func TestCircuitOpensAndProbesOneAtATime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		tr := tracker()
		tr.repeat(4, Report{Target: here, Err: fail(llm.UpstreamServer)})
		if _, ok := tr.admit(here, false); !ok {
			t.Fatal("the circuit is open after four failures")
		}
		tr.Report(Report{Target: here, Err: fail(llm.UpstreamServer)})
		_, ok := tr.admit(here, false)
		if open := tr.State(here).Open; ok || !open {
			t.Fatalf("after five failures admitted = %t, open = %t; want false, true", ok, open)
		}
		time.Sleep(3 * time.Second)
		if probe, ok := tr.admit(here, false); !probe || !ok {
			t.Fatalf("probe, ok = %t, %t after three seconds; want a probe", probe, ok)
		}
		_, ok = tr.admit(here, false)
		if open := tr.State(here).Open; ok || !open {
			t.Errorf("during a probe admitted = %t, open = %t; want false, true", ok, open)
		}
		tr.Report(Report{Target: here, Err: fail(llm.ClientCancelled), Probe: true})
		if probe, ok := tr.admit(here, false); !probe || !ok {
			t.Errorf("probe, ok = %t, %t after a cancelled probe; want another probe", probe, ok)
		}
		tr.Report(Report{Target: here, TTFT: time.Second, Probe: true})
		if tr.State(here).Open {
			t.Error("the circuit is open after a successful probe")
		}
	})
}

func TestLostProbeDoesNotBlockForever(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		tr := tracker()
		tr.repeat(5, Report{Target: here, Err: fail(llm.UpstreamServer)})
		time.Sleep(3 * time.Second)
		tr.admit(here, false)
		time.Sleep(5*time.Second - 1)
		if _, ok := tr.admit(here, false); ok {
			t.Error("a second probe was admitted before the first timed out")
		}
		time.Sleep(time.Nanosecond)
		if probe, ok := tr.admit(here, false); !probe || !ok {
			t.Errorf("probe, ok = %t, %t five seconds after a lost probe; want another probe", probe, ok)
		}
	})
}

func TestHalfOfTwentyCallsOpenTheCircuit(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		for span, want := range map[time.Duration]bool{400 * time.Millisecond: true, time.Second: false} {
			tr := tracker()
			for range 10 { // the failures alternate with successes, so there are never five consecutive ones
				tr.Report(Report{Target: here})
				time.Sleep(span)
				tr.Report(Report{Target: here, Err: fail(llm.UpstreamTimeout)})
				time.Sleep(span)
			}
			if got := tr.targets[here].circuit("").open; got != want {
				t.Errorf("one failure every %v: open %v, want %v", 2*span, got, want)
			}
		}
	})
}

func TestProbeIntervalGrows(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		tr := tracker()
		tr.repeat(5, Report{Target: here, Err: fail(llm.UpstreamServer)})
		began := time.Now()
		var at []time.Duration
		for time.Since(began) < 3*time.Minute {
			if probe, ok := tr.admit(here, false); ok {
				at = append(at, time.Since(began))
				tr.Report(Report{Target: here, Err: fail(llm.UpstreamConnect), Probe: probe})
			}
			time.Sleep(time.Second)
		}
		s := time.Second
		if diff := cmp.Diff([]time.Duration{3 * s, 9 * s, 21 * s, 45 * s, 75 * s, 105 * s, 135 * s, 165 * s}, at); diff != "" {
			t.Error(diff)
		}
	})
}

func TestTrafficReturnsGradually(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		tr := tracker()
		tr.repeat(5, Report{Target: here, Err: fail(llm.UpstreamServer)})
		time.Sleep(3 * time.Second)
		tr.admit(here, false)
		tr.Report(Report{Target: here, Probe: true})
		var admitted []int
		for range 12 {
			n := 0
			for range 1000 {
				if _, ok := tr.admit(here, false); ok {
					n++
					tr.Report(Report{Target: here})
				}
				time.Sleep(time.Millisecond)
			}
			admitted = append(admitted, n)
		}
		if admitted[0] > 100 || admitted[0] < 95 || admitted[1] > 300 || admitted[2] > 600 || admitted[11] != 1000 {
			t.Errorf("admitted of 1000 in each second: %v", admitted)
		}
	})
}

func TestFailuresDuringReturnOpenCircuitAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		tr := tracker()
		tr.repeat(5, Report{Target: here, Err: fail(llm.UpstreamServer)})
		time.Sleep(3 * time.Second)
		tr.admit(here, false)
		tr.Report(Report{Target: here, Probe: true})
		tr.repeat(2, Report{Target: here, Err: fail(llm.UpstreamServer)})
		time.Sleep(5 * time.Second)
		if _, ok := tr.admit(here, false); ok {
			t.Error("a probe was admitted five seconds after the second opening, want six")
		}
		time.Sleep(time.Second)
		if probe, _ := tr.admit(here, false); !probe {
			t.Error("no probe six seconds after the second opening")
		}
	})
}

func TestResetClosesImmediately(t *testing.T) {
	t.Parallel()
	tr := tracker()
	tr.repeat(5, Report{Target: here, Err: fail(llm.UpstreamServer)})
	tr.Reset(here)
	tr.Reset("unknown/target")
	if probe, ok := tr.admit(here, false); probe || !ok {
		t.Errorf("probe, ok = %t, %t after Reset; want a normal attempt", probe, ok)
	}
}

func TestStateAndSnapshot(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		tr := tracker()
		if got := tr.State(here); got != (route.State{}) {
			t.Errorf("state of an unknown target is %+v, want zero", got)
		}
		tr.pick("openai", []string{"openai#1"})
		for _, ms := range []time.Duration{100, 100, 600} {
			tr.Report(Report{Target: here, Credential: "openai#1", TTFT: ms * time.Millisecond, Duration: ms*time.Millisecond + 2*time.Second, OutputTokens: 100})
		}
		want := route.State{Latency: 200 * time.Millisecond, TokensPS: 50}
		if diff := cmp.Diff(want, tr.State(here)); diff != "" {
			t.Error(diff)
		}
		tr.Report(Report{Target: here, Credential: "openai#1", Err: fail(llm.UpstreamAuth)})
		tr.Report(Report{Target: here, Err: &llm.Error{Kind: llm.UpstreamServer, Message: "boom", UpstreamStatus: 500}})
		got := tr.Snapshot()
		wantHealth := []TargetHealth{{
			Target: here, Circuit: "closed", Share: 1, Calls: 4, Failures: 1, ErrorRate: 0.25, TTFT: 100 * time.Millisecond, TokensPS: 50,
			LastError: &LastError{Time: time.Now(), Class: llm.UpstreamServer, Status: 500, Message: "boom"},
			Alerts:    []string{"openai#1"},
		}}
		if diff := cmp.Diff(wantHealth, got); diff != "" {
			t.Error(diff)
		}
		if got := tr.State(here).BackingOff; got != time.Minute {
			t.Errorf("backing off %v, want a minute", got)
		}
		time.Sleep(11 * time.Minute)
		if got := tr.State(here); got != (route.State{}) {
			t.Errorf("an old speed is still used: %+v", got)
		}
	})
}

func TestConcurrentUse(t *testing.T) {
	t.Parallel()
	tr := New(Options{})
	var wg sync.WaitGroup
	for g := range 8 {
		wg.Go(func() {
			for i := range 500 {
				id, _ := tr.pick("openai", []string{"a", "b"})
				probe, ok := tr.admit(here, false)
				if !ok {
					tr.AllowRepeat(here)
					continue
				}
				r := Report{Target: here, Credential: id, Probe: probe, TTFT: time.Millisecond}
				if (i+g)%3 == 0 {
					r.Err = fail(llm.UpstreamServer)
				}
				tr.Report(r)
				_ = tr.State(here)
				tr.Snapshot()
				tr.Credentials()
			}
		})
	}
	wg.Wait()
}

func TestUnusedTargetsAreRemoved(t *testing.T) {
	t.Parallel()
	now := time.Unix(1_700_000_000, 0)
	tr := New(Options{Now: func() time.Time { return now }})
	for i := range maxIdle {
		tr.Report(Report{Target: string(rune(i)), Credential: string(rune(i)), Err: fail(llm.UpstreamAuth)})
	}
	now = now.Add(48 * time.Hour)
	tr.Report(Report{Target: here, Credential: "openai#1", Err: fail(llm.UpstreamAuth)})
	if len(tr.targets) != 1 || len(tr.credentials) != 1 {
		t.Errorf("%d targets and %d credentials kept, want 1 and 1", len(tr.targets), len(tr.credentials))
	}
}

func TestResponseInOnePieceCountsOnlyForOutputSpeed(t *testing.T) {
	t.Parallel()
	h := New(Options{})
	h.Report(Report{Target: "a/m", Duration: 2 * time.Second, OutputTokens: 100})
	if s := h.State("a/m"); s.Latency != 0 || s.TokensPS != 50 {
		t.Errorf("latency %s, %v tokens a second; want none and 50", s.Latency, s.TokensPS)
	}
}

func TestOnlyTargetIsNotDelayedAfterOutage(t *testing.T) {
	t.Parallel()
	now := time.Unix(1_700_000_000, 0)
	h := New(Options{Failures: 1, ProbeAfter: time.Second, Now: func() time.Time { return now }, Random: func() float64 { return 0 }})
	h.Report(Report{Target: "a/m", Err: &llm.Error{Kind: llm.UpstreamServer}})
	if _, ok := h.admit("a/m", true); ok {
		t.Fatal("an attempt was admitted while the circuit was open")
	}
	now = now.Add(time.Second)
	if probe, ok := h.admit("a/m", true); !ok || !probe {
		t.Fatalf("probe, ok = %t, %t; want a probe", probe, ok)
	}
	h.Report(Report{Target: "a/m", Probe: true, TTFT: time.Millisecond, Duration: time.Second})
	if _, ok := h.admit("a/m", false); ok {
		t.Error("all traffic returned immediately although another target was available")
	}
	if _, ok := h.admit("a/m", true); !ok {
		t.Error("the only target was not admitted")
	}
}
