package openai

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"

	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/rawjson"
)

// Split divides the inputs of a request into JSON lists of at most size inputs each, in order. It returns nil if the request has at most
// size inputs.
func Split(req *llm.Request, size int) [][]byte {
	inputs := listed(req)
	if len(inputs) <= size {
		return nil
	}
	var parts [][]byte
	for part := range slices.Chunk(inputs, size) {
		parts = append(parts, slices.Concat([]byte{'['}, rawjson.Join(part), []byte{']'}))
	}
	return parts
}

// listed returns the elements of a request's input list, each as JSON. It returns nil if the input is not a list, or if it is a list of
// several token IDs, which is a single input.
func listed(req *llm.Request) [][]byte {
	var inputs [][]byte
	for _, field := range req.Fields {
		s := rawjson.Scanner{Data: req.Body[field.Value:field.End]}
		if field.Name != "input" || s.Kind() != '[' {
			continue
		}
		for range s.Elements {
			inputs = append(inputs, s.Raw())
		}
	}
	if len(inputs) != req.Inputs { // the list consists of the token IDs of one input
		return nil
	}
	return inputs
}

// Join combines the responses to the parts of a request, in order. The usage is known only if every part reports it.
func Join(parts []llm.Event) (llm.Event, error) {
	joined := llm.Event{Content: true, Model: parts[0].Model}
	usage, counted := llm.Usage{}, 0
	out := []byte(`{"object":"list","data":[`)
	var last []byte
	index := 0
	for _, part := range parts {
		vectors, _, _, _ := readVectors(part.Data, MaxInputs) // validated when the part was decoded
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
			counted++
		}
		last = part.Data
	}
	out = append(append(out, `],"model":`...), cmp.Or(rawjson.Get(last, "model").Raw, `""`)...)
	if counted == len(parts) {
		joined.Usage = &usage
		out = fmt.Appendf(out, `,"usage":{"prompt_tokens":%d,"total_tokens":%d}`, usage.Input, usage.Input)
	}
	out = append(out, '}')
	joined.Data = out
	return joined, nil
}
