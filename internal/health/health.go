// Package health tracks the state of targets based on recent calls: circuits, latency and the backoff of credentials. It also
// limits retries. It makes no calls; a probe is a regular request, or
// a test call of package app if there are no requests.
package health

import (
	"cmp"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"time"

	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/route"
)

// Options configures a Tracker. Zero values select the defaults given below.
type Options struct {
	Failures     int           // consecutive failures that open a circuit; default 5
	ProbeAfter   time.Duration // wait of an open circuit before the first probe; default 3 s
	MaxProbe     time.Duration // maximum wait while probes fail; default 5 s, so that a recovered target is soon used again
	ProbeTimeout time.Duration // time without a response after which another probe may start; default 5 s
	Now          func() time.Time
	Random       func() float64 // returns a number in [0, 1) for jitter
	OnHint       func(Hint)     // called with hints for other replicas; it must not block or call the tracker
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
		o.ProbeTimeout = 5 * time.Second
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Random == nil {
		o.Random = rand.Float64
	}
	if o.OnHint == nil {
		o.OnHint = func(Hint) {}
	}
	return o
}

// maxIdle is the number of targets, and of credentials, that are always kept. If there are more, those unused for a day are removed.
const maxIdle = 4096

// maxCircuits is the maximum number of circuits of one target.
const maxCircuits = 256

// Tracker tracks the health of targets and credentials. It is safe for concurrent use.
type Tracker struct {
	now func() time.Time

	mu          sync.Mutex
	o           Options
	targets     map[string]*target
	credentials map[string]*backoff
	providers   map[string]*rotation
}

// New returns a tracker. All targets start as healthy.
func New(o Options) *Tracker {
	o = o.withDefaults()
	return &Tracker{
		now:         o.Now,
		o:           o,
		targets:     map[string]*target{},
		credentials: map[string]*backoff{},
		providers:   map[string]*rotation{},
	}
}

// target is the state of one target. Each credential has its own circuit, because one account at a provider may fail while
// another works.
type target struct {
	circuits []*circuit          // circuits of the credentials used so far, one per credential
	backoffs map[string]*backoff // backoffs of this target by credential; nil if there were none
	quotas   map[string]*quota   // remaining rate limits by credential; nil if the provider reports none
	repeats  repeatWindow
	speed    speed
	used     time.Time
	lastErr  *LastError
}

// circuit returns the circuit of a credential. It creates the circuit if needed.
func (tg *target) circuit(credential string) *circuit {
	if c := tg.find(credential); c != nil {
		return c
	}
	if len(tg.circuits) >= maxCircuits { // remove all circuits, because most belong to credentials that were replaced
		tg.circuits = nil
	}
	c := &circuit{credential: credential}
	tg.circuits = append(tg.circuits, c)
	return c
}

func (tg *target) find(credential string) *circuit {
	for _, c := range tg.circuits {
		if c.credential == credential {
			return c
		}
	}
	return nil
}

// sendable reports whether an attempt with the credential may be admitted. All credentials share one probe at a time, because
// they call the same provider.
func (tg *target) sendable(o *Options, credential string, now time.Time) bool {
	c := tg.find(credential)
	probing := func(c *circuit) bool { return c.open && c.probeRunning(o, now) }
	return c == nil || !c.open || (c.sendable(o, now) && !slices.ContainsFunc(tg.circuits, probing))
}

// down reports whether the circuits of all the provider's credentials are open.
func (tg *target) down(p *rotation) bool {
	for _, id := range p.credentials() {
		if c := tg.find(id); c == nil || !c.open {
			return false
		}
	}
	return true
}

// backoff returns the target's backoff with a credential. It creates the backoff if needed.
func (tg *target) backoff(credential string) *backoff {
	b := tg.backoffs[credential]
	if b == nil {
		if tg.backoffs == nil || len(tg.backoffs) >= maxCircuits {
			tg.backoffs = map[string]*backoff{}
		}
		b = &backoff{}
		tg.backoffs[credential] = b
	}
	return b
}

// Report is the result of one attempt. Every admitted attempt must be reported once, including cancelled probes.
type Report struct {
	Target       string // target ID: provider/model
	Credential   string // credential ID; empty if the provider needs none
	Err          *llm.Error
	TTFT         time.Duration // time to the first token; 0 if no token arrived or the response was not streamed
	Duration     time.Duration
	OutputTokens int64
	Probe        bool // whether the attempt was a probe, as in Pass.Probe
}

// outcome classifies the result of an attempt for its target.
type outcome int

const (
	inconclusive outcome = iota // caused by the client, the gateway or the credential
	served                      // the target responded successfully
	rejected                    // the target responded and rejected this request
	failed                      // a failure of the target
)

func classify(e *llm.Error) outcome {
	if e == nil {
		return served
	}
	switch e.Kind {
	case llm.UpstreamConnect, llm.UpstreamTimeout, llm.UpstreamOverloaded, llm.UpstreamServer, llm.UpstreamMalformed, llm.StreamInterrupted:
		return failed
	case llm.UpstreamRejected, llm.UpstreamUnsupported, llm.UpstreamContext, llm.UpstreamContentPolicy, llm.Untranslatable:
		return rejected
	default:
		return inconclusive
	}
}

// Report records the result of an attempt.
func (t *Tracker) Report(r Report) {
	t.mu.Lock()
	defer t.mu.Unlock()
	now := t.now()
	tg := t.target(r.Target, now)
	v := classify(r.Err)
	if v == failed {
		tg.lastErr = &LastError{Time: now, Class: r.Err.Kind, Status: r.Err.UpstreamStatus, Message: r.Err.Message}
	}
	c, p := tg.circuit(r.Credential), t.providers[providerOf(r.Target)]
	wasOpen, wasDown := c.open, tg.down(p)
	why := ""
	if r.Err != nil {
		why = string(r.Err.Kind)
	}
	c.report(&t.o, now, v, r.Probe, why)
	if wasDown && !tg.down(p) {
		tg.speed.resume(now)
	}
	stale := !r.Probe && (wasOpen || now.Add(-r.Duration).Before(tg.speed.back))
	tg.speed.report(now, v, r, stale)
	if c.open && !wasOpen {
		t.o.OnHint(Hint{Target: r.Target, Credential: r.Credential})
	}
	t.reportBackoff(now, tg, r)
}

// Pass is the permission for an attempt, or the reason for its rejection.
type Pass struct {
	Credential string        // credential to use; empty if the provider needs none
	Probe      bool          // whether the attempt probes an open circuit and must be reported as a probe
	Delay      time.Duration // wait before the attempt, while traffic is limited after an outage; call Closed after the wait
	BackingOff time.Duration // for a rejected attempt, the remaining backoff of the target with all credentials; 0 for an open circuit
	Rejected   bool          // for a rejected attempt, whether the backoff follows a rejected credential or model instead of a rate limit
}

// Admit reports whether an attempt may be sent to a target and chooses a credential. It rotates among the credentials that are not backing
// off and whose circuits are closed. While a circuit is open, one probe at a time is admitted. After an outage traffic returns gradually.
// If last is true, no other target remains, and the attempt may be delayed instead of rejected.
func (t *Tracker) Admit(targetID string, credentials []string, last bool) (Pass, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	now := t.now()
	tg := t.target(targetID, now)
	p, ok := t.choose(tg, targetID, credentials, last, now)
	if ok {
		tg.repeats.attempts[tg.repeats.advance(now)]++
	}
	return p, ok
}

func (t *Tracker) choose(tg *target, targetID string, credentials []string, last bool, now time.Time) (Pass, bool) {
	name := providerOf(targetID)
	r := t.providers[name]
	if r == nil {
		r = &rotation{}
		t.providers[name] = r
	}
	if !slices.Equal(r.ids, credentials) {
		r.ids = slices.Clone(credentials)
	}
	if left, rejected, _ := t.backingOff(tg, credentials, now); left > 0 {
		return Pass{BackingOff: left, Rejected: rejected}, false
	}
	if len(credentials) == 0 {
		c := tg.circuit("")
		if p, ok := c.admit(&t.o, now); ok || !last {
			return p, ok
		}
		return reserve([]*circuit{c}, now)
	}
	var full []*circuit // closed circuits whose ramp admits no attempt now
	quotaWait := t.quotaWait(tg, credentials, now, 0)
	for i := range credentials {
		id := credentials[(r.next+i)%len(credentials)]
		if !t.ready(tg, id, now) || !tg.sendable(&t.o, id, now) || quotaWait == 0 && tg.quotas[id].wait(now, 0) > 0 {
			continue // without quota at every credential, the call is made: a report may be outdated
		}
		c := tg.circuit(id)
		if p, ok := c.admit(&t.o, now); ok {
			r.next = (r.next + i + 1) % len(credentials)
			p.Credential = id
			return p, true
		}
		full = append(full, c)
	}
	if last {
		return reserve(full, now)
	}
	return Pass{}, false
}

// reserve schedules an attempt at the circuit that admits it soonest. It is used when no other target remains.
func reserve(circuits []*circuit, now time.Time) (Pass, bool) {
	var best *circuit
	var p Pass
	for _, c := range circuits {
		if c.open {
			continue
		}
		if wait, ok := c.ramp.wait(now); ok && (best == nil || wait < p.Delay) {
			best, p = c, Pass{Credential: c.credential, Delay: wait}
		}
	}
	if best == nil {
		return Pass{}, false
	}
	best.ramp.taken++
	return p, true
}

// Closed reports whether an attempt that Admit delayed may now be sent: its circuit has not opened and its credential is not
// backing off.
func (t *Tracker) Closed(targetID string, p Pass) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	now := t.now()
	tg := t.target(targetID, now)
	return !tg.circuit(p.Credential).open && t.ready(tg, p.Credential, now)
}

// States returns a function that reports the routing state of a target at time now, for a request with the given number of prompt tokens.
func (t *Tracker) States(now time.Time, tokens int64) func(targetID string) route.State {
	return func(targetID string) route.State {
		t.mu.Lock()
		defer t.mu.Unlock()
		var s route.State
		tg, p := t.targets[targetID], t.providers[providerOf(targetID)]
		s.BackingOff, s.Rejected, s.Denied = t.backingOff(tg, p.credentials(), now)
		if tg != nil {
			s.Open = s.BackingOff == 0 && !slices.ContainsFunc(p.credentials(), func(id string) bool {
				return t.ready(tg, id, now) && tg.sendable(&t.o, id, now)
			})
			s.QuotaWait = t.quotaWait(tg, p.credentials(), now, tokens)
			s.Latency, s.TokensPS = tg.speed.observed(now, tg.down(p))
		}
		return s
	}
}

// Reset closes the circuits of a target and ends its backoffs.
func (t *Tracker) Reset(targetID string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if tg := t.targets[targetID]; tg != nil {
		if tg.down(t.providers[providerOf(targetID)]) {
			tg.speed.resume(t.now())
		}
		tg.circuits, tg.backoffs, tg.quotas, tg.lastErr = nil, nil, nil, nil
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

// LastError is the last failure of a target.
type LastError struct {
	Time    time.Time `json:"time"`
	Class   llm.Kind  `json:"class"`
	Status  int       `json:"status,omitempty"`
	Message string    `json:"message"`
}

// TargetHealth is the state of a target shown in the dashboard.
type TargetHealth struct {
	Target    string        `json:"target"`
	Circuit   string        `json:"circuit"` // circuit state: closed, half-open or open
	Reason    string        `json:"reason,omitempty"`
	Denied    bool          `json:"denied,omitempty"` // whether the provider denies the model to all of its credentials
	Cause     Cause         `json:"cause,omitzero"`   // rule that opened the circuit; empty for a backoff and while traffic returns
	Since     time.Time     `json:"since,omitzero"`   // time at which the circuit first opened since the last full recovery
	NextProbe time.Time     `json:"next_probe,omitzero"`
	Share     float64       `json:"share"` // admitted share of normal traffic; below 1 after an outage
	Calls     int64         `json:"calls"` // number of calls in the last few minutes, with more weight for newer calls
	Failures  int64         `json:"failures"`
	ErrorRate float64       `json:"error_rate"`
	TTFT      time.Duration `json:"ttft_p50_ns"`
	TokensPS  float64       `json:"tokens_per_second"`
	LastError *LastError    `json:"last_error,omitempty"`
	// Alerts lists the provider's credentials that were rejected and need attention.
	Alerts []string `json:"alerts,omitempty"`
}

// describe fills h with the state of the healthiest circuit, because a target is usable with one working credential.
func (tg *target) describe(h *TargetHealth, p *rotation, now time.Time) {
	circuits := tg.circuits
	if p != nil && len(p.ids) > 0 { // use only the current credentials; a credential without calls has a closed circuit
		circuits = nil
		for _, id := range p.ids {
			circuits = append(circuits, cmp.Or(tg.find(id), &circuit{}))
		}
	}
	best := &circuit{}
	for i, c := range circuits {
		if i == 0 || c.share(now) > best.share(now) || (c.open && best.open && c.nextProbe.Before(best.nextProbe)) {
			best = c
		}
	}
	h.Share = best.share(now)
	switch {
	case !best.open && h.Share < 1:
		h.Circuit, h.Reason = "half-open", "traffic returns after an outage"
	case !best.open:
		h.Circuit = "closed"
	case !best.probing.IsZero():
		h.Circuit, h.Reason = "half-open", best.reason
	default:
		h.Circuit, h.Reason, h.NextProbe = "open", best.reason, best.nextProbe
	}
	if h.Circuit != "closed" {
		h.Cause, h.Since = best.cause, best.since
	}
}

// Snapshot returns the state of all targets that were used, ordered by name.
func (t *Tracker) Snapshot() []TargetHealth {
	t.mu.Lock()
	defer t.mu.Unlock()
	now := t.now()
	all := make([]TargetHealth, 0, len(t.targets))
	for _, id := range slices.Sorted(maps.Keys(t.targets)) {
		tg := t.targets[id]
		h := TargetHealth{Target: id, LastError: tg.lastErr}
		p := t.providers[providerOf(id)]
		tg.describe(&h, p, now)
		t.describeBackoff(&h, tg, p, now)
		tg.speed.decay(now)
		if tg.speed.calls >= 0.01 { // calls decays over time; below 0.01, the calls are too old for an error rate
			h.ErrorRate = tg.speed.failures / tg.speed.calls
		}
		if recent := tg.speed.recent(now, nil); len(recent) > 0 {
			h.TTFT = recent[(len(recent)-1)/2]
		}
		h.Calls, h.Failures = int64(math.Round(tg.speed.calls)), int64(math.Round(tg.speed.failures))
		_, h.TokensPS = tg.speed.observed(now, tg.down(p))
		for _, credential := range p.credentials() {
			if c := t.credentials[credential]; c != nil && c.alert {
				h.Alerts = append(h.Alerts, credential)
			}
		}
		all = append(all, h)
	}
	return all
}
