package chat

import (
	"bytes"
	"fmt"
	"strconv"

	"fairlead/internal/llm"
	"fairlead/internal/token"
)

// Texts returns the inputs of a checked embeddings request, for a provider that speaks another format. Token ids are
// refused: they mean nothing without the vocabulary they are from.
func Texts(req *llm.Request) ([]string, error) {
	r := reader{decoder: decoder{scanner: scanner{b: req.Body}, req: req}}
	var texts []string
	for _, f := range req.Fields {
		if f.Name != "input" {
			continue
		}
		r.i = f.Value
		switch r.kind() {
		case '"':
			text, _ := r.str("input")
			texts = append(texts, text)
		case '[':
			for range r.elements {
				if r.kind() == '"' {
					text, _ := r.str("input")
					texts = append(texts, text)
				}
			}
		}
	}
	if r.err != nil {
		return nil, r.unreadable()
	}
	if req.TokenIDs > 0 || len(texts) == 0 {
		return nil, &llm.Error{Kind: llm.Untranslatable, Param: "input", Message: "This model embeds text, not token ids. Send the text."}
	}
	return texts, nil
}

// WriteVectors writes an embeddings answer given in our own words: numbers as the provider wrote them, or base64 where the
// caller asks for it. Where the provider tells no usage, the answer has our estimate and the event has none.
func WriteVectors(req *llm.Request, model string, v llm.Vectors) (llm.Event, error) {
	if len(v.Data) == 0 || req.Inputs > 0 && len(v.Data) != req.Inputs {
		return llm.Event{}, malformed(fmt.Sprintf("The provider sent %d vectors for %d inputs.", len(v.Data), req.Inputs))
	}
	var w objectWriter
	w.open()
	w.text("object", "list")
	w.key("data")
	w.out = append(w.out, '[')
	for n, list := range v.Data {
		if n > 0 {
			w.out = append(w.out, ',')
		}
		value, err := embeddingJSON(list, req.Base64)
		if err != nil {
			return llm.Event{}, &llm.Error{Kind: llm.UpstreamMalformed, Message: fmt.Sprintf("The provider's vector for input %d cannot be read.", n), Err: err}
		}
		w.open()
		w.text("object", "embedding")
		w.member("index", strconv.AppendInt(nil, int64(n), 10))
		w.member("embedding", value)
		w.close()
	}
	w.out = append(w.out, ']')
	w.text("model", model)
	tokens := token.Model{Name: model}.Prompt(token.PromptOf(req))
	if v.Usage != nil {
		tokens = v.Usage.Prompt()
	}
	w.member("usage", fmt.Appendf(nil, `{"prompt_tokens":%d,"total_tokens":%d}`, tokens, tokens))
	w.close()
	return llm.Event{Data: w.out, Content: true, Usage: v.Usage, Model: v.Model}, nil
}

// embeddingJSON checks a list of numbers and writes it in the wanted encoding.
func embeddingJSON(list []byte, wantBase64 bool) ([]byte, error) {
	list = bytes.TrimSpace(list)
	s := scanner{b: list}
	if s.kind() != '[' {
		return nil, fmt.Errorf("vector is no list")
	}
	packed, err := appendBase64(nil, list)
	if s.skip(); s.err != nil {
		return nil, s.err
	}
	switch s.end(); {
	case s.err != nil:
		return nil, s.err
	case err != nil:
		return nil, err
	case len(packed) <= len(`""`):
		return nil, fmt.Errorf("vector is empty")
	case wantBase64:
		return packed, nil
	}
	return list, nil
}
