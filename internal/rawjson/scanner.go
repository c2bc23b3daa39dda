// Package rawjson reads, edits and writes JSON as bytes, without decoding it into Go values. Scanner reads a document
// once and in place, Value looks up members of a small document, and Writer appends JSON.
package rawjson

import (
	"bytes"
	"context"
	"fmt"
	"sync"
)

const (
	// linearKeys is the number of keys above which duplicates are detected with a map.
	linearKeys = 24
	// PollBytes is the number of bytes scanned between two checks of the context. Scanning this number of bytes takes a few milliseconds
	// at most.
	PollBytes = 64 << 10
)

// Scanner reads JSON once, in place. A strict scanner also rejects duplicate keys, invalid UTF-8 and documents above the limits; it is
// used for requests. A lenient scanner is used for responses, whose bytes are forwarded unchanged. After the first error, the scanner
// does not advance.
type Scanner struct {
	Data   []byte
	Pos    int
	Strict bool
	Err    error

	Context context.Context // cancels the scan; may be nil
	polled  int             // position of the last check of Context

	KeyStart int      // position of the current member's key, including the quote
	Size     Size     // size of the document so far; counted only by strict scanners
	depth    int      // current nesting depth of lists and objects
	keys     [][]byte // keys of all open objects
	pooled   *keyBuffer

	Count           bool // whether to add the lengths of the strings that are read to ASCII and NonASCII
	ASCII, NonASCII int  // number of ASCII and of non-ASCII bytes in the counted strings after decoding
}

// keyBuffer holds the keys of all open objects if there are at most linearKeys.
type keyBuffer [linearKeys][]byte

var keyBuffers = sync.Pool{New: func() any { return new(keyBuffer) }}

// NewStrict returns a strict scanner. The caller must call Release.
func NewStrict(ctx context.Context, data []byte) Scanner {
	buffer := keyBuffers.Get().(*keyBuffer)
	return Scanner{Data: data, Strict: true, Context: ctx, pooled: buffer, keys: buffer[:0]}
}

// Release returns the scanner's buffers to the pool.
func (s *Scanner) Release() {
	if s.pooled != nil {
		clear(s.pooled[:]) // the pool must not retain the body, to which the keys refer
		keyBuffers.Put(s.pooled)
		s.pooled, s.keys = nil, nil
	}
}

// SyntaxError reports malformed JSON.
type SyntaxError struct {
	Offset int
	What   string
}

func (e *SyntaxError) Error() string { return fmt.Sprintf("%s at byte %d", e.What, e.Offset) }

// RepeatedKeyError reports a duplicate key in an object.
type RepeatedKeyError struct{ Key string }

func (e *RepeatedKeyError) Error() string { return fmt.Sprintf("the key %q appears twice", e.Key) }

// Limit records over as the error that stops the scan. It does nothing if over is nil or if there is already an error.
func (s *Scanner) Limit(over *LimitError) {
	if over != nil && s.Err == nil {
		s.Err = over
	}
}

// Fail records a syntax error at the current position, unless there is already an error.
func (s *Scanner) Fail(what string) {
	if s.Err == nil {
		s.Err = &SyntaxError{Offset: s.Pos, What: what}
	}
}

// poll checks every PollBytes bytes whether the context is done, and if so, stops the scan with the context's error.
func (s *Scanner) poll() {
	if s.Context != nil && s.Err == nil && s.Pos-s.polled >= PollBytes {
		s.polled = s.Pos
		s.Err = s.Context.Err()
	}
}

// Peek skips white space and returns the next byte without consuming it. It returns 0 at the end and after an error.
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

// Kind skips white space and returns the type of the next value, represented by its first byte: one of { [ " t f n, '0' for every number,
// or a byte that cannot begin a value.
func (s *Scanner) Kind() byte {
	c := s.Peek()
	if c == '-' || c >= '0' && c <= '9' {
		return '0'
	}
	return c
}

// failAt reports what is expected at the current position, or that the data ends there.
func (s *Scanner) failAt(expected string) {
	if s.Pos >= len(s.Data) {
		expected = "the JSON ends unexpectedly"
	}
	s.Fail(expected)
}

// Skip skips the next value.
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
	default:
		s.failAt("a value is expected")
	}
}

// SkipCounted skips a value and adds the lengths of its strings to ASCII and NonASCII.
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

// SkipNull skips the next value if it is null, and reports whether it was.
func (s *Scanner) SkipNull() bool {
	if s.Kind() != 'n' {
		return false
	}
	s.Literal("null")
	return true
}

// End records an error if anything except white space follows.
func (s *Scanner) End() {
	if s.Peek(); s.Pos < len(s.Data) {
		s.Fail("there is data after the JSON document")
	}
}

// Members yields the keys of the object at the current position. Call Peek or Kind first to skip white space. If the loop body does not
// read the value, the value is skipped. The loop body must not break out of the loop.
func (s *Scanner) Members(yield func(key []byte) bool) {
	if !s.open() {
		return
	}
	if s.Peek() == '}' {
		s.close()
		return
	}
	base := len(s.keys) // number of keys of the enclosing objects
	var many map[string]struct{}
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

// Elements yields the indexes of the list at the current position. The rules of Members apply.
func (s *Scanner) Elements(yield func(n int) bool) {
	if !s.open() {
		return
	}
	if s.Peek() == ']' {
		if s.Strict {
			s.Limit(s.Size.AddElement()) // an empty list also uses memory, so it counts as one element
		}
		s.close()
		return
	}
	for n := 0; s.Err == nil; n++ {
		if s.Strict {
			s.Limit(s.Size.AddElement())
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
	s.Limit(checkDepth(s.depth + 1))
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

// more reads the comma before the next member or element, or the closing bracket. It returns false after the closing bracket or an error.
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
	default:
		s.failAt("a comma is expected")
		return false
	}
}

// remember records a key of the object whose keys start at index base of s.keys. It records an error if the object already has the key.
func (s *Scanner) remember(base int, key []byte, many map[string]struct{}) map[string]struct{} {
	count := len(s.keys) - base
	if over := s.Size.AddKey(count); over != nil {
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

// Literal reads the given literal: true, false or null.
func (s *Scanner) Literal(word string) {
	if end := s.Pos + len(word); end <= len(s.Data) && string(s.Data[s.Pos:end]) == word {
		s.Pos = end
		return
	}
	s.Fail("a value is expected")
}

// Number reads a number according to the JSON grammar and returns its bytes.
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

// RawOrNil reads a value and returns its bytes, or nil for null.
func (s *Scanner) RawOrNil() []byte {
	if s.SkipNull() {
		return nil
	}
	return s.Raw()
}
