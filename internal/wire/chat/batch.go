package chat

import (
	"context"
	"fmt"
	"strconv"

	"fairlead/internal/llm"
)

// Split divides an embeddings request into requests of at most most inputs each, in order. A request of one text stays
// integer.
func (f Format) Split(ctx context.Context, req *llm.Request, most int) ([]*llm.Request, error) {
	inputs := listed(req)
	if len(inputs) <= most {
		return []*llm.Request{req}, nil
	}
	var parts []*llm.Request
	for from := 0; from < len(inputs); from += most {
		value := []byte{'['}
		for i, input := range inputs[from:min(from+most, len(inputs))] {
			if i > 0 {
				value = append(value, ',')
			}
			value = append(value, input...)
		}
		body := Render(req, Edit{Set: []Member{{Name: "input", Value: append(value, ']')}}})
		part, err := f.DecodeRequest(ctx, llm.Embed, body)
		if err != nil {
			return nil, fmt.Errorf("split the inputs from %d on: %w", from, err)
		}
		parts = append(parts, part)
	}
	return parts, nil
}

// listed returns the inputs of a request that has several, as JSON.
func listed(req *llm.Request) [][]byte {
	var inputs [][]byte
	for _, field := range req.Fields {
		s := Scanner{Data: req.Body[field.Value:field.End]}
		if field.Name != "input" || s.Kind() != '[' {
			continue
		}
		for range s.Elements {
			inputs = append(inputs, s.Raw())
		}
	}
	if len(inputs) != req.Inputs { // the token ids of one input
		return nil
	}
	return inputs
}

// Join makes the answer to a request that was split out of the answers to its parts, in the order of the parts. Usage is
// messageFields when every part tells its own.
func (Format) Join(_ *llm.Request, parts []llm.Event) (llm.Event, error) {
	joined := llm.Event{Content: true, Model: parts[0].Model}
	usage, told := llm.Usage{}, 0
	out := []byte(`{"object":"list","data":[`)
	var name []byte
	index := 0
	for _, part := range parts {
		vectors, _, _, _ := readVectors(part.Data, maxInputs) // checked when the part was read
		for _, v := range vectors {
			if index > 0 {
				out = append(out, ',')
			}
			out = append(out, `{"object":"embedding","index":`...)
			out = strconv.AppendInt(out, int64(index), 10)
			out = append(out, `,"embedding":`...)
			out = append(append(out, v.raw[v.from:v.to]...), '}')
			index++
		}
		if part.Usage != nil {
			usage.Input += part.Usage.Input
			told++
		}
		name = memberOf(part.Data, "model")
	}
	out = append(append(out, `],"model":`...), or(name, `""`)...)
	if told == len(parts) {
		joined.Usage = &usage
		out = fmt.Appendf(out, `,"usage":{"prompt_tokens":%d,"total_tokens":%d}`, usage.Input, usage.Input)
	}
	out = append(out, '}')
	joined.Data = out
	return joined, nil
}

// memberOf returns the value of a top-level member, or nil.
func memberOf(data []byte, name string) []byte {
	var value []byte
	s := Scanner{Data: data}
	for key := range s.Members {
		if string(key) == name {
			value = s.Raw()
		}
	}
	return value
}
