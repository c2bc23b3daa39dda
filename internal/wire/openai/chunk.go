package openai

import (
	"cmp"
	"slices"

	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/rawjson"
)

// chunk holds the result of scanning a chunk or a complete response. It is reused for later events.
type chunk struct {
	chunkOptions
	fields []llm.Field // members of the object, in order; Name is set only for members that rewrite may change
	members
	choices int // number of choices; -1 when the member is absent or not a list

	hasMessage   bool // whether any choice has a delta, message or text
	content      bool
	finish       string
	ascii, other int
	seen, ended  choiceSet
	corrections  []correction // replacements for vendor-specific values
	droppedPart  bool         // whether there is content that the format cannot express

	out []byte // resulting event
}

// chunkOptions selects how a chunk is scanned.
type chunkOptions struct {
	whole        bool   // whether to decode message instead of delta
	bare         bool   // whether the response is a legacy completion, whose text is a member of the choice
	outer, inner string // alternative location of the usage: member inner of the top-level member outer
}

// members holds the top-level members of a chunk, except its choices.
type members struct {
	id, created, tier []byte // raw values; nil when absent or null
	model             rawjson.String
	hasModel          bool
	usage             []byte // raw usage; nil when absent or null
	usageOnTop        bool   // whether the usage was read from the top-level member usage
	fault             []byte // raw error member; nil when absent or null
}

// maxChoices is the maximum number of choices that the format allows.
const maxChoices = 128

// choiceSet is a set of choice indexes, implemented as a bit set. The indexes are less than maxChoices.
type choiceSet [2]uint64

func (s *choiceSet) add(n int64) {
	if n >= 0 && n < maxChoices {
		s[n/64] |= 1 << (n % 64)
	}
}

func (s *choiceSet) merge(o choiceSet) {
	s[0] |= o[0]
	s[1] |= o[1]
}

func (s *choiceSet) empty() bool { return s[0]|s[1] == 0 }

// read scans data. If data deviates from the format in a known way, read returns a corrected copy, otherwise data.
func (c *chunk) read(data []byte) ([]byte, error) {
	err := c.scan(data)
	if err != nil || len(c.corrections) == 0 {
		return data, err
	}
	slices.SortFunc(c.corrections, func(x, y correction) int { return cmp.Compare(x.from, y.from) })
	out, at, lost := make([]byte, 0, len(data)), 0, c.droppedPart
	for _, p := range c.corrections {
		out = append(append(out, data[at:p.from]...), p.with...)
		at = p.to
	}
	out = append(out, data[at:]...)
	err = c.scan(out)
	c.droppedPart = lost
	return out, err
}

// scan reads data. It returns an error if data is not a JSON object or its choices are not a list of objects. Such data cannot be skipped,
// because it may contain text.
func (c *chunk) scan(data []byte) error {
	*c = chunk{chunkOptions: c.chunkOptions, fields: c.fields[:0], corrections: c.corrections[:0], out: c.out, choices: -1}
	s := rawjson.Scanner{Data: data}
	if s.Peek() != '{' {
		s.Fail("data must be an object")
		return s.Err
	}
	for key := range s.Members {
		at, start := s.KeyStart, s.Pos
		name := c.member(&s, key)
		if s.Pos == start {
			s.Skip()
		}
		c.fields = append(c.fields, llm.Field{Name: name, KeyStart: at, Value: start, End: s.Pos})
	}
	s.End()
	c.ascii, c.other = s.ASCII, s.NonASCII
	return s.Err
}

// member reads one top-level member. It returns the member's name if rewrite may change the member, otherwise an empty string.
func (c *chunk) member(s *rawjson.Scanner, key []byte) string {
	switch string(key) {
	case "choices":
		c.list(s)
	case "model":
		if s.Kind() == '"' {
			c.model, c.hasModel = s.ReadString(), true
		}
		return "model"
	case "id":
		c.id = s.RawOrNil()
	case "created":
		c.created = s.RawOrNil()
	case "service_tier":
		c.tier = s.RawOrNil()
	case "usage":
		if raw := s.RawOrNil(); raw != nil {
			c.usage, c.usageOnTop = raw, true
		}
		return "usage"
	case "error":
		c.fault = s.RawOrNil()
		return "error"
	default:
		if c.inner == "" || string(key) != c.outer || s.Kind() != '{' {
			break
		}
		for key := range s.Members {
			if string(key) == c.inner {
				if raw := s.RawOrNil(); raw != nil && c.usage == nil {
					c.usage = raw
				}
			}
		}
	}
	return ""
}

func (c *chunk) list(s *rawjson.Scanner) {
	if s.SkipNull() {
		return
	}
	if s.Kind() != '[' {
		s.Fail("choices must be a list")
		return
	}
	c.choices = 0
	for range s.Elements {
		c.choices++
		if s.Kind() != '{' {
			s.Fail("a choice must be an object")
			return
		}
		c.choice(s)
	}
}

func (c *chunk) choice(s *rawjson.Scanner) {
	index, finish := int64(0), ""
	for key := range s.Members {
		switch string(key) {
		case "index":
			if s.Kind() == '0' {
				index, _ = rawjson.ParseInteger(s.Number())
			}
		case "delta":
			if !c.whole && !c.bare {
				c.delta(s)
			}
		case "message":
			if c.whole && !c.bare {
				c.delta(s)
			}
		case "text":
			if c.bare { // the delta member is ignored here, because some vendors send both
				c.hasMessage = true
				c.text(s)
			}
		case "usage": // Moonshot reports the usage of a stream in the last choice
			if raw := s.RawOrNil(); raw != nil && c.usage == nil {
				c.usage = raw
			}
		case "finish_reason":
			if s.Kind() == '"' {
				t := s.ReadString()
				finish = finishReason(s.Data[t.Start:t.End])
				if finish != string(s.Data[t.Start:t.End]) {
					c.corrections = append(c.corrections, correction{t.Start, t.End, []byte(finish)})
				}
			}
		}
	}
	c.seen.add(index)
	if finish != "" {
		c.ended.add(index)
		if c.finish == "" {
			c.finish = finish
		}
	}
}

// finishReason maps vendor-specific finish reasons to the finish reasons of the chat format.
func finishReason(reason []byte) string {
	switch string(reason) {
	case "stop", "eos", "end_turn", "stop_sequence":
		return "stop"
	case "length", "max_tokens", "model_length":
		return "length"
	case "tool_calls":
		return "tool_calls"
	case "content_filter":
		return "content_filter"
	default:
		return string(reason)
	}
}

// delta reads the content of a choice. It adds the length of the text to the counts and records whether there is visible content.
func (c *chunk) delta(s *rawjson.Scanner) {
	if s.SkipNull() {
		return
	}
	if s.Kind() != '{' {
		s.Fail("a delta or message must be an object")
		return
	}
	c.hasMessage = true
	var list partList
	for key := range s.Members {
		switch string(key) {
		case "content":
			if s.Kind() == '[' {
				list.read(s)
				continue
			}
			c.text(s)
		case "refusal":
			c.text(s)
		case "reasoning_content":
			from := s.Pos
			c.reasoning(s, &list)
			if s.Pos == from {
				s.Skip()
			}
			if !list.reasoned {
				list.emptyFrom, list.emptyTo = from, s.Pos
			}
		case "reasoning":
			c.reasoning(s, &list)
		case "tool_calls":
			c.calls(s)
		case "function_call":
			c.content = c.call(s) || c.content
		case "audio":
			c.content = s.Kind() == '{' || c.content
		}
	}
	c.corrections = append(c.corrections, list.flat(c.whole)...)
	c.droppedPart = c.droppedPart || list.lost
}

// reasoning reads the text of a reasoning member and counts it, unless an earlier member of the delta had reasoning text: some providers
// send the same text in two members.
func (c *chunk) reasoning(s *rawjson.Scanner, list *partList) {
	if !list.reasoned {
		list.reasoned = c.text(s)
	}
}

// text reads a string and reports whether it is not empty.
func (c *chunk) text(s *rawjson.Scanner) bool {
	before := s.ASCII + s.NonASCII
	if s.Kind() == '"' {
		s.SkipCounted()
	}
	spoke := s.ASCII+s.NonASCII > before
	c.content = c.content || spoke
	return spoke
}

func (c *chunk) calls(s *rawjson.Scanner) {
	if s.Kind() != '[' {
		return
	}
	for range s.Elements {
		c.content = true
		if s.Kind() != '{' {
			continue
		}
		for key := range s.Members {
			if string(key) == "function" || string(key) == "custom" {
				c.call(s)
			}
		}
	}
}

// call adds the lengths of the name and the arguments of a tool call to the counts.
func (c *chunk) call(s *rawjson.Scanner) bool {
	if s.Kind() != '{' {
		return false
	}
	for key := range s.Members {
		switch string(key) {
		case "name", "arguments", "input":
			s.SkipCounted()
		}
	}
	return true
}
