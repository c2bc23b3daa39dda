package requestlog

import (
	"time"

	"fairlead.dev/internal/route"
)

// Sums accumulates Figures from entries and other Sums. The zero Sums is empty.
type Sums struct {
	Figures
	Latency Histogram
	TTFT    Histogram
}

// Add counts one entry without its attempts. AddAttempt counts each attempt for its own target.
func (s *Sums) Add(e *Entry) {
	s.Requests++
	if e.Outcome.IsError() {
		s.Errors++
	}
	if e.Outcome == Rejected {
		s.Rejected++
	}
	switch e.DecisionKind {
	case route.Expected:
		s.Expected++
	case route.Fallback:
		s.Fallbacks++
	case route.Policy:
		s.Policies++
	}
	if e.CacheHit() {
		s.CacheHits++
	} else if e.Cost != nil {
		s.Priced++
		s.Cost = s.Cost.Add(*e.Cost)
	}
	if e.Cost != nil && e.BaselineCost != nil {
		s.Compared++
		s.ComparedCost = s.ComparedCost.Add(*e.Cost)
		s.BaselineCost = s.BaselineCost.Add(*e.BaselineCost)
	}
	s.InputTokens += e.Usage.Prompt()
	s.CachedTokens += e.Usage.CacheRead
	s.OutputTokens += e.Usage.Output
	if e.Cache != nil && e.Cache.Saved != nil {
		s.CacheSaved = s.CacheSaved.Add(*e.Cache.Saved)
	}
	if e.Served() {
		s.Served++
		s.Latency.Add(e.Latency)
		s.TTFT.Add(e.TTFT)
	}
}

// AddAttempt counts one attempt.
func (s *Sums) AddAttempt(a *Attempt) {
	s.Attempts++
	if a.Failed() {
		s.Failed++
	}
}

// Merge adds other sums.
func (s *Sums) Merge(other *Sums) {
	s.Requests += other.Requests
	s.Served += other.Served
	s.Attempts += other.Attempts
	s.Failed += other.Failed
	s.Errors += other.Errors
	s.Rejected += other.Rejected
	s.Expected += other.Expected
	s.Fallbacks += other.Fallbacks
	s.Policies += other.Policies
	s.Priced += other.Priced
	s.Compared += other.Compared
	s.Cost = s.Cost.Add(other.Cost)
	s.ComparedCost = s.ComparedCost.Add(other.ComparedCost)
	s.BaselineCost = s.BaselineCost.Add(other.BaselineCost)
	s.InputTokens += other.InputTokens
	s.CachedTokens += other.CachedTokens
	s.OutputTokens += other.OutputTokens
	s.CacheHits += other.CacheHits
	s.CacheSaved = s.CacheSaved.Add(other.CacheSaved)
	s.Latency.Merge(other.Latency)
	s.TTFT.Merge(other.TTFT)
}

// Total returns the figures, with quantiles from the histograms.
func (s *Sums) Total() Figures {
	f := s.Figures
	f.LatencyP50 = roundMillis(s.Latency.Quantile(0.50))
	f.LatencyP95 = roundMillis(s.Latency.Quantile(0.95))
	f.TTFTP50 = roundMillis(s.TTFT.Quantile(0.50))
	return f
}

func roundMillis(d time.Duration) int64 { return d.Round(time.Millisecond).Milliseconds() }
