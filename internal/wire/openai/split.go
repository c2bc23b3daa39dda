package openai

import (
	"context"
	"fmt"

	"fairlead.dev/internal/llm"
)

// Split divides an embeddings request into requests of at most size inputs each, in order.
func (f Format) Split(ctx context.Context, req *llm.Request, size int) ([]*llm.Request, error) {
	inputs := Split(req, size)
	if inputs == nil {
		return []*llm.Request{req}, nil
	}
	parts := make([]*llm.Request, len(inputs))
	for i, value := range inputs {
		part, err := f.DecodeRequest(ctx, llm.Embed, Render(req, Edit{Set: []Member{{Name: "input", Value: value}}}))
		if err != nil {
			return nil, fmt.Errorf("split inputs, part %d: %w", i, err)
		}
		parts[i] = part
	}
	return parts, nil
}

// Join combines the responses to the parts of a request, in order.
func (Format) Join(_ *llm.Request, parts []llm.Event) (llm.Event, error) {
	return Join(parts)
}
