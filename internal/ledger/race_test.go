//go:build race

package ledger

// The race detector makes the full count take too long.
const smallestCharges = 100_000
