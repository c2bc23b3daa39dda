package openai

import (
	"context"
	"strings"

	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/wire/show"
)

// lookahead is the number of bytes after the preview that are also passed to the edit function. Without these bytes, the function could
// miss a match that begins in the preview and ends after it.
const lookahead = 4096

// Preview returns the beginning of the last user message or, for an operation other than chat, of the first input. It passes the text to
// the function edit before it truncates the text. ok is false when the body is not a valid request.
func Preview(op llm.Op, body []byte, edit func(string) string) (text string, ok bool) {
	req, err := Format{}.DecodeRequest(context.Background(), op, body)
	if err != nil {
		return "", false
	}
	begin := show.Cut(strings.TrimLeft(req.Asked, " \n\r\t"), llm.PreviewBytes+lookahead)
	return show.Preview(edit(begin), llm.PreviewBytes), true
}
