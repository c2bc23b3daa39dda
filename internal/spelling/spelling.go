// Package spelling finds the closest match of a misspelled name, for "did you mean" messages.
package spelling

import "strings"

// longest is the maximum length of words that are compared. It limits the CPU time for long input.
const longest = 64

// Closest returns the known word that is most similar to text, or an empty string if no word is similar enough.
func Closest(text string, known []string) string {
	text = strings.ToLower(text)
	best, fewest := "", 1+max(1, len(text)/3)
	for _, word := range known {
		if n := Edits(text, strings.ToLower(word)); n < fewest {
			best, fewest = word, n
		}
	}
	if best != "" || len(text) < 2 {
		return best
	}
	// A prefix of exactly one known word matches that word, such as "default" for default_model.
	for _, word := range known {
		if strings.HasPrefix(strings.ToLower(word), text) {
			if best != "" {
				return ""
			}
			best = word
		}
	}
	return best
}

// Edits returns the number of insertions, deletions, replacements and swaps that turn a into b.
func Edits(a, b string) int {
	if len(a) > longest || len(b) > longest {
		return longest
	}
	before, last, row := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := 1; i <= len(a); i++ {
		row[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			row[j] = min(last[j]+1, row[j-1]+1, last[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
		before, last, row = last, row, before
	}
	return last[len(b)]
}
