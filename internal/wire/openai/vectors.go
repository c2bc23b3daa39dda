package openai

import (
	"bytes"
	"fmt"
	"strconv"

	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/rawjson"
	"fairlead.dev/internal/token"
)

// Texts returns the inputs of a validated embeddings request, for a provider with another format. It rejects token IDs,
// because their meaning depends on the vocabulary of the model.
func Texts(req *llm.Request) ([]string, error) {
	var texts []string
	if req.TokenIDs == 0 {
		for _, f := range req.Fields {
			if f.Name != "input" {
				continue
			}
			input := rawjson.Parse(req.Body[f.Value:f.End])
			if input.Kind == rawjson.Text {
				texts = append(texts, input.String())
			}
			input.ForEach(func(_, element rawjson.Value) bool {
				texts = append(texts, element.String())
				return true
			})
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
	var w rawjson.Writer
	w.Open()
	w.Str("object", "list")
	w.Key("data")
	w.Out = append(w.Out, '[')
	for n, list := range v.Data {
		if n > 0 {
			w.Out = append(w.Out, ',')
		}
		value, err := embeddingJSON(list, req.Base64)
		if err != nil {
			return llm.Event{}, &llm.Error{Kind: llm.UpstreamMalformed, Message: fmt.Sprintf("The provider's vector for input %d cannot be decoded.", n), Err: err}
		}
		w.Open()
		w.Str("object", "embedding")
		w.Raw("index", strconv.AppendInt(nil, int64(n), 10))
		w.Raw("embedding", value)
		w.Close()
	}
	w.Out = append(w.Out, ']')
	w.Str("model", model)
	tokens := token.Model{Name: model}.Prompt(token.PromptOf(req))
	if v.Usage != nil {
		tokens = v.Usage.Prompt()
	}
	w.Raw("usage", fmt.Appendf(nil, `{"prompt_tokens":%d,"total_tokens":%d}`, tokens, tokens))
	w.Close()
	return llm.Event{Data: w.Out, Content: true, Usage: v.Usage, Model: v.Model}, nil
}

// embeddingJSON validates a list of numbers and returns it in the requested encoding.
func embeddingJSON(list []byte, wantBase64 bool) ([]byte, error) {
	list = bytes.TrimSpace(list)
	s := rawjson.Scanner{Data: list}
	if s.Kind() != '[' {
		return nil, fmt.Errorf("vector is not a list")
	}
	packed, err := appendBase64(nil, list)
	if s.Skip(); s.Err != nil {
		return nil, s.Err
	}
	switch s.End(); {
	case s.Err != nil:
		return nil, s.Err
	case err != nil:
		return nil, err
	case len(packed) <= len(`""`):
		return nil, fmt.Errorf("vector is empty")
	case wantBase64:
		return packed, nil
	}
	return list, nil
}
