package health

import (
	"math"
	"slices"
	"time"
)

const (
	forgetAfter = 10 * time.Minute // a speed that nobody has seen for so long is not known any more
	smoothing   = 0.2              // weight of a new observation
	samples     = 64               // first-token times kept for the median
	halfLife    = time.Minute      // of calls and failures in the error rate
	shortest    = 10 * time.Millisecond
)

// speed is how fast and how reliably a target has answered of late.
type speed struct {
	ttft     time.Duration
	tokensPS float64
	seen     time.Time // last answer
	ring     [samples]sample
	next     int

	calls, failures float64 // decayed
	counted         time.Time
}

type sample struct {
	at   time.Time
	ttft time.Duration
}

func (s *speed) report(now time.Time, v verdict, r Report) {
	if v == served || v == failed {
		s.decay(now)
		s.calls++
		if v == failed {
			s.failures++
		}
	}
	if v != served {
		return
	}
	if now.Sub(s.seen) > forgetAfter {
		s.ttft, s.tokensPS = 0, 0
	}
	s.seen = now
	if r.OutputTokens > 1 && r.Duration-r.TTFT >= shortest {
		s.tokensPS = smooth(s.tokensPS, float64(r.OutputTokens)/(r.Duration-r.TTFT).Seconds())
	}
	if r.TTFT <= 0 {
		return // an answer in one piece tells how fast it was written, not when it began
	}
	s.ring[s.next%samples] = sample{now, r.TTFT}
	s.next++
	s.ttft = time.Duration(smooth(float64(s.ttft), float64(r.TTFT)))
}

func smooth(old, observed float64) float64 {
	if old == 0 {
		return observed
	}
	return old + smoothing*(observed-old)
}

// observed is the smoothed time to the first token and the writing speed; zero when not seen of late.
func (s *speed) observed(now time.Time) (time.Duration, float64) {
	if now.Sub(s.seen) > forgetAfter {
		return 0, 0
	}
	return s.ttft, s.tokensPS
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
