package proof

import "slices"

// Target is the precision that comparisons should reach.
type Target struct {
	Width float64 // interval width below which fewer requests are compared, such as 0.02 for ±1 point
	Share float64 // share of requests compared until the interval is narrower than Width
	Watch float64 // share of requests compared afterwards, in order to detect a change; 0 stops sampling
}

// Wanted returns the share of requests to compare, given the samples of one group of requests, such as a task kind. It returns t.Share
// until the width of the difference's interval is at most t.Width, then t.Watch. After a change of the difference, it considers only the
// samples since the change, so it returns t.Share again until their interval is narrow enough.
func Wanted(samples []Sample, t Target) float64 {
	current, floor := usable(samples, 0)
	floor = min(floor, t.Share)
	if t.Watch > 0 {
		floor = min(floor, t.Watch)
	}
	if changes := Changes(current, floor); len(changes) > 0 {
		since := changes[len(changes)-1].At
		current = current[slices.IndexFunc(current, func(s Sample) bool { return !s.At.Before(since) }):]
	}
	if len(current) < MinSamples {
		return t.Share
	}
	s := differences(current)
	if e := s.estimate(-1, floor, miss); e.High-e.Low > t.Width {
		return t.Share
	}
	return t.Watch
}
