//go:build !race

package gateway_test

// slack is the tolerance for allocations: a garbage collection empties the pools.
const slack = 4
