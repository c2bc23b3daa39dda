package proof

import "slices"

// Target is the precision that a comparison aims for.
type Target struct {
	Width float64 // width of the interval at which sampling slows down, such as 0.02 for ±1 point
	Share float64 // share of requests that is compared until then
	Watch float64 // share that is compared afterwards, so that a change is found; 0 stops sampling
}

// Wanted returns the share of requests to compare, from the samples of one group of requests, such as a task kind. It is the full share
// until the interval of the difference is narrow enough, then the watch share. After a change of the difference, only the samples since
// the change count, so that sampling continues with the full share.
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
