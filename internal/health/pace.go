package health

import "time"

// smoothing is the maximum weight of a new observation.
const smoothing = 0.2

// pace holds moving averages of the response speed over a time span.
type pace struct {
	ttft     mean // time to the first token in nanoseconds
	tokensPS mean
}

// add records a response.
func (p *pace) add(now time.Time, r Report, span time.Duration) {
	if r.OutputTokens > 1 && r.Duration-r.TTFT >= shortest {
		p.tokensPS.add(now, float64(r.OutputTokens)/(r.Duration-r.TTFT).Seconds(), span)
	}
	if r.TTFT > 0 { // unknown for a response that was not streamed
		p.ttft.add(now, float64(r.TTFT), span)
	}
}

// mean is a moving average in which newer values have more weight. The zero value is empty.
type mean struct {
	value float64
	n     float64 // number of values
	at    time.Time
}

// add adds a value. The weight of the value grows with the time since the previous value, so that a burst of values does not outweigh the
// earlier values of the span.
func (m *mean) add(now time.Time, value float64, span time.Duration) {
	m.n++
	weight := 1.0
	if m.n > 1 {
		weight = min(smoothing, max(1/m.n, float64(now.Sub(m.at))/float64(span)))
	}
	m.value += weight * (value - m.value)
	m.at = now
}

// or returns the mean of m, or the mean of other if m has no values.
func (m *mean) or(other *mean) float64 {
	if m.n == 0 {
		return other.value
	}
	return m.value
}
