package openai

import (
	"encoding/json"
	"errors"
	"strconv"

	"fairlead.dev/internal/rawjson"
)

// read scans a chunk. The values of c share memory with data. It returns an error if data is not an object or a member has the wrong type.
func (c *streamed) read(data []byte) error {
	s := rawjson.Scanner{Data: data}
	if s.Peek() != '{' {
		return ErrNoChunks
	}
	var failed error
	for key := range s.Members {
		switch string(key) {
		case "id":
			c.ID = s.Raw()
		case "object":
			c.Bare = string(s.Raw()) == `"`+bareObject+`"`
		case "created":
			c.Created = s.Raw()
		case "model":
			c.Model = s.Raw()
		case "usage":
			c.Usage = s.Raw()
		case "service_tier":
			c.Tier = s.Raw()
		case "system_fingerprint":
			c.Fingerprint = s.Raw()
		case "choices":
			failed = c.readChoices(&s)
		}
	}
	s.End()
	return errors.Join(s.Err, failed)
}

var errKind = errors.New("value of unexpected type")

func (c *streamed) readChoices(s *rawjson.Scanner) error {
	if s.SkipNull() {
		return nil
	}
	if s.Kind() != '[' {
		return errKind
	}
	c.Choices = []streamedChoice{}
	var failed error
	for range s.Elements {
		var choice streamedChoice
		if s.Kind() != '{' {
			failed = errKind
		} else if err := choice.read(s); err != nil {
			failed = err
		}
		c.Choices = append(c.Choices, choice)
	}
	return failed
}

func (c *streamedChoice) read(s *rawjson.Scanner) (failed error) {
	for key := range s.Members {
		switch string(key) {
		case "index":
			if !s.SkipNull() {
				n, err := strconv.Atoi(string(s.Raw()))
				c.Index, failed = n, errors.Join(failed, err)
			}
		case "finish_reason":
			c.Finish = s.Raw()
		case "message":
			c.Message = s.Raw()
		case "text":
			c.Text = s.Raw()
		case "delta":
			if s.Kind() == '{' {
				c.Delta = &streamedDelta{}
				failed = errors.Join(failed, c.Delta.read(s))
			}
		}
	}
	return failed
}

// read decodes a delta. Tool calls are decoded with encoding/json, because they are rare.
func (d *streamedDelta) read(s *rawjson.Scanner) (failed error) {
	for key := range s.Members {
		switch string(key) {
		case "role":
			d.Role = s.Raw()
		case "content":
			d.Content = s.Raw()
		case "reasoning_content":
			d.ReasoningContent = s.Raw()
		case "reasoning":
			d.Reasoning = s.Raw()
		case "refusal":
			d.Refusal = s.Raw()
		case "thinking_blocks":
			failed = errors.Join(failed, json.Unmarshal(s.Raw(), &d.Blocks))
		case "function_call":
			failed = errors.Join(failed, json.Unmarshal(s.Raw(), &d.FunctionCall))
		case "tool_calls":
			failed = errors.Join(failed, json.Unmarshal(s.Raw(), &d.ToolCalls))
		}
	}
	return failed
}
