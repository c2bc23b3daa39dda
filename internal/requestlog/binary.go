package requestlog

import (
	"encoding/binary"
	"errors"
	"time"

	"fairlead.dev/internal/money"
)

// errShort is returned for binary sums that are incomplete or malformed.
var errShort = errors.New("parse sums: the data is too short or malformed")

// BucketOf returns the number of the histogram bucket for a duration. known is false for zero and negative durations.
func BucketOf(d time.Duration) (number int, known bool) {
	if d <= 0 {
		return 0, false
	}
	return bucket(d), true
}

// AddBucket adds n to the count of a bucket. Numbers outside the histogram are clamped to its first or last bucket.
func (h *Histogram) AddBucket(number int, n int64) {
	number = min(max(number, 0), maxBucket)
	low, high := 0, len(h.counts)
	for low < high {
		if middle := (low + high) / 2; h.counts[middle].bucket < number {
			low = middle + 1
		} else {
			high = middle
		}
	}
	h.addCount(bucketCount{number, n}, low)
}

// appendBinary appends the number of buckets. For each bucket it appends the difference from the previous bucket number and the count.
func (h *Histogram) appendBinary(to []byte) []byte {
	to = binary.AppendUvarint(to, uint64(len(h.counts)))
	last := 0
	for _, c := range h.counts {
		to = binary.AppendUvarint(to, uint64(c.bucket-last)) //nolint:gosec // the difference is never negative, because buckets ascend
		to = binary.AppendVarint(to, c.n)
		last = c.bucket
	}
	return to
}

// Counts returns pointers to the counts and amounts that Merge adds, in the order in which they are stored.
func (f *Figures) Counts() [19]*int64 {
	return [...]*int64{
		&f.Requests, &f.Served, &f.Attempts, &f.Failed, &f.Errors, &f.Rejected, &f.Expected, &f.Fallbacks, &f.Policies, &f.Priced, &f.Compared,
		(*int64)(&f.Cost), (*int64)(&f.ComparedCost), (*int64)(&f.BaselineCost), &f.InputTokens, &f.CachedTokens, &f.OutputTokens, &f.CacheHits, (*int64)(&f.CacheSaved),
	}
}

// AppendBinary appends the sums in the format that MergeBinary reads.
func (s *Sums) AppendBinary(to []byte) []byte {
	for _, n := range s.Counts() {
		to = binary.AppendVarint(to, *n)
	}
	return s.AppendHistograms(to)
}

// AppendHistograms appends the histograms in the format that MergeHistograms reads.
func (s *Sums) AppendHistograms(to []byte) []byte {
	return s.TTFT.appendBinary(s.Latency.appendBinary(to))
}

// MergeBinary adds the sums at the start of the data and returns the rest of the data.
func (s *Sums) MergeBinary(data []byte) ([]byte, error) {
	var read Figures
	for _, n := range read.Counts() {
		v, size := binary.Varint(data)
		if size <= 0 {
			return nil, errShort
		}
		*n, data = v, data[size:]
	}
	s.Merge(&Sums{Figures: read})
	return s.MergeHistograms(data)
}

// MergeHistograms adds the histograms at the start of the data and returns the rest of the data.
func (s *Sums) MergeHistograms(data []byte) ([]byte, error) {
	for _, h := range []*Histogram{&s.Latency, &s.TTFT} {
		var err error
		if data, err = h.mergeBinary(data); err != nil {
			return nil, err
		}
	}
	return data, nil
}

func (h *Histogram) mergeBinary(data []byte) ([]byte, error) {
	length, size := binary.Uvarint(data)
	if size <= 0 || length > maxBucket+1 {
		return nil, errShort
	}
	data = data[size:]
	at, number := 0, uint64(0)
	for range length {
		step, size := binary.Uvarint(data)
		if size <= 0 || step > maxBucket {
			return nil, errShort
		}
		data = data[size:]
		n, size := binary.Varint(data)
		if number += step; size <= 0 || number > maxBucket {
			return nil, errShort
		}
		data = data[size:]
		at = h.addCount(bucketCount{int(number), n}, at) //nolint:gosec // the number is at most maxBucket
	}
	return data, nil
}

// Without returns the figures minus those of part, whose requests are a subset. Quantiles cannot be subtracted and are 0.
func (f *Figures) Without(part *Figures) Figures {
	var left Figures
	own, theirs := f.Counts(), part.Counts()
	for i, n := range left.Counts() {
		*n = *own[i] - *theirs[i]
	}
	left.Cost, left.ComparedCost = f.Cost.Sub(part.Cost), f.ComparedCost.Sub(part.ComparedCost)
	left.BaselineCost, left.CacheSaved = f.BaselineCost.Sub(part.BaselineCost), f.CacheSaved.Sub(part.CacheSaved)
	return left
}

// Saved returns the baseline cost minus the cost of the compared requests.
func (s *Spending) Saved() money.Amount { return s.BaselineCost.Sub(s.ComparedCost) }
