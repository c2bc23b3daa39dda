package health

import "time"

const (
	recentCalls  = 20               // over which the share of failures is taken
	recentSpan   = 10 * time.Second // within which they must lie
	rampFailures = 2                // consecutive failures that open a circuit again while traffic returns
	rampStart    = 0.10             // share let through in the first second after an outage
	rampSpan     = 10 * time.Second // after which all of it is
	rampSpread   = 2 * time.Second  // over which those come that had to wait for the first second to end
	hintSpan     = 15 * time.Second // how long another replica's word counts
)

// circuit is the breaker of one target with one credential. The zero value is closed.
type circuit struct {
	credential  string // empty where the provider needs none
	open        bool
	reason      string
	openings    int       // in a row, without recovering fully in between
	nextProbe   time.Time // while open
	probing     time.Time // when the probe under way was let through; zero when there is none
	recovered   time.Time // when it was closed by a probe; zero when traffic is whole again
	credit      float64   // of the ramp: an attempt is let through for each whole one
	waved       bool      // one that had no other target was let through in the first second
	hinted      time.Time // until then one failure is enough: another replica has seen more of them
	consecutive int
	calls       [recentCalls]call
	next        int
}

type call struct {
	at     time.Time
	failed bool
}

// admit lets an attempt through or not, and says whether it is a probe. While traffic returns, one that has no other target
// is told how long to wait instead of being refused: light traffic passes at once, a flood is spread out.
func (c *circuit) admit(o *Options, now time.Time, last bool) (p Pass, ok bool) {
	if c.open {
		if !c.sendable(o, now) {
			return Pass{}, false
		}
		c.probing = now
		return Pass{Probe: true}, true
	}
	share := c.share(now)
	if share >= 1 {
		return Pass{}, true
	}
	if c.credit += share; c.credit >= 1 {
		c.credit--
		return Pass{}, true
	}
	if !last {
		return Pass{}, false
	}
	early := time.Second - now.Sub(c.recovered)
	if early <= 0 || !c.waved {
		c.waved = true
		return Pass{}, true
	}
	return Pass{Delay: early + time.Duration(o.Random()*float64(rampSpread))}, true
}

// sendable says whether an attempt has a chance to be admitted: the circuit is closed, or due for a probe.
func (c *circuit) sendable(o *Options, now time.Time) bool {
	if !c.open {
		return true
	}
	return !c.busy(o, now) && !now.Before(c.nextProbe)
}

// busy says whether a probe is under way that may still answer.
func (c *circuit) busy(o *Options, now time.Time) bool {
	return !c.probing.IsZero() && now.Sub(c.probing) < o.ProbeTimeout
}

// share is how much of the traffic is let through: a tenth in the first second after an outage, all of it after ten.
func (c *circuit) share(now time.Time) float64 {
	if c.open {
		return 0
	}
	if c.recovered.IsZero() {
		return 1
	}
	since := now.Sub(c.recovered) - time.Second
	if since < 0 {
		return rampStart
	}
	return min(rampStart+(1-rampStart)*float64(since)/float64(rampSpan-time.Second), 1)
}

// report takes in the end of an attempt.
func (c *circuit) report(o *Options, now time.Time, v verdict, probe bool, why string) {
	if c.open {
		if probe {
			c.reportProbe(o, now, v, why)
		}
		return // attempts from before it opened decide nothing
	}
	if c.share(now) >= 1 {
		c.recovered = time.Time{}
	}
	switch v {
	case served:
		c.consecutive, c.hinted = 0, time.Time{}
		if c.recovered.IsZero() {
			c.openings = 0
		}
	case failed:
		c.consecutive++
	case silent, answered:
		return
	}
	c.calls[c.next%recentCalls] = call{now, v == failed}
	c.next++
	if v == failed && c.tripped(o, now) {
		c.trip(o, now, why)
	}
}

func (c *circuit) reportProbe(o *Options, now time.Time, v verdict, why string) {
	c.probing = time.Time{}
	switch v {
	case failed:
		c.trip(o, now, why)
	case served, answered:
		*c = circuit{credential: c.credential, recovered: now, openings: c.openings}
	case silent: // it said nothing: the next attempt may probe
	}
}

// tripped says whether the failures are enough to open the circuit.
func (c *circuit) tripped(o *Options, now time.Time) bool {
	switch {
	case c.consecutive >= o.Failures, now.Before(c.hinted):
		return true
	case !c.recovered.IsZero() && c.consecutive >= rampFailures:
		return true
	}
	bad := 0
	for _, one := range c.calls {
		if one.at.IsZero() || now.Sub(one.at) > recentSpan {
			return false
		}
		if one.failed {
			bad++
		}
	}
	return 2*bad >= recentCalls
}

// trip opens the circuit for a wait that doubles with each failure in a row, less up to a fifth of jitter.
func (c *circuit) trip(o *Options, now time.Time, why string) {
	wait := o.ProbeAfter
	for range c.openings {
		if wait = 2 * wait; wait >= o.MaxProbe {
			break
		}
	}
	wait = min(wait, max(o.MaxProbe, o.ProbeAfter))
	wait -= time.Duration(o.Random() * 0.2 * float64(wait))
	*c = circuit{credential: c.credential, open: true, reason: why, openings: c.openings + 1, nextProbe: now.Add(wait)}
}

// describe names the state for pages.
func (c *circuit) describe(now time.Time) (state, reason string, nextProbe time.Time) {
	switch {
	case !c.open && c.share(now) < 1:
		return "half-open", "traffic returns after an outage", time.Time{}
	case !c.open:
		return "closed", "", time.Time{}
	case !c.probing.IsZero():
		return "half-open", c.reason, time.Time{}
	default:
		return "open", c.reason, c.nextProbe
	}
}
