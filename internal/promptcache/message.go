package promptcache

// speaker is whose a message is, as far as the chain is concerned.
type speaker int

const (
	other        speaker = iota
	instructions         // of the system or the developer
	answer               // the model's own, from an earlier turn
)

// authorOf tells whose the message is that begins at a place. Mostly its first member says so.
func authorOf(raw []byte, at int) speaker {
	kind, message := other, object{raw, at}
	for key, one, ok := message.next(); ok; key, one, ok = message.next() {
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

// element takes in the message, tool or block of instructions that begins at a place, and returns where it ends. Cache marks are
// taken out first: callers move them from turn to turn, and what the model reads stays the same.
func (b *builder) element(raw []byte, at int) (end int) {
	message := object{raw, at}
	for key, one, ok := message.next(); ok; key, one, ok = message.next() {
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
	if end = message.end(); message.i == at { // a bare text, a list of token ids
		var bare value
		bare, end = whole(raw, at)
		b.take(bare)
	}
	b.write([]byte{0}) // so that two messages differ from one with the members of both
	return end
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
	part := object{raw, 1}
	for key, one, ok := part.next(); ok; key, one, ok = part.next() {
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
	if after := space(raw, part.end()); after < len(raw) && raw[after] == ',' { // there is another one
		return nil, Unmarked, false
	}
	return text, mark, text != nil
}

func plainText(kind []byte) bool {
	return string(kind) == `"text"` || string(kind) == `"input_text"` || string(kind) == `"output_text"`
}
