package openai

import (
	"strconv"

	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/rawjson"
)

// Inputs returns the inputs of a request, each as JSON. A string is one input, and so is a list of token IDs.
func Inputs(req *llm.Request) [][]byte {
	if list := listed(req); list != nil {
		return list
	}
	for _, f := range req.Fields {
		if f.Name == "input" {
			return [][]byte{req.Body[f.Value:f.End]}
		}
	}
	return nil
}

// Vectors returns the vectors of a validated response, each as JSON, in order.
func Vectors(data []byte) [][]byte {
	vectors, _, _, _ := readVectors(data, MaxInputs)
	list := make([][]byte, len(vectors))
	for i, v := range vectors {
		list[i] = v.raw[v.from:v.to]
	}
	return list
}

// Document returns an embeddings response with the given vectors, in order. tokens is the number of input tokens to report.
func EmbeddingDocument(model string, vectors [][]byte, tokens int64) []byte {
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
	out = append(out, `],"model":`...)
	out = rawjson.AppendString(out, model)
	out = append(out, `,"usage":{"prompt_tokens":`...)
	out = strconv.AppendInt(out, tokens, 10)
	out = append(out, `,"total_tokens":`...)
	out = strconv.AppendInt(out, tokens, 10)
	return append(out, `}}`...)
}
