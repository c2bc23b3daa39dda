package logquery

import "math/bits"

// Class is a coarse logarithm: a class spans a factor of four, and a greater number never has a smaller class. Indexes on
// costs and latencies use it to stay in order of ids within a class.
func Class(n int64) int64 {
	if n < 0 {
		return -int64(bits.Len64(uint64(-n))+1) / 2
	}
	return int64(bits.Len64(uint64(n))+1) / 2
}

// MaxClass is the class of the largest number.
const MaxClass = 32
