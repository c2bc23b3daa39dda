package strict

import (
	"fmt"
	"strings"
	"unicode"

	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/rawjson"
	"fairlead.dev/internal/wire/show"
)

// Limits for a request in any format. Package rawjson defines the limits for a JSON document.
const (
	MaxElements = rawjson.MaxElements // maximum total number of elements in all lists
	MaxMessages = 50_000              // maximum number of messages or input items
	PollBytes   = rawjson.PollBytes   // number of bytes read between two checks of the context
)

// MaxResponseParts is the maximum number of keys, of list elements, and of lists and objects in a provider response that is decoded. Each
// of the three numbers is limited separately. A response that is larger than this has more tokens than any model generates.
const MaxResponseParts = 100_000

// CheckResponse returns an error for a response with too many keys, elements or containers. vectors is the expected number of
// embeddings, whose elements are neither decoded nor counted.
func CheckResponse(data []byte, vectors int) error {
	size, _, over := rawjson.Measure(data, vectors == 0)
	limit := MaxResponseParts
	if vectors > 0 {
		size.Elements, limit = 0, 1000+8*vectors // each embedding is in an object with only a few members
	}
	if over == nil && max(size.Keys, size.Elements, size.Containers) <= limit {
		return nil
	}
	if over == nil {
		over = &rawjson.LimitError{What: "keys, list elements or objects", Max: limit}
	}
	return &llm.Error{Kind: llm.UpstreamMalformed, Message: "The provider's response has " + over.Error() + "."}
}

// CheckMessages returns an error if the number of messages n exceeds MaxMessages, otherwise nil.
func CheckMessages(n int) *rawjson.LimitError {
	if n > MaxMessages {
		return &rawjson.LimitError{What: "messages", Max: MaxMessages}
	}
	return nil
}

// LimitMessage returns the error message that is sent to the client for an exceeded limit.
func LimitMessage(e *rawjson.LimitError) string {
	return fmt.Sprintf("The request has more than %d %s. Send fewer.", e.Max, e.What)
}

func rejectLimit(e *rawjson.LimitError, param string) *llm.Error {
	return Reject(Problem{show.Cut(param, maxKey), LimitMessage(e)})
}

// Measure returns the size of a request. It scans the body once and returns an error at the first exceeded limit. The body does not have
// to be valid.
func Measure(body []byte) (rawjson.Size, error) {
	size, member, over := rawjson.Measure(body, true)
	if over != nil {
		return size, rejectLimit(over, string(member))
	}
	return size, nil
}

// LookAlike returns a problem if some provider could read key as one of the names: it differs only in case, continues with NUL or a
// bracket, as in model[], or begins or ends with invisible characters. The provider would use a member that was not validated. found is false for any other key.
func LookAlike(path, key string, names ...string) (p Problem, found bool) {
	base := key
	if i := strings.IndexAny(key, "\x00["); i >= 0 {
		base = key[:i]
	}
	base = strings.TrimFunc(base, func(r rune) bool { return !unicode.IsGraphic(r) || unicode.IsSpace(r) })
	for _, name := range names {
		if len(base) < len(name) || len(base) > 3*len(name) || key == name || !strings.EqualFold(base, name) {
			continue
		}
		p = Problem{path + show.Cut(key, maxKey), fmt.Sprintf("The key %s differs from %q only in letter case. Use %q.", show.Quote(key), name, name)}
		if base != key {
			p.Message = fmt.Sprintf("The key %s can be read as %q. Use %q.", show.Quote(key), name, name)
		}
		return p, true
	}
	return p, false
}
