package promptcache

import "bytes"

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

// whole returns the value that begins at i without the space after it, and where it ends.
func whole(b []byte, i int) (v value, end int) {
	v = read(b, i)
	end = i + len(v.raw)
	v.raw = bytes.TrimRight(v.raw, " \t\r\n")
	return v, end
}

// each has the elements of an array taken in, each where it begins; anything else is one element. Taking one in tells where it
// ends, so that nobody looks for its end before.
func each(raw []byte, take func(at int) (end int)) {
	i := space(raw, 0)
	if i >= len(raw) || raw[i] != '[' {
		take(i)
		return
	}
	for i = space(raw, i+1); i < len(raw) && raw[i] != ']'; i = space(raw, i) {
		end := take(i)
		if end <= i {
			return
		}
		if i = space(raw, end); i < len(raw) && raw[i] == ',' {
			i++
		}
	}
}

// object walks over the members of an object, which may stand in something longer. i is where it begins, then where the latest
// member ended.
type object struct {
	b []byte
	i int
}

// next returns the next member, its key with the quotes; ok is false when there is none, or where there is no object.
func (o *object) next() (key []byte, v value, ok bool) {
	b, i := o.b, space(o.b, o.i)
	if i >= len(b) || b[i] != '{' && b[i] != ',' {
		return nil, value{}, false
	}
	if i = space(b, i+1); i >= len(b) || b[i] != '"' {
		return nil, value{}, false
	}
	end := text(b, i)
	key = b[i:end]
	if i = space(b, end); i >= len(b) || b[i] != ':' {
		return nil, value{}, false
	}
	v, o.i = whole(b, space(b, i+1))
	return key, v, len(v.raw) > 0
}

// end returns where the object ends, once there is no next member.
func (o *object) end() int {
	if i := space(o.b, o.i); i < len(o.b) && o.b[i] == '}' {
		return i + 1
	}
	return len(o.b)
}
