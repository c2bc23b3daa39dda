package openai

import (
	"bytes"
	"slices"

	"fairlead.dev/internal/rawjson"
)

// correction replaces the range [from, to) of a chunk with other bytes.
type correction struct {
	from, to int
	with     []byte
}

// partList collects the text and the thinking of content that is a list of parts. Mistral's reasoning models send content in this form.
type partList struct {
	from, to      int // position of the member with the list; to is 0 when absent
	text, thought joined
	lost          bool // whether there is a part of another kind

	reasoned           bool // whether thinking is also sent in a separate member
	emptyFrom, emptyTo int  // position of a null or empty thinking member; emptyTo is 0 when absent
}

func (p *partList) read(s *rawjson.Scanner) {
	p.from = s.KeyStart
	for range s.Elements {
		switch s.Kind() {
		case '"':
			p.text.add(s.Raw())
		case '{':
			p.part(s)
		default:
			p.lost = true
		}
	}
	p.to = s.Pos
}

func (p *partList) part(s *rawjson.Scanner) {
	for key := range s.Members {
		switch string(key) {
		case "type":
			kind := string(s.Raw())
			p.lost = p.lost || kind != `"text"` && kind != `"thinking"` && kind != `"refusal"`
		case "text", "refusal":
			p.text.add(s.Raw())
		case "thinking":
			p.think(s)
		}
	}
}

// think decodes thinking, which is a string or a list of parts.
func (p *partList) think(s *rawjson.Scanner) {
	if s.Kind() != '[' {
		p.thought.add(s.Raw())
		return
	}
	for range s.Elements {
		if s.Kind() != '{' {
			p.thought.add(s.Raw())
			continue
		}
		for key := range s.Members {
			if string(key) == "text" {
				p.thought.add(s.Raw())
			}
		}
	}
}

// flat returns the corrections that replace the list: the text becomes content, the thinking becomes reasoning_content.
// A delta with only thinking has no content.
func (p *partList) flat(whole bool) []correction {
	if p.to == 0 {
		return nil
	}
	var places []correction
	var members [][]byte
	thinks := p.thought != nil && !p.reasoned
	if thinks && p.emptyTo > 0 {
		places = append(places, correction{p.emptyFrom, p.emptyTo, p.thought.json()})
		thinks = false
	}
	if p.text != nil || whole || !thinks {
		members = append(members, slices.Concat([]byte(`"content":`), append(joined{}, p.text...).json()))
	}
	if thinks {
		members = append(members, slices.Concat([]byte(`"reasoning_content":`), p.thought.json()))
	}
	return append(places, correction{p.from, p.to, bytes.Join(members, []byte{','})})
}
