package health

import (
	"math"
	"slices"
	"time"
)

const (
	forgetAfter = 10 * time.Minute // maximum age of a measured speed
	presentPace = 5 * time.Second  // time over which the current speed is averaged
	usualPace   = 5 * time.Minute  // time over which the usual speed is averaged
	settling    = 20 * time.Second // time after an outage during which the usual speed is assumed
	samples     = 64               // number of first-token times kept for percentiles
	halfLife    = time.Minute      // half-life of calls and failures for the error rate
	shortest    = 10 * time.Millisecond
)

// speed tracks the recent speed and error rate of a target.
//
// From the opening of its circuit until some time after the outage, the usual speed of the target is assumed. Otherwise slow
// responses around an outage would make the router avoid the target, and without requests its measured speed could not improve.
type speed struct {
	present, usual pace
	seen           time.Time // time of the last response or failure
	back           time.Time // end of the last outage
	ring           [samples]sample
	next           int

	calls, failures float64 // number of calls and failures, decaying over time
	counted         time.Time
}

type sample struct {
	at   time.Time
	ttft time.Duration
}

// report records the result of an attempt. If stale is true, the attempt ran during an outage, and its speed is ignored.
func (s *speed) report(now time.Time, v outcome, r Report, stale bool) {
	if v != served && v != failed {
		return
	}
	s.decay(now)
	s.calls++
	if v == failed {
		s.failures++
	}
	if now.Sub(s.seen) > forgetAfter {
		s.present, s.usual = pace{}, pace{}
	}
	s.seen = now
	if v != served || stale {
		return
	}
	s.present.add(now, r, presentPace)
	if !s.unsettled(now) {
		s.usual.add(now, r, usualPace)
	}
	if r.TTFT > 0 {
		s.ring[s.next%samples] = sample{now, r.TTFT}
		s.next++
	}
}

// resume resets the current speed after an outage.
func (s *speed) resume(now time.Time) { s.present, s.back = pace{}, now }

func (s *speed) unsettled(now time.Time) bool { return now.Sub(s.back) < settling }

// observed returns the expected time to the first token and the expected output speed, or zeros if they are unknown.
func (s *speed) observed(now time.Time, down bool) (time.Duration, float64) {
	if now.Sub(s.seen) > forgetAfter {
		return 0, 0
	}
	a, b := &s.present, &s.usual
	if down || s.unsettled(now) {
		a, b = b, a
	}
	return time.Duration(a.ttft.or(&b.ttft)), a.tokensPS.or(&b.tokensPS)
}

func (s *speed) decay(now time.Time) {
	if past := now.Sub(s.counted); past > 0 && !s.counted.IsZero() {
		keep := math.Exp2(-float64(past) / float64(halfLife))
		s.calls *= keep
		s.failures *= keep
	}
	s.counted = now
}

// minSamples is the minimum number of first-token times for a percentile.
const minSamples = 8

// FirstToken returns the 95th percentile of the target's recent times to the first token, or 0 if there are too few samples.
func (t *Tracker) FirstToken(targetID string) time.Duration {
	t.mu.Lock()
	defer t.mu.Unlock()
	tg := t.targets[targetID]
	if tg == nil {
		return 0
	}
	var space [samples]time.Duration
	recent := tg.speed.recent(t.now(), space[:0])
	if len(recent) < minSamples {
		return 0
	}
	return recent[(len(recent)-1)*95/100]
}

// recent appends the recent first-token times to the slice space and returns it in ascending order.
func (s *speed) recent(now time.Time, space []time.Duration) []time.Duration {
	for _, sample := range s.ring {
		if !sample.at.IsZero() && now.Sub(sample.at) <= forgetAfter {
			space = append(space, sample.ttft)
		}
	}
	slices.Sort(space)
	return space
}
