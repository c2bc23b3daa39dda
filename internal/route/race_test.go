//go:build race

package route_test

// slack is the number of additional allocations allowed: the race detector drops pooled objects.
const slack = 10
