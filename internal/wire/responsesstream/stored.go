package responsesstream

import (
	"io"

	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/wire/upstream"
)

// ReadStored reads the provider's reply to an operation on a stored response, such as reading or deleting it. The reply is a stream of
// events, or one document: a response, a list of items, or the confirmation of a deletion. Unlike Read, ReadStored forwards a failed or
// cancelled response, because the operation itself has succeeded.
func ReadStored(r io.Reader, o Options) llm.Stream {
	return &responseStream{Source: upstream.NewSource(o.Reading), o: o, from: r, stored: true}
}

// storedFinish returns the finish reason of a stored response. It returns an empty string while the provider generates the response, and
// for documents that are not responses.
func storedFinish(o *object) string {
	switch o.status {
	case "failed", "cancelled":
		return o.status
	case "":
		return ""
	}
	return o.finishReason()
}
