package rawjson

import (
	"bytes"
	"fmt"
)

// Limits for documents sent by clients. No request that fits in a model's context window exceeds them. They keep the memory allocated by
// decoding proportional to the maximum body size. Token IDs in embeddings and completions are not counted, because they are never decoded.
const (
	MaxKeys       = 250_000 // maximum number of keys in all objects
	MaxObjectKeys = 10_000  // maximum number of keys in one object
	MaxElements   = 500_000 // maximum number of elements in all lists
	MaxDepth      = 512     // maximum nesting depth of lists and objects
)

// LimitError reports a document that exceeds one of the limits.
type LimitError struct {
	What string // description of the limited quantity, such as "keys in all objects"
	Max  int
}

func (e *LimitError) Error() string { return fmt.Sprintf("more than %d %s", e.Max, e.What) }

// Size counts the keys, elements and containers of a document.
type Size struct {
	Keys, Elements int
	Containers     int // number of objects and lists; counted only by Measure
}

// AddKey counts a key of an object that already has the given number of other keys. It returns an error if a limit is exceeded.
func (s *Size) AddKey(others int) *LimitError {
	s.Keys++
	switch {
	case s.Keys > MaxKeys:
		return &LimitError{"keys in all objects", MaxKeys}
	case others >= MaxObjectKeys:
		return &LimitError{"keys in one object", MaxObjectKeys}
	}
	return nil
}

// AddElement counts a list element. It returns an error if the limit is exceeded.
func (s *Size) AddElement() *LimitError {
	if s.Elements++; s.Elements > MaxElements {
		return &LimitError{"elements in all lists", MaxElements}
	}
	return nil
}

func checkDepth(depth int) *LimitError {
	if depth > MaxDepth {
		return &LimitError{"levels of nested lists and objects", MaxDepth}
	}
	return nil
}

// Measure returns the size of a document. It scans the document once, without decoding or allocating, and stops at the first exceeded
// limit; member is the name of the top-level member that exceeds it. countElements is false for documents whose lists may have any length.
// The document does not have to be valid.
func Measure(body []byte, countElements bool) (size Size, member []byte, over *LimitError) {
	var levels [MaxDepth + 1]struct {
		list bool
		keys int
	}
	depth := 0
	var lastString []byte
	for i := 0; i < len(body) && over == nil; i++ {
		level := &levels[depth]
		switch c := body[i]; c {
		case '"':
			end := stringEnd(body, i+1)
			lastString, i = body[i+1:end], end
		case '{', '[':
			if over = checkDepth(depth + 1); over != nil {
				break
			}
			depth++
			size.Containers++
			levels[depth].list, levels[depth].keys = c == '[', 0
			if c == '[' && countElements {
				over = size.AddElement() // an empty list counts as one element
			}
		case '}', ']':
			depth = max(0, depth-1)
		case ':':
			over = size.AddKey(level.keys)
			level.keys++
			if depth == 1 {
				member = lastString
			}
		case ',':
			if level.list && countElements {
				over = size.AddElement()
			}
		}
	}
	return size, member, over
}

// SkipString returns the position after the string that begins at i, or the length of the body if the string is not closed.
func SkipString(body []byte, i int) int { return min(stringEnd(body, i+1)+1, len(body)) }

// stringEnd returns the index of the quote that closes the string whose content begins at i, or the length of the body.
func stringEnd(body []byte, i int) int {
	for {
		n := bytes.IndexByte(body[i:], '"')
		if n < 0 {
			return len(body)
		}
		end := i + n
		escapes := 0
		for end-escapes > i && body[end-escapes-1] == '\\' {
			escapes++
		}
		if escapes%2 == 0 {
			return end
		}
		i = end + 1
	}
}
