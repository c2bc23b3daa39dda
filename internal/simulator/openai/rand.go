package openai

const (
	// HashSeed is the initial value for Hash, the FNV-1a offset basis.
	HashSeed = 14695981039346656037
	fnvPrime = 1099511628211
)

// Hash adds text to an FNV-1a hash.
func Hash(h uint64, text string) uint64 {
	for i := range len(text) {
		h = (h ^ uint64(text[i])) * fnvPrime
	}
	return (h ^ 0xff) * fnvPrime // a terminator, so that "ab"+"c" differs from "a"+"bc"
}

// Mix spreads a hash over all bits. It is also the step function of Rand (splitmix64).
func Mix(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// Rand is a pseudo-random number generator. The sequence depends only on the seed.
type Rand struct{ State uint64 }

// IntN returns an integer in [0, n).
func (d *Rand) IntN(n int) int {
	d.State = Mix(d.State)
	return int(d.State % uint64(n))
}

// Float64 returns a number in [0, 1).
func (d *Rand) Float64() float64 {
	d.State = Mix(d.State)
	return float64(d.State>>11) / (1 << 53)
}
