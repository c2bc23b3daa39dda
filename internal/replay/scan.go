package replay

import (
	"bytes"
	"encoding/json"
	"errors"
	"strconv"
)

// scanner walks through JSON that we have written ourselves and takes out a few members. A trace is read once from end to
// end this way, where decoding all of it would take longer than deciding anew. It accepts some texts that are no JSON, but
// reads every JSON text right. After an error it finds nothing more.
//
//	for in := s.enter('{'); in && s.more('}'); {
//		switch string(s.name()) {
//		case "rank":
//			rank = s.int()
//		default:
//			s.skip()
//		}
//	}
type scanner struct {
	text []byte
	at   int
	err  error

	first bool // nothing of what was entered has been seen yet
}

var errMalformed = errors.New("this is not JSON")

func (s *scanner) fail(err error) {
	if s.err == nil {
		s.err = err
	}
	s.at = len(s.text)
}

// next returns the next byte that is no white space without passing it, or 0 at the end.
func (s *scanner) next() byte {
	for s.at < len(s.text) {
		switch c := s.text[s.at]; c {
		case ' ', '\n', '\t', '\r':
			s.at++
		default:
			return c
		}
	}
	return 0
}

// enter begins an object or array. Null and everything else is passed, and cannot be entered.
func (s *scanner) enter(open byte) bool {
	if s.next() != open {
		s.skip()
		return false
	}
	s.at++
	s.first = true
	return true
}

// more goes on to the next member or element, and past the end when there is none. It belongs to the innermost enter that
// has not ended.
func (s *scanner) more(end byte) bool {
	first := s.first
	s.first = false
	if s.err != nil {
		return false
	}
	switch c := s.next(); {
	case c == end:
		s.at++
		return false
	case c == ',' && !first:
		s.at++
		return true
	case first && c != 0:
		return true
	}
	s.fail(errMalformed)
	return false
}

// name takes the name of a member.
func (s *scanner) name() []byte {
	name := s.word()
	if s.next() != ':' {
		s.fail(errMalformed)
		return nil
	}
	s.at++
	return name
}

// value passes a value and returns its text.
func (s *scanner) value() []byte {
	s.next()
	start := s.at
	s.skip()
	if s.err != nil {
		return nil
	}
	return s.text[start:s.at]
}

// skip passes a value.
func (s *scanner) skip() {
	for depth := 0; ; {
		switch c := s.next(); c {
		case 0:
			s.fail(errMalformed)
			return
		case '"':
			s.quoted()
		case '{', '[':
			depth++
			s.at++
			continue
		case '}', ']':
			if depth--; depth < 0 {
				s.fail(errMalformed)
				return
			}
			s.at++
		case ',', ':':
			if depth == 0 {
				s.fail(errMalformed)
				return
			}
			s.at++
			continue
		default:
			s.bare()
		}
		if depth == 0 {
			return
		}
	}
}

// bare passes a number, true, false or null.
func (s *scanner) bare() {
	for s.at < len(s.text) {
		switch s.text[s.at] {
		case ',', '}', ']', ':', ' ', '\n', '\t', '\r', '"', '{', '[':
			return
		}
		s.at++
	}
}

// quoted passes a text in quotation marks.
func (s *scanner) quoted() {
	for from := s.at + 1; ; {
		end := bytes.IndexByte(s.text[from:], '"')
		if end < 0 {
			s.fail(errMalformed)
			return
		}
		end += from
		strokes := 0
		for end-1-strokes > s.at && s.text[end-1-strokes] == '\\' {
			strokes++
		}
		if from = end + 1; strokes%2 == 0 {
			s.at = from
			return
		}
	}
}

// word takes a text. It is valid as long as the scanner's bytes are.
func (s *scanner) word() []byte {
	if s.next() != '"' {
		s.fail(errMalformed)
		return nil
	}
	for i := s.at + 1; i < len(s.text); i++ {
		switch s.text[i] {
		case '"':
			word := s.text[s.at+1 : i]
			s.at = i + 1
			return word
		case '\\':
			return s.escaped()
		}
	}
	s.fail(errMalformed)
	return nil
}

// escaped takes a text with strokes in it, which few have.
func (s *scanner) escaped() []byte {
	var text string
	s.decode(&text)
	return []byte(text)
}

// string takes a text.
func (s *scanner) string() string { return string(s.word()) }

// int takes a whole number.
func (s *scanner) int() int64 {
	n, err := strconv.ParseInt(string(s.value()), 10, 64)
	if err != nil {
		s.fail(err)
	}
	return n
}

// float takes a number.
func (s *scanner) float() float64 {
	f, err := strconv.ParseFloat(string(s.value()), 64)
	if err != nil {
		s.fail(err)
	}
	return f
}

// bool takes true or false.
func (s *scanner) bool() bool { return string(s.value()) == "true" }

// decode takes a value as encoding/json does.
func (s *scanner) decode(into any) {
	text := s.value()
	if s.err != nil {
		return
	}
	if err := json.Unmarshal(text, into); err != nil {
		s.fail(err)
	}
}
