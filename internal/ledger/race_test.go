//go:build race

package ledger

// smallestCharges is lower with the race detector, because the full number of charges takes too long.
const smallestCharges = 100_000
