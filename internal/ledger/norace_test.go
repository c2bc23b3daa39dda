//go:build !race

package ledger

const smallestCharges = 10_000_000
