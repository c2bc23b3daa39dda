package chat

import (
	"encoding/json"
	"errors"
	"strconv"
)

// read scans a chunk. Values stay parts of data. What is no object, or has a list or a number where none belongs, is an error.
func (c *streamed) read(data []byte) error {
	s := scanner{b: data}
	if s.peek() != '{' {
		return ErrNoChunks
	}
	var failed error
	for key := range s.members {
		switch string(key) {
		case "id":
			c.ID = s.value()
		case "object":
			c.Object = name(s.value())
		case "created":
			c.Created = s.value()
		case "model":
			c.Model = s.value()
		case "usage":
			c.Usage = s.value()
		case "service_tier":
			c.Tier = s.value()
		case "system_fingerprint":
			c.Fingerprint = s.value()
		case "choices":
			failed = c.readChoices(&s)
		}
	}
	s.end()
	return errors.Join(s.err, failed)
}

// name is a string that has no escapes; others are no names that we know.
func name(raw []byte) string {
	if len(raw) < 2 || raw[0] != '"' {
		return ""
	}
	return string(raw[1 : len(raw)-1])
}

var errKind = errors.New("a value of another kind is expected")

func (c *streamed) readChoices(s *scanner) error {
	if s.null() {
		return nil
	}
	if s.kind() != '[' {
		return errKind
	}
	c.Choices = []streamedChoice{}
	var failed error
	for range s.elements {
		var choice streamedChoice
		if s.kind() != '{' {
			failed = errKind
		} else if err := choice.read(s); err != nil {
			failed = err
		}
		c.Choices = append(c.Choices, choice)
	}
	return failed
}

func (c *streamedChoice) read(s *scanner) (failed error) {
	for key := range s.members {
		switch string(key) {
		case "index":
			if !s.null() {
				n, err := strconv.Atoi(string(s.value()))
				c.Index, failed = n, errors.Join(failed, err)
			}
		case "finish_reason":
			c.Finish = s.value()
		case "message":
			c.Message = s.value()
		case "text":
			c.Text = s.value()
		case "delta":
			if s.kind() == '{' {
				c.Delta = &streamedDelta{}
				failed = errors.Join(failed, c.Delta.read(s))
			}
		}
	}
	return failed
}

// read leaves calls to encoding/json: they are few beside the words.
func (d *streamedDelta) read(s *scanner) (failed error) {
	for key := range s.members {
		switch string(key) {
		case "role":
			d.Role = s.value()
		case "content":
			d.Content = s.value()
		case "reasoning_content":
			d.ReasoningContent = s.value()
		case "reasoning":
			d.Reasoning = s.value()
		case "refusal":
			d.Refusal = s.value()
		case "thinking_blocks":
			failed = errors.Join(failed, json.Unmarshal(s.value(), &d.Blocks))
		case "function_call":
			failed = errors.Join(failed, json.Unmarshal(s.value(), &d.FunctionCall))
		case "tool_calls":
			failed = errors.Join(failed, json.Unmarshal(s.value(), &d.ToolCalls))
		}
	}
	return failed
}
