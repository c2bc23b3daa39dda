// Package health owns what recent calls say about each target: whether its circuit is open, how fast it answers, and
// which credentials rest. It also bounds retries. It makes no calls of its own: a probe is a real request let through.
package health

import (
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"time"

	"fairlead/internal/llm"
	"fairlead/internal/route"
)

// Options set up a Tracker; zero values are replaced by the defaults named.
type Options struct {
	Failures     int           // consecutive failures that open a circuit; 5
	ProbeAfter   time.Duration // how long an open circuit first waits before a probe; 3 s
	MaxProbe     time.Duration // how long that grows while probes fail; 5 s, so that a target that is well again is soon in use
	ProbeTimeout time.Duration // after which a probe that was never reported is taken for lost; 60 s
	Now          func() time.Time
	Random       func() float64 // from 0 up to 1, for jitter
}

func (o Options) withDefaults() Options {
	if o.Failures <= 0 {
		o.Failures = 5
	}
	if o.ProbeAfter <= 0 {
		o.ProbeAfter = 3 * time.Second
	}
	if o.MaxProbe <= 0 {
		o.MaxProbe = 5 * time.Second
	}
	if o.ProbeTimeout <= 0 {
		o.ProbeTimeout = time.Minute
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Random == nil {
		o.Random = rand.Float64
	}
	return o
}

// maxIdle is how many targets or credentials are kept before those unused for a day are forgotten.
const maxIdle = 4096

// Tracker keeps the health of targets and credentials. Its methods may be called from any goroutine.
type Tracker struct {
	now func() time.Time

	mu          sync.Mutex
	o           Options
	targets     map[string]*target
	credentials map[string]*credential
	providers   map[string]*ring
}

// New makes a tracker that takes every target to be well.
func New(o Options) *Tracker {
	o = o.withDefaults()
	return &Tracker{
		now:         o.Now,
		o:           o,
		targets:     map[string]*target{},
		credentials: map[string]*credential{},
		providers:   map[string]*ring{},
	}
}

// target is what is known about one target.
type target struct {
	circuit circuit
	speed   speed
	used    time.Time
	lastErr *LastError
}

// Report says how one attempt went. Every admitted attempt is reported once, a probe's cancellation too.
type Report struct {
	Target       string // provider/model
	Credential   string // empty when the provider needs none
	Err          *llm.Error
	TTFT         time.Duration // 0 when no token came, or all of them at once
	Duration     time.Duration
	OutputTokens int64
	Probe        bool // as Admit said
}

// verdict is what an attempt's end says about the target.
type verdict int

const (
	silent   verdict = iota // nothing: the client, the gateway or the credential was the matter
	served                  // it answered
	answered                // it answered, with a refusal of this one request
	failed                  // its own failure
)

func judge(e *llm.Error) verdict {
	if e == nil {
		return served
	}
	switch e.Kind {
	case llm.UpstreamConnect, llm.UpstreamTimeout, llm.UpstreamOverloaded, llm.UpstreamServer, llm.UpstreamMalformed, llm.UpstreamCut:
		return failed
	case llm.UpstreamInvalid, llm.UpstreamContext, llm.UpstreamContentPolicy, llm.CannotExpress:
		return answered
	default:
		return silent
	}
}

// Report takes in the end of an attempt.
func (t *Tracker) Report(r Report) {
	t.mu.Lock()
	defer t.mu.Unlock()
	now := t.now()
	tg := t.target(r.Target, now)
	v := judge(r.Err)
	if v == failed {
		tg.lastErr = &LastError{Time: now, Class: r.Err.Kind, Status: r.Err.UpstreamStatus, Message: r.Err.Message}
	}
	tg.circuit.report(&t.o, now, v, r.Probe, reason(r.Err))
	tg.speed.report(now, v, r)
	if r.Credential != "" {
		t.credential(r.Credential, now).report(now, r.Err)
	}
}

func reason(e *llm.Error) string {
	if e == nil {
		return ""
	}
	return string(e.Kind)
}

// Admit asks to send one attempt to a target. While its circuit is open one probe at a time is let through; after an
// outage traffic returns step by step, unless the target is the last that could serve the request: then refusing it would
// spare nobody. A probe must be reported as one.
func (t *Tracker) Admit(targetID string, last bool) (probe, ok bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	now := t.now()
	return t.target(targetID, now).circuit.admit(&t.o, now, last)
}

// State says what routing needs to know about a target.
func (t *Tracker) State(targetID string) route.State { return t.States(t.now())(targetID) }

// States returns a function that says the state of targets at one moment.
func (t *Tracker) States(now time.Time) func(targetID string) route.State {
	return func(targetID string) route.State {
		t.mu.Lock()
		defer t.mu.Unlock()
		var s route.State
		if tg := t.targets[targetID]; tg != nil {
			s.Open = !tg.circuit.sendable(&t.o, now)
			s.Latency, s.TokensPS = tg.speed.observed(now)
		}
		if p := t.providers[providerOf(targetID)]; p != nil {
			s.Resting = t.resting(p.ids, now)
		}
		return s
	}
}

// Reset closes a target's circuit at once, as an operator wishes.
func (t *Tracker) Reset(targetID string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if tg := t.targets[targetID]; tg != nil {
		tg.circuit = circuit{}
		tg.lastErr = nil
	}
}

func (t *Tracker) target(id string, now time.Time) *target {
	tg := t.targets[id]
	if tg == nil {
		if len(t.targets) >= maxIdle {
			maps.DeleteFunc(t.targets, func(_ string, old *target) bool { return now.Sub(old.used) > 24*time.Hour })
		}
		tg = &target{}
		t.targets[id] = tg
	}
	tg.used = now
	return tg
}

func providerOf(targetID string) string {
	name, _, _ := strings.Cut(targetID, "/")
	return name
}

// LastError is the last failure of a target's own making.
type LastError struct {
	Time    time.Time `json:"time"`
	Class   llm.Kind  `json:"class"`
	Status  int       `json:"status,omitempty"`
	Message string    `json:"message"`
}

// TargetHealth is what pages show about a target.
type TargetHealth struct {
	Target    string        `json:"target"`
	Circuit   string        `json:"circuit"` // closed, half-open or open
	Reason    string        `json:"reason,omitempty"`
	NextProbe time.Time     `json:"next_probe,omitzero"`
	Share     float64       `json:"share"` // of its traffic that is let through: below 1 after an outage
	Calls     int64         `json:"calls"` // of the last minutes, newer ones weighing more, and how many of them failed
	Failures  int64         `json:"failures"`
	ErrorRate float64       `json:"error_rate"`
	TTFT      time.Duration `json:"ttft_p50_ns"`
	TokensPS  float64       `json:"tokens_per_second"`
	LastError *LastError    `json:"last_error,omitempty"`
	// Alerts names the provider's credentials that were refused and need a person.
	Alerts []string `json:"alerts,omitempty"`
}

// Snapshot lists every target that was used, by name.
func (t *Tracker) Snapshot() []TargetHealth {
	t.mu.Lock()
	defer t.mu.Unlock()
	now := t.now()
	all := make([]TargetHealth, 0, len(t.targets))
	for _, id := range slices.Sorted(maps.Keys(t.targets)) {
		tg := t.targets[id]
		h := TargetHealth{Target: id, LastError: tg.lastErr, Share: tg.circuit.share(now)}
		h.Circuit, h.Reason, h.NextProbe = tg.circuit.describe(now)
		h.ErrorRate, h.TTFT = tg.speed.errorRate(now), tg.speed.medianTTFT(now)
		h.Calls, h.Failures = int64(math.Round(tg.speed.calls)), int64(math.Round(tg.speed.failures))
		_, h.TokensPS = tg.speed.observed(now)
		if p := t.providers[providerOf(id)]; p != nil {
			h.Alerts = t.alerts(p.ids)
		}
		all = append(all, h)
	}
	return all
}
