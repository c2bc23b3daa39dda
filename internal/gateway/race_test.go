//go:build race

package gateway_test

// slack is what a request may allocate beyond what is recorded: the race detector makes pools forget one thing in four, and
// every event of a stream is framed in a buffer from a pool.
const slack = 100
