package fulltext

import (
	"bytes"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"
)

// maxKey is longer than every name in unsearched. Member names of this length or more are not stored.
const maxKey = 24

// unsearched lists the JSON members whose strings are identifiers or codes instead of text.
var unsearched = map[string]bool{
	"role": true, "type": true, "id": true, "object": true, "model": true, "tool_call_id": true, "tool_use_id": true, "call_id": true, "item_id": true,
	"signature": true, "thoughtSignature": true, "thought_signature": true, "encrypted_content": true, "finish_reason": true, "finishReason": true, "stop_reason": true,
	"status": true, "media_type": true, "mime_type": true, "mimeType": true, "system_fingerprint": true, "service_tier": true,
	"previous_response_id": true, "prompt_cache_key": true, "user": true, "user_id": true, "session_id": true, "modelVersion": true, "responseId": true,
}

// Scanner finds the text strings in the pieces of a JSON document. The caller passes the pieces in order and never splits a string.
type Scanner struct {
	// SkipAnswers sets whether to skip messages with the role assistant or model, because requests repeat the responses of earlier turns.
	SkipAnswers bool

	key     []byte // name of the latest member
	depth   int
	answer  int // nesting depth of the skipped message; 0 if no message is being skipped
	scratch []byte
}

// Lost resets the state after a missing piece of the document.
func (s *Scanner) Lost() { s.key, s.depth, s.answer = s.key[:0], 0, 0 }

// Scan calls fn with each decoded text string in a piece. The string is valid only during the call.
func (s *Scanner) Scan(piece []byte, fn func(text []byte)) {
	for i := 0; i < len(piece); i++ {
		switch piece[i] {
		case '{', '[':
			s.depth++
		case '}', ']':
			if s.depth--; s.depth < s.answer {
				s.answer = 0
			}
		case '"':
			end := stringEnd(piece, i+1)
			s.text(piece[i+1:end], isKey(piece, end+1), fn)
			i = end
		}
	}
}

// stringEnd returns the position of the quote that ends a string, or the length of the piece.
func stringEnd(piece []byte, i int) int {
	for i < len(piece) {
		next := bytes.IndexAny(piece[i:], `"\`)
		if next < 0 {
			return len(piece)
		}
		if i += next; piece[i] == '"' {
			return i
		}
		i += 2
	}
	return len(piece)
}

// isKey reports whether the string that ends before i is a member name: whether the next character that is not white space is a colon.
func isKey(piece []byte, i int) bool {
	for ; i < len(piece); i++ {
		switch piece[i] {
		case ' ', '\n', '\t', '\r':
		default:
			return piece[i] == ':'
		}
	}
	return false
}

func (s *Scanner) text(raw []byte, key bool, fn func([]byte)) {
	if key {
		s.key = s.key[:0]
		if len(raw) < maxKey {
			s.key = append(s.key, raw...)
		}
		return
	}
	if s.SkipAnswers && string(s.key) == "role" {
		if role := string(raw); role == "assistant" || role == "model" {
			s.answer = max(s.depth, 1)
		}
	}
	if s.answer > 0 || len(raw) == 0 || unsearched[string(s.key)] || encoded(raw) {
		return
	}
	if bytes.IndexByte(raw, '\\') >= 0 {
		s.scratch = unescape(s.scratch[:0], raw)
		raw = s.scratch
	}
	fn(raw)
}

// encoded reports whether a string is encoded data, such as an image: long, in ASCII and without a space.
func encoded(raw []byte) bool {
	const enough = 512
	if len(raw) < enough {
		return false
	}
	for _, c := range raw[:enough] {
		if c <= ' ' || c >= utf8.RuneSelf || c == '\\' {
			return false
		}
	}
	return true
}

// unescape decodes the escape sequences of a JSON string.
func unescape(to, raw []byte) []byte {
	for i := 0; i < len(raw); i++ {
		if raw[i] != '\\' || i+1 == len(raw) {
			to = append(to, raw[i])
			continue
		}
		i++
		switch raw[i] {
		case 'n', 'r', 't', 'b', 'f':
			to = append(to, ' ')
		case 'u':
			r, size := unicodeEscape(raw[i-1:])
			to = utf8.AppendRune(to, r)
			i += size - 2
		default:
			to = append(to, raw[i])
		}
	}
	return to
}

// unicodeEscape decodes \uXXXX or a surrogate pair, and returns the length of the sequence.
func unicodeEscape(raw []byte) (rune, int) {
	first, ok := hexRune(raw)
	if !ok {
		return utf8.RuneError, 2
	}
	if utf16.IsSurrogate(first) {
		if second, ok := hexRune(raw[6:]); ok {
			if r := utf16.DecodeRune(first, second); r != utf8.RuneError {
				return r, 12
			}
		}
		return utf8.RuneError, 6
	}
	return first, 6
}

func hexRune(raw []byte) (rune, bool) {
	if len(raw) < 6 || raw[0] != '\\' || raw[1] != 'u' {
		return 0, false
	}
	n, err := strconv.ParseUint(string(raw[2:6]), 16, 16)
	return rune(n), err == nil
}
