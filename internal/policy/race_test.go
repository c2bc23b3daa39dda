//go:build race

package policy

// slack is what may be allocated beyond the bound: the race detector makes pools forget.
const slack = 10
