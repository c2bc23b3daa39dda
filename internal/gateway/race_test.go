//go:build race

package gateway_test

// slack is the tolerance for allocations: the race detector makes pools drop one value in four, and every event of a stream is
// decoded in a chunk and framed in a buffer from pools. The test also runs without the race detector.
const slack = 200
