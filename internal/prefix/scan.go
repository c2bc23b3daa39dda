package prefix

import (
	"bytes"
	"iter"
)

// The functions here walk JSON that a wire format has checked already. On anything else they end early, never beyond the
// bytes they were given.

// value is a JSON value as it stands in a body.
type value struct {
	raw    []byte
	marked bool // a cache mark is in it
	excess int  // bytes of pictures and the like, whose size says nothing about tokens
}

const (
	mediaBytes  = 2048 // texts longer than this may be media
	mediaSample = 512  // of which so many bytes are looked at
	mediaWeight = 4096 // what a picture counts for: about a thousand tokens
)

// controlKey and breakpointKey are the members by which callers mark where a cache may end.
const (
	controlKey    = `"cache_control"`
	breakpointKey = `"prompt_cache_breakpoint"`
)

func isMark(key []byte) bool {
	return string(key) == controlKey || string(key) == breakpointKey
}

// markOf reads the value of a mark: null is none, and one of an hour says so.
func markOf(raw []byte) Mark {
	switch {
	case len(raw) == 0 || raw[0] == 'n' || raw[0] == 'f':
		return Unmarked
	case bytes.Contains(raw, []byte(`"1h"`)):
		return LongMark
	}
	return ShortMark
}

// space returns the index of the next byte that is not white space.
func space(b []byte, i int) int {
	for i < len(b) && (b[i] == ' ' || b[i] == '\n' || b[i] == '\r' || b[i] == '\t') {
		i++
	}
	return i
}

// text returns where the text that begins at i ends.
func text(b []byte, i int) int {
	for i++; i < len(b); i++ {
		n := bytes.IndexByte(b[i:], '"')
		if n < 0 {
			return len(b)
		}
		i += n
		slashes := 0
		for i-slashes > 0 && b[i-slashes-1] == '\\' {
			slashes++
		}
		if slashes%2 == 0 {
			return i + 1
		}
	}
	return len(b)
}

// media reports whether a text is more likely the bytes of a picture than something to read.
func media(text []byte) bool {
	return len(text) > mediaBytes && !bytes.ContainsAny(text[:mediaSample], " \\")
}

// read returns the value that begins at i.
func read(b []byte, i int) value {
	var v value
	from, depth := i, 0
	for i < len(b) {
		switch b[i] {
		case '"':
			end := text(b, i)
			if isMark(b[i:end]) {
				v.marked = true
			}
			if media(b[i:end]) {
				v.excess += end - i - mediaWeight
			}
			i = end
		case '{', '[':
			depth++
			i++
			continue
		case '}', ']':
			if depth == 0 { // the end of what the value stands in
				v.raw = b[from:i]
				return v
			}
			depth--
			i++
		case ',':
			if depth == 0 {
				v.raw = b[from:i]
				return v
			}
			i++
			continue
		default:
			i++
			continue
		}
		if depth == 0 {
			break
		}
	}
	v.raw = b[from:min(i, len(b))]
	return v
}

// elements are the elements of an array; anything else is one element.
func elements(raw []byte) iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		i := space(raw, 0)
		if i >= len(raw) || raw[i] != '[' {
			yield(raw)
			return
		}
		for i = space(raw, i+1); i < len(raw) && raw[i] != ']'; i = space(raw, i) {
			one := read(raw, i)
			if len(one.raw) == 0 || !yield(bytes.TrimRight(one.raw, " \t\r\n")) {
				return
			}
			i = space(raw, i+len(one.raw))
			if i < len(raw) && raw[i] == ',' {
				i++
			}
		}
	}
}

// members are the members of an object, keys with their quotes.
func members(raw []byte) iter.Seq2[[]byte, value] {
	return func(yield func([]byte, value) bool) {
		i := space(raw, 0)
		if i >= len(raw) || raw[i] != '{' {
			return
		}
		for i = space(raw, i+1); i < len(raw) && raw[i] == '"'; i = space(raw, i) {
			end := text(raw, i)
			key := raw[i:end]
			i = space(raw, end)
			if i >= len(raw) || raw[i] != ':' {
				return
			}
			i = space(raw, i+1)
			one := read(raw, i)
			i += len(one.raw)
			one.raw = bytes.TrimRight(one.raw, " \t\r\n")
			if len(one.raw) == 0 || !yield(key, one) {
				return
			}
			i = space(raw, i)
			if i < len(raw) && raw[i] == ',' {
				i = space(raw, i+1)
			}
		}
	}
}
