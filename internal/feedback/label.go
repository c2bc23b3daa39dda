package feedback

import (
	"strings"
)

// labelScores lists the labels by score, best first. The first label of each score is the recommended one.
var labelScores = []struct {
	score  float64
	labels []string
}{
	{1, []string{"good", "up", "thumbs_up", "like", "positive", "correct", "accepted", "👍"}},
	{0.5, []string{"ok", "neutral", "partial"}},
	{0, []string{"bad", "down", "thumbs_down", "dislike", "negative", "wrong", "rejected", "👎"}},
}

// Labels lists all labels, best first.
func Labels() []string {
	var all []string
	for _, w := range labelScores {
		all = append(all, w.labels...)
	}
	return all
}

// ScoreOf returns the score and the normalised label of a rating that is given as a number or as a label.
func ScoreOf(score *float64, label string) (float64, string, error) {
	switch {
	case score != nil && label != "":
		return 0, "", invalid("label", "Set either a score or a label, not both.")
	case score != nil:
		return *score, "", nil
	case label == "":
		return 0, "", invalid("score", "Set a score from 0 to 1, or a label such as good or bad.")
	}
	plain := strings.NewReplacer(" ", "_", "-", "_").Replace(strings.ToLower(strings.TrimSpace(label)))
	for _, w := range labelScores {
		for _, known := range w.labels {
			if plain == known {
				return w.score, known, nil
			}
		}
	}
	return 0, "", invalid("label", "Unknown label. Use one of %s, or a score from 0 to 1.", strings.Join(Labels(), ", "))
}
