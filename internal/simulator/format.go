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
}

const eventStream = "text/event-stream"

var (
	chatFormat      = &format{eventStream, readChat, chatBody, chatFrames, openAIError}
	legacyFormat    = &format{eventStream, readLegacy, legacyBody, legacyFrames, openAIError}
	responsesFormat = &format{eventStream, readResponses, responsesBody, responsesFrames, openAIError}
	messagesFormat  = &format{eventStream, readMessages, messagesBody, messagesFrames, messagesError}
	geminiFormat    = &format{eventStream, readGemini, geminiBody, geminiFrames, geminiError}
	converseFormat  = &format{"application/vnd.amazon.eventstream", readConverse, converseBody, converseFrames, converseError}
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
