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

// Scanner walks JSON once, in place. A strict scanner also refuses repeated keys, invalid UTF-8 and documents with
// absurdly many keys: it reads what clients send. A lenient one reads what providers send, where the bytes matter
// more than the form. The first error sticks, and nothing moves after it.
type Scanner struct {
	Data   []byte
	Pos    int
	depth  int
	Strict bool
	Err    error

	Context context.Context // ends the reading of a request; nil for documents that are read to the end
	polled  int             // where ctx was last checked

	KeyStart int         // where the key of the member at hand begins, quote included
	keys     [][]byte    // the keys of all objects that are open
	Size     strict.Size // of the document so far; only a strict scanner counts

	Count           bool // add the strings that are read to the text below
	ASCII, NonASCII int
	Sample          *llm.Sample // and take samples of them; nil for none
}

// SyntaxError says what is wrong with the JSON and at which byte.
type SyntaxError struct {
	offset int
	what   string
}

func (e *SyntaxError) Error() string { return fmt.Sprintf("%s at byte %d", e.what, e.offset) }

// RepeatedKeyError names a key that one object has twice.
type RepeatedKeyError struct{ Key string }

func (e *RepeatedKeyError) Error() string { return fmt.Sprintf("the key %q appears twice", e.Key) }

// Limit fails when a limit is exceeded.
func (s *Scanner) Limit(over *strict.LimitError) {
	if over != nil && s.Err == nil {
		s.Err = over
	}
}

func (s *Scanner) Fail(what string) {
	if s.Err == nil {
		s.Err = &SyntaxError{offset: s.Pos, what: what}
	}
}

// poll fails when the context has ended.
func (s *Scanner) poll() {
	if s.Context != nil && s.Err == nil && s.Pos-s.polled >= strict.PollBytes {
		s.polled = s.Pos
		s.Err = llm.Cancelled(s.Context)
	}
}

// Peek skips white space and returns the next byte, or 0 at the end and after an error.
func (s *Scanner) Peek() byte {
	for s.Pos < len(s.Data) {
		switch c := s.Data[s.Pos]; c {
		case ' ', '\n', '\t', '\r':
			s.Pos++
		default:
			if s.Err != nil {
				return 0
			}
			return c
		}
	}
	return 0
}

// Kind tells what value comes next by its first byte: one of { [ " t f n, 0 for every number, or something that
// cannot begin a value.
func (s *Scanner) Kind() byte {
	c := s.Peek()
	if c == '-' || c >= '0' && c <= '9' {
		return '0'
	}
	return c
}

// Skip reads any value.
func (s *Scanner) Skip() {
	switch s.Kind() {
	case '{':
		for range s.Members {
			s.Skip()
		}
	case '[':
		for range s.Elements {
			s.Skip()
		}
	case '"':
		s.ReadString()
	case '0':
		s.Number()
	case 't':
		s.Literal("true")
	case 'f':
		s.Literal("false")
	case 'n':
		s.Literal("null")
	case 0:
		s.Fail("the JSON ends too early")
	default:
		s.Fail("a value is expected")
	}
}

// SkipCounted skips a value and adds its strings to the text.
func (s *Scanner) SkipCounted() {
	s.Count = true
	s.Skip()
	s.Count = false
}

// Raw skips a value and returns its bytes.
func (s *Scanner) Raw() []byte {
	s.Peek()
	start := s.Pos
	s.Skip()
	if s.Err != nil {
		return nil
	}
	return s.Data[start:s.Pos]
}

// SkipNull reads a null if one comes next.
func (s *Scanner) SkipNull() bool {
	if s.Kind() != 'n' {
		return false
	}
	s.Literal("null")
	return true
}

// End checks that nothing but white space follows.
func (s *Scanner) End() {
	if s.Peek(); s.Pos < len(s.Data) {
		s.Fail("there is data after the JSON document")
	}
}

// Members yields the keys of the object that comes next. The loop's body reads the value; a body that reads nothing
// has it skipped. The body must not leave the loop.
func (s *Scanner) Members(yield func(key []byte) bool) {
	if !s.open() {
		return
	}
	base := len(s.keys)
	var many map[string]struct{}
	if s.Peek() == '}' {
		s.close()
		return
	}
	for s.Err == nil {
		if s.Peek() != '"' {
			s.Fail("a key in double quotes is expected")
			return
		}
		t := s.ReadString()
		key := s.Unquote(t)
		s.KeyStart = t.Start - 1
		if s.Strict {
			many = s.remember(base, key, many)
		}
		if s.Peek() != ':' {
			s.Fail("a colon is expected")
			return
		}
		s.Pos++
		s.Peek()
		from := s.Pos
		yield(key)
		if s.Pos == from {
			s.Skip()
		}
		if !s.more('}') {
			s.keys = s.keys[:base]
			return
		}
	}
}

// Elements yields the positions of the array that comes next, under the same rules as members.
func (s *Scanner) Elements(yield func(n int) bool) {
	if !s.open() {
		return
	}
	if s.Peek() == ']' {
		s.close()
		return
	}
	for n := 0; s.Err == nil; n++ {
		if s.Strict {
			s.Limit(s.Size.Element())
		}
		s.Peek()
		from := s.Pos
		yield(n)
		if s.Pos == from {
			s.Skip()
		}
		if !s.more(']') {
			return
		}
	}
}

func (s *Scanner) open() bool {
	s.Limit(strict.Depth(s.depth + 1))
	if s.Err != nil {
		return false
	}
	s.Pos++
	s.depth++
	return true
}

func (s *Scanner) close() {
	s.Pos++
	s.depth--
}

// more reads what stands between two members, or the end of their object or array.
func (s *Scanner) more(closing byte) bool {
	s.poll()
	switch c := s.Peek(); {
	case s.Err != nil:
		return false
	case c == ',':
		s.Pos++
		return true
	case c == closing:
		s.close()
		return false
	case c == 0:
		s.Fail("the JSON ends too early")
		return false
	default:
		s.Fail("a comma is expected")
		return false
	}
}

// remember notes a key of the object whose keys begin at base, and fails when it is there already.
func (s *Scanner) remember(base int, key []byte, many map[string]struct{}) map[string]struct{} {
	count := len(s.keys) - base
	if over := s.Size.Key(count); over != nil {
		s.Limit(over)
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
	if repeated && s.Err == nil {
		s.Err = &RepeatedKeyError{Key: string(key)}
	}
	s.keys = append(s.keys, key)
	return many
}

func (s *Scanner) Literal(word string) {
	if end := s.Pos + len(word); end <= len(s.Data) && string(s.Data[s.Pos:end]) == word {
		s.Pos = end
		return
	}
	s.Fail("a value is expected")
}

// Number reads a number by the JSON grammar and returns its text.
func (s *Scanner) Number() []byte {
	start := s.Pos
	if s.Pos < len(s.Data) && s.Data[s.Pos] == '-' {
		s.Pos++
	}
	if s.Pos < len(s.Data) && s.Data[s.Pos] == '0' {
		s.Pos++
	} else {
		s.digits()
	}
	if s.Pos < len(s.Data) && s.Data[s.Pos] == '.' {
		s.Pos++
		s.digits()
	}
	if s.Pos < len(s.Data) && s.Data[s.Pos]|0x20 == 'e' {
		s.Pos++
		if s.Pos < len(s.Data) && (s.Data[s.Pos] == '+' || s.Data[s.Pos] == '-') {
			s.Pos++
		}
		s.digits()
	}
	return s.Data[start:s.Pos]
}

func (s *Scanner) digits() {
	start := s.Pos
	for s.Pos < len(s.Data) && s.Data[s.Pos]-'0' <= 9 {
		s.Pos++
	}
	if s.Pos == start {
		s.Fail("a digit is expected")
	}
}
