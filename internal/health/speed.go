package health

import (
	"math"
	"slices"
	"time"
)

const (
	forgetAfter = 10 * time.Minute // a speed that nobody has seen for so long is not known any more
	presentPace = 5 * time.Second  // over which the present speed is taken
	usualPace   = 5 * time.Minute  // over which the usual one is
	settling    = 20 * time.Second // how long a target that is back is taken to be as fast as usual
	samples     = 64               // first-token times kept for the median
	halfLife    = time.Minute      // of calls and failures in the error rate
	shortest    = 10 * time.Millisecond
)

// speed is how fast and how reliably a target has answered of late.
//
// An outage says nothing about speed. What the last answers before it and the first ones after it were like would else decide
// whether the target is asked again, and whoever is not asked cannot show that it is fast: so from the moment its circuit opens
// until it has settled, it is taken to be as fast as usual.
type speed struct {
	present, usual pace
	seen           time.Time // last answer or failure
	back           time.Time // end of the last outage
	ring           [samples]sample
	next           int

	calls, failures float64 // decayed
	counted         time.Time
}

type sample struct {
	at   time.Time
	ttft time.Duration
}

// report records the result of an attempt. A stale one tells nothing about speed: the target was broken while it was under way.
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
	if v == served && !stale {
		s.learn(now, r)
	}
}

// learn takes in an answer.
func (s *speed) learn(now time.Time, r Report) {
	s.present.add(now, r, presentPace)
	if !s.unsettled(now) {
		s.usual.add(now, r, usualPace)
	}
	if r.TTFT > 0 {
		s.ring[s.next%samples] = sample{now, r.TTFT}
		s.next++
	}
}

// resume begins anew after an outage.
func (s *speed) resume(now time.Time) { s.present, s.back = pace{}, now }

func (s *speed) unsettled(now time.Time) bool { return now.Sub(s.back) < settling }

// observed is the time to the first token and the writing speed to expect; zero when not seen of late.
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

func (s *speed) errorRate(now time.Time) float64 {
	s.decay(now)
	if s.calls < 0.01 { // hours old: nothing to say
		return 0
	}
	return s.failures / s.calls
}

// leastSamples is how many first-token times make a slow one tell something.
const leastSamples = 8

// FirstToken is how long the target's first tokens have taken of late, all but the slowest twentieth; 0 when too few were
// seen to say.
func (t *Tracker) FirstToken(targetID string) time.Duration {
	t.mu.Lock()
	defer t.mu.Unlock()
	tg := t.targets[targetID]
	if tg == nil {
		return 0
	}
	var space [samples]time.Duration
	recent := tg.speed.recent(t.now(), space[:0])
	if len(recent) < leastSamples {
		return 0
	}
	return recent[(len(recent)-1)*95/100]
}

func (s *speed) medianTTFT(now time.Time) time.Duration {
	recent := s.recent(now, make([]time.Duration, 0, samples))
	if len(recent) == 0 {
		return 0
	}
	return recent[(len(recent)-1)/2]
}

// recent are the first-token times of late, shortest first, in the space given.
func (s *speed) recent(now time.Time, space []time.Duration) []time.Duration {
	for _, one := range s.ring {
		if !one.at.IsZero() && now.Sub(one.at) <= forgetAfter {
			space = append(space, one.ttft)
		}
	}
	slices.Sort(space)
	return space
}
