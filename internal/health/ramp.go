package health

import (
	"math"
	"time"
)

const (
	rampStart = 0.10             // share of normal traffic in the first second after an outage
	rampSpan  = 4 * time.Second  // time after which the share is 1
	rampDrain = 1.10             // share after rampSpan, while delayed attempts are waiting
	rampEnd   = 30 * time.Second // time after which the limit on traffic ends
	rampWait  = 5 * time.Second  // maximum time that an attempt is delayed
	rampFloor = 10               // minimum normal rate in attempts per second, so that light traffic hardly waits
	rampBurst = 0.1              // maximum unused allowance that can be used later, in seconds of normal traffic
)

// ramp schedules the attempts at a target after an outage, so that their rate follows a curve: a tenth of the normal rate in the
// first second, then rising linearly to the full rate. The zero value does not limit traffic.
//
// The schedule counts traffic in seconds of normal traffic: within time t after the end of the outage, allowance(t) seconds of
// normal traffic can be sent. An attempt can be sent when the allowance reaches the traffic scheduled before it.
type ramp struct {
	since  time.Time // end of the outage; zero for no limit
	normal float64   // attempts per second before the outage; if 0, the rate of requested attempts is used
	asked  float64   // number of requested attempts
	taken  float64   // number of admitted and scheduled attempts, including the probe
}

func (r *ramp) active() bool { return !r.since.IsZero() }

// over reports whether the ramp has ended: the share has reached 1 and no attempt is waiting.
func (r *ramp) over(now time.Time) bool {
	t := now.Sub(r.since)
	return !r.active() || t >= rampEnd || t >= rampSpan && r.due(t) <= t
}

// rate returns the normal rate in attempts per second.
func (r *ramp) rate(t time.Duration) float64 {
	if r.normal > 0 {
		return max(rampFloor, r.normal)
	}
	return max(rampFloor, r.asked/max(t, 100*time.Millisecond).Seconds())
}

// due returns when the next attempt can be sent, as a duration since the end of the outage.
func (r *ramp) due(t time.Duration) time.Duration { return whenAllowed(r.taken / r.rate(t)) }

// admit counts a requested attempt and reports whether it can be sent now.
func (r *ramp) admit(now time.Time) bool {
	t := now.Sub(r.since)
	r.asked++
	if r.due(t) > t {
		return false
	}
	r.taken = max(r.taken, (allowance(t)-rampBurst)*r.rate(t)) + 1
	return true
}

// wait returns the time that the next attempt would have to wait, and whether such a wait is allowed.
func (r *ramp) wait(now time.Time) (time.Duration, bool) {
	t := now.Sub(r.since)
	due := r.due(t)
	return due - t, due-t <= rampWait && due < rampEnd
}

// allowance returns how many seconds of normal traffic can be sent within t after the outage: the integral of the share.
func allowance(t time.Duration) float64 {
	first := min(t, time.Second).Seconds()
	u := (min(max(t, time.Second), rampSpan) - time.Second).Seconds()
	rest := max(0, t-rampSpan).Seconds()
	return rampStart*first + rampStart*u + (1-rampStart)*u*u/(2*(rampSpan-time.Second).Seconds()) + rampDrain*rest
}

// whenAllowed is the inverse of allowance.
func whenAllowed(q float64) time.Duration {
	span := (rampSpan - time.Second).Seconds()
	var t float64
	switch full := allowance(rampSpan); {
	case q <= rampStart:
		t = q / rampStart
	case q <= full:
		slope := (1 - rampStart) / span
		t = 1 + (math.Sqrt(rampStart*rampStart+2*slope*(q-rampStart))-rampStart)/slope
	default:
		t = rampSpan.Seconds() + (q-full)/rampDrain
	}
	return time.Duration(min(t, 2*rampEnd.Seconds()) * float64(time.Second))
}

const (
	meterSpan = 10 // seconds over which traffic is measured
	meterMin  = 5  // minimum duration of a measurement in seconds
)

// meter measures the rate of attempts over the last few seconds.
type meter struct {
	begun  time.Time
	second int64 // seconds from begun to the latest attempt
	counts [meterSpan + 1]int32
}

// add counts an attempt.
func (m *meter) add(now time.Time) {
	if m.begun.IsZero() {
		m.begun = now
	}
	m.advance(now)
	m.counts[m.second%int64(len(m.counts))]++
}

// advance clears the counts of the seconds since the latest attempt.
func (m *meter) advance(now time.Time) {
	second := int64(now.Sub(m.begun) / time.Second)
	for s := max(m.second+1, second-meterSpan); s <= second; s++ {
		m.counts[s%int64(len(m.counts))] = 0
	}
	m.second = max(m.second, second)
}

// rate returns the average number of attempts per second in the last meterSpan complete seconds, or in all complete seconds if there are
// fewer. It returns false until meterMin seconds have been measured.
func (m *meter) rate(now time.Time) (float64, bool) {
	if m.begun.IsZero() || now.Sub(m.begun) < meterMin*time.Second {
		return 0, false
	}
	m.advance(now)
	sum := int32(0)
	for i, n := range m.counts {
		if int64(i) != m.second%int64(len(m.counts)) {
			sum += n
		}
	}
	return float64(sum) / float64(min(meterSpan, m.second)), true
}
