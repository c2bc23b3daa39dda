package chat

import (
	"bytes"
	"context"
	"fmt"

	"fairlead/internal/llm"
	"fairlead/internal/wire/strict"
)

// linearKeys is the number of keys above which an object looks for repeats in a map.
const linearKeys = 24

// scanner walks JSON once, in place. A strict scanner also refuses repeated keys, invalid UTF-8 and documents with
// absurdly many keys: it reads what clients send. A lenient one reads what providers send, where the bytes matter
// more than the form. The first error sticks, and nothing moves after it.
type scanner struct {
	b      []byte
	i      int
	depth  int
	strict bool
	err    error

	ctx    context.Context // ends the reading of a request; nil for documents that are read to the end
	polled int             // where ctx was last checked

	at   int         // where the key of the member at hand begins, quote included
	keys [][]byte    // the keys of all objects that are open
	size strict.Size // of the document so far; only a strict scanner counts

	count        bool // add the strings that are read to the text below
	ascii, other int
	sample       *llm.Sample // and take samples of them; nil for none
}

// syntaxError says what is wrong with the JSON and at which byte.
type syntaxError struct {
	offset int
	what   string
}

func (e *syntaxError) Error() string { return fmt.Sprintf("%s at byte %d", e.what, e.offset) }

// repeatedKeyError names a key that one object has twice.
type repeatedKeyError struct{ key string }

func (e *repeatedKeyError) Error() string { return fmt.Sprintf("the key %q appears twice", e.key) }

// limit fails when a limit is exceeded.
func (s *scanner) limit(over *strict.LimitError) {
	if over != nil && s.err == nil {
		s.err = over
	}
}

func (s *scanner) fail(what string) {
	if s.err == nil {
		s.err = &syntaxError{offset: s.i, what: what}
	}
}

// poll fails when the context has ended.
func (s *scanner) poll() {
	if s.ctx != nil && s.err == nil && s.i-s.polled >= strict.PollBytes {
		s.polled = s.i
		s.err = llm.Cancelled(s.ctx)
	}
}

// peek skips white space and returns the next byte, or 0 at the end and after an error.
func (s *scanner) peek() byte {
	for s.i < len(s.b) {
		switch c := s.b[s.i]; c {
		case ' ', '\n', '\t', '\r':
			s.i++
		default:
			if s.err != nil {
				return 0
			}
			return c
		}
	}
	return 0
}

// kind tells what value comes next by its first byte: one of { [ " t f n, 0 for every number, or something that
// cannot begin a value.
func (s *scanner) kind() byte {
	c := s.peek()
	if c == '-' || c >= '0' && c <= '9' {
		return '0'
	}
	return c
}

// skip reads any value.
func (s *scanner) skip() {
	switch s.kind() {
	case '{':
		for range s.members {
			s.skip()
		}
	case '[':
		for range s.elements {
			s.skip()
		}
	case '"':
		s.text()
	case '0':
		s.number()
	case 't':
		s.literal("true")
	case 'f':
		s.literal("false")
	case 'n':
		s.literal("null")
	case 0:
		s.fail("the JSON ends too early")
	default:
		s.fail("a value is expected")
	}
}

// counted skips a value and adds its strings to the text.
func (s *scanner) counted() {
	s.count = true
	s.skip()
	s.count = false
}

// value skips a value and returns its bytes.
func (s *scanner) value() []byte {
	s.peek()
	start := s.i
	s.skip()
	if s.err != nil {
		return nil
	}
	return s.b[start:s.i]
}

// null reads a null if one comes next.
func (s *scanner) null() bool {
	if s.kind() != 'n' {
		return false
	}
	s.literal("null")
	return true
}

// end checks that nothing but white space follows.
func (s *scanner) end() {
	if s.peek(); s.i < len(s.b) {
		s.fail("there is data after the JSON document")
	}
}

// members yields the keys of the object that comes next. The loop's body reads the value; a body that reads nothing
// has it skipped. The body must not leave the loop.
func (s *scanner) members(yield func(key []byte) bool) {
	if !s.open() {
		return
	}
	base := len(s.keys)
	var many map[string]struct{}
	if s.peek() == '}' {
		s.close()
		return
	}
	for s.err == nil {
		if s.peek() != '"' {
			s.fail("a key in double quotes is expected")
			return
		}
		t := s.text()
		key := s.decoded(t)
		s.at = t.start - 1
		if s.strict {
			many = s.remember(base, key, many)
		}
		if s.peek() != ':' {
			s.fail("a colon is expected")
			return
		}
		s.i++
		s.peek()
		from := s.i
		yield(key)
		if s.i == from {
			s.skip()
		}
		if !s.more('}') {
			s.keys = s.keys[:base]
			return
		}
	}
}

// elements yields the positions of the array that comes next, under the same rules as members.
func (s *scanner) elements(yield func(n int) bool) {
	if !s.open() {
		return
	}
	if s.peek() == ']' {
		s.close()
		return
	}
	for n := 0; s.err == nil; n++ {
		if s.strict {
			s.limit(s.size.Element())
		}
		s.peek()
		from := s.i
		yield(n)
		if s.i == from {
			s.skip()
		}
		if !s.more(']') {
			return
		}
	}
}

func (s *scanner) open() bool {
	s.limit(strict.Depth(s.depth + 1))
	if s.err != nil {
		return false
	}
	s.i++
	s.depth++
	return true
}

func (s *scanner) close() {
	s.i++
	s.depth--
}

// more reads what stands between two members, or the end of their object or array.
func (s *scanner) more(closing byte) bool {
	s.poll()
	switch c := s.peek(); {
	case s.err != nil:
		return false
	case c == ',':
		s.i++
		return true
	case c == closing:
		s.close()
		return false
	case c == 0:
		s.fail("the JSON ends too early")
		return false
	default:
		s.fail("a comma is expected")
		return false
	}
}

// remember notes a key of the object whose keys begin at base, and fails when it is there already.
func (s *scanner) remember(base int, key []byte, many map[string]struct{}) map[string]struct{} {
	count := len(s.keys) - base
	if over := s.size.Key(count); over != nil {
		s.limit(over)
		return many
	}
	repeated := false
	if count < linearKeys {
		for _, other := range s.keys[base:] {
			repeated = repeated || bytes.Equal(other, key)
		}
	} else {
		if many == nil {
			many = make(map[string]struct{}, 4*linearKeys)
			for _, other := range s.keys[base:] {
				many[string(other)] = struct{}{}
			}
		}
		if _, repeated = many[string(key)]; !repeated {
			many[string(key)] = struct{}{}
		}
	}
	if repeated && s.err == nil {
		s.err = &repeatedKeyError{key: string(key)}
	}
	s.keys = append(s.keys, key)
	return many
}

func (s *scanner) literal(word string) {
	if end := s.i + len(word); end <= len(s.b) && string(s.b[s.i:end]) == word {
		s.i = end
		return
	}
	s.fail("a value is expected")
}

// number reads a number by the JSON grammar and returns its text.
func (s *scanner) number() []byte {
	start := s.i
	if s.i < len(s.b) && s.b[s.i] == '-' {
		s.i++
	}
	if s.i < len(s.b) && s.b[s.i] == '0' {
		s.i++
	} else {
		s.digits()
	}
	if s.i < len(s.b) && s.b[s.i] == '.' {
		s.i++
		s.digits()
	}
	if s.i < len(s.b) && s.b[s.i]|0x20 == 'e' {
		s.i++
		if s.i < len(s.b) && (s.b[s.i] == '+' || s.b[s.i] == '-') {
			s.i++
		}
		s.digits()
	}
	return s.b[start:s.i]
}

func (s *scanner) digits() {
	start := s.i
	for s.i < len(s.b) && s.b[s.i]-'0' <= 9 {
		s.i++
	}
	if s.i == start {
		s.fail("a digit is expected")
	}
}
