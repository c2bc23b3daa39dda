package health

import "time"

// smoothing is the most that a new observation weighs.
const smoothing = 0.2

// pace is how fast answers have come over a span of time.
type pace struct {
	ttft     mean // nanoseconds
	tokensPS mean
}

// add takes in an answer.
func (p *pace) add(now time.Time, r Report, span time.Duration) {
	if r.OutputTokens > 1 && r.Duration-r.TTFT >= shortest {
		p.tokensPS.add(now, float64(r.OutputTokens)/(r.Duration-r.TTFT).Seconds(), span)
	}
	if r.TTFT > 0 { // an answer in one piece tells how fast it was written, not when it began
		p.ttft.add(now, float64(r.TTFT), span)
	}
}

// mean is an average in which newer values weigh more. The zero value has seen none.
type mean struct {
	value float64
	n     float64 // values seen
	at    time.Time
}

// add takes in a value. It weighs as much as the time that it stands for, so that many that come at once do not outweigh all
// the others of the span.
func (m *mean) add(now time.Time, value float64, span time.Duration) {
	m.n++
	weight := 1.0
	if m.n > 1 {
		weight = min(smoothing, max(1/m.n, float64(now.Sub(m.at))/float64(span)))
	}
	m.value += weight * (value - m.value)
	m.at = now
}

// or is the mean, or another one where nothing has been seen.
func (m *mean) or(other *mean) float64 {
	if m.n == 0 {
		return other.value
	}
	return m.value
}
