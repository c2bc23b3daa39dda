package strict

import (
	"fmt"
	"strings"

	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/rawjson"
	"fairlead.dev/internal/wire/show"
)

// Limits of a request, the same for every format. Package rawjson has the limits of a JSON document.
const (
	MaxElements = rawjson.MaxElements // maximum number of elements in all lists together
	MaxMessages = 50_000              // maximum number of messages or input items
	PollBytes   = rawjson.PollBytes   // number of bytes read between two checks of the context
)

// MaxResponseParts limits a decoded provider response: its keys, its list elements, and its lists and objects, each counted separately.
// No model generates a response with that many tokens.
const MaxResponseParts = 100_000

// CheckResponse returns an error for a response with too many parts to be decoded. vectors is the expected number of
// embeddings, whose elements are neither decoded nor counted.
func CheckResponse(data []byte, vectors int) error {
	size, _, over := rawjson.Measure(data, vectors == 0)
	limit := MaxResponseParts
	if vectors > 0 {
		size.Elements, limit = 0, 1000+8*vectors // each embedding is in an object of a few members
	}
	if over == nil && max(size.Keys, size.Elements, size.Containers) <= limit {
		return nil
	}
	return &llm.Error{Kind: llm.UpstreamMalformed, Message: "The provider's response has more parts than any model generates."}
}

// CheckMessages returns an error for a request with too many messages, or nil.
func CheckMessages(n int) *rawjson.LimitError {
	if n > MaxMessages {
		return &rawjson.LimitError{What: "messages", Max: MaxMessages}
	}
	return nil
}

// LimitMessage returns the client's error message for an exceeded limit.
func LimitMessage(e *rawjson.LimitError) string {
	return fmt.Sprintf("The request has more than %d %s. Send fewer.", e.Max, e.What)
}

func rejectLimit(e *rawjson.LimitError, param string) *llm.Error {
	return Reject(Problem{show.Cut(param, maxKey), LimitMessage(e)})
}

// Measure counts the parts of a request in one pass and returns an error at the first exceeded limit. The request does
// not have to be valid.
func Measure(body []byte) (rawjson.Size, error) {
	size, member, over := rawjson.Measure(body, true)
	if over != nil {
		return size, rejectLimit(over, string(member))
	}
	return size, nil
}

// LookAlike returns the name that differs from key only in case, and whether there is one. Some providers ignore the
// case of keys and would use a member that was not validated.
func LookAlike(key string, names ...string) (name string, found bool) {
	for _, name := range names {
		if len(key) >= len(name) && len(key) <= 3*len(name) && key != name && strings.EqualFold(key, name) {
			return name, true
		}
	}
	return "", false
}
