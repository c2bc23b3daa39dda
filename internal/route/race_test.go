//go:build race

package route_test

// slack is what may be allocated beyond the bound: the race detector makes pools forget.
const slack = 10
