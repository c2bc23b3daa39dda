//go:build race

package gateway_test

// slack is the tolerance for allocations: the race detector makes pools drop one value in four, and every event of a stream is
// framed in a buffer from a pool.
const slack = 100
