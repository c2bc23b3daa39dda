package conversation

import (
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"pgregory.net/rapid"
)

// TestConceptsAreFoundLikeEveryStemAlone compares conceptsIn with a search for one stem after another.
func TestConceptsAreFoundLikeEveryStemAlone(t *testing.T) {
	t.Parallel()
	var all []string
	for _, list := range stems {
		all = append(all, list...)
	}
	rapid.Check(t, func(t *rapid.T) {
		separators := rapid.SampledFrom([]string{"", " ", "s ", "-", "'", "ü", "2 ", ", "})
		var text strings.Builder
		for range rapid.IntRange(0, 6).Draw(t, "words") {
			text.WriteString(rapid.SampledFrom(all).Draw(t, "stem") + separators.Draw(t, "separator"))
		}
		found := conceptsIn(text.String())
		for c := range stems {
			if got, want := found.has(concept(c)), mentions(text.String(), stems[c]); got != want {
				t.Fatalf("concept %d in %q: found %t, want %t", c, text.String(), got, want)
			}
		}
	})
}

// mentions reports whether text contains a word that begins with a stem.
func mentions(text string, list []string) bool {
	for _, stem := range list {
		first, _ := utf8.DecodeRuneInString(stem)
		anywhere := unicode.In(first, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Thai, unicode.Hangul, unicode.Arabic, unicode.Hebrew)
		for at := range text {
			before, _ := utf8.DecodeLastRuneInString(text[:at])
			after, found := strings.CutPrefix(text[at:], stem)
			next, _ := utf8.DecodeRuneInString(after)
			if found && (anywhere || !inWord(before) && (len(stem) > wholeStem || !inWord(next))) {
				return true
			}
		}
	}
	return false
}
