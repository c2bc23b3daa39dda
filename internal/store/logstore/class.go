package logstore

import "math/bits"

// classOf returns a coarse logarithm of n. Each class spans a factor of four, and classOf is monotonic. Indexes on costs and latencies
// use the class instead of the exact value, so that rows of the same class are ordered by ID.
func classOf(n int64) int64 {
	if n < 0 {
		return -int64(bits.Len64(uint64(-n))+1) / 2
	}
	return int64(bits.Len64(uint64(n))+1) / 2
}

// maxClass is the class of the largest int64.
const maxClass = 32
