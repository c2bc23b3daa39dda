package router

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"

	"fairlead/internal/predict"
)

// promptLine is a line of input: a prompt, or a conversation in the API's form.
type promptLine struct {
	ID       json.RawMessage `json:"id"`
	Prompt   *string         `json:"prompt"`
	System   string          `json:"system"`
	Messages []promptMessage `json:"messages"`
	Tools    json.RawMessage `json:"tools"`
	Format   struct {
		Type string `json:"type"`
	} `json:"response_format"`
}

type promptMessage struct {
	Role    string        `json:"role"`
	Content promptContent `json:"content"`
}

// promptContent is the text of a message, and whether it contains images.
type promptContent struct {
	text   string
	images bool
}

// UnmarshalJSON decodes a string, a list of parts, or null.
func (c *promptContent) UnmarshalJSON(data []byte) error {
	if bytes.Equal(data, []byte("null")) {
		return nil
	}
	if data[0] == '"' {
		return json.Unmarshal(data, &c.text)
	}
	var parts []struct {
		Type string `json:"type"`
		Text string `json:"text"`
	}
	if err := json.Unmarshal(data, &parts); err != nil {
		return err
	}
	var texts []string
	for _, part := range parts {
		switch {
		case part.Type == "text" || part.Type == "input_text":
			texts = append(texts, part.Text)
		case strings.Contains(part.Type, "image"):
			c.images = true
		}
	}
	c.text = strings.Join(texts, "\n")
	return nil
}

var (
	errNoID     = errors.New(`"id" is missing`)
	errBadID    = errors.New(`"id" is neither a text nor a number`)
	errNoPrompt = errors.New(`there is neither a "prompt" nor "messages"`)
)

// parsePrompt decodes a line. The id is returned unchanged.
func parsePrompt(line []byte) (id []byte, p predict.Prompt, err error) {
	var in promptLine
	if err := json.Unmarshal(line, &in); err != nil {
		return nil, p, err
	}
	switch {
	case len(in.ID) == 0 || in.ID[0] == 'n':
		return nil, p, errNoID
	case in.ID[0] != '"' && in.ID[0] != '-' && (in.ID[0] < '0' || in.ID[0] > '9'):
		return nil, p, errBadID
	case in.Prompt == nil && len(in.Messages) == 0:
		return nil, p, errNoPrompt
	}
	p = in.prompt()
	p.Tools = len(in.Tools) > 2 && in.Tools[0] == '[' // more than "[]"; a string does not define tools
	p.JSON = strings.HasPrefix(in.Format.Type, "json")
	return in.ID, p, nil
}

const bytesPerToken = 4

func (in *promptLine) prompt() predict.Prompt {
	p := predict.Prompt{System: in.System, Messages: len(in.Messages)}
	size := len(in.System)
	for _, m := range in.Messages {
		size += len(m.Content.text)
		p.Images = p.Images || m.Content.images
		switch m.Role {
		case "system", "developer":
			p.System = strings.TrimPrefix(p.System+"\n"+m.Content.text, "\n")
		case "user":
			p.Text = m.Content.text
		}
	}
	if in.Prompt != nil {
		p.Text, p.Messages = *in.Prompt, max(p.Messages, 1)
		size += len(p.Text)
	}
	p.Tokens = int64(size / bytesPerToken)
	return p
}
