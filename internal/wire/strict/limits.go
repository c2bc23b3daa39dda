package strict

import (
	"bytes"
	"fmt"
	"strings"

	"fairlead/internal/llm"
	"fairlead/internal/wire/show"
)

// Limits of a request document, the same for every format. They are above what fits the context window of any model, and
// keep what decoding allocates in proportion to the largest body. Token ids of embeddings and completions are not counted:
// they are never decoded.
const (
	MaxKeys       = 250_000 // in all objects
	MaxObjectKeys = 10_000  // in one object
	MaxElements   = 500_000 // in all lists
	MaxMessages   = 50_000  // messages or input items
	MaxDepth      = 512     // lists and objects inside each other
)

// LimitError is a document over one of the limits.
type LimitError struct {
	What string // such as "keys in all objects"
	Most int
}

func (e *LimitError) Error() string { return fmt.Sprintf("more than %d %s", e.Most, e.What) }

// The limits as errors.
var (
	errKeys       = &LimitError{"keys in all objects", MaxKeys}
	errObjectKeys = &LimitError{"keys in one object", MaxObjectKeys}
	errElements   = &LimitError{"elements in all lists", MaxElements}
	errDepth      = &LimitError{"levels of lists and objects inside each other", MaxDepth}
	errMessages   = &LimitError{"messages", MaxMessages}
)

// Reject is the error for the client. param is the top-level member that exceeds the limit.
func (e *LimitError) Reject(param string) *llm.Error {
	return Reject(Problem{show.Cut(param, maxKey), e.Sentence()})
}

// Sentence is the message for the client.
func (e *LimitError) Sentence() string {
	return fmt.Sprintf("The request has more than %d %s. Send fewer.", e.Most, e.What)
}

// MaxResponseParts is how many keys, list elements, or lists and objects a provider's answer may have that is decoded. No model writes
// an answer of so many tokens.
const MaxResponseParts = 100_000

// CheckResponse reports an answer that has more parts than are decoded. vectors is how many lists of numbers the answer has
// to have: their elements stay as they are and are not counted.
func CheckResponse(data []byte, vectors int) error {
	size, _, over := measure(data, vectors == 0)
	most := MaxResponseParts
	if vectors > 0 {
		size.Elements, most = 0, 1000+8*vectors // a vector comes in an object of a few members
	}
	if over == nil && max(size.Keys, size.Elements, size.Containers) <= most {
		return nil
	}
	return &llm.Error{Kind: llm.UpstreamMalformed, Message: "The provider's answer has more parts than any model writes."}
}

// Size is what a document consists of.
type Size struct {
	Keys, Elements int
	Containers     int // objects and lists; counted by Measure only
}

// Key counts a key of an object that has others already.
func (s *Size) Key(others int) *LimitError {
	s.Keys++
	switch {
	case s.Keys > MaxKeys:
		return errKeys
	case others >= MaxObjectKeys:
		return errObjectKeys
	}
	return nil
}

// Element counts an element of a list.
func (s *Size) Element() *LimitError {
	if s.Elements++; s.Elements > MaxElements {
		return errElements
	}
	return nil
}

// Depth checks how deep a list or an object lies.
func Depth(depth int) *LimitError {
	if depth > MaxDepth {
		return errDepth
	}
	return nil
}

// MessageCount checks the number of messages.
func MessageCount(n int) *LimitError {
	if n > MaxMessages {
		return errMessages
	}
	return nil
}

// Measure counts what a document consists of, in one pass that decodes and allocates nothing, and stops at the first limit.
// The document need not be valid: a parser reads it next.
func Measure(body []byte) (Size, error) {
	size, member, over := measure(body, true)
	if over != nil {
		return size, over.Reject(string(member))
	}
	return size, nil
}

// measure counts, and tells the top-level member that it stopped in. Without elements the elements of lists are free.
func measure(body []byte, elements bool) (size Size, member []byte, over *LimitError) {
	var inside [MaxDepth + 1]struct {
		list bool
		keys int
	}
	depth := 0
	var text []byte // the last string
	for i := 0; i < len(body) && over == nil; i++ {
		at := &inside[depth]
		switch c := body[i]; c {
		case '"':
			end := stringEnd(body, i+1)
			text, i = body[i+1:end], end
		case '{', '[':
			if over = Depth(depth + 1); over != nil {
				break
			}
			depth++
			size.Containers++
			inside[depth].list, inside[depth].keys = c == '[', 0
			if c == '[' && elements {
				over = size.Element() // an empty list counts too
			}
		case '}', ']':
			depth = max(0, depth-1)
		case ':':
			over = size.Key(at.keys)
			at.keys++
			if depth == 1 {
				member = text
			}
		case ',':
			if at.list && elements {
				over = size.Element()
			}
		}
	}
	return size, member, over
}

// stringEnd is where the quote is that closes the string from i on, or the end of the body.
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

// LookAlike returns the name that key is in other letters, and whether there is one. Some providers match keys without
// regard to case and would use a member that was not checked.
func LookAlike(key string, names ...string) (name string, found bool) {
	for _, name := range names {
		if len(key) >= len(name) && len(key) <= 3*len(name) && key != name && strings.EqualFold(key, name) {
			return name, true
		}
	}
	return "", false
}
