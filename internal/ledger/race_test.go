//go:build race

package ledger

// The full count takes too long with the race detector.
const smallestCharges = 100_000
