// Package openai implements OpenAI's formats for chat completions, embeddings, legacy completions and moderations, for clients and for
// providers: requests to conversations and back, and responses to events and deltas and back. Bytes pass through with few edits if the client
// and the provider use the same format.
package openai

import (
	"io"
	"iter"
	"time"

	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/wire"
	"fairlead.dev/internal/wire/sse"
)

// Name is the format's short name.
const Name = "chat"

// Format implements wire.Format.
type Format struct {
	// Now returns the creation time for responses that are translated from another format. If Now is nil, these
	// responses have no creation time.
	Now func() time.Time
}

var _ wire.Format = Format{}

// Name implements wire.Format.
func (Format) Name() string { return Name }

// framing writes the events of a stream.
type framing struct{}

// Framing implements wire.Format.
func (Format) Framing() wire.Framing { return framing{} }

// WriteEvent implements wire.Framing.
func (framing) WriteEvent(w io.Writer, ev llm.Event) error { return sse.WriteData(w, ev.Data) }

// WriteEnd implements wire.Framing.
func (framing) WriteEnd(w io.Writer) error { return sse.WriteData(w, []byte("[DONE]")) }

// WriteError implements wire.Framing. It does not write [DONE], which would mark the response as complete.
func (framing) WriteError(w io.Writer, body []byte, _ int) error { return sse.WriteData(w, body) }

// EncodeResponse implements wire.Format.
func (f Format) EncodeResponse(req *llm.Request, model string, deltas iter.Seq2[llm.Delta, error]) iter.Seq2[llm.Event, error] {
	return encodeResponse(req, model, f.Now, deltas)
}
