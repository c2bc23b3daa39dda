//go:build race

package ledger

// smallestCharges is the number of charges in TestSmallestChargesAreExact. It is lower with the race detector, which slows the test down.
const smallestCharges = 100_000
