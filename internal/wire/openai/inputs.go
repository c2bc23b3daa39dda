package openai

import (
	"context"
	"fmt"
	"slices"

	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/rawjson"
)

// Inputs implements wire.InputFormat.
func (Format) Inputs(req *llm.Request) [][]byte { return Inputs(req) }

// WithInputs implements wire.InputFormat.
func (f Format) WithInputs(ctx context.Context, req *llm.Request, inputs [][]byte) (*llm.Request, error) {
	list := slices.Concat([]byte{'['}, rawjson.Join(inputs), []byte{']'})
	part, err := f.DecodeRequest(ctx, llm.Embed, Render(req, Edit{Set: []Member{{Name: "input", Value: list}}}))
	if err != nil {
		return nil, fmt.Errorf("select inputs: %w", err)
	}
	return part, nil
}

// Vectors implements wire.InputFormat.
func (Format) Vectors(data []byte) [][]byte { return Vectors(data) }

// Document implements wire.InputFormat.
func (Format) Document(model string, vectors [][]byte, tokens int64) []byte {
	return EmbeddingDocument(model, vectors, tokens)
}
