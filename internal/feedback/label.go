package feedback

import (
	"strings"
)

// words are the labels by their score, the best first. The first of each line is the one to recommend.
var words = []struct {
	score  float64
	labels []string
}{
	{1, []string{"good", "up", "thumbs_up", "like", "positive", "correct", "accepted", "👍"}},
	{0.5, []string{"ok", "neutral", "partial"}},
	{0, []string{"bad", "down", "thumbs_down", "dislike", "negative", "wrong", "rejected", "👎"}},
}

// Labels lists the words that stand for a score, the best first.
func Labels() []string {
	var all []string
	for _, w := range words {
		all = append(all, w.labels...)
	}
	return all
}

// ScoreOf is the score that a rater gives by a number or by a word: one of both, and not neither. The word comes back as
// it is kept.
func ScoreOf(score *float64, label string) (float64, string, error) {
	switch {
	case score != nil && label != "":
		return 0, "", invalid("label", "Give a score or a label, and not both: they may say different things.")
	case score != nil:
		return *score, "", nil
	case label == "":
		return 0, "", invalid("score", "Say how good the answer was: a score from 0 to 1, or a label such as good or bad.")
	}
	plain := strings.NewReplacer(" ", "_", "-", "_").Replace(strings.ToLower(strings.TrimSpace(label)))
	for _, w := range words {
		for _, known := range w.labels {
			if plain == known {
				return w.score, known, nil
			}
		}
	}
	return 0, "", invalid("label", "This label is not known. Use one of %s; or a score from 0 to 1.", strings.Join(Labels(), ", "))
}
