package simulator

import (
	"encoding/json"
	"fmt"
	"net/http"

	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/simulator/openai"
)

// moderationModel is the default model of moderation requests.
const moderationModel = "sim-moderation"

type moderationRequest struct {
	Model    string          `json:"model"`
	Input    json.RawMessage `json:"input"`
	Metadata metadata        `json:"metadata"`
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
	inputs, err := openai.ParseModerationInputs(q.Input)
	if err != nil {
		writeFailure(w, err)
		return
	}
	if fault == FaultSlowStart && !sleep(r.Context(), s.options.SlowStart) || !s.wait(r.Context(), p.firstToken) {
		return
	}
	results, seed := []openai.ModerationResult{}, uint64(openai.HashSeed)
	for _, input := range inputs {
		results = append(results, openai.Moderate(input))
		seed = openai.Hash(seed, input.Text)
	}
	writeBody(w, r, openai.Encode(map[string]any{"id": fmt.Sprintf("modr-sim%016x", seed), "model": p.name, "results": results}), fault)
}
