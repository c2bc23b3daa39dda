package requestlog

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
)

// bucketRatio is the upper bound of a bucket divided by its lower bound. It limits the error of a quantile to 10 %.
const bucketRatio = 1.1

// maxBucket is the last bucket. It counts all durations above about three hours.
const maxBucket = 242

// Histogram counts durations in buckets. Each bound is 10 % larger than the previous one. The zero Histogram is empty and
// ready to use.
type Histogram struct {
	counts []bucketCount // counts of non-empty buckets, in ascending order
}

// bucketCount holds the number of durations from 1.1^bucket µs to 1.1^(bucket+1) µs.
type bucketCount struct {
	bucket int
	n      int64
}

// Add counts a duration. Zero and negative durations mean "unknown" and are ignored.
func (h *Histogram) Add(d time.Duration) {
	if d <= 0 {
		return
	}
	h.addCount(bucketCount{bucket(d), 1}, 0)
}

// Merge adds the counts of another histogram. It grows the list once and fills it from the end, so that every count is moved at most once.
func (h *Histogram) Merge(other Histogram) {
	at, fresh := 0, 0 // fresh is the number of buckets that only the other histogram has
	for _, c := range other.counts {
		for at < len(h.counts) && h.counts[at].bucket < c.bucket {
			at++
		}
		if at == len(h.counts) || h.counts[at].bucket != c.bucket {
			fresh++
		}
	}
	if fresh == 0 {
		at = 0
		for _, c := range other.counts {
			at = h.addCount(c, at)
		}
		return
	}
	own, theirs := len(h.counts), len(other.counts)
	h.counts = slices.Grow(h.counts, fresh)[:own+fresh]
	for to := own + fresh - 1; theirs > 0; to-- {
		switch c := other.counts[theirs-1]; {
		case own > 0 && h.counts[own-1].bucket > c.bucket:
			h.counts[to] = h.counts[own-1]
			own--
		case own > 0 && h.counts[own-1].bucket == c.bucket:
			h.counts[to] = bucketCount{c.bucket, c.n + h.counts[own-1].n}
			own--
			theirs--
		default:
			h.counts[to] = c
			theirs--
		}
	}
}

// addCount adds to the count of a bucket and returns the index of the bucket in the list. The search starts at the given index.
func (h *Histogram) addCount(c bucketCount, at int) int {
	for at < len(h.counts) && h.counts[at].bucket < c.bucket {
		at++
	}
	if at < len(h.counts) && h.counts[at].bucket == c.bucket {
		h.counts[at].n += c.n
	} else {
		h.counts = slices.Insert(h.counts, at, c)
	}
	return at
}

func bucket(d time.Duration) int {
	micros := float64(d) / float64(time.Microsecond)
	return min(max(int(math.Floor(math.Log(micros)/math.Log(bucketRatio))), 0), maxBucket)
}

// Quantile returns the quantile q (0 to 1) of the durations, within 10 %, or 0 if there are none. It interpolates linearly
// within a bucket.
func (h *Histogram) Quantile(q float64) time.Duration {
	var total int64
	for _, c := range h.counts {
		total += c.n
	}
	rank := max(int64(math.Ceil(q*float64(total))), 1)
	var seen int64
	for _, c := range h.counts {
		seen += c.n
		if seen >= rank {
			within := (float64(rank-(seen-c.n)) - 0.5) / float64(c.n)
			return time.Duration(math.Pow(bucketRatio, float64(c.bucket)+within) * float64(time.Microsecond))
		}
	}
	return 0
}

// String encodes the counts as "bucket:count" pairs for storage.
func (h *Histogram) String() string {
	out := make([]byte, 0, 8*len(h.counts))
	for i, c := range h.counts {
		if i > 0 {
			out = append(out, ' ')
		}
		out = strconv.AppendInt(out, int64(c.bucket), 10)
		out = append(out, ':')
		out = strconv.AppendInt(out, c.n, 10)
	}
	return string(out)
}

// ParseHistogram decodes the result of String. Several results joined by spaces decode as their sum.
func ParseHistogram(s string) (Histogram, error) {
	h := Histogram{make([]bucketCount, 0, strings.Count(s, ":"))}
	last := 0
	for pair := range strings.FieldsSeq(s) {
		left, right, _ := strings.Cut(pair, ":")
		b, errBucket := strconv.Atoi(left)
		n, errCount := strconv.ParseInt(right, 10, 64)
		if errBucket != nil || errCount != nil || b < 0 || b > maxBucket || n < 0 {
			return Histogram{}, fmt.Errorf("parse histogram: %q is not a bucket and a count", pair)
		}
		if last < len(h.counts) && b < h.counts[last].bucket {
			last = 0
		}
		last = h.addCount(bucketCount{b, n}, last)
	}
	return h, nil
}
