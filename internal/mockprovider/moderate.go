package mockprovider

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"fairlead/internal/llm"
)

// moderationModel is what judges a request that names no model.
const moderationModel = "sim-moderation"

// moderationWords are what the simulator takes offence at, by category. The other categories are never flagged.
var moderationWords = map[string][]string{
	"violence":   {"kill", "murder", "stab"},
	"harassment": {"idiot", "stupid"},
	"illicit":    {"counterfeit", "smuggle"},
}

var moderationCategories = []string{
	"harassment", "harassment/threatening", "hate", "hate/threatening", "illicit", "illicit/violent", "self-harm",
	"self-harm/instructions", "self-harm/intent", "sexual", "sexual/minors", "violence", "violence/graphic",
}

type moderationRequest struct {
	Model    string          `json:"model"`
	Input    json.RawMessage `json:"input"`
	Metadata metadata        `json:"metadata"`
}

type moderationResult struct {
	Flagged    bool                `json:"flagged"`
	Categories map[string]bool     `json:"categories"`
	Scores     map[string]float64  `json:"category_scores"`
	Applied    map[string][]string `json:"category_applied_input_types"`
}

func (s *Simulator) serveModerations(w http.ResponseWriter, r *http.Request) {
	q := moderationRequest{Model: moderationModel}
	if err := decode(r, &q); err != nil {
		writeFailure(w, err)
		return
	}
	fault, err := s.fault(q.Metadata.simulate, q.Model)
	if err != nil {
		writeFailure(w, err)
		return
	}
	if s.fail(w, r, fault, false) {
		return
	}
	p, err := s.lookup(q.Model, llm.Moderate)
	if err != nil {
		writeFailure(w, err)
		return
	}
	inputs, err := readModerated(q.Input)
	if err != nil {
		writeFailure(w, err)
		return
	}
	if fault == FaultSlowStart && !sleep(r.Context(), s.options.SlowStart) || !s.wait(r.Context(), p.firstToken) {
		return
	}
	results, seed := []moderationResult{}, uint64(fnvOffset)
	for _, input := range inputs {
		results = append(results, judge(input))
		seed = hash(seed, input.text)
	}
	writeBody(w, r, encode(map[string]any{"id": fmt.Sprintf("modr-sim%016x", seed), "model": p.name, "results": results}), fault)
}

// readModerated reads a text, texts, or parts, which are judged together.
func readModerated(raw json.RawMessage) ([]content, error) {
	var one string
	if len(raw) > 0 && raw[0] == '"' && json.Unmarshal(raw, &one) == nil {
		return []content{{text: one}}, nil
	}
	var inputs []content
	var texts []string
	if json.Unmarshal(raw, &texts) == nil {
		for _, text := range texts {
			inputs = append(inputs, content{text: text})
		}
	} else if parts := (content{}); json.Unmarshal(raw, &parts) == nil && (parts.text != "" || len(parts.images) > 0) {
		inputs = []content{parts}
	}
	if len(inputs) == 0 || len(inputs) > maxInputs {
		return nil, badRequest("'input' must be a string, a list of strings or a list of text and image parts.", "input", "invalid_type")
	}
	return inputs, nil
}

// judge gives every category a score that depends on the text alone.
func judge(input content) moderationResult {
	words := strings.FieldsFunc(strings.ToLower(input.text), func(r rune) bool { return r < 'a' || r > 'z' })
	seen := []string{"text"}
	if len(input.images) > 0 {
		seen = append(seen, "image")
	}
	result := moderationResult{Categories: map[string]bool{}, Scores: map[string]float64{}, Applied: map[string][]string{}}
	for _, category := range moderationCategories {
		d := &draws{state: hash(hash(fnvOffset, category), input.text)}
		found := slices.ContainsFunc(words, func(word string) bool { return slices.Contains(moderationWords[category], word) })
		result.Categories[category], result.Scores[category], result.Applied[category] = found, d.share()/1000, seen
		if found {
			result.Flagged, result.Scores[category] = true, 0.9+d.share()/20
		}
	}
	return result
}
