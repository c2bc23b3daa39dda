package openai

import (
	"slices"
	"strings"
)

// moderationWords lists the flagged words by category. The other categories are never flagged.
var moderationWords = map[string][]string{
	"violence":   {"kill", "murder", "stab"},
	"harassment": {"idiot", "stupid"},
	"illicit":    {"counterfeit", "smuggle"},
}

var moderationCategories = []string{
	"harassment", "harassment/threatening", "hate", "hate/threatening", "illicit", "illicit/violent", "self-harm",
	"self-harm/instructions", "self-harm/intent", "sexual", "sexual/minors", "violence", "violence/graphic",
}

// ModerationResult is the result for one moderation input.
type ModerationResult struct {
	Flagged    bool                `json:"flagged"`
	Categories map[string]bool     `json:"categories"`
	Scores     map[string]float64  `json:"category_scores"`
	Applied    map[string][]string `json:"category_applied_input_types"`
}

// Moderate returns a score for every category. The scores depend only on the input.
func Moderate(input Content) ModerationResult {
	words := strings.FieldsFunc(strings.ToLower(input.Text), func(r rune) bool { return r < 'a' || r > 'z' })
	seen := []string{"text"}
	if len(input.Images) > 0 {
		seen = append(seen, "image")
	}
	result := ModerationResult{Categories: map[string]bool{}, Scores: map[string]float64{}, Applied: map[string][]string{}}
	for _, category := range moderationCategories {
		d := &Rand{State: Hash(Hash(HashSeed, category), input.Text)}
		found := slices.ContainsFunc(words, func(word string) bool { return slices.Contains(moderationWords[category], word) })
		result.Categories[category], result.Scores[category], result.Applied[category] = found, d.Float64()/1000, seen
		if found {
			result.Flagged, result.Scores[category] = true, 0.9+d.Float64()/20
		}
	}
	return result
}
