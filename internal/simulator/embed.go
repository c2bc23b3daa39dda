package simulator

import (
	"encoding/json"
	"fmt"
	"math"
	"net/http"

	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/simulator/openai"
)

const (
	maxInputTokens = 300_000 // maximum tokens of all inputs together, as in OpenAI's API
	letterSpan     = 256     // number of leading dimensions that letter groups affect; words affect all dimensions
)

type embedRequest struct {
	Model          string          `json:"model"`
	Input          json.RawMessage `json:"input"`
	EncodingFormat string          `json:"encoding_format"`
	Dimensions     *int64          `json:"dimensions"`
	Metadata       metadata        `json:"metadata"`
}

func (s *Simulator) serveEmbeddings(w http.ResponseWriter, r *http.Request) {
	var q embedRequest
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
	p, inputs, err := s.checkEmbed(&q)
	if err != nil {
		writeFailure(w, err)
		return
	}
	if fault == FaultSlowStart && !sleep(r.Context(), s.options.SlowStart) || !s.wait(r.Context(), p.firstToken) {
		return
	}
	dimensions := p.dimensions[0]
	if q.Dimensions != nil {
		dimensions = *q.Dimensions
	}
	writeEmbeddings(w, r, q, inputs, int(dimensions), fault)
}

func writeEmbeddings(w http.ResponseWriter, r *http.Request, q embedRequest, inputs []openai.Input, dimensions int, fault Fault) {
	data := make([]openai.Embedding, 0, len(inputs))
	var tokens int64
	for i, input := range inputs {
		if r.Context().Err() != nil {
			return
		}
		tokens += input.Tokens
		unit := vector(input.Words, dimensions)
		var value any = unit
		if q.EncodingFormat == "base64" {
			value = openai.EncodeVector(unit)
		}
		data = append(data, openai.Embedding{Object: "embedding", Index: i, Embedding: value})
	}
	used := map[string]int64{"prompt_tokens": tokens, "total_tokens": tokens}
	if fault == FaultAbsurdUsage {
		used = map[string]int64{"prompt_tokens": -17, "total_tokens": 9_000_000_000_000_000}
	}
	answer := map[string]any{"object": "list", "model": q.Model, "data": data, "usage": used}
	if fault == FaultNoUsage {
		delete(answer, "usage")
	}
	writeBody(w, r, openai.Encode(answer), fault)
}

func (s *Simulator) checkEmbed(q *embedRequest) (profile, []openai.Input, error) {
	p, err := s.lookup(q.Model, llm.Embed)
	if err != nil {
		return p, nil, err
	}
	inputs, err := openai.ParseInputs(q.Input)
	if err != nil {
		return p, nil, err
	}
	var total int64
	for i, input := range inputs {
		if total += input.Tokens; total > maxInputTokens {
			return p, nil, openai.BadRequest(fmt.Sprintf("Invalid 'input': maximum request size is %d tokens per request.", maxInputTokens), "input", "max_tokens_per_request")
		}
		if input.Tokens > p.context {
			message := fmt.Sprintf("This model's maximum context length is %d tokens, however input %d has %d tokens.", p.context, i, input.Tokens)
			return p, nil, openai.BadRequest(message, "input", "context_length_exceeded")
		}
	}
	if q.Dimensions != nil && (*q.Dimensions < 1 || *q.Dimensions > p.dimensions[0]) {
		return p, nil, openai.BadRequest(fmt.Sprintf("Invalid value for 'dimensions': must be between 1 and %d.", p.dimensions[0]), "dimensions", "invalid_value")
	}
	if q.EncodingFormat != "" && q.EncodingFormat != "float" && q.EncodingFormat != "base64" {
		return p, nil, openai.BadRequest("Invalid value for 'encoding_format': must be 'float' or 'base64'.", "encoding_format", "invalid_value")
	}
	return p, inputs, nil
}

// vector returns a unit vector: the sum of one fixed pseudo-random direction for each word, pair of words and group of three letters.
// Inputs that share many of these have similar directions. For fewer dimensions, the sum is truncated before it is normalised.
func vector(words []string, dimensions int) []float32 {
	sum := make([]float64, dimensions)
	for i, word := range words {
		addDirection(sum, "w:"+word, 1)
		if i > 0 {
			addDirection(sum, "p:"+words[i-1]+" "+word, 0.5)
		}
		runes := []rune("^" + word + "$")
		for j := 0; j+3 <= len(runes); j++ {
			addDirection(sum[:min(letterSpan, dimensions)], "l:"+string(runes[j:j+3]), 0.3)
		}
	}
	var square float64
	for _, v := range sum {
		square += v * v
	}
	unit := make([]float32, dimensions)
	if square == 0 { // with few dimensions, opposite directions may cancel out completely
		unit[0] = 1
		return unit
	}
	for i, v := range sum {
		unit[i] = float32(v / math.Sqrt(square))
	}
	return unit
}

func addDirection(sum []float64, feature string, weight float64) {
	state := openai.Hash(openai.HashSeed, feature)
	for i := range sum {
		if i%64 == 0 {
			state = openai.Mix(state)
		}
		if state>>(i%64)&1 == 1 {
			sum[i] += weight
		} else {
			sum[i] -= weight
		}
	}
}
