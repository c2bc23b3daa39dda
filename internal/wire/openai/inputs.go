package openai

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"

	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/rawjson"
	"fairlead.dev/internal/token"
)

// Inputs implements wire.InputFormat. A string is one input, and so is a list of token IDs.
func (Format) Inputs(req *llm.Request) [][]byte {
	if list := listInputs(req); list != nil {
		return list
	}
	if raw := inputOf(req); raw != nil {
		return [][]byte{raw}
	}
	return nil
}

// inputOf returns the value of the input member.
func inputOf(req *llm.Request) []byte {
	for _, f := range req.Fields {
		if f.Name == "input" {
			return req.Body[f.Value:f.End]
		}
	}
	return nil
}

// listInputs returns the elements of a request's input list, each as JSON. It returns nil if the input is not a list, or if it is a list of
// several token IDs, which is a single input.
func listInputs(req *llm.Request) (inputs [][]byte) {
	s := rawjson.Scanner{Data: inputOf(req)}
	if s.Kind() != '[' {
		return nil
	}
	for range s.Elements {
		inputs = append(inputs, s.Raw())
	}
	if len(inputs) != req.Inputs { // the list consists of the token IDs of one input
		return nil
	}
	return inputs
}

// WithInputs implements wire.InputFormat.
func (f Format) WithInputs(ctx context.Context, req *llm.Request, inputs [][]byte) (*llm.Request, error) {
	list := slices.Concat([]byte{'['}, rawjson.Join(inputs), []byte{']'})
	part, err := f.DecodeRequest(ctx, llm.Embed, Render(req, Edit{Set: []Member{{Name: "input", Value: list}}}))
	if err != nil {
		return nil, fmt.Errorf("select inputs: %w", err)
	}
	return part, nil
}

// Split divides an embeddings request into requests of at most size inputs each, in order.
func (f Format) Split(ctx context.Context, req *llm.Request, size int) ([]*llm.Request, error) {
	inputs := listInputs(req)
	if len(inputs) <= size {
		return []*llm.Request{req}, nil
	}
	var parts []*llm.Request
	for some := range slices.Chunk(inputs, size) {
		part, err := f.WithInputs(ctx, req, some)
		if err != nil {
			return nil, err
		}
		parts = append(parts, part)
	}
	return parts, nil
}

// Vectors implements wire.InputFormat.
func (Format) Vectors(data []byte) [][]byte { return vectorsOf(data) }

// vectorsOf returns the vectors of a validated response, each as JSON, in order.
func vectorsOf(data []byte) [][]byte {
	vectors, _, _, _ := readVectors(data, MaxInputs)
	list := make([][]byte, len(vectors))
	for i, v := range vectors {
		list[i] = v.raw[v.from:v.to]
	}
	return list
}

// Document implements wire.InputFormat.
func (Format) Document(model string, vectors [][]byte, tokens int64) []byte {
	return encodeVectors(rawjson.AppendString(nil, model), vectors, &tokens)
}

// encodeVectors encodes an embeddings response. model is a JSON value. tokens is the number of input tokens to report; nil for none.
func encodeVectors(model []byte, vectors [][]byte, tokens *int64) []byte {
	size := 256
	for _, v := range vectors {
		size += len(v) + 64
	}
	out := append(make([]byte, 0, size), `{"object":"list","data":[`...)
	for i, v := range vectors {
		if i > 0 {
			out = append(out, ',')
		}
		out = append(out, `{"object":"embedding","index":`...)
		out = strconv.AppendInt(out, int64(i), 10)
		out = append(out, `,"embedding":`...)
		out = append(append(out, v...), '}')
	}
	out = append(append(out, `],"model":`...), model...)
	if tokens != nil {
		out = fmt.Appendf(out, `,"usage":{"prompt_tokens":%d,"total_tokens":%[1]d}`, *tokens)
	}
	return append(out, '}')
}

// Join combines the responses to the parts of a request, in order. The usage is known only if every part reports it.
func (Format) Join(_ *llm.Request, parts []llm.Event) (llm.Event, error) {
	usage, counted := llm.Usage{}, 0
	var vectors [][]byte
	for _, part := range parts {
		vectors = append(vectors, vectorsOf(part.Data)...)
		if part.Usage != nil {
			usage.Input += part.Usage.Input
			counted++
		}
	}
	joined := llm.Event{Content: true, Model: parts[0].Model}
	var tokens *int64
	if counted == len(parts) {
		joined.Usage, tokens = &usage, &usage.Input
	}
	model := cmp.Or(rawjson.Get(parts[len(parts)-1].Data, "model").Raw, `""`)
	joined.Data = encodeVectors([]byte(model), vectors, tokens)
	return joined, nil
}

// Texts returns the inputs of a validated embeddings request, for a provider with another format. It rejects token IDs,
// because their meaning depends on the vocabulary of the model.
func Texts(req *llm.Request) ([]string, error) {
	var texts []string
	if req.TokenIDs == 0 {
		for _, raw := range (Format{}).Inputs(req) {
			texts = append(texts, rawjson.Parse(raw).String())
		}
	}
	if len(texts) == 0 {
		return nil, &llm.Error{Kind: llm.Untranslatable, Param: "input", Message: "This model accepts text for embeddings, not token IDs. Send the text."}
	}
	return texts, nil
}

// WriteVectors encodes an embeddings response. The numbers are copied as the provider wrote them, or converted to base64 if the request
// asks for it. If the provider reports no usage, the response contains an estimate and the event has no usage.
func WriteVectors(req *llm.Request, model string, v llm.Vectors) (llm.Event, error) {
	if len(v.Data) == 0 || req.Inputs > 0 && len(v.Data) != req.Inputs {
		return llm.Event{}, llm.Errorf(llm.UpstreamMalformed, "The provider sent %d vectors for %d inputs.", len(v.Data), req.Inputs)
	}
	vectors := make([][]byte, len(v.Data))
	for n, list := range v.Data {
		var err error
		if vectors[n], err = embeddingJSON(list, req.Base64); err != nil {
			return llm.Event{}, &llm.Error{Kind: llm.UpstreamMalformed, Message: fmt.Sprintf("The provider's vector for input %d cannot be decoded.", n), Err: err}
		}
	}
	tokens := token.Model{Name: model}.Prompt(token.PromptOf(req))
	if v.Usage != nil {
		tokens = v.Usage.Prompt()
	}
	return llm.Event{Data: encodeVectors(rawjson.AppendString(nil, model), vectors, &tokens), Content: true, Usage: v.Usage, Model: v.Model}, nil
}

// embeddingJSON validates a list of numbers and returns it in the requested encoding.
func embeddingJSON(list []byte, wantBase64 bool) ([]byte, error) {
	list = bytes.TrimSpace(list)
	if len(list) == 0 || list[0] != '[' || !rawjson.Valid(list) {
		return nil, fmt.Errorf("vector is not a list")
	}
	packed, err := appendBase64(nil, list)
	switch {
	case err != nil:
		return nil, err
	case len(packed) <= len(`""`):
		return nil, fmt.Errorf("vector is empty")
	case wantBase64:
		return packed, nil
	}
	return list, nil
}
