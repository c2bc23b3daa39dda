// Package spelling guesses what a misspelt word was meant to be, so that messages can say "did you mean".
package spelling

import "strings"

// longest bounds how much of a word is compared: a long one costs no more than a short one, and is never close.
const longest = 64

// Closest returns the word among known that text was most likely meant to be, or "" when none is near.
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
	// A word that is the beginning of one known word only is meant to be that one: "default" for default_model.
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

// Edits counts the letters to insert, delete, replace or swap to make b of a.
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
