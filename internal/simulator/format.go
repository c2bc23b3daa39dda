package simulator

import (
	"net/http"
	"strings"
)

// format is an API format of conversations.
type format struct {
	stream string // content type of a stream
	read   func(c *Call) *Conversation
	// body returns the complete response, and frames the encoded events of a stream.
	body   func(c *Call, q *Conversation, r *Reply) Object
	frames func(c *Call, q *Conversation, r *Reply) [][]byte
	// fail returns the body of an error. A code is optional.
	fail func(status int, message, code string) Object
	// broken is an error event in the middle of a stream.
	broken []byte
}

const eventStream = "text/event-stream"

const overloaded = "The server had an error while processing your request."

var (
	chatFormat = &format{
		stream: eventStream, read: readChat, body: chatBody, frames: chatFrames, fail: openAIError,
		broken: sseEvent("", openAIError(http.StatusInternalServerError, overloaded, "")),
	}
	legacyFormat = &format{
		stream: eventStream, read: readLegacy, body: legacyBody, frames: legacyFrames, fail: openAIError, broken: chatFormat.broken,
	}
	responsesFormat = &format{
		stream: eventStream, read: readResponses, body: responsesBody, frames: responsesFrames, fail: openAIError,
		broken: sseEvent("error", Object{"type": "error", "sequence_number": 9, "code": "server_error", "message": overloaded, "param": nil}),
	}
	messagesFormat = &format{
		stream: eventStream, read: readMessages, body: messagesBody, frames: messagesFrames, fail: messagesError,
		broken: sseEvent("error", messagesError(529, "Overloaded", "")),
	}
	geminiFormat = &format{
		stream: eventStream, read: readGemini, body: geminiBody, frames: geminiFrames, fail: geminiError,
		broken: sseEvent("", geminiError(http.StatusServiceUnavailable, "The model is overloaded.", "")),
	}
	converseFormat = &format{
		stream: "application/vnd.amazon.eventstream", read: readConverse, body: converseBody, frames: converseFrames, fail: converseError,
		broken: binaryEvent("exception", "throttlingException", Object{"message": "Too many requests, please wait before trying again."}),
	}
)

// formatOf returns the format of a path. Paths that belong to no format have the errors of the chat format.
func formatOf(path string) *format {
	switch {
	case strings.HasSuffix(path, "/chat/completions"):
		return chatFormat
	case strings.HasSuffix(path, "/completions"):
		return legacyFormat
	case strings.HasSuffix(path, "/responses"):
		return responsesFormat
	case strings.Contains(path, "/messages"):
		return messagesFormat
	case strings.Contains(path, "/v1beta/"):
		return geminiFormat
	case strings.HasPrefix(path, "/model/"):
		return converseFormat
	}
	return chatFormat
}

// openAIError returns an error of the OpenAI formats.
func openAIError(status int, message, code string) Object {
	kind := "invalid_request_error"
	switch {
	case status == http.StatusTooManyRequests:
		kind = "requests"
	case status >= http.StatusInternalServerError:
		kind = "server_error"
	}
	e := Object{"message": message, "type": kind, "param": nil, "code": nil}
	if code != "" {
		e["code"] = code
	}
	return Object{"error": e}
}

// kindOf returns the vendor's name of an error status.
func kindOf(status int, kinds map[int]string, others string) string {
	if kind, ok := kinds[status]; ok {
		return kind
	}
	return others
}
