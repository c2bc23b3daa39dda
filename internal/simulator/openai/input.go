package openai

import (
	"encoding/json"
	"errors"
	"strconv"
	"strings"
	"unicode"
)

// Content holds the text and the images of a message. Requests contain it as a string or as a list of parts.
type Content struct {
	Text   string
	Images []string // a short key for each image, derived from its URL
}

// UnmarshalJSON reads a string, null, or a list of parts.
func (c *Content) UnmarshalJSON(b []byte) error {
	if len(b) > 0 && b[0] == '"' {
		return json.Unmarshal(b, &c.Text)
	}
	var parts []struct {
		Type     string          `json:"type"`
		Text     string          `json:"text"`
		Refusal  string          `json:"refusal"`
		ImageURL json.RawMessage `json:"image_url"`
	}
	if err := json.Unmarshal(b, &parts); err != nil {
		return errors.New("message content must be a string or a list of parts")
	}
	for _, part := range parts {
		c.Text += part.Text + part.Refusal
		if part.Type == "image_url" {
			c.Images = append(c.Images, strconv.FormatUint(Hash(HashSeed, string(part.ImageURL)), 36))
		}
	}
	return nil
}

// MaxInputs is the maximum number of inputs in a request.
const MaxInputs = 2048

// Input is one input string, or token IDs instead of a string.
type Input struct {
	Words  []string // lower-case words in order; for token IDs, "#" followed by the ID
	Tokens int64
}

// ParseInputs parses a string, a list of strings, a list of token IDs, or a list of token ID lists.
func ParseInputs(raw json.RawMessage) ([]Input, error) {
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
		return nil, BadRequest("'input' must be a string, a list of strings, a list of token ids or a list of such lists.", "input", "invalid_type")
	}
	if len(lists) == 0 || len(lists) > MaxInputs {
		return nil, BadRequest("'input' must have between 1 and 2048 entries.", "input", "invalid_value")
	}
	inputs := []Input{}
	for _, list := range lists {
		input := Input{Tokens: int64(len(list))}
		for _, id := range list {
			input.Words = append(input.Words, "#"+strconv.FormatUint(uint64(id), 10))
		}
		if input.Tokens == 0 {
			return nil, BadRequest("'input' must not contain an empty list.", "input", "invalid_value")
		}
		inputs = append(inputs, input)
	}
	return inputs, nil
}

func textInputs(texts []string) ([]Input, error) {
	if len(texts) == 0 || len(texts) > MaxInputs {
		return nil, BadRequest("'input' must have between 1 and 2048 entries.", "input", "invalid_value")
	}
	inputs := []Input{}
	for _, text := range texts {
		if text == "" {
			return nil, BadRequest("'input' must not be an empty string.", "input", "invalid_value")
		}
		words := strings.FieldsFunc(strings.ToLower(text), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsNumber(r) })
		if len(words) == 0 {
			words = []string{text}
		}
		inputs = append(inputs, Input{Words: words, Tokens: CountTokens(text)})
	}
	return inputs, nil
}

// ParseModerationInputs parses a string, a list of strings, or a list of parts, which form one input.
func ParseModerationInputs(raw json.RawMessage) ([]Content, error) {
	var one string
	if len(raw) > 0 && raw[0] == '"' && json.Unmarshal(raw, &one) == nil {
		return []Content{{Text: one}}, nil
	}
	var inputs []Content
	var texts []string
	if json.Unmarshal(raw, &texts) == nil {
		for _, text := range texts {
			inputs = append(inputs, Content{Text: text})
		}
	} else if parts := (Content{}); json.Unmarshal(raw, &parts) == nil && (parts.Text != "" || len(parts.Images) > 0) {
		inputs = []Content{parts}
	}
	if len(inputs) == 0 || len(inputs) > MaxInputs {
		return nil, BadRequest("'input' must be a string, a list of strings or a list of text and image parts.", "input", "invalid_type")
	}
	return inputs, nil
}
