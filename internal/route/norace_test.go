//go:build !race

package route_test

const slack = 0
