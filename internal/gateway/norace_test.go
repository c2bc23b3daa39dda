//go:build !race

package gateway_test

// slack is what a request may allocate beyond what is recorded: a collection of garbage empties the pools.
const slack = 4
