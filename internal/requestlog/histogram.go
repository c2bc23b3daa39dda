package requestlog

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
)

// bucketRatio is how much wider each bucket of a Histogram is than the one before. Reading a quantile as the middle of
// its bucket is then off by less than 5 %.
const bucketRatio = 1.1

// maxBucket holds everything from about three hours on.
const maxBucket = 242

// Histogram counts durations in buckets whose bounds grow by a tenth. Histograms of parts add up to that of the whole.
// The zero Histogram is empty and ready to use.
type Histogram struct {
	counts map[int]int64 // by bucket: bucket b holds durations from 1.1^b µs to 1.1^(b+1) µs
}

// Add counts one duration; zero and less mean that it is not known, and are left out.
func (h *Histogram) Add(d time.Duration) {
	if d <= 0 {
		return
	}
	h.addCount(bucket(d), 1)
}

// Merge adds the counts of another histogram.
func (h *Histogram) Merge(other Histogram) {
	for b, n := range other.counts {
		h.addCount(b, n)
	}
}

func (h *Histogram) addCount(b int, n int64) {
	if h.counts == nil {
		h.counts = map[int]int64{}
	}
	h.counts[b] += n
}

func bucket(d time.Duration) int {
	micros := float64(d) / float64(time.Microsecond)
	return min(max(int(math.Floor(math.Log(micros)/math.Log(bucketRatio))), 0), maxBucket)
}

// Quantile returns the duration below which the share q (0 to 1) of the counted ones lies, within 5 %; 0 when empty.
func (h *Histogram) Quantile(q float64) time.Duration {
	var total int64
	for _, n := range h.counts {
		total += n
	}
	rank := max(int64(math.Ceil(q*float64(total))), 1)
	var seen int64
	for _, b := range h.buckets() {
		seen += h.counts[b]
		if seen >= rank {
			return time.Duration(math.Pow(bucketRatio, float64(b)+0.5) * float64(time.Microsecond))
		}
	}
	return 0
}

func (h *Histogram) buckets() []int {
	out := make([]int, 0, len(h.counts))
	for b := range h.counts {
		out = append(out, b)
	}
	slices.Sort(out)
	return out
}

// String writes the counts as "bucket:count" pairs, the form in which they are stored.
func (h *Histogram) String() string {
	var out []byte
	for i, b := range h.buckets() {
		if i > 0 {
			out = append(out, ' ')
		}
		out = strconv.AppendInt(out, int64(b), 10)
		out = append(out, ':')
		out = strconv.AppendInt(out, h.counts[b], 10)
	}
	return string(out)
}

// ParseHistogram reads what String writes.
func ParseHistogram(s string) (Histogram, error) {
	var h Histogram
	for pair := range strings.FieldsSeq(s) {
		left, right, _ := strings.Cut(pair, ":")
		b, errBucket := strconv.Atoi(left)
		n, errCount := strconv.ParseInt(right, 10, 64)
		if errBucket != nil || errCount != nil || b < 0 || b > maxBucket || n < 0 {
			return Histogram{}, fmt.Errorf("histogram: %q is no bucket and count", pair)
		}
		h.addCount(b, n)
	}
	return h, nil
}
