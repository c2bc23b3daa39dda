package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"fairlead.dev/internal/conversation"
	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/predict"
)

// promptLine is a line of input: a prompt, or a conversation in the API format.
type promptLine struct {
	ID       json.RawMessage `json:"id"`
	Prompt   *string         `json:"prompt"`
	System   string          `json:"system"`
	Messages json.RawMessage `json:"messages"`
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

// UnmarshalJSON decodes a string, a list of content parts, or null.
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
	errBadID    = errors.New(`"id" must be a string or a number`)
	errNoPrompt = errors.New(`"prompt" or "messages" is missing`)
)

// asked is a prompt or a conversation as the gateway reads it.
type asked struct {
	prompt predict.Prompt
	state  conversation.Findings
	text   llm.Text // statistics of all text, for token counts
	turns  int      // number of model responses so far
}

// parsePrompt decodes a line. It returns the id unchanged.
func parsePrompt(line []byte) (id []byte, a asked, err error) {
	var in promptLine
	if err := json.Unmarshal(line, &in); err != nil {
		return nil, a, err
	}
	if len(in.ID) == 0 || in.ID[0] == 'n' {
		return nil, a, errNoID
	}
	if in.ID[0] != '"' && in.ID[0] != '-' && (in.ID[0] < '0' || in.ID[0] > '9') {
		return nil, a, errBadID
	}
	a, err = in.read()
	return in.ID, a, err
}

const bytesPerToken = 4

// read reads the messages in the same way as the gateway: it extracts the task of the conversation, without the text that clients add.
func (in *promptLine) read() (a asked, err error) {
	var messages []promptMessage
	if len(in.Messages) > 0 {
		if err := json.Unmarshal(in.Messages, &messages); err != nil {
			return a, err
		}
	}
	if in.Prompt != nil {
		messages = []promptMessage{{Role: "user", Content: promptContent{text: *in.Prompt}}}
		quoted, _ := json.Marshal(*in.Prompt) // a string always marshals
		in.Messages = slices.Concat([]byte(`[{"role":"user","content":`), quoted, []byte("}]"))
	}
	if len(messages) == 0 {
		return a, errNoPrompt
	}
	req := &llm.Request{Op: llm.Chat, Prompt: llm.Prompt{Messages: len(messages)}}
	req.Body = slices.Concat([]byte(`{"messages":`), in.Messages, []byte("}"))
	req.Fields = []llm.Field{{Name: "messages", Value: len(`{"messages":`), End: len(req.Body) - 1}}
	size := len(in.System)
	a.text.Add(in.System)
	for _, m := range messages {
		size += len(m.Content.text)
		a.text.Add(m.Content.text)
		a.prompt.Images = a.prompt.Images || m.Content.images
		if m.Role == "assistant" {
			a.turns++
		}
	}
	if a.prompt.Tools = len(in.Tools) > 2 && in.Tools[0] == '['; a.prompt.Tools { // the list is longer than "[]"; a string does not define tools
		req.Needs |= llm.Tools
		size += len(in.Tools)
	}
	reading := conversation.Read(req)
	a.state = reading.Findings
	a.prompt.Text, a.prompt.System = reading.Text, strings.Trim(in.System+"\n"+reading.System, "\n")
	a.prompt.JSON = strings.HasPrefix(in.Format.Type, "json")
	a.prompt.Messages, a.prompt.Tokens = len(messages), int64(size/bytesPerToken)
	return a, nil
}
