//go:build !race

package gateway_test

// slack is the number of additional allocations that are allowed, because a garbage collection can empty the pools.
const slack = 4
