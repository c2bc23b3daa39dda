package health

import (
	"math"
	"time"
)

const (
	rampStart = 0.10             // share of normal traffic in the first second after an outage
	rampSpan  = 4 * time.Second  // after which the share is 1
	rampDrain = 1.10             // share after that, while attempts wait that had no other target
	rampEnd   = 30 * time.Second // after which nothing is limited any more
	rampWait  = 5 * time.Second  // longest wait for a turn
	rampFloor = 10               // attempts a second that count as normal at least, so that light traffic hardly waits
	rampBurst = 0.1              // seconds of normal traffic that may be unused and taken later
)

// ramp schedules the attempts at a target that returns after an outage, so that their rate follows a curve: a tenth of the normal
// rate in the first second, then linearly all of it. The zero value limits nothing.
//
// The schedule is counted in seconds of normal traffic, of which allowance(t) may have been sent t after the return. An attempt is
// due when the allowance reaches what was taken before it.
type ramp struct {
	since  time.Time // the return; zero without a limit
	normal float64   // attempts a second before the outage; 0 when unknown: then the attempts that ask are measured
	asked  float64   // attempts that asked
	taken  float64   // attempts that were let through or have a turn; the probe is the first
}

func newRamp(now time.Time, normal float64) ramp { return ramp{since: now, normal: normal, taken: 1} }

func (r *ramp) active() bool { return !r.since.IsZero() }

// over reports whether traffic is whole again: the share has reached 1 and no attempt waits for its turn.
func (r *ramp) over(now time.Time) bool {
	t := now.Sub(r.since)
	return !r.active() || t >= rampEnd || t >= rampSpan && r.due(t) <= t
}

// rate is the normal rate in attempts a second.
func (r *ramp) rate(t time.Duration) float64 {
	if r.normal > 0 {
		return max(rampFloor, r.normal)
	}
	return max(rampFloor, r.asked/max(t, 100*time.Millisecond).Seconds())
}

// due is when the next attempt may be sent, in time since the return.
func (r *ramp) due(t time.Duration) time.Duration { return whenAllowed(r.taken / r.rate(t)) }

// admit lets an attempt through if it is due.
func (r *ramp) admit(now time.Time) bool {
	t := now.Sub(r.since)
	r.asked++
	if r.due(t) > t {
		return false
	}
	r.taken = max(r.taken, (allowance(t)-rampBurst)*r.rate(t)) + 1
	return true
}

// wait is how long the next attempt would have to wait for its turn, and whether it may.
func (r *ramp) wait(now time.Time) (time.Duration, bool) {
	t := now.Sub(r.since)
	due := r.due(t)
	return due - t, due-t <= rampWait && due < rampEnd
}

// reserve gives the turn that wait described to an attempt.
func (r *ramp) reserve() { r.taken++ }

// share returns the admitted part of normal traffic.
func (r *ramp) share(now time.Time) float64 {
	if !r.active() {
		return 1
	}
	u := (now.Sub(r.since) - time.Second).Seconds()
	return min(1, rampStart+(1-rampStart)*max(0, u)/(rampSpan-time.Second).Seconds())
}

// allowance is how many seconds of normal traffic may be sent within t after the return: the integral of the share.
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
	meterSpan  = 10 // seconds over which traffic is measured
	meterLeast = 5  // seconds after which a measurement counts
)

// meter measures the rate of attempts over the last seconds.
type meter struct {
	begun  time.Time
	second int64 // since begun, of the latest attempt
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

// advance clears the seconds that have passed since the latest attempt.
func (m *meter) advance(now time.Time) {
	second := int64(now.Sub(m.begun) / time.Second)
	for s := max(m.second+1, second-meterSpan); s <= second; s++ {
		m.counts[s%int64(len(m.counts))] = 0
	}
	m.second = max(m.second, second)
}

// rate is the number of attempts a second in the last whole seconds. It is known after a few of them.
func (m *meter) rate(now time.Time) (float64, bool) {
	if m.begun.IsZero() || now.Sub(m.begun) < meterLeast*time.Second {
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
