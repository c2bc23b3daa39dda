//go:build race

package gateway_test

// slack is what a request may allocate beyond what is recorded: the race detector makes pools forget.
const slack = 20
