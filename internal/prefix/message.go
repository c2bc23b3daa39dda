package prefix

// speaker is whose a message is, as far as the chain is concerned.
type speaker int

const (
	other        speaker = iota
	instructions         // of the system or the developer
	answer               // the model's own, from an earlier turn
)

// authorOf tells whose a message is.
func authorOf(raw []byte) speaker {
	kind := other
	for key, one := range members(raw) {
		switch string(key) {
		case `"role"`:
			switch string(one.raw) {
			case `"system"`, `"developer"`:
				return instructions
			case `"assistant"`, `"model"`:
				return answer
			}
			return other
		case `"type"`: // items of the responses format have no role when they are calls or reasoning
			switch string(one.raw) {
			case `"function_call"`, `"custom_tool_call"`, `"reasoning"`, `"web_search_call"`, `"file_search_call"`:
				kind = answer
			}
		}
	}
	return kind
}

// element takes in one message, one tool or one block of instructions. Cache marks are taken out first: callers move them
// from turn to turn, and what the model reads stays the same.
func (b *builder) element(raw []byte) {
	found := false
	for key, one := range members(raw) {
		found = true
		if isMark(key) {
			b.mark = max(b.mark, markOf(one.raw))
			continue
		}
		b.write(key)
		if string(key) == `"content"` {
			// Callers write a text bare in one turn and as a part in the next, when they need a place for a mark.
			if text, mark, ok := soleText(one.raw); ok {
				b.mark = max(b.mark, mark)
				b.write(text)
				b.weight += int64(len(text))
				continue
			}
		}
		b.take(one)
	}
	if !found { // a bare text, a list of token ids
		b.take(read(raw, space(raw, 0)))
	}
	b.write([]byte{0}) // so that two messages differ from one with the members of both
}

// take takes in a value without its marks.
func (b *builder) take(v value) {
	b.weight += int64(max(len(v.raw)-v.excess, 0))
	if !v.marked {
		b.write(v.raw)
		return
	}
	raw, from, comma := v.raw, 0, -1 // raw[from:] is still to be written; comma is the last one before i, if nothing followed it
	for i := 0; i < len(raw); {
		switch c := raw[i]; c {
		case '"':
			end := text(raw, i)
			after := space(raw, end)
			if !isMark(raw[i:end]) || after >= len(raw) || raw[after] != ':' {
				i, comma = end, -1
				continue
			}
			mark := read(raw, space(raw, after+1))
			b.mark = max(b.mark, markOf(mark.raw))
			next := space(raw, after+1) + len(mark.raw)
			cut := i
			if comma >= 0 {
				cut = comma // the member goes with the comma before it,
			} else if following := space(raw, next); following < len(raw) && raw[following] == ',' {
				next = space(raw, following+1) // or with the one after it
			}
			b.write(raw[from:cut])
			i, from, comma = next, next, -1
		case ',':
			comma = i
			i++
		case ' ', '\n', '\r', '\t':
			i++
		default:
			i, comma = i+1, -1
		}
	}
	b.write(raw[from:])
}

// soleText returns the text of a list that holds one part with nothing but text.
func soleText(raw []byte) (text []byte, mark Mark, ok bool) {
	if len(raw) == 0 || raw[0] != '[' {
		return nil, Unmarked, false
	}
	parts := 0
	for part := range elements(raw) {
		if parts++; parts > 1 {
			return nil, Unmarked, false
		}
		for key, one := range members(part) {
			switch {
			case string(key) == `"type"` && plainText(one.raw):
			case string(key) == `"text"` && len(one.raw) > 1 && one.raw[0] == '"':
				text = one.raw
			case isMark(key):
				mark = markOf(one.raw)
			default:
				return nil, Unmarked, false
			}
		}
	}
	return text, mark, text != nil
}

func plainText(kind []byte) bool {
	return string(kind) == `"text"` || string(kind) == `"input_text"` || string(kind) == `"output_text"`
}
