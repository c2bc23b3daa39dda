package mockprovider

import (
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"strconv"
	"strings"
	"unicode"

	"fairlead/internal/llm"
)

const (
	maxInputs      = 2048
	maxInputTokens = 300_000 // of all inputs together, as OpenAI has it
	letterSpan     = 256     // the dimensions that groups of letters reach: there are many of them, and words matter more
)

type embedRequest struct {
	Model          string          `json:"model"`
	Input          json.RawMessage `json:"input"`
	EncodingFormat string          `json:"encoding_format"`
	Dimensions     *int64          `json:"dimensions"`
	Metadata       metadata        `json:"metadata"`
}

// embedInput is one text, or the token ids that stand for one.
type embedInput struct {
	words  []string // in order, lower case
	tokens int64
}

type embedding struct {
	Object    string `json:"object"`
	Index     int    `json:"index"`
	Embedding any    `json:"embedding"` // []float32 or base64 text
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

func writeEmbeddings(w http.ResponseWriter, r *http.Request, q embedRequest, inputs []embedInput, dimensions int, fault Fault) {
	data := make([]embedding, 0, len(inputs))
	var tokens int64
	for i, input := range inputs {
		if r.Context().Err() != nil {
			return
		}
		tokens += input.tokens
		unit := vector(input.words, dimensions)
		var value any = unit
		if q.EncodingFormat == "base64" {
			value = packed(unit)
		}
		data = append(data, embedding{Object: "embedding", Index: i, Embedding: value})
	}
	used := map[string]int64{"prompt_tokens": tokens, "total_tokens": tokens}
	if fault == FaultAbsurdUsage {
		used = map[string]int64{"prompt_tokens": -17, "total_tokens": 9_000_000_000_000_000}
	}
	answer := map[string]any{"object": "list", "model": q.Model, "data": data, "usage": used}
	if fault == FaultNoUsage {
		delete(answer, "usage")
	}
	writeBody(w, r, encode(answer), fault)
}

func (s *Simulator) checkEmbed(q *embedRequest) (profile, []embedInput, error) {
	p, err := s.lookup(q.Model, llm.Embed)
	if err != nil {
		return p, nil, err
	}
	inputs, err := readInputs(q.Input)
	if err != nil {
		return p, nil, err
	}
	var total int64
	for i, input := range inputs {
		if total += input.tokens; total > maxInputTokens {
			return p, nil, badRequest(fmt.Sprintf("Invalid 'input': maximum request size is %d tokens per request.", maxInputTokens), "input", "max_tokens_per_request")
		}
		if input.tokens > p.context {
			message := fmt.Sprintf("This model's maximum context length is %d tokens, however input %d has %d tokens.", p.context, i, input.tokens)
			return p, nil, badRequest(message, "input", "context_length_exceeded")
		}
	}
	if q.Dimensions != nil && (*q.Dimensions < 1 || *q.Dimensions > p.dimensions[0]) {
		return p, nil, badRequest(fmt.Sprintf("Invalid value for 'dimensions': must be between 1 and %d.", p.dimensions[0]), "dimensions", "invalid_value")
	}
	if q.EncodingFormat != "" && q.EncodingFormat != "float" && q.EncodingFormat != "base64" {
		return p, nil, badRequest("Invalid value for 'encoding_format': must be 'float' or 'base64'.", "encoding_format", "invalid_value")
	}
	return p, inputs, nil
}

// readInputs reads a text, texts, token ids, or lists of token ids.
func readInputs(raw json.RawMessage) ([]embedInput, error) {
	var one string
	if len(raw) > 0 && raw[0] == '"' && json.Unmarshal(raw, &one) == nil {
		return textInputs([]string{one})
	}
	var texts []string
	if json.Unmarshal(raw, &texts) == nil {
		return textInputs(texts)
	}
	var lists [][]uint32
	var ids []uint32
	if json.Unmarshal(raw, &ids) == nil {
		lists = [][]uint32{ids}
	} else if json.Unmarshal(raw, &lists) != nil {
		return nil, badRequest("'input' must be a string, a list of strings, a list of token ids or a list of such lists.", "input", "invalid_type")
	}
	if len(lists) == 0 || len(lists) > maxInputs {
		return nil, badRequest("'input' must have between 1 and 2048 entries.", "input", "invalid_value")
	}
	inputs := []embedInput{}
	for _, list := range lists {
		input := embedInput{tokens: int64(len(list))}
		for _, id := range list {
			input.words = append(input.words, "#"+strconv.FormatUint(uint64(id), 10))
		}
		if input.tokens == 0 {
			return nil, badRequest("'input' must not hold an empty list.", "input", "invalid_value")
		}
		inputs = append(inputs, input)
	}
	return inputs, nil
}

func textInputs(texts []string) ([]embedInput, error) {
	if len(texts) == 0 || len(texts) > maxInputs {
		return nil, badRequest("'input' must have between 1 and 2048 entries.", "input", "invalid_value")
	}
	inputs := []embedInput{}
	for _, text := range texts {
		if text == "" {
			return nil, badRequest("'input' must not be an empty string.", "input", "invalid_value")
		}
		words := strings.FieldsFunc(strings.ToLower(text), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsNumber(r) })
		if len(words) == 0 {
			words = []string{text}
		}
		inputs = append(inputs, embedInput{words: words, tokens: countTokens(text)})
	}
	return inputs, nil
}

// vector is a unit vector: the sum of one fixed pseudo-random direction for each word, pair of words and group of three
// letters. Texts that share many of these point the same way. Fewer dimensions are a shorter beginning of the same sum.
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
	if square == 0 { // opposite directions may cancel out in a very short vector
		unit[0] = 1
		return unit
	}
	for i, v := range sum {
		unit[i] = float32(v / math.Sqrt(square))
	}
	return unit
}

func addDirection(sum []float64, feature string, weight float64) {
	state := hash(fnvOffset, feature)
	for i := range sum {
		if i%64 == 0 {
			state = mix(state)
		}
		if state>>(i%64)&1 == 1 {
			sum[i] += weight
		} else {
			sum[i] -= weight
		}
	}
}

// packed is the vector as little-endian float32 in base64.
func packed(unit []float32) string {
	raw := make([]byte, 0, 4*len(unit))
	for _, v := range unit {
		raw = binary.LittleEndian.AppendUint32(raw, math.Float32bits(v))
	}
	return base64.StdEncoding.EncodeToString(raw)
}
