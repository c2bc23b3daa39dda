package promptcache

// author identifies the author of a message.
type author int

const (
	byOther  author = iota
	bySystem        // system or developer
	byModel         // the model wrote the message in an earlier turn
)

// authorOf returns the author of the message at the given offset. It usually needs to read only the first member of the message.
func authorOf(raw []byte, at int) author {
	kind, message := byOther, object{raw, at}
	for key, one, ok := message.next(); ok; key, one, ok = message.next() {
		switch string(key) {
		case `"role"`:
			switch string(one.raw) {
			case `"system"`, `"developer"`:
				return bySystem
			case `"assistant"`, `"model"`:
				return byModel
			}
			return byOther
		case `"type"`: // calls and reasoning items of the responses format have no role
			switch string(one.raw) {
			case `"function_call"`, `"custom_tool_call"`, `"reasoning"`, `"web_search_call"`, `"file_search_call"`:
				kind = byModel
			}
		}
	}
	return kind
}

// addElement adds the message, tool or instruction block at the given offset and returns its end. It skips cache marks, because callers
// move them from turn to turn while the prompt stays the same.
func (b *builder) addElement(raw []byte, at int) (end int) {
	message := object{raw, at}
	for key, one, ok := message.next(); ok; key, one, ok = message.next() {
		if isMark(key) {
			b.mark = max(b.mark, markOf(one.raw))
			continue
		}
		b.write(key)
		if string(key) == `"content"` {
			// A client may send a message as a string in one turn and as a text part with a cache mark in the next turn. Both must have the
			// same hash.
			if text, mark, ok := soleText(one.raw); ok {
				b.mark = max(b.mark, mark)
				b.write(text)
				b.weight += int64(len(text))
				continue
			}
		}
		b.addValue(one)
	}
	if end = message.end(); message.i == at { // not an object: a string or a list of token IDs
		var bare value
		bare, end = readValue(raw, at)
		b.addValue(bare)
	}
	b.write([]byte{0}) // separator, so that two messages and one message with the members of both have different hashes
	return end
}

// addValue adds a value without its marks.
func (b *builder) addValue(v value) {
	b.weight += int64(max(len(v.raw)-v.excess, 0))
	if !v.marked {
		b.write(v.raw)
		return
	}
	raw, from, comma := v.raw, 0, -1 // raw[from:] is not yet written; comma is the index of a comma without a value after it, or -1
	for i := 0; i < len(raw); {
		switch c := raw[i]; c {
		case '"':
			end := stringEnd(raw, i)
			after := skipSpace(raw, end)
			if !isMark(raw[i:end]) || after >= len(raw) || raw[after] != ':' {
				i, comma = end, -1
				continue
			}
			mark := scanValue(raw, skipSpace(raw, after+1))
			b.mark = max(b.mark, markOf(mark.raw))
			next := skipSpace(raw, after+1) + len(mark.raw)
			cut := i
			if comma >= 0 {
				cut = comma // remove the member with the preceding comma
			} else if following := skipSpace(raw, next); following < len(raw) && raw[following] == ',' {
				next = skipSpace(raw, following+1) // remove the member with the following comma
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

// soleText returns the text and the mark of a list with a single text part. ok is false for any other value.
func soleText(raw []byte) (text []byte, mark Mark, ok bool) {
	if len(raw) == 0 || raw[0] != '[' {
		return nil, Unmarked, false
	}
	part := object{raw, 1}
	for key, one, ok := part.next(); ok; key, one, ok = part.next() {
		switch {
		case string(key) == `"type"` && (string(one.raw) == `"text"` || string(one.raw) == `"input_text"` || string(one.raw) == `"output_text"`):
		case string(key) == `"text"` && len(one.raw) > 1 && one.raw[0] == '"':
			text = one.raw
		case isMark(key):
			mark = markOf(one.raw)
		default:
			return nil, Unmarked, false
		}
	}
	if after := skipSpace(raw, part.end()); after < len(raw) && raw[after] == ',' { // another part follows
		return nil, Unmarked, false
	}
	return text, mark, text != nil
}
