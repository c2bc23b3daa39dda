package chat

import (
	"fairlead/internal/llm"
)

// chunk is what one pass over a chunk, or over a whole answer, has found. It is used again for every chunk, of whichever answer.
type chunk struct {
	whole  bool   // read message instead of delta
	bare   bool   // a choice says its text itself: the answer to a bare prompt
	outer  string // where else usage may be: the member, and the one inside it
	inner  string
	fields []llm.Field // of the object, in order; names only where they matter here

	id, created, tier []byte // raw values; nil when absent or null
	model             text
	hasModel          bool
	usage             []byte // raw; nil when absent or null
	usageOnTop        bool   // it is the top-level member usage
	fault             []byte // the raw error member; nil when absent or null
	choices           int    // how many there are; -1 when the member is absent or no list

	spoken       bool // there is a delta or message
	content      bool
	finish       string
	ascii, other int
	seen, ended  choiceSet
	odd          []correction // what the provider writes in a way of its own
	lost         bool         // a part of the content has no place in the format

	out []byte // the event that was made of it
}

// choiceSet holds the indexes of choices; the format allows 128.
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

// read scans data and mends what the provider writes in a way of its own, so that the bytes may come back changed.
func (c *chunk) read(data []byte) ([]byte, error) {
	err := c.scan(data)
	if err != nil || len(c.odd) == 0 {
		return data, err
	}
	data, lost := corrected(data, c.odd), c.lost
	err = c.scan(data)
	c.lost = lost
	return data, err
}

// scan reads data. An error means that data is not a JSON object, or that its choices are not a list of objects: text may be in them
// that cannot be found.
func (c *chunk) scan(data []byte) error {
	*c = chunk{whole: c.whole, bare: c.bare, outer: c.outer, inner: c.inner, fields: c.fields[:0], odd: c.odd[:0], out: c.out, choices: -1}
	s := scanner{b: data}
	if s.peek() != '{' {
		s.fail("an object is expected")
		return s.err
	}
	for key := range s.members {
		at, start := s.at, s.i
		name := c.member(&s, key)
		if s.i == start {
			s.skip()
		}
		c.fields = append(c.fields, llm.Field{Name: name, KeyStart: at, Value: start, End: s.i})
	}
	s.end()
	c.ascii, c.other = s.ascii, s.other
	return s.err
}

// member reads one top-level member and returns its name if the name matters for what is passed on.
func (c *chunk) member(s *scanner, key []byte) string {
	switch string(key) {
	case "choices":
		c.list(s)
	case "model":
		if s.kind() == '"' {
			c.model, c.hasModel = s.text(), true
		}
		return "model"
	case "id":
		c.id = s.told()
	case "created":
		c.created = s.told()
	case "service_tier":
		c.tier = s.told()
	case "usage":
		if raw := s.told(); raw != nil {
			c.usage, c.usageOnTop = raw, true
		}
		return "usage"
	case "error":
		c.fault = s.told()
		return "error"
	default:
		if c.outer != "" && string(key) == c.outer {
			c.nestedUsage(s)
		}
	}
	return ""
}

// told reads a value and returns its bytes, or nil for null.
func (s *scanner) told() []byte {
	if s.null() {
		return nil
	}
	return s.value()
}

func (c *chunk) nestedUsage(s *scanner) {
	if c.inner == "" || s.kind() != '{' {
		return
	}
	for key := range s.members {
		if string(key) == c.inner {
			if raw := s.told(); raw != nil && c.usage == nil {
				c.usage = raw
			}
		}
	}
}

func (c *chunk) list(s *scanner) {
	if s.null() {
		return
	}
	if s.kind() != '[' {
		s.fail("choices must be a list")
		return
	}
	c.choices = 0
	for range s.elements {
		c.choices++
		if s.kind() != '{' {
			s.fail("a choice must be an object")
			return
		}
		c.choice(s)
	}
}

func (c *chunk) choice(s *scanner) {
	index, finish := int64(0), ""
	for key := range s.members {
		switch string(key) {
		case "index":
			if s.kind() == '0' {
				index, _ = wholeNumber(s.number())
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
			if c.bare { // some vendors repeat the delta of a chat chunk here
				c.spoken = true
				c.said(s)
			}
		case "usage": // Moonshot tells a stream's usage in the choice that ends
			if raw := s.told(); raw != nil && c.usage == nil {
				c.usage = raw
			}
		case "finish_reason":
			if s.kind() == '"' {
				t := s.text()
				finish = finishReason(s.b[t.start:t.end])
				if finish != string(s.b[t.start:t.end]) {
					c.odd = append(c.odd, correction{t.start, t.end, []byte(finish)})
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

// finishReason names the reason as the chat format does; providers that speak it nearly have words of their own.
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

// delta reads what a choice says. Text is counted; anything that the client could show is content.
func (c *chunk) delta(s *scanner) {
	if s.null() {
		return
	}
	if s.kind() != '{' {
		s.fail("what a choice says must be an object")
		return
	}
	c.spoken = true
	var list parts
	for key := range s.members {
		switch string(key) {
		case "content":
			if s.kind() == '[' {
				list.read(s)
				continue
			}
			c.said(s)
		case "refusal":
			c.said(s)
		case "reasoning_content":
			from := s.i
			c.thought(s, &list)
			if s.i == from {
				s.skip()
			}
			if !list.reasoned {
				list.emptyFrom, list.emptyTo = from, s.i
			}
		case "reasoning":
			c.thought(s, &list)
		case "tool_calls":
			c.calls(s)
		case "function_call":
			c.content = c.call(s) || c.content
		case "audio":
			c.content = s.kind() == '{' || c.content
		}
	}
	c.odd = append(c.odd, list.flat(c.whole)...)
	c.lost = c.lost || list.lost
}

// thought reads reasoning, which some providers send under both names.
func (c *chunk) thought(s *scanner, list *parts) {
	if !list.reasoned {
		list.reasoned = c.said(s)
	}
}

// said reads a text and reports whether there is any.
func (c *chunk) said(s *scanner) bool {
	before := s.ascii + s.other
	if s.kind() == '"' {
		s.counted()
	}
	spoke := s.ascii+s.other > before
	c.content = c.content || spoke
	return spoke
}

func (c *chunk) calls(s *scanner) {
	if s.kind() != '[' {
		return
	}
	for range s.elements {
		c.content = true
		if s.kind() != '{' {
			continue
		}
		for key := range s.members {
			if string(key) == "function" || string(key) == "custom" {
				c.call(s)
			}
		}
	}
}

// call counts the name and the arguments of a tool call.
func (c *chunk) call(s *scanner) bool {
	if s.kind() != '{' {
		return false
	}
	for key := range s.members {
		switch string(key) {
		case "name", "arguments", "input":
			s.counted()
		}
	}
	return true
}
