package limit

import (
	"math"
	"slices"
	"time"
)

// buckets is the number of one-second buckets that a window of a minute overlaps: sixty whole buckets, and the bucket in which the
// window begins.
const buckets = int64(Window/time.Second) + 1

// counts holds the usage of one ID.
type counts struct {
	at       int64 // current second
	running  int64
	requests ring
	tokens   ring
}

// ring holds the counts of the seconds in the window, and their sum. Its slots are allocated at the first count.
type ring struct {
	sum   int64
	slots []int64
}

// advance moves the end of the window forward to the given second and removes the counts that have left the window.
func (c *counts) advance(to int64) {
	if to <= c.at {
		return
	}
	c.requests.clear(c.at, to)
	c.tokens.clear(c.at, to)
	c.at = to
}

func (c *counts) add(tokens int64) {
	c.requests.add(c.at, 1)
	c.tokens.add(c.at, tokens)
}

// admit reports whether a request is within the limits. If not, it returns the exceeded limit and the time until the request
// would fit.
func (c *counts) admit(at time.Duration, l Limits, tokens int64) (Rejection, time.Duration, bool) {
	if l.Concurrent > 0 && c.running >= l.Concurrent {
		return Rejection{Concurrent, l.Concurrent, c.running}, time.Second, false
	}
	if l.RequestsPerMinute > 0 && c.requests.sum >= l.RequestsPerMinute {
		need := c.requests.sum - l.RequestsPerMinute + 1
		return Rejection{RequestsPerMinute, l.RequestsPerMinute, c.requests.sum}, c.requests.freed(c.at, need, at), false
	}
	if l.TokensPerMinute > 0 && c.tokens.sum > l.TokensPerMinute-tokens {
		need := c.tokens.sum - (l.TokensPerMinute - tokens)
		return Rejection{TokensPerMinute, l.TokensPerMinute, c.tokens.sum}, c.tokens.freed(c.at, need, at), false
	}
	return Rejection{}, 0, true
}

func (r *ring) add(at, n int64) {
	if n == 0 {
		return
	}
	if r.slots == nil {
		r.slots = make([]int64, buckets)
	}
	n = min(n, math.MaxInt64-r.sum) // prevent an overflow of the sum
	r.slots[at%buckets] += n
	r.sum += n
}

// takeBack subtracts n from a past count if its second is still in the window. at is the current second, and taken the second of the count.
func (r *ring) takeBack(at, taken, n int64) {
	if r.slots == nil || at-taken >= buckets {
		return
	}
	n = min(n, r.slots[taken%buckets])
	r.slots[taken%buckets] -= n
	r.sum -= n
}

func (r *ring) clear(from, to int64) {
	if r.sum == 0 {
		return
	}
	for s := from + 1; s <= min(to, from+buckets); s++ {
		r.sum -= r.slots[s%buckets]
		r.slots[s%buckets] = 0
	}
}

// freed returns the time until the sum of the counts that have left the window reaches need.
func (r *ring) freed(at, need int64, now time.Duration) time.Duration {
	for s := at - buckets + 1; s <= at; s++ {
		need -= r.slots[(s+buckets)%buckets] // s may be negative in the first minute
		if need <= 0 {
			return time.Duration(s+buckets)*time.Second - now
		}
	}
	return Window
}

// ages lists the seconds that have counts, each as its age in seconds, its requests and its tokens.
func (c *counts) ages() []any {
	var all []any
	for age := range min(buckets, c.at+1) {
		if requests, tokens := c.requests.of(c.at-age), c.tokens.of(c.at-age); requests > 0 || tokens > 0 {
			all = append(all, age, requests, min(tokens, maxExact))
		}
	}
	return all
}

// copy returns a copy of the counts.
func (c *counts) copy() counts {
	copied := *c
	copied.requests.slots, copied.tokens.slots = slices.Clone(c.requests.slots), slices.Clone(c.tokens.slots)
	return copied
}

// subtract subtracts an earlier copy of c, except for counts that have left the window.
func (c *counts) subtract(earlier *counts) {
	earlier.advance(c.at)
	for age := range min(buckets, c.at+1) {
		c.requests.takeBack(c.at, c.at-age, earlier.requests.of(c.at-age))
		c.tokens.takeBack(c.at, c.at-age, earlier.tokens.of(c.at-age))
	}
}

func (r *ring) of(second int64) int64 {
	if r.slots == nil {
		return 0
	}
	return r.slots[second%buckets]
}
