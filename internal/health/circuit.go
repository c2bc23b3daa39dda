package health

import "time"

const (
	recentCalls  = 20               // number of calls from which the failure rate is computed
	recentSpan   = 10 * time.Second // maximum age of these calls
	rampFailures = 2                // number of consecutive failures that reopen a circuit while its traffic is limited after an outage
	hintSpan     = 15 * time.Second // time for which a hint from another replica applies
)

// circuit is the circuit breaker of one target with one credential. The zero value is closed.
type circuit struct {
	credential  string // credential ID; empty if the provider needs none
	open        bool
	reason      string
	cause       Cause     // rule that opened the circuit
	since       time.Time // time of the first opening since the last full recovery
	openings    int       // number of openings since the last full recovery
	nextProbe   time.Time // time of the next probe while open
	probing     time.Time // time at which the running probe was admitted; zero for none
	traffic     meter     // rate of attempts while closed
	normal      float64   // attempts per second before the outage; 0 if unknown
	ramp        ramp      // limits the traffic after an outage
	hinted      time.Time // time until which a single failure opens the circuit, because another replica sent a hint
	consecutive int
	calls       [recentCalls]call
	next        int
}

type call struct {
	at     time.Time
	failed bool
}

// Cause is the rule that opened a circuit.
type Cause struct {
	Rule     Rule
	Failures int // number of failed calls counted by the rule
	Of       int // number of calls considered by the rule, for FailureShare
}

// Rule is a reason to open a circuit.
type Rule string

// The rules that open a circuit.
const (
	ConsecutiveFailures Rule = "consecutive_failures"
	FailureShare        Rule = "failure_share"   // at least half of the last calls failed
	FailedRecovery      Rule = "failed_recovery" // attempts failed while traffic returned after an outage
	FailedProbe         Rule = "failed_probe"    // a probe of the open circuit failed
	ReplicaHint         Rule = "replica_hint"    // an attempt failed after another replica reported an outage
)

// admit reports whether an attempt may be sent, and whether the attempt is a probe.
func (c *circuit) admit(o *Options, now time.Time) (p Pass, ok bool) {
	if c.open {
		if !c.sendable(o, now) {
			return Pass{}, false
		}
		c.probing = now
		return Pass{Probe: true}, true
	}
	if c.ramp.over(now) {
		c.ramp = ramp{}
		c.traffic.add(now)
		return Pass{}, true
	}
	return Pass{}, c.ramp.admit(now)
}

// sendable reports whether an attempt may be admitted. The circuit must be closed or due for a probe.
func (c *circuit) sendable(o *Options, now time.Time) bool {
	if !c.open {
		return true
	}
	return !c.probeRunning(o, now) && !now.Before(c.nextProbe)
}

// probeRunning reports whether a probe is running that may still succeed.
func (c *circuit) probeRunning(o *Options, now time.Time) bool {
	return !c.probing.IsZero() && now.Sub(c.probing) < o.ProbeTimeout
}

// share returns the admitted share of normal traffic.
func (c *circuit) share(now time.Time) float64 {
	if c.open {
		return 0
	}
	if !c.ramp.active() {
		return 1
	}
	u := (now.Sub(c.ramp.since) - time.Second).Seconds()
	return min(1, rampStart+(1-rampStart)*max(0, u)/(rampSpan-time.Second).Seconds())
}

// report records the result of an attempt.
func (c *circuit) report(o *Options, now time.Time, v outcome, probe bool, why string) {
	if c.open {
		if !probe {
			return // the attempt started before the circuit opened
		}
		c.probing = time.Time{}
		switch v {
		case failed:
			c.trip(o, now, why, Cause{Rule: FailedProbe, Failures: c.openings})
		case served, rejected:
			back := ramp{since: now, normal: c.normal, taken: 1}
			*c = circuit{credential: c.credential, normal: c.normal, ramp: back, openings: c.openings, since: c.since}
		case inconclusive: // the next attempt may be a probe
		}
		return
	}
	if c.ramp.over(now) {
		c.ramp = ramp{}
	}
	switch v {
	case served:
		c.consecutive, c.hinted = 0, time.Time{}
		if !c.ramp.active() {
			c.openings = 0
		}
	case failed:
		c.consecutive++
	case inconclusive, rejected:
		return
	}
	c.calls[c.next%recentCalls] = call{now, v == failed}
	c.next++
	if v != failed {
		return
	}
	if cause, tripped := c.tripped(o, now); tripped {
		c.trip(o, now, why, cause)
	}
}

// tripped reports whether the failures open the circuit, and by which rule.
func (c *circuit) tripped(o *Options, now time.Time) (Cause, bool) {
	switch {
	case c.consecutive >= o.Failures:
		return Cause{Rule: ConsecutiveFailures, Failures: c.consecutive}, true
	case now.Before(c.hinted):
		return Cause{Rule: ReplicaHint, Failures: c.consecutive}, true
	case c.ramp.active() && c.consecutive >= rampFailures:
		return Cause{Rule: FailedRecovery, Failures: c.consecutive}, true
	}
	bad := 0
	for _, call := range c.calls {
		if call.at.IsZero() || now.Sub(call.at) > recentSpan {
			return Cause{}, false
		}
		if call.failed {
			bad++
		}
	}
	return Cause{Rule: FailureShare, Failures: bad, Of: recentCalls}, 2*bad >= recentCalls
}

// trip opens the circuit. The wait before the next probe doubles with each consecutive opening. Random jitter shortens the wait by
// up to a fifth.
func (c *circuit) trip(o *Options, now time.Time, why string, cause Cause) {
	wait := o.ProbeAfter
	for range c.openings {
		if wait = 2 * wait; wait >= o.MaxProbe {
			break
		}
	}
	wait = min(wait, max(o.MaxProbe, o.ProbeAfter))
	wait -= time.Duration(o.Random() * 0.2 * float64(wait))
	normal := c.normal
	if rate, known := c.traffic.rate(now); known {
		normal = rate
	}
	since := c.since
	if c.openings == 0 {
		since = now
	}
	*c = circuit{
		credential: c.credential, normal: normal, open: true, reason: why, cause: cause, since: since,
		openings: c.openings + 1, nextProbe: now.Add(wait),
	}
}
