package responsesstream

import (
	"io"

	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/wire/messagesstream"
)

// ReadStored reads the answer to an operation on a stored response: its events, or one document, which may also be a list of items
// or the confirmation of a deletion. Unlike Read, it passes a failed or cancelled response on, because the operation itself has
// succeeded.
func ReadStored(r io.Reader, o Options) llm.Stream {
	return &responseStream{Source: messagesstream.NewSource(o.Reading), o: o, from: r, stored: true}
}

// storedFinish returns the finish reason of a stored response. It is empty while the provider generates the response, and for
// other documents.
func storedFinish(o *object) string {
	switch o.status {
	case "failed", "cancelled":
		return o.status
	case "":
		return ""
	}
	return o.finishReason()
}
