package bedrock

import (
	"encoding/json"
	"errors"
)

var errNoVector = errors.New("response has no vector")

type oldTitanRequest struct {
	Text string `json:"inputText"`
}

type titanRequest struct {
	Text       string `json:"inputText"`
	Dimensions int64  `json:"dimensions,omitempty"`
	Normalize  bool   `json:"normalize"`
}

func readTitan(body []byte) ([]json.RawMessage, *int64, error) {
	var answer struct {
		Embedding json.RawMessage `json:"embedding"`
		Tokens    *int64          `json:"inputTextTokenCount"`
	}
	if err := json.Unmarshal(body, &answer); err != nil {
		return nil, nil, err
	}
	if len(answer.Embedding) == 0 {
		return nil, nil, errNoVector
	}
	return []json.RawMessage{answer.Embedding}, answer.Tokens, nil
}

type cohereRequest struct {
	Texts     []string `json:"texts"`
	InputType string   `json:"input_type"`
	Types     []string `json:"embedding_types"`
	Dimension int64    `json:"output_dimension,omitempty"`
}

// readCohere decodes a list of vectors, or one list per embedding type.
func readCohere(body []byte) ([]json.RawMessage, *int64, error) {
	var answer struct {
		Embeddings json.RawMessage `json:"embeddings"`
	}
	if err := json.Unmarshal(body, &answer); err != nil {
		return nil, nil, err
	}
	var byType struct {
		Float []json.RawMessage `json:"float"`
	}
	if json.Unmarshal(answer.Embeddings, &byType) == nil && len(byType.Float) > 0 {
		return byType.Float, nil, nil
	}
	var list []json.RawMessage
	if err := json.Unmarshal(answer.Embeddings, &list); err != nil || len(list) == 0 {
		return nil, nil, errors.Join(errNoVector, err)
	}
	return list, nil, nil
}

type novaRequest struct {
	Task   string     `json:"taskType"`
	Params novaParams `json:"singleEmbeddingParams"`
}

type novaParams struct {
	Purpose   string   `json:"embeddingPurpose"`
	Dimension int64    `json:"embeddingDimension,omitempty"`
	Text      novaText `json:"text"`
}

type novaText struct {
	Truncation string `json:"truncationMode"`
	Value      string `json:"value"`
}

func readNova(body []byte) ([]json.RawMessage, *int64, error) {
	var answer struct {
		Embeddings []struct {
			Embedding json.RawMessage `json:"embedding"`
		} `json:"embeddings"`
	}
	if err := json.Unmarshal(body, &answer); err != nil {
		return nil, nil, err
	}
	var list []json.RawMessage
	for _, one := range answer.Embeddings {
		list = append(list, one.Embedding)
	}
	if len(list) == 0 {
		return nil, nil, errNoVector
	}
	return list, nil, nil
}
